// SPDX-License-Identifier: Apache-2.0
//
// What an observer is told of attempts, phases, plugins and refusals.
#include "scheduler/observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/device_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Keeps it all, as words.
class Notebook final : public Observer {
 public:
  void OnAttempt(const AttemptReport& report) override { attempts.push_back(report); }
  void OnDecision(const DecisionReport& report) override {
    decisions.push_back(std::string(report.pod) + " " + std::string(report.node));
    nodes = report.nodes;
    steps = report.steps;
  }
  void OnPhase(std::string_view, Phase phase, PluginStatus::Code code,
               std::chrono::nanoseconds) override {
    phases.push_back(std::string(NameOf(phase)) + " " + std::string(NameOf(code)));
  }
  void OnPlugin(std::string_view plugin, Phase phase, PluginStatus::Code,
                std::chrono::nanoseconds) override {
    plugins.push_back(std::string(plugin) + " " + std::string(NameOf(phase)));
  }
  void OnRefusal(const PodExplanation& explanation) override { refusals.push_back(explanation); }
  void OnPreemption(std::size_t victims) override { preemptions.push_back(victims); }
  void OnBindingConditions(std::string_view, std::string_view driver, std::string_view status,
                           std::chrono::nanoseconds) override {
    conditions.push_back(std::string(driver) + " " + std::string(status));
  }

  std::vector<AttemptReport> attempts;
  std::vector<std::string> decisions;
  std::uint64_t nodes = 0;
  std::uint64_t steps = 0;
  std::vector<std::string> phases;
  std::vector<std::string> plugins;
  std::vector<PodExplanation> refusals;
  std::vector<std::size_t> preemptions;
  std::vector<std::string> conditions;
};

class ObserverTest : public ::testing::Test {
 protected:
  void Start(std::uint32_t sampling = 1) {
    SchedulerOptions options;
    options.observer = &notebook_;
    options.plugin_sampling = sampling;
    cluster_ = std::make_unique<DeviceCluster>(std::move(options));
  }
  Scheduler& scheduler() { return cluster_->scheduler(); }

  Notebook notebook_;
  std::unique_ptr<DeviceCluster> cluster_;
};

TEST_F(ObserverTest, IsToldOfEveryDecisionAndWhatItTook) {
  Start();
  cluster_->AddNode("a", 1);
  cluster_->AddGpuPod("p", 1);
  scheduler().Run();
  EXPECT_THAT(notebook_.decisions, ElementsAre("ns/p a"));
  EXPECT_EQ(notebook_.nodes, 1u);
  EXPECT_GT(notebook_.steps, 0u);
  cluster_->AddGpuPod("q", 1);
  scheduler().Run();
  EXPECT_THAT(notebook_.decisions, ElementsAre("ns/p a", "ns/q "));
}

TEST_F(ObserverTest, IsToldOfEveryPhaseOfAnAttemptOnce) {
  Start();
  cluster_->AddNode("a", 1);
  cluster_->AddGpuPod("p", 1);
  scheduler().Run();
  EXPECT_THAT(notebook_.phases,
              ElementsAre("PreFilter Success", "Filter Success", "PreScore Success",
                          "Score Success", "Reserve Success", "PreBind Success", "Bind Success"));
  ASSERT_EQ(notebook_.attempts.size(), 1u);
  EXPECT_EQ(notebook_.attempts[0].result, AttemptReport::Result::kScheduled);
  EXPECT_EQ(notebook_.attempts[0].attempts, 1u);
  EXPECT_THAT(notebook_.refusals, IsEmpty());
}

TEST_F(ObserverTest, TimeInTheQueueCountsFromThePodsArrival) {
  Start();
  cluster_->Create(MakePod({.name = "p"}));
  scheduler().Run();
  cluster_->clock().Advance(std::chrono::seconds(20));
  cluster_->AddNode("a", 0);
  scheduler().Run();
  ASSERT_EQ(notebook_.attempts.size(), 2u);
  EXPECT_EQ(notebook_.attempts[0].result, AttemptReport::Result::kUnschedulable);
  EXPECT_EQ(notebook_.attempts[1].result, AttemptReport::Result::kScheduled);
  EXPECT_EQ(notebook_.attempts[1].attempts, 2u);
  EXPECT_EQ(notebook_.attempts[1].since_added, std::chrono::seconds(20));
}

TEST_F(ObserverTest, CallsOfPluginsAreMeasuredInSomeAttempts) {
  Start(4);
  cluster_->AddNode("a", 0);
  for (int i = 0; i < 8; ++i) cluster_->Create(MakePod({.name = "p" + std::to_string(i)}));
  scheduler().Run();
  EXPECT_EQ(notebook_.attempts.size(), 8u);
  EXPECT_EQ(std::ranges::count(notebook_.plugins, "NodeResourcesFit Filter"), 2);
}

TEST_F(ObserverTest, PluginsOfEveryPhaseAreNamed) {
  Start();
  cluster_->AddNode("a", 1);
  cluster_->AddGpuPod("p", 1);
  scheduler().Run();
  EXPECT_THAT(notebook_.plugins,
              IsSupersetOf({"DynamicResources PreFilter", "DynamicResources Filter",
                            "DynamicResources Reserve", "DynamicResources PreBind"}));
}

TEST_F(ObserverTest, IsToldWhyAPodGotNoNode) {
  Start();
  cluster_->AddNode("a", 1);
  cluster_->AddGpuPod("p", 2);
  scheduler().Run();
  EXPECT_THAT(notebook_.phases, Contains("PostFilter Unschedulable"));
  ASSERT_EQ(notebook_.refusals.size(), 1u);
  ASSERT_EQ(notebook_.refusals[0].groups.size(), 1u);
  EXPECT_EQ(notebook_.refusals[0].groups[0].reasons[0].code, "cannot_allocate_claims");
  EXPECT_THAT(notebook_.preemptions, ElementsAre(0u));
  const auto waiting = scheduler().WaitingByPlugin();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].plugin, "DynamicResources");
  EXPECT_EQ(waiting[0].profile, "default-scheduler");
  EXPECT_EQ(waiting[0].pods, 1u);
}

TEST_F(ObserverTest, IsToldHowManyPodsWereSentAway) {
  Start();
  cluster_->AddNode("a", 0, "2");
  for (const std::string name : {"x", "y"}) cluster_->Create(MakePod({.name = name}));
  scheduler().Run();
  cluster_->Create(MakePod({.name = "p", .cpu = "2", .priority = 10}));
  scheduler().Run();
  ASSERT_FALSE(notebook_.preemptions.empty());
  EXPECT_EQ(notebook_.preemptions.front(), 2u);
}

TEST_F(ObserverTest, PodsThatAreKeptOutOfTheQueueWaitToo) {
  Start();
  api::Pod pod = MakePod({.name = "p"});
  pod.spec.scheduling_gates.push_back({.name = "wait"});
  cluster_->Create(pod);
  scheduler().Run();
  const auto waiting = scheduler().WaitingByPlugin();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].plugin, "SchedulingGates");
}

TEST_F(ObserverTest, WhatExpressionsCostIsAddedUp) {
  Start();
  cluster_->AddNode("a", 2);
  api::ResourceClaim claim = DeviceCluster::GpuClaim("p", 1);
  claim.spec.devices.requests[0].exactly->selectors.emplace_back().cel.emplace().expression =
      "device.driver != \"other\"";
  cluster_->Create(claim);
  cluster_->Create(DeviceCluster::WithClaim(MakePod({.name = "p"}), "p"));
  scheduler().Run();
  const allocator::ExpressionStatistics& statistics = scheduler().statistics().expressions;
  EXPECT_EQ(statistics.compiled, 1u);
  EXPECT_EQ(statistics.broken, 0u);
  EXPECT_GT(statistics.evaluations.evaluations, 0u);
  EXPECT_GT(statistics.evaluations.cost, 0u);
  EXPECT_EQ(statistics.evaluations.errors, 0u);
}

TEST_F(ObserverTest, AssumedPodsAreCountedUntilTheyAreBound) {
  Start();
  cluster_->AddNode("a", 0);
  cluster_->Create(MakePod({.name = "p"}));
  scheduler().Sync();
  scheduler().ScheduleOne();
  EXPECT_EQ(scheduler().world().pods(), 1u);
  EXPECT_EQ(scheduler().world().assumed_pods(), 1u);
  scheduler().Sync();
  EXPECT_EQ(scheduler().world().assumed_pods(), 0u);
}

}  // namespace
}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "scheduler/scheduler_fixture_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using Kind = Outcome::Kind;

TEST_F(SchedulerTest, APodIsBoundToTheBestNode) {
  Create(MakeNode("a", "4"));
  Create(MakeNode("b", "8"));
  Create(MakePod({.name = "old", .node = "b", .cpu = "7"}));
  Create(MakePod({.name = "p"}));
  const std::vector<Outcome> outcomes = Start().Run();
  EXPECT_THAT(Nodes(outcomes), ElementsAre("ns/p a"));
  EXPECT_EQ(Stored("p").spec.node_name, "a");
  EXPECT_THAT(Events(), ElementsAre("Scheduled: Successfully assigned ns/p to a"));
  EXPECT_EQ(scheduler_->statistics().bound, 1u);
}

TEST_F(SchedulerTest, OfEquallyGoodNodesTheFirstByNameIsTaken) {
  for (const char* node : {"c", "a", "b"}) Create(MakeNode(node));
  for (const char* pod : {"p1", "p2", "p3"}) Create(MakePod({.name = pod}));
  EXPECT_THAT(Nodes(Start().Run()), ElementsAre("ns/p1 a", "ns/p2 b", "ns/p3 c"));
}

TEST_F(SchedulerTest, OnlyNodesThatHaveChangedAreAskedAgain) {
  for (int i = 0; i < 100; ++i) Create(MakeNode("n" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) Create(MakePod({.name = "p" + std::to_string(i)}));
  Start().Run();
  EXPECT_EQ(scheduler_->statistics().bound, 50u);
  // All once, then the one that the pod before went to.
  EXPECT_LE(FakeFit::filtered, 100 + 50);
}

TEST_F(SchedulerTest, PodsOfOtherSchedulersAreLeftAlone) {
  Create(MakeNode("a"));
  api::Pod pod = MakePod({.name = "p"});
  pod.spec.scheduler_name = "somebody-else";
  Create(pod);
  EXPECT_THAT(Start().Run(), IsEmpty());
}

TEST_F(SchedulerTest, APodWithoutANodeIsToldOnce) {
  Create(MakeNode("a", "2"));
  Create(MakePod({.name = "p", .cpu = "3"}));
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kUnschedulable);
  EXPECT_THAT(outcomes.front().message, HasSubstr("0/1 nodes are available: 1 Insufficient cpu."));
  const api::Pod stored = Stored("p");
  const api::PodCondition* condition = ScheduledCondition(stored);
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->status, "False");
  EXPECT_EQ(condition->reason, "Unschedulable");
  EXPECT_EQ(condition->message, outcomes.front().message);

  // Woken in vain: nothing new is to be said.
  Create(MakePod({.name = "other", .node = "a", .cpu = "0"}));
  ASSERT_THAT(cluster_.Delete(KindOf<api::Pod>(), "ns", "other"), IsOk());
  const std::uint64_t revision = cluster_.revision();
  clock_.Advance(std::chrono::seconds(20));
  EXPECT_EQ(scheduler_->Run().size(), 1u);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("FailedScheduling: 0/1 nodes")));
  EXPECT_EQ(cluster_.revision(), revision);
}

TEST_F(SchedulerTest, ARefusedPodIsTriedAgainOnlyWhenItMayHelp) {
  Create(MakeNode("a", "2"));
  Create(MakePod({.name = "p", .cpu = "3"}));
  Start().Run();
  Create(MakePod({.name = "unrelated", .node = "a", .cpu = "0"}));
  clock_.Advance(std::chrono::seconds(20));
  scheduler_->Tick();
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  Create(MakeNode("b", "4"));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p b"));
  EXPECT_EQ(scheduler_->Explain("ns/p"), nullptr);
}

TEST_F(SchedulerTest, TheMoreImportantPodGoesFirst) {
  Create(MakeNode("a", "1"));
  Create(MakePod({.name = "p1", .priority = 1}));
  Create(MakePod({.name = "p2", .priority = 2}));
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].pod, "ns/p2");
  EXPECT_EQ(outcomes[0].kind, Kind::kBound);
  EXPECT_EQ(outcomes[1].kind, Kind::kUnschedulable);
}

TEST_F(SchedulerTest, AGatedPodWaitsForItsPlugin) {
  bool open = false;
  first_.pre_enqueue = [&](const PodInfo&) {
    return open ? PluginStatus::Success()
                : PluginStatus::Unresolvable({.code = "gate", .text = "closed"});
  };
  first_.wake = [](const PodInfo&, const api::Change& change) {
    return change.object.As<api::Namespace>() != nullptr ? Hint::kQueue : Hint::kSkip;
  };
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  EXPECT_THAT(Start().Run(), IsEmpty());
  ASSERT_NE(scheduler_->Explain("ns/p"), nullptr);
  EXPECT_EQ(scheduler_->Explain("ns/p")->before.front().text, "closed");
  EXPECT_EQ(scheduler_->queue().size(QueueName::kGated), 1u);
  open = true;
  Create(MakeNode("b"));
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  api::Namespace space;
  space.metadata.name = "ns2";
  Create(space);
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p a"));
}

TEST_F(SchedulerTest, AGatedPodIsAskedAgainWhenItsOwnClaimChanges) {
  std::map<std::string, int> asked;
  bool open = false;
  first_.pre_enqueue = [&](const PodInfo& pod) {
    ++asked[pod.key];
    return open ? PluginStatus::Success()
                : PluginStatus::Unresolvable({.code = "gate", .text = "closed"});
  };
  Create(MakeNode("a"));
  const auto claim = [](const std::string& name) {
    api::ResourceClaim made;
    made.metadata.namespace_ = "ns";
    made.metadata.name = name;
    return made;
  };
  for (int i = 0; i < 100; ++i) {
    api::Pod pod = MakePod({.name = "p" + std::to_string(i), .cpu = "10m"});
    pod.spec.resource_claims.push_back(
        {.name = "c", .resource_claim_name = "c" + std::to_string(i)});
    Create(pod);
  }
  EXPECT_THAT(Start().Run(), IsEmpty());
  EXPECT_EQ(scheduler_->queue().size(QueueName::kGated), 100u);
  asked.clear();
  // Many changes of other pods and of claims for nobody are no reason to ask anybody.
  for (int i = 0; i < 20; ++i) {
    Create(claim("nobodys-" + std::to_string(i)));
    Create(MakePod({.name = "bound-" + std::to_string(i), .node = "a", .cpu = "10m"}));
  }
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  EXPECT_THAT(asked, IsEmpty());
  open = true;
  for (int i = 3; i < 15; ++i) Create(claim("c" + std::to_string(i)));
  EXPECT_EQ(scheduler_->Run().size(), 12u);
  EXPECT_EQ(asked.size(), 12u);
  EXPECT_THAT(asked, Each(Field(&std::pair<const std::string, int>::second, 1)));
  EXPECT_EQ(scheduler_->queue().size(QueueName::kGated), 88u);
}

TEST_F(SchedulerTest, APreFilterRefusalNamesNoNodes) {
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  first_.pre_filter = [](const PodInfo&) {
    return PluginStatus::Unresolvable({.code = "x", .text = "no way"});
  };
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().message, "0/1 nodes are available: no way.");
  EXPECT_EQ(scheduler_->queue().Find("ns/p")->refused_by, std::vector<std::string>{"First"});
}

TEST_F(SchedulerTest, AFailedReservationIsUndoneInReverseOrder) {
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  second_.reserve = [](const PodInfo&) {
    return PluginStatus::Unschedulable({.code = "x", .text = "taken meanwhile"});
  };
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kUnschedulable);
  EXPECT_THAT(calls_, ElementsAre("First reserve", "Second reserve", "Second unreserve",
                                  "First unreserve"));
  EXPECT_EQ(scheduler_->world().FindNode("a")->requested, Resources());
  EXPECT_EQ(scheduler_->queue().Where("ns/p"), QueueName::kBackoff);
  second_.reserve = nullptr;
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p a"));
}

TEST_F(SchedulerTest, AnErrorIsTriedAgainAfterABackoff) {
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  first_.pre_bind = [](const PodInfo&) { return PluginStatus::Error("store is away"); };
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kError);
  const api::Pod stored = Stored("p");
  ASSERT_NE(ScheduledCondition(stored), nullptr);
  EXPECT_EQ(ScheduledCondition(stored)->reason, "SchedulerError");
  EXPECT_EQ(ScheduledCondition(stored)->message, "store is away");
  EXPECT_THAT(scheduler_->Run(), IsEmpty());
  first_.pre_bind = nullptr;
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_THAT(Nodes(scheduler_->Run()), ElementsAre("ns/p a"));
}

TEST_F(SchedulerTest, AFailedBindIsUndone) {
  Create(MakeNode("a"));
  Create(MakePod({.name = "p"}));
  cluster_.SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kBind ? base::Unavailable("no answer") : Status();
  });
  const std::vector<Outcome> outcomes = Start().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kError);
  EXPECT_THAT(calls_, ElementsAre("First reserve", "Second reserve", "First prebind",
                                  "Second prebind", "Second unreserve", "First unreserve"));
  EXPECT_FALSE(scheduler_->world().Assumed("ns/p"));
}

TEST_F(SchedulerTest, WhatIsToldAgainIsOneEventWithACount) {
  Create(MakeNode("a", "1"));
  Create(MakePod({.name = "p", .cpu = "2"}));
  Start().Run();
  const auto told = [&] {
    clock_.Advance(std::chrono::seconds(20));
    scheduler_->Run();
    return Events();
  };
  Create(MakeNode("b", "1"));
  const std::vector<std::string> two = told();
  EXPECT_EQ(two.size(), 2u);
  ASSERT_THAT(cluster_.Delete(KindOf<api::Node>(), "", "b"), IsOk());
  EXPECT_THAT(told(), ::testing::UnorderedElementsAre(HasSubstr("0/2 nodes are available"),
                                                      ::testing::EndsWith(" x2")));
}

TEST_F(SchedulerTest, NothingIsDoneWithoutAReason) {
  Create(MakeNode("a", "1"));
  for (int i = 0; i < 20; ++i) Create(MakePod({.name = "p" + std::to_string(i), .cpu = "2"}));
  Start().Run();
  const std::uint64_t attempts = scheduler_->statistics().attempts;
  EXPECT_EQ(attempts, 20u);
  const std::uint64_t revision = cluster_.revision();
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    scheduler_->Tick();
    EXPECT_THAT(scheduler_->Run(), IsEmpty());
  }
  EXPECT_EQ(scheduler_->statistics().attempts, attempts);
  EXPECT_EQ(cluster_.revision(), revision);
}

}  // namespace
}  // namespace dray::scheduler

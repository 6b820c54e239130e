// SPDX-License-Identifier: Apache-2.0
//
// Pods that are bound in the background while others are decided about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/resource_claim.h"
#include "scheduler/device_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Outcome::Kind;

// Work is done when the test says so.
class Later final : public Background {
 public:
  void Run(std::function<void()> work) override { works_.push_back(std::move(work)); }
  std::size_t size() const { return works_.size(); }
  bool creating = false;  // the test itself writes
  void DoOne() {
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    work();
  }
  void DoAll() {
    while (!works_.empty()) DoOne();
  }
  // Work that waits for a cluster comes back in any order.
  void DoAny(std::size_t which) {
    std::swap(works_.front(), works_[which % works_.size()]);
    DoOne();
  }

 private:
  std::deque<std::function<void()>> works_;
};

class BackgroundTest : public ::testing::Test {
 protected:
  // "ns/p a bound" of each pod that was tried or came to an end.
  std::vector<std::string> Run() {
    std::vector<std::string> lines;
    for (const Outcome& outcome : cluster_.scheduler().Run()) {
      constexpr std::string_view kKinds[] = {"bound", "waits", "refused", "error"};
      lines.push_back(outcome.pod + " " + outcome.node + " " +
                      std::string(kKinds[static_cast<std::size_t>(outcome.kind)]));
    }
    return lines;
  }
  std::string NodeOf(std::string_view pod) {
    const auto* found = cluster_.Find<api::Pod>(pod);
    return found == nullptr ? "gone" : found->spec.node_name;
  }
  void DeletePod(std::string_view name) {
    const auto& kind = DeviceCluster::KindOf<api::Pod>();
    ASSERT_TRUE(cluster_.cluster().Delete(kind, "ns", name).ok());
  }
  std::size_t Held(std::string_view claim) {
    const auto* found = cluster_.Find<api::ResourceClaim>(claim);
    return found->status.allocation ? found->status.allocation->devices.results.size() : 0;
  }

  Later later_;
  DeviceCluster cluster_{[this] {
    SchedulerOptions options;
    options.background = &later_;
    options.bindings_at_once = 3;
    return options;
  }()};
};

TEST_F(BackgroundTest, OthersAreDecidedAboutWhileAPodIsBound) {
  cluster_.AddNode("a", 2);
  cluster_.AddGpuPod("p", 1);
  cluster_.AddGpuPod("q", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits", "ns/q a waits"));
  EXPECT_EQ(NodeOf("p"), "");
  later_.DoAll();
  EXPECT_EQ(NodeOf("p"), "a");
  EXPECT_EQ(Held("q"), 1u);
  EXPECT_THAT(Run(), ElementsAre("ns/p a bound", "ns/q a bound"));
  EXPECT_THAT(Run(), IsEmpty());
}

TEST_F(BackgroundTest, WhatIsBeingBoundIsTaken) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  cluster_.AddGpuPod("q", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/q  refused"));
}

TEST_F(BackgroundTest, OnlySoManyAreBoundAtATime) {
  cluster_.AddNode("a", 0);
  for (int i = 0; i < 5; ++i) cluster_.Create(MakePod({.name = "p" + std::to_string(i)}));
  EXPECT_THAT(Run(), SizeIs(3));
  later_.DoOne();
  EXPECT_THAT(Run(), ElementsAre("ns/p0 a bound", "ns/p3 a waits"));
}

TEST_F(BackgroundTest, AFailedWriteGivesEverythingBackAndThePodIsTriedAgain) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  cluster_.cluster().SetWriteHook([](api::Verb verb, const api::Object&) -> Status {
    return verb == api::Verb::kUpdateStatus ? base::Unavailable("away") : Status();
  });
  later_.DoAll();
  EXPECT_THAT(Run(), ElementsAre("ns/p a error"));
  cluster_.cluster().SetWriteHook({});
  later_.DoAll();
  // Its condition says why.
  EXPECT_THAT(cluster_.Find<api::Pod>("p")->status.conditions.front().message, HasSubstr("away"));
  cluster_.clock().Advance(std::chrono::seconds(10));
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  later_.DoAll();
  EXPECT_THAT(Run(), ElementsAre("ns/p a bound"));
  EXPECT_EQ(Held("p"), 1u);
}

// Nothing was written, so no change of a claim says that its devices are free.
TEST_F(BackgroundTest, DevicesThatAreGivenBackUnwrittenWakeWhoWaitsForThem) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  cluster_.AddGpuPod("q", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/q  refused"));
  cluster_.cluster().SetWriteHook([](api::Verb verb, const api::Object& object) -> Status {
    const bool its = verb == api::Verb::kUpdateStatus && object.metadata().name == "p" &&
                     object.As<api::ResourceClaim>() != nullptr;
    return its ? base::MakeStatus(StatusCode::kPermissionDenied, "no") : Status();
  });
  later_.DoAll();
  EXPECT_THAT(Run(), Contains("ns/p a error"));
  later_.DoAll();
  cluster_.clock().Advance(std::chrono::seconds(2));
  EXPECT_THAT(Run(), Contains("ns/q a waits"));
}

TEST_F(BackgroundTest, APodThatIsDeletedMeanwhileLeavesNothingBehind) {
  cluster_.AddNode("a", 1);
  cluster_.AddGpuPod("p", 1);
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  DeletePod("p");
  cluster_.AddGpuPod("q", 1);
  Run();
  later_.DoAll();
  Run();
  EXPECT_EQ(NodeOf("p"), "gone");
  EXPECT_THAT(cluster_.Find<api::ResourceClaim>("p")->status.reserved_for, IsEmpty());
  EXPECT_FALSE(cluster_.Find<api::ResourceClaim>("p")->status.allocation.has_value());
  cluster_.clock().Advance(std::chrono::seconds(2));
  EXPECT_THAT(Run(), Contains("ns/q a waits"));
}

TEST_F(BackgroundTest, APodByTheSameNameComesAfterTheOneThatIsGone) {
  cluster_.AddNode("a", 0);
  cluster_.Create(MakePod({.name = "p"}));
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  DeletePod("p");
  cluster_.Create(MakePod({.name = "p"}));
  EXPECT_THAT(Run(), IsEmpty());
  later_.DoAll();
  EXPECT_THAT(Run(), ElementsAre("ns/p a waits"));
  later_.DoAll();
  EXPECT_THAT(Run(), ElementsAre("ns/p a bound"));
  EXPECT_EQ(NodeOf("p"), "a");
}

TEST_F(BackgroundTest, AStatusIsNotWrittenOverABoundPods) {
  cluster_.Create(MakePod({.name = "p"}));
  EXPECT_THAT(Run(), ElementsAre("ns/p  refused"));
  ASSERT_EQ(later_.size(), 1u);
  const auto* pod = cluster_.Find<api::Pod>("p");
  ASSERT_TRUE(cluster_.cluster().Bind("ns", "p", pod->metadata.uid, "b").ok());
  later_.DoAll();
  EXPECT_EQ(cluster_.Find<api::Pod>("p")->status.conditions.front().status, "True");
}

// Property: whatever the order in which writes are done, and whichever fail, no device is given
// twice, and in the end a pod waits only if no device is left.
TEST_F(BackgroundTest, NoOrderOfWritesAndNoFailureGivesADeviceTwice) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto one_in = [&](std::uint32_t n) { return random() % n == 0; };
    Later later;
    SchedulerOptions options;
    options.background = &later;
    options.bindings_at_once = 1 + seed % 5;
    DeviceCluster cluster(std::move(options));
    cluster.AddNode("a", 3);
    cluster.AddNode("b", 4);
    cluster.cluster().SetWriteHook([&](api::Verb, const api::Object& object) -> Status {
      const bool ours =
          object.As<api::Pod>() != nullptr || object.As<api::ResourceClaim>() != nullptr;
      return ours && !later.creating && one_in(6) ? base::Unavailable("away") : Status();
    });
    int pods = 0;
    for (int step = 0; step < 200; ++step) {
      if (pods < 10 && one_in(4)) {
        later.creating = true;
        cluster.AddGpuPod("p" + std::to_string(pods++), 1);
        later.creating = false;
      }
      if (later.size() > 0 && !one_in(3)) later.DoAny(random());
      if (one_in(3)) cluster.scheduler().Run();
      if (one_in(5)) cluster.clock().Advance(std::chrono::seconds(2));
    }
    cluster.cluster().SetWriteHook({});
    for (int round = 0; round < 40; ++round) {
      cluster.scheduler().Run();
      later.DoAll();
      cluster.clock().Advance(std::chrono::seconds(20));
    }
    std::vector<std::string> devices;
    int bound = 0;
    for (int i = 0; i < pods; ++i) {
      const std::string name = "p" + std::to_string(i);
      const bool has_node = !cluster.Find<api::Pod>(name)->spec.node_name.empty();
      const auto* claim = cluster.Find<api::ResourceClaim>(name);
      EXPECT_EQ(claim->status.allocation.has_value(), has_node) << name;
      bound += has_node ? 1 : 0;
      if (!claim->status.allocation) continue;
      for (const auto& result : claim->status.allocation->devices.results) {
        devices.push_back(result.pool + "/" + result.device);
      }
    }
    EXPECT_EQ(bound, std::min(pods, 7));
    std::ranges::sort(devices);
    EXPECT_EQ(std::ranges::adjacent_find(devices), devices.end());
  }
}

}  // namespace
}  // namespace dray::scheduler

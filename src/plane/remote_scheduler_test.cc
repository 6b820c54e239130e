// SPDX-License-Identifier: Apache-2.0
//
// A control plane without a scheduler, and a scheduler without a control plane.
#include "plane/remote_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "plane/plane_for_test.h"

namespace dray::plane {
namespace {

using ::testing::HasSubstr;

class RemoteSchedulerTest : public ::testing::Test {
 protected:
  std::unique_ptr<RemoteScheduler> Schedule(RemoteSchedulerOptions options = {}) {
    auto access = client::LoadAccess({.kubeconfig = plane_.folder() + "/scheduler.kubeconfig"});
    EXPECT_TRUE(access.ok()) << access.status();
    options.access = *std::move(access);
    auto scheduler = RemoteScheduler::Start(std::move(options), clock_);
    EXPECT_TRUE(scheduler.ok()) << scheduler.status();
    return *std::move(scheduler);
  }
  // Without a scheduler; at a port that it had before.
  void Start(std::uint16_t port = 0) {
    plane_.StartWith({.port = port, .scheduler = false, .objects = SmallCluster()});
  }
  std::map<std::string, std::string> Placed() { return PlacedIn(plane_); }
  static std::map<std::string, std::string> PlacedIn(TestPlane& plane) {
    std::map<std::string, std::string> placed;
    for (const api::Pod& pod : plane.All<api::Pod>()) {
      placed[pod.metadata.name] = pod.spec.node_name;
    }
    return placed;
  }
  // Pods one after the other, so that the order of deciding is the same in every run.
  static void RunPods(TestPlane& plane, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(i);
      plane.Create(PodFromTemplate(name));
      ASSERT_TRUE(plane.Await(name, api::kPodRunning)) << name;
    }
  }

  const base::SystemClock clock_{};
  TestPlane plane_;
};

TEST_F(RemoteSchedulerTest, PlacesPodsAsTheOneInProcessDoes) {
  TestPlane whole;
  whole.Start();
  RunPods(whole, 6);
  Start();
  const auto scheduler = Schedule();
  RunPods(plane_, 6);
  EXPECT_EQ(Placed(), PlacedIn(whole));
}

TEST_F(RemoteSchedulerTest, ManyPodsGetEachADeviceOfItsOwnAndOthersAReason) {
  Start();
  for (int i = 0; i < 12; ++i) plane_.Create(PodFromTemplate("p" + std::to_string(i)));
  const auto scheduler = Schedule();
  // Two nodes of four devices each.
  EXPECT_TRUE(plane_.Until([&] {
    int bound = 0;
    for (const auto& [pod, node] : Placed()) bound += node.empty() ? 0 : 1;
    return bound == 8;
  }));
  std::set<std::string> devices;
  int allocated = 0;
  for (const api::ResourceClaim& claim : plane_.All<api::ResourceClaim>()) {
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      ++allocated;
      devices.insert(result.pool + "/" + result.device);
    }
  }
  EXPECT_EQ(allocated, 8);
  EXPECT_EQ(devices.size(), 8u);
  for (const auto& [pod, node] : Placed()) {
    EXPECT_TRUE(!node.empty() || plane_.AwaitEvent(pod, "FailedScheduling")) << pod;
  }
  // Room that comes is used.
  for (const auto& [pod, node] : Placed()) {
    if (!node.empty()) plane_.Delete<api::Pod>(pod);
  }
  EXPECT_TRUE(plane_.Until([&] {
    const auto placed = Placed();
    return placed.size() == 4 &&
           std::ranges::none_of(placed, [](const auto& entry) { return entry.second.empty(); });
  }));
  EXPECT_TRUE(plane_.Until([&] { return scheduler->statistics().bound >= 12; }));
}

TEST_F(RemoteSchedulerTest, GoesOnAfterTheServerWasAway) {
  Start();
  const auto scheduler = Schedule(RemoteSchedulerOptions{{.leader_elect = false}});
  plane_.Create(PodFromTemplate("before"));
  ASSERT_TRUE(plane_.Await("before", api::kPodRunning));
  const std::string& url = plane_.plane().url();
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  plane_.Stop();
  EXPECT_TRUE(plane_.Until([&] { return !scheduler->Connection().ok(); }));
  Start(port);
  plane_.Create(PodFromTemplate("after"));
  EXPECT_TRUE(plane_.Await("after", api::kPodRunning));
  EXPECT_TRUE(scheduler->Connection().ok()) << scheduler->Connection();
}

TEST_F(RemoteSchedulerTest, OfTwoOneLeadsAndTheOtherFollowsAfterIt) {
  Start();
  auto first = Schedule(RemoteSchedulerOptions{{.identity = "first"}});
  ASSERT_TRUE(plane_.Until([&] { return first->leading(); }));
  const auto second = Schedule(RemoteSchedulerOptions{{.identity = "second"}});
  ASSERT_TRUE(plane_.Until([&] { return second->leader() == "first"; }));
  EXPECT_FALSE(second->leading());
  plane_.Create(PodFromTemplate("a"));
  ASSERT_TRUE(plane_.Await("a", api::kPodRunning));
  EXPECT_EQ(second->statistics().attempts, 0u);
  first = nullptr;
  plane_.Create(PodFromTemplate("b"));
  EXPECT_TRUE(plane_.Await("b", api::kPodRunning));
  EXPECT_TRUE(second->leading());
  EXPECT_TRUE(second->Health().ok());
}

// People look there for who has allocated a claim.
TEST_F(RemoteSchedulerTest, WhatItWritesIsManagedByTheNameOfItsProfile) {
  Start();
  RemoteSchedulerOptions options;
  options.config.profiles.front().scheduler_name = "dray";
  const auto scheduler = Schedule(std::move(options));
  api::Pod pod = PodFromTemplate("p");
  pod.spec.scheduler_name = "dray";
  plane_.Create(pod);
  ASSERT_TRUE(plane_.Await("p", api::kPodRunning));
  const auto claims = plane_.All<api::ResourceClaim>();
  ASSERT_EQ(claims.size(), 1u);
  const auto& managed = claims[0].metadata.managed_fields;
  EXPECT_TRUE(
      std::ranges::any_of(managed, [](const auto& entry) { return entry.manager == "dray"; }));
}

TEST_F(RemoteSchedulerTest, WithoutAServerItDoesNotStart) {
  const auto started = RemoteScheduler::Start({{.access = {.url = "https://127.0.0.1:1"}}}, clock_);
  EXPECT_EQ(started.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(base::Message(started.status())), HasSubstr("127.0.0.1 port 1"));
}

}  // namespace
}  // namespace dray::plane

// SPDX-License-Identifier: Apache-2.0
//
// The scheduler with the plugins that it has by default, on a cluster in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/device_cluster_for_test.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using Kind = Outcome::Kind;

TEST(DefaultScheduler, APodGetsItsDevicesAndItsNode) {
  DeviceCluster test;
  test.AddNode("a", 0);
  test.AddNode("b", 2);
  test.AddGpuPod("p", 2);
  const std::vector<Outcome> outcomes = test.scheduler().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kBound) << outcomes.front().message;
  EXPECT_EQ(test.Find<api::Pod>("p")->spec.node_name, "b");
  const auto* claim = test.Find<api::ResourceClaim>("p");
  ASSERT_TRUE(claim->status.allocation.has_value());
  EXPECT_EQ(claim->status.allocation->devices.results.size(), 2u);
  ASSERT_EQ(claim->status.reserved_for.size(), 1u);
  EXPECT_EQ(claim->status.reserved_for.front().name, "p");
  EXPECT_GT(test.scheduler().statistics().allocator_steps, 0u);
}

TEST(DefaultScheduler, NoDeviceIsGivenTwice) {
  DeviceCluster test;
  for (int i = 0; i < 4; ++i) test.AddNode("n" + std::to_string(i), 3);
  for (int i = 0; i < 20; ++i) test.AddGpuPod("p" + std::to_string(i), 1);
  std::size_t bound = 0;
  for (const Outcome& outcome : test.scheduler().Run()) bound += outcome.kind == Kind::kBound;
  EXPECT_EQ(bound, 12u);
  std::vector<std::string> devices;
  for (const api::Object& object :
       test.cluster().All(DeviceCluster::KindOf<api::ResourceClaim>())) {
    const auto& status = object.As<api::ResourceClaim>()->status;
    if (!status.allocation) continue;
    for (const auto& result : status.allocation->devices.results) {
      devices.push_back(result.pool + "/" + result.device);
    }
  }
  std::ranges::sort(devices);
  EXPECT_EQ(devices.size(), 12u);
  EXPECT_EQ(std::ranges::adjacent_find(devices), devices.end());
}

api::ResourceClaim ClaimOf(const std::string& name, const std::string& driver) {
  api::ResourceClaim claim = DeviceCluster::GpuClaim(name, 1);
  claim.spec.devices.requests.front().exactly->selectors = {
      {.cel = api::CELDeviceSelector{.expression = "device.driver == '" + driver + "'"}}};
  return claim;
}

// Devices of all nodes come, change, are taken and go; whoever wants others asks no node again.
TEST(DefaultScheduler, WhatAllNodesCanUseConcernsThoseAloneWhoCanUseIt) {
  constexpr int kNodes = 50;
  const std::string fabric = "fabric.example.com";
  DeviceCluster test;
  for (int i = 0; i < kNodes; ++i) test.AddNode("n" + std::to_string(i), 4);
  int pods = 0;
  const auto asked_for_one = [&](const std::string& driver) {
    const std::string name = "p" + std::to_string(pods++);
    if (driver.empty()) {
      test.Create(MakePod({.name = name}));
    } else {
      test.Create(ClaimOf(name, driver));
      test.Create(DeviceCluster::WithClaim(MakePod({.name = name}), name));
    }
    const std::uint64_t before = test.scheduler().statistics().node_evaluations;
    const std::vector<Outcome> outcomes = test.scheduler().Run();
    EXPECT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes.front().kind, Kind::kBound) << outcomes.front().message;
    return test.scheduler().statistics().node_evaluations - before;
  };
  const auto slice = [&](int devices) {
    testing::Slice made("fabric");
    made.Driver(fabric).Pool("fabric").OnAllNodes();
    for (int i = 0; i < devices; ++i) made.With(testing::Device("port-" + std::to_string(i)));
    return api::ResourceSlice(made);
  };
  const std::string gpus(testing::kDriver);
  EXPECT_GE(asked_for_one(gpus), std::uint64_t{kNodes});
  EXPECT_GE(asked_for_one(""), std::uint64_t{kNodes});
  EXPECT_LE(asked_for_one(gpus), 3u);
  test.Create(slice(8));
  EXPECT_LE(asked_for_one(gpus), 3u) << "it came";
  EXPECT_LE(asked_for_one(""), 5u);
  EXPECT_GE(asked_for_one(fabric), std::uint64_t{kNodes});
  EXPECT_LE(asked_for_one(gpus), 5u) << "one of it was taken";
  EXPECT_GE(asked_for_one(fabric), std::uint64_t{kNodes}) << "whoever can use it asks again";
  const auto& kind = DeviceCluster::KindOf<api::ResourceSlice>();
  ASSERT_THAT(test.cluster().Delete(kind, "", "fabric"), IsOk());
  EXPECT_LE(asked_for_one(gpus), 5u) << "it went";
  test.Create(slice(9));
  EXPECT_LE(asked_for_one(gpus), 5u);
  EXPECT_LE(asked_for_one(""), 9u);
}

// What a score was computed from may be a slice that several nodes could use.
TEST(DefaultScheduler, ADeviceForSomeNodesCountsInTheirScores) {
  DeviceCluster test;
  for (const char* name : {"a", "b", "c"}) {
    api::Node node = MakeNode(name);
    node.metadata.labels["zone"] = name;
    test.Create(std::move(node));
    test.Create(DeviceCluster::GpuSlice(name, 2));
  }
  const auto place = [&](const std::string& name) {
    api::ResourceClaim claim = DeviceCluster::GpuClaim(name, 1);
    api::DeviceRequest& request = claim.spec.devices.requests.front();
    request.exactly.reset();
    for (const char* driver : {"fabric.example.com", "gpu.example.com"}) {
      api::DeviceSubRequest& sub = request.first_available.emplace_back();
      sub.name = driver[0] == 'f' ? "fast" : "slow";
      sub.device_class_name = "gpu";
      sub.allocation_mode = api::kAllocationModeExactCount;
      sub.count = 1;
      sub.selectors = {{.cel = api::CELDeviceSelector{.expression = "device.driver == '" +
                                                                    std::string(driver) + "'"}}};
    }
    test.Create(std::move(claim));
    test.Create(DeviceCluster::WithClaim(MakePod({.name = name}), name));
    test.scheduler().Run();
    return test.Find<api::Pod>(name)->spec.node_name;
  };
  ASSERT_EQ(testing::kDriver, "gpu.example.com");
  EXPECT_EQ(place("p1"), "a");
  test.Create(api::ResourceSlice(
      testing::Slice("fast")
          .Driver("fabric.example.com")
          .Pool("fast")
          .Where({.node_selector_terms = {{.match_expressions = {{.key = "zone",
                                                                  .operator_ = "In",
                                                                  .values = {"c"}}}}}})
          .With(testing::Device("port"))));
  EXPECT_EQ(place("p2"), "c");
}

TEST(DefaultScheduler, AFreedDeviceWakesThePodThatWaitsForIt) {
  DeviceCluster test;
  test.AddNode("a", 1);
  test.AddGpuPod("first", 1);
  test.AddGpuPod("second", 1);
  test.scheduler().Run();
  EXPECT_EQ(test.Find<api::Pod>("second")->spec.node_name, "");
  const api::KindInfo& pods = DeviceCluster::KindOf<api::Pod>();
  ASSERT_THAT(test.cluster().Delete(pods, "ns", "first"), IsOk());
  // What the claims' controller would do.
  api::ResourceClaim freed = *test.Find<api::ResourceClaim>("first");
  freed.status = {};
  ASSERT_THAT(test.cluster().UpdateStatus(api::Object::Of(freed)), IsOk());
  test.clock().Advance(std::chrono::seconds(2));
  const std::vector<Outcome> outcomes = test.scheduler().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kBound);
  EXPECT_EQ(outcomes.front().pod, "ns/second");
}

TEST(DefaultScheduler, NodesAreExplainedInGroupsWithTheClosestMiss) {
  DeviceCluster test;
  for (int i = 0; i < 8; ++i) test.AddNode("empty-" + std::to_string(i), 0);
  for (int i = 0; i < 5; ++i) test.AddNode("two-" + std::to_string(i), 2);
  test.AddNode("small", 4, "500m");
  test.AddGpuPod("p", 3);
  const std::vector<Outcome> outcomes = test.scheduler().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  const PodExplanation* explanation = test.scheduler().Explain("ns/p");
  ASSERT_NE(explanation, nullptr);
  EXPECT_EQ(explanation->nodes, 14u);
  ASSERT_EQ(explanation->groups.size(), 3u) << ToText(*explanation);
  EXPECT_EQ(explanation->groups[0].nodes, 8u);
  EXPECT_EQ(explanation->groups[1].nodes, 5u);
  EXPECT_EQ(explanation->groups[2].nodes, 1u);
  ASSERT_TRUE(explanation->closest.has_value());
  // It has the devices.
  EXPECT_EQ(explanation->closest->node, "small") << ToText(*explanation);
  EXPECT_EQ(explanation->closest->lacks, "short of 500m cpu");
  EXPECT_THAT(outcomes.front().message, HasSubstr("0/14 nodes are available: "));
  EXPECT_THAT(outcomes.front().message, HasSubstr("1 Insufficient cpu"));
  EXPECT_THAT(outcomes.front().message, HasSubstr("5 cannot allocate all claims: "));
  EXPECT_LE(outcomes.front().message.size(), kMaxEventMessage);
}

TEST(DefaultScheduler, TheClosestMissSatisfiesEveryFilter) {
  DeviceCluster test;
  api::Node tainted = MakeNode("tainted", "500m");
  tainted.spec.taints.push_back({.key = "only", .value = "gpu", .effect = "NoSchedule"});
  test.Create(tainted);
  test.Create(MakePod({.name = "p", .cpu = "1"}));
  test.scheduler().Run();
  const PodExplanation* explanation = test.scheduler().Explain("ns/p");
  ASSERT_NE(explanation, nullptr);
  ASSERT_EQ(explanation->groups.size(), 1u);
  EXPECT_EQ(explanation->groups.front().reasons.size(), 1u);
  EXPECT_EQ(explanation->closest->lacks,
            "without a toleration for only=gpu:NoSchedule, short of 500m cpu");
}

TEST(DefaultScheduler, APodOfLowerPriorityMakesRoom) {
  DeviceCluster test;
  test.AddNode("a", 0, "2");
  test.Create(MakePod({.name = "low", .node = "a", .cpu = "2", .phase = "Running"}));
  test.Create(MakePod({.name = "high", .cpu = "2", .priority = 10}));
  test.scheduler().Run();
  EXPECT_EQ(test.Find<api::Pod>("low"), nullptr);
  EXPECT_EQ(test.Find<api::Pod>("high")->status.nominated_node_name, "a");
  test.clock().Advance(std::chrono::seconds(2));
  test.scheduler().Run();
  EXPECT_EQ(test.Find<api::Pod>("high")->spec.node_name, "a");
}

TEST(DefaultScheduler, AnUnsupportedFieldIsNamedInTheEvent) {
  DeviceCluster test;
  test.AddNode("a", 0);
  api::Pod pod = MakePod({.name = "p"});
  api::Volume& volume = pod.spec.volumes.emplace_back();
  volume.name = "data";
  volume.gce_persistent_disk.emplace();
  test.Create(pod);
  const std::vector<Outcome> outcomes = test.scheduler().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kUnschedulable);
  EXPECT_THAT(outcomes.front().message, HasSubstr("spec.volumes[0].gcePersistentDisk"));
}

// Whether nodes have such a resource is a matter of the class, which comes later here. Nothing about
// the node changes meanwhile, and the claim has its devices already.
TEST(DefaultScheduler, WhatWasSaidOfAClassThatIsNotThereIsForgottenWhenItComes) {
  SchedulerOptions options;
  options.gates.Set(api::Gate::kDRAExtendedResource, true);
  DeviceCluster test(std::move(options));
  test.AddNode("a", 2);
  test.AddGpuPod("q", 1);
  test.scheduler().Run();
  constexpr const char* kLate = "deviceclass.resource.kubernetes.io/late";
  api::Pod pod = DeviceCluster::WithClaim(MakePod({.name = "p"}), "q");
  auto& resources = pod.spec.containers.front().resources;
  resources.requests[kLate] = resources.limits[kLate] = testing::ToQuantity("1");
  test.Create(pod);
  const std::vector<Outcome> refused = test.scheduler().Run();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_THAT(refused.front().message, HasSubstr("Insufficient"));
  api::DeviceClass late;
  late.metadata.name = "late";
  test.Create(late);
  test.clock().Advance(std::chrono::seconds(2));
  test.scheduler().Run();
  EXPECT_EQ(test.Find<api::Pod>("p")->spec.node_name, "a");
}

TEST(DefaultScheduler, ADisabledPluginIsNotAsked) {
  SchedulerOptions options;
  options.config.profiles.front().disabled = {"NodeResourcesFit"};
  DeviceCluster test(std::move(options));
  test.AddNode("a", 0, "1");
  test.Create(MakePod({.name = "p", .cpu = "2"}));
  const std::vector<Outcome> outcomes = test.scheduler().Run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes.front().kind, Kind::kBound);
}

TEST(DefaultScheduler, EqualPodsAskOnlyAboutNodesThatHaveChanged) {
  DeviceCluster test;
  for (int i = 0; i < 50; ++i) test.AddNode("n" + std::to_string(i), 4);
  for (int i = 0; i < 100; ++i) test.AddGpuPod("p" + std::to_string(i), 1);
  test.scheduler().Run();
  EXPECT_EQ(test.scheduler().statistics().bound, 100u);
  EXPECT_LE(test.scheduler().statistics().node_evaluations, 50u + 2 * 100u);
}

}  // namespace
}  // namespace dray::scheduler

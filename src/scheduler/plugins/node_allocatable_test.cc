// SPDX-License-Identifier: Apache-2.0
//
// KEP-5517 in the scheduler: devices that stand for cpu and memory of their node, and devices that
// need some of it.
#include "scheduler/plugins/node_allocatable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "scheduler/plugins/dynamic_resources_test_support.h"
#include "testing/slice_builder.h"

namespace dray::scheduler::scenes {
namespace {

using dray::testing::ToQuantity;
using ::testing::ElementsAre;
using ::testing::SizeIs;

api::FeatureGates On() {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRANodeAllocatableResources, true);
  return gates;
}

// One node of 8 cpu: four groups of cores of 3 cpu each, a GPU that needs memory beside it, and all
// cores once more as one device that is shared by amounts.
constexpr std::string_view kNode = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: cores}
spec: {selectors: [{cel: {expression: device.driver == "cores.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]
  extendedResourceName: example.com/gpu
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: shared}
spec: {selectors: [{cel: {expression: device.driver == "shared.example.com"}}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 16Gi, hugepages-2Mi: 64Mi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: cores}
spec:
  driver: cores.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: g0, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}}}}
  - {name: g1, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}}}}
  - {name: g2, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}}}}
  - {name: g3, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    nodeAllocatableResources:
      memory: {overhead: {perPod: 1Gi, perContainer: 512Mi}}
      hugepages-2Mi: {overhead: {perPod: 48Mi}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: shared}
spec:
  driver: shared.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - name: all
    allowMultipleAllocations: true
    capacity: {threads: {value: "32"}}
    nodeAllocatableResources:
      cpu: {mapping: {capacityKey: threads, capacityMultiplier: 500m}}
---
)";

std::string CpuPod(std::string_view name, std::string_view cpu) {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default, uid: uid-{0}}}
spec:
  containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{1}"}}}}}}]
---
)",
                     name, cpu);
}

// A pod with a claim of its own name, which its container uses.
std::string ClaimPod(std::string_view name, std::string_view cpu, std::string_view pod_level = "") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default, uid: uid-{0}}}
spec:
  resourceClaims: [{{name: d, resourceClaimName: {0}}}]
  containers:
  - {{name: c, image: i, resources: {{requests: {{cpu: "{1}"}}, claims: [{{name: d}}]}}}}
{2}
---
)",
                     name, cpu, pod_level);
}

class NodeAllocatableTest : public ::testing::Test {
 protected:
  NodeAllocatableTest() { scene_.Load(kNode); }
  std::string Schedule(const std::string& yaml, std::string_view pod) {
    scene_.Load(yaml);
    return scene_.Schedule(pod);
  }
  std::int64_t RequestedCpu() { return scene_.Node("n1").requested.milli_cpu; }

  Scene scene_{On()};
};

TEST_F(NodeAllocatableTest, WhatADeviceStandsForIsTakenFromTheNode) {
  EXPECT_EQ(Schedule(ClaimYaml("a", 1, "cores") + ClaimPod("a", "1"), "a"), "bound to n1");
  EXPECT_EQ(RequestedCpu(), 4000);
  const auto pod = scene_.Find<api::Pod>("a");
  ASSERT_TRUE(pod->status.node_allocatable_resource_claim_statuses);
  ASSERT_THAT(*pod->status.node_allocatable_resource_claim_statuses, SizeIs(1));
  const auto& status = pod->status.node_allocatable_resource_claim_statuses->front();
  EXPECT_EQ(status.resource_claim_name, "a");
  EXPECT_THAT(status.containers, ElementsAre("c"));
  ASSERT_THAT(status.mapping, SizeIs(1));
  EXPECT_EQ(status.mapping[0].name, "cpu");
  EXPECT_EQ(*status.mapping[0].quantity, ToQuantity("3"));
}

TEST_F(NodeAllocatableTest, PodsAndDevicesShareOneLedger) {
  EXPECT_EQ(Schedule(ClaimYaml("a", 2, "cores") + ClaimPod("a", "1"), "a"), "bound to n1");
  // 7 of 8 are taken: by what the first asked for, and by two groups of cores.
  EXPECT_EQ(Schedule(ClaimYaml("b", 1, "cores") + ClaimPod("b", "100m"), "b"),
            "Filter unschedulable: Insufficient cpu; PostFilter unschedulable");
  // Nothing can ever make room for all four groups.
  EXPECT_EQ(Schedule(ClaimYaml("c", 4, "cores") + ClaimPod("c", "100m"), "c"),
            "Filter unresolvable: cannot allocate all claims; PostFilter unschedulable");
  scene_.Delete(KindOf<api::Pod>(), "a");
  EXPECT_EQ(RequestedCpu(), 0);
  scene_.Change(
      "a", [](api::ResourceClaim& claim) { claim.metadata.finalizers.clear(); }, false);
  scene_.Delete(KindOf<api::ResourceClaim>(), "a");
  EXPECT_EQ(scene_.Schedule("b"), "bound to n1");
  EXPECT_EQ(scene_.Schedule("c"),
            "Filter unresolvable: cannot allocate all claims; PostFilter unschedulable");
}

TEST_F(NodeAllocatableTest, ADeviceThatIsLargerThanTheNodeIsNotHelpedByRemovingPods) {
  EXPECT_EQ(Schedule(ClaimYaml("a", 3, "cores") + ClaimPod("a", "100m"), "a"),
            "Filter unresolvable: Insufficient cpu; PostFilter unschedulable");
}

TEST_F(NodeAllocatableTest, WithItsGateOffNothingIsCounted) {
  Scene off;
  off.Load(kNode);
  off.Load(ClaimYaml("a", 4, "cores") + ClaimPod("a", "1"));
  EXPECT_EQ(off.Schedule("a"), "bound to n1");
  EXPECT_EQ(off.Node("n1").requested.milli_cpu, 1000);
  EXPECT_FALSE(off.Find<api::Pod>("a")->status.node_allocatable_resource_claim_statuses);
}

TEST_F(NodeAllocatableTest, AnAmountOfACapacityStandsForItsShare) {
  const std::string claim = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: default}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: shared
        allocationMode: ExactCount
        count: 1
        capacity: {requests: {threads: "5"}}
---
)";
  EXPECT_EQ(Schedule(claim + ClaimPod("a", "1"), "a"), "bound to n1");
  EXPECT_EQ(RequestedCpu(), 3500);
}

TEST_F(NodeAllocatableTest, OverheadIsForThePodAndForEachContainerThatUsesTheClaim) {
  EXPECT_EQ(Schedule(ClaimYaml("a", 1, "gpu") + R"(
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default, uid: uid-a}
spec:
  resourceClaims: [{name: d, resourceClaimName: a}]
  initContainers:
  - {name: i, image: i, resources: {claims: [{name: d}]}}
  containers:
  - {name: c, image: i, resources: {claims: [{name: d, request: r}, {name: d}]}}
  - {name: other, image: i}
)",
                     "a"),
            "bound to n1");
  EXPECT_EQ(scene_.Node("n1").requested.memory, std::int64_t{2} * 1024 * 1024 * 1024);
  const auto pod = scene_.Find<api::Pod>("a");
  EXPECT_THAT(pod->status.node_allocatable_resource_claim_statuses->front().containers,
              ElementsAre("i", "c"));
}

TEST_F(NodeAllocatableTest, HugePagesCountToo) {
  const std::string pages = R"(
apiVersion: v1
kind: Pod
metadata: {name: pages, namespace: default, uid: uid-pages}
spec:
  nodeName: n1
  containers:
  - {name: c, image: i, resources: {requests: {hugepages-2Mi: 32Mi, cpu: 100m}, limits: {hugepages-2Mi: 32Mi}}}
---
)";
  EXPECT_EQ(Schedule(pages + ClaimYaml("a", 1, "gpu") + ClaimPod("a", "1"), "a"),
            "Filter unschedulable: Insufficient hugepages-2Mi; PostFilter unschedulable");
}

TEST_F(NodeAllocatableTest, AClaimThatIsPartOfTheNodeIsForOnePod) {
  EXPECT_EQ(Schedule(ClaimYaml("a", 1, "cores") + ClaimPod("a", "1"), "a"), "bound to n1");
  EXPECT_EQ(Schedule(PodYaml("b", {"a"}), "b"),
            "Filter unresolvable: node allocatable resource claim a has a mapped device and cannot "
            "be shared across pods; PostFilter unschedulable");
  // What a device needs beside itself does not stand in the way of sharing it.
  EXPECT_EQ(Schedule(ClaimYaml("g", 1, "gpu") + ClaimPod("g", "100m"), "g"), "bound to n1");
  EXPECT_EQ(Schedule(PodYaml("h", {"g"}), "h"),
            "Filter unschedulable: Insufficient hugepages-2Mi; PostFilter unschedulable");
}

TEST_F(NodeAllocatableTest, WhatIsSetForThePodAsAWholeHasToCoverItsDevices) {
  EXPECT_EQ(
      Schedule(
          ClaimYaml("a", 1, "cores") +
              ClaimPod("a", "1", "  resources: {requests: {cpu: \"3\"}, limits: {cpu: \"8\"}}"),
          "a"),
      "Filter unresolvable: pod level request for cpu is insufficient to cover the aggregated "
      "container and node-allocatable DRA requests; PostFilter unschedulable");
  EXPECT_EQ(Schedule(ClaimYaml("b", 1, "cores") +
                         ClaimPod("b", "1",
                                  "  resources: {requests: {cpu: \"4\"}, limits: {cpu: \"8\"}}"),
                     "b"),
            "bound to n1");
  EXPECT_EQ(RequestedCpu(), 4000);
}

TEST_F(NodeAllocatableTest, ExtendedResourcesAreNotServedByThem) {
  EXPECT_EQ(Schedule(GpuPodYaml("p", 1), "p"),
            "Filter unresolvable: devices that take part of the node's cpu or memory cannot serve "
            "extended resources; PostFilter unschedulable");
}

TEST_F(NodeAllocatableTest, WhatWasTakenIsGivenBackWhenThePodIsNotBound) {
  scene_.Load(ClaimYaml("a", 1, "cores") + ClaimPod("a", "1"));
  Cycle cycle = scene_.Start("a");
  ASSERT_EQ(scene_.PreFilter(cycle), "ok");
  ASSERT_EQ(scene_.Filter(cycle, "n1"), "ok");
  ASSERT_EQ(scene_.Reserve(cycle, "n1"), "ok");
  scene_.world_.Assume(cycle.pod, scene_.Node("n1"));
  EXPECT_EQ(RequestedCpu(), 4000);
  // News of the pod meanwhile change nothing about what it is about to take.
  api::Pod changed = *scene_.Find<api::Pod>("a");
  changed.metadata.labels["x"] = "y";
  ASSERT_TRUE(scene_.cluster_.Update(api::Object::Of(changed)).ok());
  scene_.Sync();
  EXPECT_EQ(RequestedCpu(), 4000);
  ASSERT_EQ(scene_.PreBind(cycle, "n1"), "ok");
  scene_.Unreserve(cycle);
  scene_.world_.Forget(cycle.pod->key);
  scene_.Sync();
  EXPECT_EQ(RequestedCpu(), 0);
  const auto pod = scene_.Find<api::Pod>("a");
  EXPECT_TRUE(
      pod->status.node_allocatable_resource_claim_statuses.value_or(World::NodeAllocatable{})
          .empty());
}

// Counted once the pod has a node, and not before: what an attempt has left behind is nothing.
TEST_F(NodeAllocatableTest, AStatusThatIsLeftOverIsWrittenAnew) {
  scene_.Load(ClaimYaml("a", 1, "gpu") + ClaimPod("a", "1"));
  api::Pod changed = *scene_.Find<api::Pod>("a");
  changed.status.node_allocatable_resource_claim_statuses = World::NodeAllocatable{
      {.resource_claim_name = "a", .mapping = {{.name = "cpu", .quantity = ToQuantity("100")}}}};
  ASSERT_TRUE(scene_.cluster_.UpdateStatus(api::Object::Of(changed)).ok());
  scene_.Sync();
  EXPECT_EQ(scene_.Schedule("a"), "bound to n1");
  EXPECT_EQ(RequestedCpu(), 1000);
}

TEST_F(NodeAllocatableTest, RoomOnANodeWakesWhoWaitsForIt) {
  EXPECT_EQ(Schedule(CpuPod("big", "7"), "big"), "PreFilter skip");
  api::Pod bound = *scene_.Find<api::Pod>("big");
  ASSERT_TRUE(scene_.cluster_.Bind("default", "big", bound.metadata.uid, "n1").ok());
  scene_.Sync();
  EXPECT_EQ(Schedule(ClaimYaml("a", 1, "cores") + ClaimPod("a", "1"), "a"),
            "Filter unschedulable: Insufficient cpu; PostFilter unschedulable");
  const auto waiting = scene_.Pod("a");
  const auto before = scene_.cluster_.Stored(KindOf<api::Pod>(), "default", "big");
  ASSERT_TRUE(scene_.cluster_.Delete(KindOf<api::Pod>(), "default", "big").ok());
  Hint hint = Hint::kSkip;
  scene_.Sync(
      [&](const api::Change& change) { hint = scene_.plugin_->Wake(*waiting, change, &*before); });
  EXPECT_EQ(hint, Hint::kQueue);

  api::Node node = *scene_.Find<api::Node>("n1");
  const auto old = api::Object::Of(node);
  node.status.allocatable["cpu"] = ToQuantity("16");
  ASSERT_TRUE(scene_.cluster_.UpdateStatus(api::Object::Of(node)).ok());
  hint = Hint::kSkip;
  scene_.Sync(
      [&](const api::Change& change) { hint = scene_.plugin_->Wake(*waiting, change, &old); });
  EXPECT_EQ(hint, Hint::kQueue);
}

TEST(NodeAllocatableProduct, IsExactUpToABillionth) {
  const auto product = [](std::string_view a, std::string_view b) {
    return Product(ToQuantity(a), ToQuantity(b)).ToString();
  };
  EXPECT_EQ(product("5", "500m"), "2500m");
  EXPECT_EQ(product("64Gi", "1"), "64Gi");
  EXPECT_EQ(product("3", "1Mi"), "3145728");
  EXPECT_EQ(product("1Gi", "1500m"), "1536Mi");
  EXPECT_EQ(product("1m", "1n"), "1n");  // away from zero
  EXPECT_EQ(product("0", "7"), "0");
  EXPECT_EQ(product("8E", "8E"), "9223372036854775807");
}

}  // namespace
}  // namespace dray::scheduler::scenes

// SPDX-License-Identifier: Apache-2.0
#include "controllers/pool_status_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/memory_cluster.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "testing/objects_from.h"

namespace dray::controllers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

api::FeatureGates Gates(bool on = true) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRAResourcePoolStatus, on);
  gates.Set(api::Gate::kDRAPartitionableDevicesType, on);
  return gates;
}

// Two GPUs of a node, one of them tainted; and a GPU that is cut into partitions, of which a half
// is in use.
constexpr std::string_view kPools = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: whole}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: whole, generation: 2, resourceSliceCount: 1}
  devices:
  - name: gpu-0
  - name: gpu-1
    taints: [{key: broken, effect: NoSchedule}]
  - name: gpu-2
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: stale}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: whole, generation: 1, resourceSliceCount: 1}
  devices: [{name: old-0}, {name: old-1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: parts, generation: 1, resourceSliceCount: 2}
  sharedCounters:
  - {name: gpu, counters: {memory: {value: 80Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: parts}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: parts, generation: 1, resourceSliceCount: 2}
  partitionTypeAttribute: gpu.example.com/profile
  devices:
  - name: full
    attributes: {profile: {string: Full}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 80Gi}}}]
  - name: half-0
    attributes: {profile: {string: Half}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 40Gi}}}]
  - name: half-1
    attributes: {profile: {string: Half}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 40Gi}}}]
  - name: quarter-0
    attributes: {profile: {string: Quarter}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 20Gi}}}]
  - name: quarter-1
    attributes: {profile: {string: Quarter}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 20Gi}}}]
  - name: quarter-2
    attributes: {profile: {string: Quarter}}
    consumesCounters: [{counterSet: gpu, counters: {memory: {value: 20Gi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  allNodes: true
  pool: {name: nics, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: nic-0, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10G}}}
  - {name: nic-1, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10G}}}
  - {name: nic-2, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10G}}}
---
)";

std::string Claim(std::string_view name, std::string_view result) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default}}
spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: c}}}}]}}}}
status: {{allocation: {{devices: {{results: [{{request: r, {1}}}]}}}}}}
---
)",
                     name, result);
}

std::string Request(std::string_view name, std::string_view spec) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata: {{name: {}}}
spec: {}
---
)",
                     name, spec);
}

class PoolStatusTest : public ::testing::Test {
 protected:
  explicit PoolStatusTest(api::FeatureGates gates = Gates())
      : cluster_(clock_, random_, {.gates = gates}),
        controller_(std::make_unique<PoolStatusController>(cluster_, clock_, gates)) {}

  void Load(const std::string& yaml) {
    const Status loaded = cluster_.Load(dray::testing::ObjectsFrom(yaml));
    DRAY_CHECK(loaded.ok(), base::Message(loaded));
    controller_->Sync();
  }
  std::optional<api::ResourcePoolStatusRequest> Find(std::string_view name) {
    const auto found = cluster_.Stored(KindOf<api::ResourcePoolStatusRequest>(), "", name);
    if (!found) return std::nullopt;
    return *found->As<api::ResourcePoolStatusRequest>();
  }
  // The pools of an answer as JSON, or "open".
  std::string Answer(std::string_view name) {
    const auto request = Find(name);
    if (!request || !request->status) return "open";
    std::string text = fmt::format("{}:", *request->status->pool_count);
    for (const api::PoolStatus& pool : request->status->pools) text += api::EncodeJson(pool);
    return text;
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_;
  std::unique_ptr<PoolStatusController> controller_;
};

TEST_F(PoolStatusTest, CountsWhatAPoolHasAndWhatIsLeft) {
  Load(std::string(kPools) + Claim("a", "driver: gpu.example.com, pool: whole, device: gpu-0") +
       Claim("looks-on", "driver: gpu.example.com, pool: whole, device: gpu-2, adminAccess: true") +
       Claim("gone", "driver: gpu.example.com, pool: whole, device: old-0"));
  Load(Request("q", "{driver: gpu.example.com, poolName: whole}"));
  EXPECT_EQ(Answer("q"),
            R"(1:{"driver":"gpu.example.com","poolName":"whole","nodeName":"node-1",)"
            R"("totalDevices":3,"allocatedDevices":1,"availableDevices":1,"unavailableDevices":1,)"
            R"("resourceSliceCount":1,"generation":2})");
  const auto request = Find("q");
  ASSERT_THAT(request->status->conditions, SizeIs(1));
  EXPECT_EQ(request->status->conditions[0].type, "Complete");
  EXPECT_EQ(request->status->conditions[0].message, "Calculated status for 1 pools");
}

TEST_F(PoolStatusTest, ATaintOfARuleCountsAsOneOfTheSlice) {
  Load(std::string(kPools) + R"(
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: all}
spec:
  deviceSelector: {pool: whole}
  taint: {key: maintenance, effect: NoExecute}
---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: nothing}
spec:
  taint: {key: maintenance, effect: NoExecute}
---
)" + Request("q", "{driver: gpu.example.com}"));
  const auto request = Find("q");
  ASSERT_THAT(request->status->pools, SizeIs(2));
  EXPECT_EQ(request->status->pools[0].unavailable_devices, 0);  // parts
  EXPECT_EQ(request->status->pools[1].unavailable_devices, 3);
}

TEST_F(PoolStatusTest, SaysHowManyPartitionsOfEachTypeStillFit) {
  Load(std::string(kPools) + Claim("a", "driver: gpu.example.com, pool: parts, device: half-0"));
  Load(Request("q", "{driver: gpu.example.com, poolName: parts}"));
  EXPECT_THAT(
      Answer("q"),
      HasSubstr(
          R"("partitionSummary":[{"type":"Full","total":1,"allocatable":0,"attribute":"gpu.example.com/profile"},)"
          R"({"type":"Half","total":2,"allocatable":1,"attribute":"gpu.example.com/profile"},)"
          R"({"type":"Quarter","total":3,"allocatable":2,"attribute":"gpu.example.com/profile"}])"));
}

TEST_F(PoolStatusTest, SaysHowMuchOfSharedCapacityIsLeft) {
  Load(std::string(kPools) +
       Claim("a",
             "driver: nic.example.com, pool: nics, device: nic-0, consumedCapacity: "
             "{bandwidth: 4G}, shareID: 00000000-0000-4000-8000-000000000001") +
       Claim("b",
             "driver: nic.example.com, pool: nics, device: nic-1, consumedCapacity: "
             "{bandwidth: 10G}, shareID: 00000000-0000-4000-8000-000000000002"));
  Load(Request("q", "{driver: nic.example.com}"));
  EXPECT_THAT(Answer("q"),
              HasSubstr(R"("shareableSummary":{"fullyAvailableDevices":1,)"
                        R"("partiallyAvailableDevices":1,"capacity":[{"name":"bandwidth",)"
                        R"("total":"30G","consumed":"14G","available":"16G"}]})"));
}

TEST_F(PoolStatusTest, APoolThatIsBeingPublishedIsWaitedForAndThenTold) {
  const std::string first = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: one}
spec:
  driver: d.example.com
  allNodes: true
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  devices: [{name: a}]
---
)";
  Load(first + Request("q", "{driver: d.example.com}") + Request("r", "{driver: d.example.com}"));
  EXPECT_EQ(Answer("q"), "open");
  clock_.Advance(31s);
  controller_->Sync();
  EXPECT_EQ(Answer("q"),
            R"(1:{"driver":"d.example.com","poolName":"p","generation":1,"validationError":)"
            R"("PoolIncomplete: pool d.example.com/p is incomplete: observed 1/2 slices at )"
            R"(generation 1"})");
  Load(Request("s", "{driver: d.example.com}"));
  EXPECT_EQ(Answer("s"), "open");
  Load(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: two}
spec:
  driver: d.example.com
  allNodes: true
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  devices: [{name: b}]
)");
  EXPECT_THAT(Answer("s"), HasSubstr(R"("totalDevices":2)"));
}

TEST_F(PoolStatusTest, AnAnswerHasTheFirstPoolsByNameAndSaysHowManyThereAre) {
  std::string slices;
  for (const std::string_view pool : {"c", "a", "b"}) {
    slices += fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {0}}}
spec:
  driver: d.example.com
  allNodes: true
  pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}
  devices: []
---
)",
                          pool);
  }
  Load(slices + Request("q", "{driver: d.example.com, limit: 2}") +
       Request("none", "{driver: other.example.com}"));
  const auto request = Find("q");
  EXPECT_EQ(request->status->pool_count, 3);
  ASSERT_THAT(request->status->pools, SizeIs(2));
  EXPECT_EQ(request->status->pools[0].pool_name, "a");
  EXPECT_EQ(request->status->pools[1].pool_name, "b");
  EXPECT_EQ(Answer("none"), "0:");
}

TEST_F(PoolStatusTest, WhatWasAnsweredStaysAndGoesAfterAnHour) {
  Load(std::string(kPools) + Request("q", "{driver: gpu.example.com}"));
  const std::string answer = Answer("q");
  Load(Claim("a", "driver: gpu.example.com, pool: whole, device: gpu-0"));
  EXPECT_EQ(Answer("q"), answer);
  // Nobody changes it, and nobody changes the question.
  api::ResourcePoolStatusRequest request = *Find("q");
  request.status->pool_count = 7;
  EXPECT_FALSE(cluster_.UpdateStatus(api::Object::Of(request)).ok());
  request = *Find("q");
  request.spec.driver = "other.example.com";
  EXPECT_FALSE(cluster_.Update(api::Object::Of(request)).ok());
  clock_.Advance(61min);
  controller_->Sync();
  EXPECT_FALSE(Find("q"));
}

TEST_F(PoolStatusTest, PartitionsThatCostDifferentlyAreAnErrorOfThePool) {
  Load(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: d.example.com
  allNodes: true
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: s, counters: {c: {value: "10"}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: d.example.com
  allNodes: true
  pool: {name: p, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: a, attributes: {t: {string: x}}, consumesCounters: [{counterSet: s, counters: {c: {value: "1"}}}]}
  - {name: b, attributes: {t: {string: x}}, consumesCounters: [{counterSet: s, counters: {c: {value: "2"}}}]}
---
)" + Request("q", "{driver: d.example.com, defaultPartitionTypeAttribute: d.example.com/t}") +
       Request("r", "{driver: d.example.com, defaultPartitionTypeAttribute: d.example.com/u}") +
       Request("s", "{driver: d.example.com}"));
  EXPECT_THAT(Answer("q"), HasSubstr("PartitionCostMismatch: devices of partition type"));
  EXPECT_THAT(Answer("q"), HasSubstr(R"("totalDevices":2)"));
  EXPECT_THAT(Answer("r"), HasSubstr("PartitionTypeMissing: device"));
  EXPECT_EQ(Answer("s").find("validationError"), std::string::npos);
}

class PoolStatusOffTest : public PoolStatusTest {
 protected:
  PoolStatusOffTest() : PoolStatusTest(Gates(false)) {}
};

TEST_F(PoolStatusOffTest, WithItsGateOffNobodyCanAsk) {
  const auto objects = dray::testing::ObjectsFrom(Request("q", "{driver: d.example.com}"));
  const auto created = cluster_.Create(objects.front());
  EXPECT_THAT(std::string(base::Message(created.status())),
              HasSubstr("needs the feature gate DRAResourcePoolStatus"));
}

}  // namespace
}  // namespace dray::controllers

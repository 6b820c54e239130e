// SPDX-License-Identifier: Apache-2.0
//
// Utilisation and fragmentation of small clusters, by hand.
#include "simulator/meter.h"

#include <string>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "simulator/simulation.h"

namespace dray::simulator {
namespace {

// One node whose devices are `devices`; `count` pods with a claim for `request`.
Result RunOn(std::string_view devices, int count, std::string_view request) {
  const std::string text = fmt::format(R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster:
  nodeGroups:
  - name: node
    drivers:
    - driver: gpu.example.com
{}
  objects:
  - template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {{name: gpu}}
      spec: {{selectors: [{{cel: {{expression: device.driver == "gpu.example.com"}}}}]}}
  - template:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {{name: gpus}}
      spec: {{spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu{}}}}}]}}}}}}
workloads:
- name: w
  count: {}
  template: {{spec: {{resourceClaims: [{{name: d, resourceClaimTemplateName: gpus}}], containers: [{{resources: {{claims: [{{name: d}}]}}}}]}}}}
)",
                                       devices, request, count);
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(text, faults);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  if (!scenario) return {};
  const auto result = Simulate(*scenario, {}, {});
  EXPECT_TRUE(result.ok());
  return result.ok() ? *result : Result{};
}

constexpr std::string_view kPartitions =
    R"(      sharedCounters: [{template: {name: set, counters: {memory: {value: 8Gi}}}}]
      devices:
      - {template: {name: all, consumesCounters: [{counterSet: set, counters: {memory: {value: 8Gi}}}]}}
      - {count: 4, template: {name: "part-${index}", consumesCounters: [{counterSet: set, counters: {memory: {value: 2Gi}}}]}})";

TEST(Meter, PartitionsOfADeviceThatIsTakenWholeAreBlockedNotFree) {
  const Result result = RunOn(kPartitions, 1, "");
  ASSERT_EQ(result.pods.placed, 1);  // the first device: all of it
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 5, .blocked = 4, .used = kWholeDevice}));
  EXPECT_EQ(result.classes[0].end.Utilisation(), 1);
}

TEST(Meter, AWholeDeviceIsBlockedOnceAPartOfItIsTaken) {
  const Result result = RunOn(kPartitions, 1, ", count: 3");
  ASSERT_EQ(result.pods.placed, 1);
  // Three of four parts. The fourth is free, and of no use to a request for three.
  EXPECT_EQ(result.classes[0].end,
            (ClassUse{.devices = 5, .blocked = 1, .used = 3 * kWholeDevice, .free = kWholeDevice}));
  EXPECT_EQ(result.classes[0].end.Fragmentation(), 1);
}

constexpr std::string_view kShared = R"(      devices:
      - count: 2
        template:
          name: "link-${index}"
          allowMultipleAllocations: true
          capacity: {bandwidth: {value: 10G, requestPolicy: {default: 1G, validRange: {min: 1G, step: 1G}}}})";

TEST(Meter, ASharedDeviceIsUsedAsFarAsItsCapacityIs) {
  const Result result = RunOn(kShared, 1, ", capacity: {requests: {bandwidth: 4G}}");
  ASSERT_EQ(result.pods.placed, 1);
  // 6G are left of the first, 10G of the other: both could serve another request for 4G.
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 2,
                                             .used = kWholeDevice * 4 / 10,
                                             .free = kWholeDevice * 16 / 10,
                                             .servable = kWholeDevice * 16 / 10}));
  EXPECT_DOUBLE_EQ(result.classes[0].end.Utilisation(), 0.2);
  EXPECT_DOUBLE_EQ(result.classes[0].end.Fragmentation(), 0);
}

TEST(Meter, WhatIsLeftOfADeviceIsOfNoUseWhenItIsLessThanAnybodyAsksFor) {
  const Result result = RunOn(kShared, 1, ", capacity: {requests: {bandwidth: 7G}}");
  ASSERT_EQ(result.pods.placed, 1);
  // 3G of the first are too little for another 7G; all of the other are not.
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 2,
                                             .used = kWholeDevice * 7 / 10,
                                             .free = kWholeDevice * 13 / 10,
                                             .servable = kWholeDevice}));
}

// Most pods ask for one device, one in four for four: two free devices are of use to the former.
TEST(Meter, FragmentationIsExpectedOverAllThatIsAskedFor) {
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster:
  nodeGroups:
  - name: node
    allocatable: {cpu: "8"}
    drivers: [{driver: gpu.example.com, devices: [{count: 5, template: {name: "d-${index}"}}]}]
  objects:
  - template: {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}
workloads:
- name: small
  count: 3
  template: {spec: {containers: [{resources: {requests: {cpu: "1"}, limits: {example.com/gpu: "1"}}}]}}
- name: large
  count: 1
  arrival: {start: 1m}
  template: {spec: {containers: [{resources: {limits: {example.com/gpu: "4"}}}]}}
)",
                                                        faults);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  ASSERT_TRUE(scenario);
  const auto result = Simulate(*scenario, {}, {});
  ASSERT_TRUE(result.ok());
  const ClassUse& end = result->classes[0].end;
  EXPECT_EQ(end.free, 2 * kWholeDevice);
  EXPECT_EQ(end.servable, 2 * kWholeDevice * 3 / 4);
  EXPECT_DOUBLE_EQ(end.Fragmentation(), 0.25);
}

// Devices of a node whose cpu is gone are of no use to pods that need some.
TEST(Meter, DevicesAreStrandedWhereCpuIsGone) {
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster:
  nodeGroups:
  - name: node
    allocatable: {cpu: "2"}
    drivers: [{driver: gpu.example.com, devices: [{count: 4, template: {name: "d-${index}"}}]}]
  objects:
  - template: {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}
workloads:
- name: w
  count: 3
  template: {spec: {containers: [{resources: {requests: {cpu: "1"}, limits: {example.com/gpu: "1"}}}]}}
)",
                                                        faults);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  ASSERT_TRUE(scenario);
  const auto result = Simulate(*scenario, {}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->classes[0].end.free, 2 * kWholeDevice);
  EXPECT_DOUBLE_EQ(result->classes[0].end.Fragmentation(), 1);
}

TEST(Meter, TaintedDevicesAreBlocked) {
  const Result result = RunOn(
      "      devices: [{count: 3, template: {name: \"d-${index}\", taints: [{key: a, effect: "
      "NoSchedule}]}}]",
      1, "");
  EXPECT_EQ(result.pods.refused, 1);
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 3, .blocked = 3}));
}

}  // namespace
}  // namespace dray::simulator

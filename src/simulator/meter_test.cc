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
  // 6G are left of the first, 10G of the other: of these one and two times 4G are of use.
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 2,
                                             .used = kWholeDevice * 4 / 10,
                                             .free = kWholeDevice * 16 / 10,
                                             .servable = kWholeDevice * 12 / 10}));
  EXPECT_DOUBLE_EQ(result.classes[0].end.Utilisation(), 0.2);
  EXPECT_DOUBLE_EQ(result.classes[0].end.Fragmentation(), 0.25);
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

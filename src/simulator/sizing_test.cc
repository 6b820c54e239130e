// SPDX-License-Identifier: Apache-2.0
#include "simulator/sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "simulator/cluster_builder.h"
#include "simulator/simulation.h"

namespace dray::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// So many nodes of two devices, and so many pods that ask for `devices` each and stay.
Scenario ScenarioOf(int nodes, int pods, int devices) {
  std::vector<Fault> faults;
  auto scenario = ReadScenario(fmt::format(R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster:
  nodeGroups:
  - name: gpu
    count: {}
    drivers:
    - driver: gpu.example.com
      devices:
      - count: 2
        template: {{name: "gpu-${{index}}"}}
  - {{name: plain, count: 1}}
  objects:
  - template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {{name: gpu}}
  - template:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {{name: gpus}}
      spec: {{spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, count: {}}}}}]}}}}}}
workloads:
- name: work
  count: {}
  template: {{spec: {{resourceClaims: [{{name: d, resourceClaimTemplateName: gpus}}], containers: [{{}}]}}}}
)",
                                           nodes, devices, pods),
                               faults);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  return scenario ? *std::move(scenario) : Scenario();
}

StatusOr<Result> RunIt(const Scenario& scenario) { return Simulate(scenario, {}, {}); }

StatusOr<Sizing> Grow(int nodes, int pods, int devices, std::int64_t most = 1000) {
  return FindEnoughNodes(ScenarioOf(nodes, pods, devices), "gpu", most, RunIt);
}

// Counted by hand: pods over pods per node, rounded up.
TEST(Sizing, FindsTheLeastNumberAndShowsThatOneFewerIsTooFew) {
  for (const int given : {0, 1, 3, 7, 40}) {
    for (const int pods : {1, 2, 7, 13}) {
      const auto sizing = Grow(given, pods, 1);
      ASSERT_TRUE(sizing.ok()) << base::Message(sizing.status());
      const int want = (pods + 1) / 2;
      EXPECT_EQ(sizing->enough, want) << given << " " << pods;
      ASSERT_NE(sizing->Find(want), nullptr);
      EXPECT_TRUE(sizing->Find(want)->fits());
      ASSERT_NE(sizing->Find(want - 1), nullptr);
      EXPECT_FALSE(sizing->Find(want - 1)->fits());
    }
  }
}

TEST(Sizing, SaysSoWhenNoNumberHelps) {
  const auto sizing = Grow(1, 3, 4);  // four devices on nodes of two
  ASSERT_TRUE(sizing.ok());
  EXPECT_FALSE(sizing->enough);
  EXPECT_THAT(ToText(*sizing), AllOf(HasSubstr("No number of nodes of group gpu is enough"),
                                     HasSubstr("3 pods are still without a node")));
  EXPECT_THAT(ToJson(*sizing), HasSubstr("\"fits\": false"));
}

TEST(Sizing, StopsAtTheLimit) {
  const auto sizing = Grow(1, 20, 1, /*most=*/4);
  ASSERT_TRUE(sizing.ok());
  EXPECT_FALSE(sizing->enough);
  EXPECT_EQ(sizing->runs.back().nodes, 4);
}

TEST(Sizing, TellsOfItsRuns) {
  const auto sizing = Grow(2, 9, 1);
  ASSERT_TRUE(sizing.ok());
  EXPECT_THAT(
      ToText(*sizing),
      AllOf(HasSubstr("5 nodes of group gpu are enough; with 4 of them, 1 pod is without a node at "
                      "the end; the scenario has 2.\n"),
            HasSubstr("cannot allocate all claims")));
  EXPECT_THAT(ToJson(*sizing), AllOf(HasSubstr("\"enough\": 5"), HasSubstr("\"given\": 2")));
}

TEST(Sizing, AGroupThatIsNotThereIsAnError) {
  const auto sizing = FindEnoughNodes(ScenarioOf(1, 1, 1), "gpux", 10, RunIt);
  EXPECT_EQ(sizing.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace dray::simulator

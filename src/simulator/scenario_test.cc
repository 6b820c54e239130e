// SPDX-License-Identifier: Apache-2.0
#include "simulator/scenario.h"

#include <string>

#include "gtest/gtest.h"

namespace dray::simulator {
namespace {

constexpr std::string_view kScenario = R"(apiVersion: dray/v1alpha1
kind: Scenario
seed: 5
duration: 10m
policy: best-fit
featureGates: {DRADerivedAttributes: true}
cluster:
  nodeGroups:
  - name: big
    count: 3
    labels: {zone: "z${node % 2}"}
    drivers:
    - driver: gpu.example.com
      devices:
      - count: 2
        template: {name: "gpu-${index}"}
  objects:
  - count: 2
    template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {name: "gpu-${index}"}
workloads:
- name: work
  count: 10
  arrival: {perSecond: 4, distribution: poisson}
  lifetime: {mean: 30s, distribution: exponential}
  template: {spec: {containers: [{name: c}]}}
churn:
- {every: 1m, lasting: 2m, remove: true}
failures:
  nodes: [{every: 5m, lasting: 1m, nodeGroup: big}]
  writes: {probability: 0.25}
)";

TEST(Scenario, IsReadAsItIsWritten) {
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(kScenario, faults);
  ASSERT_TRUE(scenario) << (faults.empty() ? "" : ToString(faults.front()));
  EXPECT_EQ(scenario->seed, 5u);
  EXPECT_EQ(scenario->duration, std::chrono::minutes(10));
  EXPECT_EQ(scenario->policy, allocator::Policy::kBestFit);
  EXPECT_EQ(scenario->feature_gates, "DRADerivedAttributes=true");
  ASSERT_EQ(scenario->node_groups.size(), 1u);
  EXPECT_EQ(scenario->node_groups[0].count, 3);
  EXPECT_EQ(scenario->node_groups[0].drivers[0].devices[0].count, 2);
  EXPECT_EQ(scenario->objects[0].count, 2);
  ASSERT_EQ(scenario->workloads.size(), 1u);
  EXPECT_EQ(scenario->workloads[0].arrival->mean, std::chrono::milliseconds(250));
  EXPECT_TRUE(scenario->workloads[0].arrival->random);
  EXPECT_EQ(scenario->workloads[0].lifetime->mean, std::chrono::seconds(30));
  EXPECT_TRUE(scenario->churn[0].remove);
  EXPECT_EQ(scenario->node_failures[0].node_group, "big");
  EXPECT_EQ(scenario->failing_writes, 0.25);
}

// A slip: `from` in the scenario above becomes `to`.
struct Slip {
  std::string name;
  std::string from;
  std::string to;
  std::string fault;  // all of them, one a line
  friend void PrintTo(const Slip& s, std::ostream* os) { *os << s.name; }
};
class SlipTest : public ::testing::TestWithParam<Slip> {};

TEST_P(SlipTest, IsReportedWithItsPlaceAndWhatWouldBeRight) {
  std::string text(kScenario);
  const std::size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  std::vector<Fault> faults;
  EXPECT_FALSE(ReadScenario(text, faults));
  std::string texts;
  for (const Fault& fault : faults) texts += (texts.empty() ? "" : "\n") + ToString(fault);
  EXPECT_EQ(texts, GetParam().fault);
}

INSTANTIATE_TEST_SUITE_P(
    All, SlipTest,
    ::testing::ValuesIn(std::vector<Slip>{
        {"version", "dray/v1alpha1", "dray/v2",
         "1:1: apiVersion: \"dray/v2\": must be dray/v1alpha1"},
        {"kind", "Scenario", "Scene", "2:1: kind: \"Scene\": must be Scenario"},
        {"unknown_field", "policy:", "polcy:", "5:1: polcy: unknown field (did you mean policy?)"},
        {"wrong_type", "count: 3", "count: three",
         "10:12: cluster.nodeGroups[0].count: expected an integer, got the string \"three\""},
        {"seed", "seed: 5", "seed: -1", "3:1: seed: -1: must be from 0 to 4611686018427387904"},
        {"duration", "10m", "10 minutes",
         "4:1: duration: \"10 minutes\": must be a duration up to a year, for example 90s or "
         "1h30m"},
        {"no_duration", "duration: 10m\n", "",
         "1:1: duration: must be set, because churn has no end"},
        {"policy", "best-fit", "worst-fit",
         "5:1: policy: \"worst-fit\": must be first-fit or best-fit or fragmentation"},
        {"group_name", "name: big", "name: Big",
         "9:5: cluster.nodeGroups[0].name: \"Big\": must be at most 40 lower-case letters, digits "
         "and '-', and begin and end with a letter or digit\n"
         "32:36: failures.nodes[0].nodeGroup: \"big\": must be the name of a node group (did you "
         "mean Big?)"},
        {"node_count", "count: 3", "count: 1000001",
         "10:5: cluster.nodeGroups[0].count: 1000001: must be from 0 to 1000000"},
        {"label_variable", "z${node % 2}", "z${index}",
         "11:20: cluster.nodeGroups[0].labels: \"${index}\": unknown name \"index\"; available "
         "here: node"},
        {"driver", "- driver: gpu.example.com", "- driver: \"\"",
         "13:7: cluster.nodeGroups[0].drivers[0].driver: must be set, as in driver: "
         "gpu.example.com"},
        {"device_field", "{name: \"gpu-${index}\"}", "{nam: x}",
         "16:20: cluster.nodeGroups[0].drivers[0].devices[0].template.nam: unknown field (did you "
         "mean name?)"},
        {"object_kind", "kind: DeviceClass", "kind: DeviceClas",
         "21:13: cluster.objects[0].template: no kind \"DeviceClas\" in version "
         "\"resource.k8s.io/v1\" (did you mean DeviceClass?)"},
        {"workload_name", "name: work", "name: \"\"", "24:3: workloads[0].name: must be set"},
        {"rate", "perSecond: 4", "perSecond: 0",
         "26:13: workloads[0].arrival.perSecond: \"0\": must be above 0 and at most 1000000"},
        {"arrival_distribution", "poisson", "normal",
         "26:27: workloads[0].arrival.distribution: \"normal\": must be fixed or poisson"},
        {"lifetime", "mean: 30s", "mean: 0s",
         "27:14: workloads[0].lifetime.mean: \"0s\": must be longer than 0s"},
        {"lifetime_distribution", "exponential", "poisson",
         "27:25: workloads[0].lifetime.distribution: \"poisson\": must be fixed or exponential"},
        {"pod", "{spec:", "{specs:",
         "28:14: workloads[0].template.specs: unknown field (did you mean spec?)"},
        {"churn_of_nothing", ", remove: true", "",
         "30:3: churn[0]: must have one of remove: true, taint and attributes"},
        {"churn_every", "every: 1m, ", "",
         "30:3: churn[0].every: must be set, for example 90s or 1h30m"},
        {"churn_driver", "remove: true", "remove: true, driver: nic.example.com",
         "30:42: churn[0].driver: \"nic.example.com\": must be a driver of a node group"},
        {"failing_group", "nodeGroup: big", "nodeGroup: bigg",
         "32:36: failures.nodes[0].nodeGroup: \"bigg\": must be the name of a node group (did you "
         "mean big?)"},
        {"probability", "0.25", "1.5",
         "33:12: failures.writes.probability: \"1.5\": must be from 0 to 1"},
        {"always", "0.25", "1",
         "33:12: failures.writes.probability: \"1\": must be below 1, since otherwise no write "
         "would ever succeed"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Scenario, AWrongKindIsToldWithTheRest) {
  std::vector<Fault> faults;
  EXPECT_FALSE(
      ReadScenario("apiVersion: other/v1\nkind: Scene\ncluster: {nodez: 3}\n", faults).has_value());
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].field, "apiVersion");
  EXPECT_EQ(faults[1].field, "kind");
  EXPECT_EQ(faults[2].field, "cluster.nodez");
}

TEST(Scenario, ATextThatIsNoScenarioIsRefused) {
  for (const std::string_view text : {"", "[]", "a: 1\n---\nb: 2", "a: [", "kind: Scenario"}) {
    std::vector<Fault> faults;
    EXPECT_FALSE(ReadScenario(text, faults)) << text;
    EXPECT_FALSE(faults.empty()) << text;
  }
}

}  // namespace
}  // namespace dray::simulator

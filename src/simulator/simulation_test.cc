// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulation.h"

#include <set>
#include <string>
#include <utility>

#include "api/cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/cluster_builder.h"

namespace dray::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Four nodes of two devices; `more` is what comes and goes.
std::string Text(std::string_view more) {
  return fmt::format(R"(apiVersion: dray/v1alpha1
kind: Scenario
title: a test & more
cluster:
  nodeGroups:
  - name: node
    count: 4
    drivers:
    - driver: gpu.example.com
      devices:
      - count: 2
        template: {{name: "gpu-${{index}}"}}
  objects:
  - template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {{name: gpu}}
      spec: {{selectors: [{{cel: {{expression: device.driver == "gpu.example.com"}}}}]}}
  - count: 2
    template:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {{name: "gpus-${{index + 1}}"}}
      spec:
        spec:
          devices:
            requests: [{{name: gpu, exactly: {{deviceClassName: gpu, count: "${{index + 1}}"}}}}]
{})",
                     more);
}

// A pod that asks for so many devices.
std::string Pods(int devices) {
  return fmt::format(
      "  template: {{spec: {{resourceClaims: [{{name: d, resourceClaimTemplateName: gpus-{}}}], "
      "containers: [{{resources: {{claims: [{{name: d}}]}}}}]}}}}\n",
      devices);
}

Result RunText(const std::string& text, SimulationOptions options = {},
               std::vector<api::Object> dump = {}) {
  std::vector<Fault> faults;
  const std::optional<Scenario> scenario = ReadScenario(text, faults);
  if (scenario) faults = ClusterBuilder(*scenario).Check(options.gates);
  for (const Fault& fault : faults) ADD_FAILURE() << ToString(fault);
  if (!scenario) return {};
  const auto result = Simulate(*scenario, std::move(dump), options);
  EXPECT_TRUE(result.ok()) << base::Message(result.status());
  return result.ok() ? *result : Result{};
}

std::size_t AllocatedClaims(const api::MemoryCluster& cluster) {
  std::size_t allocated = 0;
  for (const api::Object& object :
       cluster.All(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()))) {
    if (object.As<api::ResourceClaim>()->status.allocation) ++allocated;
  }
  return allocated;
}

TEST(Simulate, PodsThatFitArePlacedAndTheOthersAreTold) {
  const Result result = RunText(Text("workloads:\n- name: w\n  count: 10\n" + Pods(1)));
  EXPECT_EQ(result.nodes, 4);
  EXPECT_EQ(result.devices, 8);
  EXPECT_EQ(result.pods, (PodCounts{.created = 10, .placed = 8, .running = 8, .refused = 2}));
  ASSERT_EQ(result.classes.size(), 1u);
  EXPECT_EQ(result.classes[0].end, (ClassUse{.devices = 8, .used = 8 * kWholeDevice}));
  EXPECT_EQ(result.classes[0].end.Utilisation(), 1);
  ASSERT_FALSE(result.reasons.empty());
  EXPECT_EQ(result.reasons[0].plugin, "DynamicResources");
  EXPECT_EQ(result.reasons[0].pods, 2);
  EXPECT_GT(result.allocator_steps, 0u);
}

TEST(Simulate, AnAttemptTakesTime) {
  const Result result = RunText(Text("workloads:\n- name: w\n  count: 4\n" + Pods(1)));
  EXPECT_EQ(result.waiting.max, std::chrono::milliseconds(3));
  EXPECT_EQ(result.simulated, std::chrono::milliseconds(4));
}

TEST(Simulate, DevicesOfDepartedPodsComeBack) {
  std::size_t allocated = 1;
  const Result result =
      RunText(Text("workloads:\n- name: w\n  count: 40\n  lifetime: {mean: 10s}\n" + Pods(1)),
              {.inspect = [&](const api::MemoryCluster& cluster) {
                allocated = AllocatedClaims(cluster);
              }});
  EXPECT_EQ(result.pods, (PodCounts{.created = 40, .placed = 40, .departed = 40}));
  EXPECT_EQ(allocated, 0u);
  EXPECT_EQ(result.classes[0].end.used, 0);
  EXPECT_EQ(result.classes[0].peak_utilisation, 1);
  EXPECT_GE(result.waiting.max, std::chrono::seconds(40));
}

TEST(Simulate, ArrivalsAreSpreadAsTheRateSays) {
  const Result result =
      RunText(Text("workloads:\n- name: w\n  count: 5\n  arrival: {start: 1s, "
                   "perSecond: 2}\n" +
                   Pods(1)));
  EXPECT_EQ(result.pods.placed, 5);
  EXPECT_EQ(result.simulated, std::chrono::milliseconds(3501));
  EXPECT_EQ(result.waiting.max, Duration(0));
}

TEST(Simulate, WarmUpFillsAndIsNotCounted) {
  const Result result =
      RunText(Text("workloads:\n- name: before\n  warmUp: {deviceClass: gpu, utilisation: 0.75}\n" +
                   Pods(1) + "- name: w\n  count: 3\n" + Pods(1)));
  EXPECT_EQ(result.pods,
            (PodCounts{.warm_up = 6, .created = 3, .placed = 2, .running = 8, .refused = 1}));
  EXPECT_EQ(result.samples.front().classes[0].Utilisation(), 0.75);
  EXPECT_EQ(result.groups[0].placed, 2);
}

// One device is left on each node: of use to those that want one, not to those that want two.
TEST(Simulate, FragmentationIsWhatIsFreeAndOfNoUse) {
  const std::string one_each =
      "  template: {spec: {resourceClaims: [{name: d, resourceClaimTemplateName: gpus-1}], "
      "containers: [{resources: {claims: [{name: d}]}}], affinity: {podAntiAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, "
      "labelSelector: {matchLabels: {a: b}}}]}}}, metadata: {labels: {a: b}}}\n";
  const Result result = RunText(Text("workloads:\n- name: a\n  count: 4\n" + one_each +
                                     "- name: w\n  count: 5\n  arrival: {start: 1s}\n" + Pods(2)));
  EXPECT_EQ(result.pods.placed, 4);
  EXPECT_EQ(result.classes[0].typical_count, 2);
  EXPECT_EQ(result.classes[0].end.free, 4 * kWholeDevice);
  EXPECT_NEAR(result.classes[0].end.Fragmentation(), 5.0 / 9, 1e-6);
  EXPECT_EQ(result.samples.front().classes[0].Fragmentation(), 0);
}

// Eight devices are free, two per node; most pods want one, those that wait want more than a node
// has: none of it is of use to them, and so it is for three of eight that come.
TEST(Simulate, FragmentationIsForThoseThatWait) {
  const std::string text = Text(
      "  - template:\n      apiVersion: resource.k8s.io/v1\n      kind: "
      "ResourceClaimTemplate\n      metadata: {name: gpus-3}\n      spec: {spec: {devices: "
      "{requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 3}}]}}}\n"
      "workloads:\n- name: small\n  count: 5\n  lifetime: {mean: 1s}\n" +
      Pods(1) + "- name: large\n  count: 3\n  arrival: {start: 20s}\n" + Pods(3));
  const Result result = RunText(text);
  EXPECT_EQ(result.pods.refused, 3);
  EXPECT_EQ(result.classes[0].typical_count, 1);
  EXPECT_DOUBLE_EQ(result.classes[0].end.Fragmentation(), 3.0 / 8);
  EXPECT_EQ(result.classes[0].waiting_count, 3);
  EXPECT_EQ(result.classes[0].waiting_fragmentation, 1);
  EXPECT_THAT(ToText(result), AllOf(HasSubstr("UNUSABLE FOR PENDING PODS"), HasSubstr("100.0%")));
}

TEST(Simulate, ThoseThatStillWaitCountAmongTheWaiting) {
  const Result result =
      RunText(Text("duration: 1h\nworkloads:\n- name: fits\n  count: 8\n" + Pods(1) +
                   "- name: waits\n  count: 2\n  arrival: {start: 1m}\n" + Pods(1)));
  EXPECT_EQ(result.still_waiting, 2);
  EXPECT_EQ(result.waiting.count, 10);
  EXPECT_GE(result.waiting.max, std::chrono::minutes(58));
  ASSERT_EQ(result.workloads.size(), 2u);
  EXPECT_EQ(result.workloads[0].name, "fits");
  EXPECT_EQ(result.workloads[0].placed, 8);
  EXPECT_EQ(result.workloads[0].waiting, 0);
  EXPECT_EQ(result.workloads[1].created, 2);
  EXPECT_EQ(result.workloads[1].waiting, 2);
  EXPECT_GE(result.workloads[1].times.p50, std::chrono::minutes(58));
  EXPECT_THAT(ToText(result), HasSubstr("waiting (simulated, 2 still pending)"));
  EXPECT_THAT(ToText(result), HasSubstr("WORKLOAD   ASKED   PLACED   STILL WAITING"));
}

TEST(Simulate, AReasonNamesTheClass) {
  const Result result = RunText(Text("workloads:\n- name: w\n  count: 10\n" + Pods(1)));
  ASSERT_FALSE(result.reasons.empty());
  EXPECT_EQ(result.reasons[0].text, "cannot allocate all claims: devices of class gpu");
  EXPECT_EQ(result.reasons[0].code, "cannot_allocate_claims");
}

TEST(Simulate, RemovedDevicesComeBackAndAreUsed) {
  const std::string text =
      Text("duration: 1m\nworkloads:\n- name: w\n  count: 8\n  arrival: {start: 11s}\n" + Pods(1) +
           "churn:\n- {every: 10s, devices: 2, lasting: 5s, remove: true}\n");
  const Result result = RunText(text);
  EXPECT_EQ(result.device_changes, 10);
  EXPECT_EQ(result.pods.placed, 8);
  EXPECT_GE(result.waiting.max, std::chrono::seconds(4));
}

TEST(Simulate, ANodeThatDiesTakesItsPodsAndTheyComeAgain) {
  const std::string text = Text("duration: 30s\nworkloads:\n- name: w\n  count: 8\n" + Pods(1) +
                                "failures:\n  nodes: [{every: 20s, lasting: 5s}]\n");
  std::size_t allocated = 0;
  const Result result = RunText(
      text, {.inspect = [&](const api::MemoryCluster& c) { allocated = AllocatedClaims(c); }});
  EXPECT_EQ(result.node_failures, 1);
  EXPECT_EQ(result.pods, (PodCounts{.created = 10, .placed = 10, .lost = 2, .running = 8}));
  EXPECT_EQ(allocated, 8u);
}

TEST(Simulate, FailingWritesDelayButLoseNothing) {
  const std::string text = Text("workloads:\n- name: w\n  count: 20\n  lifetime: {mean: 5s}\n" +
                                Pods(1) + "failures: {writes: {probability: 0.3}}\n");
  const Result result = RunText(text);
  EXPECT_GT(result.failed_writes, 0);
  EXPECT_EQ(result.pods.placed, 20);
  EXPECT_EQ(result.pods.departed, 20);
}

TEST(Simulate, TheSameSeedGivesTheSameAndAnotherAnother) {
  const std::string text = Text(
      "duration: 5m\nworkloads:\n- name: w\n  arrival: {perSecond: 1, distribution: poisson}\n"
      "  lifetime: {mean: 8s, distribution: exponential}\n" +
      Pods(1) +
      "churn:\n- {every: 20s, distribution: poisson, lasting: 15s, remove: true}\n"
      "failures:\n  nodes: [{every: 1m, distribution: poisson, lasting: 20s}]\n"
      "  writes: {probability: 0.05}\n");
  const auto told = [&](std::uint64_t seed) { return ToJson(RunText(text, {.seed = seed})); };
  const std::string first = told(1);
  EXPECT_EQ(first, told(1));
  EXPECT_NE(first, told(2));
}

TEST(Simulate, ADumpIsRespected) {
  const Result empty = RunText(Text(""));
  EXPECT_EQ(empty.simulated, Duration(0));
  // What one run leaves behind is what another begins with.
  std::vector<api::Object> dump;
  RunText(Text("workloads:\n- name: w\n  count: 7\n" + Pods(1)),
          {.inspect = [&](const api::MemoryCluster& cluster) {
            dump.clear();
            std::set<const api::TypeInfo*> seen;
            for (const api::KindInfo& kind : api::Kinds()) {
              if (kind.kind == "Event" || !seen.insert(kind.hub).second) continue;
              for (const api::Object& object : cluster.All(kind)) dump.push_back(object);
            }
          }});
  const std::string text = R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster: {from: dump.yaml}
workloads:
- name: more
  count: 3
)" + Pods(1);
  const Result result = RunText(text, {}, dump);
  EXPECT_EQ(result.devices, 8);
  EXPECT_EQ(result.pods, (PodCounts{.created = 3, .placed = 1, .running = 8, .refused = 2}));
}

// Whoever answers to the name in the cluster of the dump.
TEST(Simulate, PodsOfADumpAreScheduledWhateverTheirSchedulerIsCalled) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  pod.spec.scheduler_name = "dray-scheduler";
  pod.spec.containers.push_back({.name = "main", .image = "image"});
  const Result result = RunText(Text(""), {}, {api::Object::Of(pod)});
  EXPECT_EQ(result.pods.placed, 1);
}

TEST(Simulate, MeasuresWhatItIsGivenAClockFor) {
  Duration ticks{0};
  const Result result =
      RunText(Text("workloads:\n- name: w\n  count: 4\n" + Pods(1)),
              {.processor_time = [&] { return ticks += std::chrono::microseconds(10); }});
  EXPECT_EQ(result.decisions.count, 4);
  EXPECT_EQ(result.decisions.p50, std::chrono::microseconds(10));
  EXPECT_GT(result.Throughput(), 0);
}

TEST(Report, IsOneFileThatNeedsNothingElse) {
  const Result result = RunText(Text("workloads:\n- name: w\n  count: 10\n" + Pods(1)));
  const std::string html = ToHtml(result);
  EXPECT_THAT(html, HasSubstr("<title>a test &amp; more - dray</title>"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  for (const char* chart : {"Utilisation", "Fragmentation", "Waiting", "Running", "Placements"}) {
    EXPECT_THAT(html, HasSubstr(fmt::format("<strong>{}</strong>", chart)));
  }
  for (const char* elsewhere : {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(elsewhere)));
  }
}

TEST(Report, TextIsTables) {
  const Result result = RunText(Text("workloads:\n- name: w\n  count: 10\n" + Pods(1)));
  EXPECT_EQ(ToText(result, {.measured = false}), R"(a test & more
4 nodes, 8 devices; 10ms simulated, seed 1, first-fit

CREATED   PLACED   REFUSED   PENDING   RUNNING   DEPARTED
10        8        2         0         8         0

TIME                                   P50   P90    P99    MAX
waiting (simulated, 2 still pending)   4ms   10ms   10ms   10ms

WORKLOAD   ASKED   PLACED   STILL WAITING   P50   P99
w          10      8        2               4ms   10ms

CLASS   DEVICES   USED   UTILISATION   MEAN    PEAK     FRAGMENTATION   MEAN   UNUSABLE FOR PENDING PODS
gpu     8         8      100.0%        50.0%   100.0%   0.0%            0.0%   0.0%

ATTEMPTS   PODS   PLUGIN             REASON
2          2      DynamicResources   cannot allocate all claims: devices of class gpu

10 attempts, 80 allocator steps
)");
}

}  // namespace
}  // namespace dray::simulator

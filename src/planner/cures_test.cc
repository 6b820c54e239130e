// SPDX-License-Identifier: Apache-2.0
#include "planner/cures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/plan_for_test.h"
#include "testing/slice_yaml.h"

namespace dray::planner {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Of the pod or claim called `name`.
Help HelpFor(std::string_view yaml, std::string_view name,
             const PlanOptions& options = DefaultOptions()) {
  const Plan plan = PlanOf(yaml, options);
  CureFinder finder(plan, options);
  for (const PodOutcome& pod : plan.pods) {
    if (pod.name == name && pod.explanation) return finder.For(pod);
  }
  for (const ClaimOutcome& claim : plan.claims) {
    if (claim.claim.name == name && claim.explanation) return finder.For(claim);
  }
  ADD_FAILURE() << name << " was not refused";
  return {};
}

std::vector<std::string> CuresFor(std::string_view yaml, std::string_view name) {
  std::vector<std::string> texts;
  for (const Cure& cure : HelpFor(yaml, name).cures) texts.push_back(cure.text);
  return texts;
}

const std::string kRunning = "  nodeName: n1\nstatus: {phase: Running}\n";

TEST(Cures, NameWhoHasToLeaveAndWhatANodeLacks) {
  const std::string yaml =
      NodeYaml("n1", 0) + PodYaml("big", "", "7") + PodYaml("here", kRunning, "2");
  EXPECT_THAT(CuresFor(yaml, "big"), ElementsAre("wait until pod here on node n1 ends",
                                                 "node n1 needs 1 more cpu", "add 1 node like n1"));
}

TEST(Cures, WhatDevicesTakeOfANodeIsPartOfWhatItLacks) {
  PlanOptions options = DefaultOptions();
  options.gates.Set(api::Gate::kDRANodeAllocatableResources, true);
  const std::string cores = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: cores}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: cores, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: g0, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "5"}}}}
  - {name: g1, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "5"}}}}
)";
  const std::string yaml = ClassYaml() + NodeYaml("n1", 0) + cores + ClaimYaml("a", 1) +
                           ClaimYaml("b", 1) + ClaimPodYaml("first", "a") +
                           ClaimPodYaml("second", "b");
  const Plan plan = PlanOf(yaml, options);
  EXPECT_EQ(plan.Count(State::kPlaced), 1U);
  const auto refused = std::ranges::find(plan.pods, State::kRefused, &PodOutcome::state);
  ASSERT_NE(refused, plan.pods.end());
  EXPECT_THAT(scheduler::EventMessage(*refused->explanation), HasSubstr("1 Insufficient cpu"));
  std::vector<std::string> texts;
  for (const Cure& cure : HelpFor(yaml, refused->name, options).cures) texts.push_back(cure.text);
  EXPECT_THAT(texts, Contains(HasSubstr("node n1 needs")));
}

// Not even an empty node is large enough: neither waiting nor another node helps.
TEST(Cures, WhatCannotHelpIsNotTold) {
  const std::string yaml =
      NodeYaml("n1", 0) + PodYaml("big", "", "9") + PodYaml("here", kRunning, "2");
  EXPECT_THAT(CuresFor(yaml, "big"), ElementsAre("node n1 needs 3 more cpu"));
}

TEST(Cures, AskingForLessIsTriedAndWaitingForTooFewIsNot) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 3) +
                           NodeYaml("never", 0) + GpuPodYaml("big", 4);
  const auto cures = CuresFor(yaml, "big");
  EXPECT_THAT(cures, Contains("let request gpu ask for 3 devices instead of 4"));
  EXPECT_THAT(cures, Each(Not(HasSubstr("wait"))));
  EXPECT_THAT(cures, Each(Not(HasSubstr("never"))));
}

// Waiting for everybody on the nearest node frees too little: that is told, with what is missing.
TEST(Cures, WhatIsNotEnoughIsToldWithHowFarItGets) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 3) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, namespace: default, uid: c, resourceVersion: "1"}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}
status:
  reservedFor: [{resource: pods, name: serving, uid: s}]
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: n1, device: gpu-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: serving, namespace: default, uid: s, resourceVersion: "1"}
spec: {nodeName: n1, containers: [{name: c, image: i}], resourceClaims: [{name: gpus, resourceClaimName: held}]}
status: {phase: Running}
)" + GpuPodYaml("waits", 4);
  const Help help = HelpFor(yaml, "waits");
  EXPECT_THAT(CuresFor(yaml, "waits"), Each(Not(HasSubstr("wait until"))));
  ASSERT_THAT(help.others, SizeIs(1));
  const Cure& wait = help.others.front();
  EXPECT_EQ(wait.kind, CureKind::kWaitFor);
  EXPECT_EQ(wait.verified, Verified::kInsufficient);
  EXPECT_EQ(wait.text, "wait until pod serving on node n1 ends, which has gpu-0");
  EXPECT_EQ(wait.still, "node n1 would still be short of 1 device of class gpu");
  EXPECT_EQ(wait.short_of, "1 device of class gpu");
  EXPECT_THAT(wait.pods, ElementsAre("default/serving"));
}

TEST(Cures, ExtendedResourcesAreAskedForLess) {
  std::string yaml = ClassYaml() + NodeYaml("n1", 3);
  yaml.replace(yaml.find("  selectors:"), 12,
               "  extendedResourceName: example.com/gpu\n  selectors:");
  yaml += R"(---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default}
spec:
  containers: [{name: c, image: i, resources: {limits: {example.com/gpu: "4"}}}]
)";
  EXPECT_THAT(CuresFor(yaml, "waits"),
              Contains("let container c ask for 3 of example.com/gpu instead of 4"));
}

// Planned pods are no facts: they go first.
TEST(Cures, APodThatOnlyGoesFirstIsNotWaitedFor) {
  const std::string yaml =
      ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1) + GpuPodYaml("b", 1);
  EXPECT_THAT(CuresFor(yaml, "b"), Contains("schedule it before pod a, which would get gpu-0"));
}

TEST(Cures, AHolderThatHasToLeaveIsAPod) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 2) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, namespace: default, uid: c, resourceVersion: "1"}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}
status:
  reservedFor: [{resource: pods, name: serving, uid: s}]
  allocation:
    devices: {results: [{request: gpu, driver: gpu.example.com, pool: n1, device: gpu-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
)" + ClaimPodYaml("serving", "held", kRunning) +
                           GpuPodYaml("waits", 2);
  std::string with_uid = yaml;
  with_uid.replace(with_uid.find("{name: serving, namespace"), 15, "{name: serving, uid: s,");
  const PlanOptions options = DefaultOptions();
  const Plan plan = PlanOf(with_uid, options);
  CureFinder finder(plan, options);
  for (const PodOutcome& pod : plan.pods) {
    if (pod.name != "waits") continue;
    ASSERT_TRUE(pod.explanation.has_value());
    EXPECT_EQ(finder.For(pod).cures.front().text,
              "wait until pod serving on node n1 ends, which has gpu-0");
    EXPECT_THAT(scheduler::ToText(*pod.explanation), HasSubstr("1 in use"));
  }
}

TEST(Cures, TolerationsAndSelectorsOfRequests) {
  const std::string yaml = ClassYaml() + testing::SliceYaml(R"(
  devices:
  - name: gpu-0
    taints: [{key: example.com/broken, effect: NoSchedule}]
  - name: gpu-1
)") + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        selectors: [{cel: {expression: device.driver != ""}}, {cel: {expression: "'x' in device.attributes"}}]
)";
  const auto cures = CuresFor(yaml, "c");
  EXPECT_THAT(cures, Contains("remove the selector 'x' in device.attributes from request gpu"));
  EXPECT_THAT(cures, Each(Not(HasSubstr("example.com/broken"))));
}

TEST(Cures, TaintsAndNodeSelectorsOfThePod) {
  std::string yaml = NodeYaml("n1", 0) + PodYaml("a", "  nodeSelector: {disk: fast}\n");
  EXPECT_THAT(CuresFor(yaml, "a"),
              Contains("remove the pod's node selector and required node affinity"));
  yaml = NodeYaml("n1", 0) + PodYaml("a");
  yaml.replace(yaml.find("status:"), 7,
               "spec: {taints: [{key: only, value: gpu, effect: NoSchedule}]}\nstatus:");
  EXPECT_THAT(CuresFor(yaml, "a"), Contains("let the pod tolerate the taint only=gpu:NoSchedule"));
}

// Two things at once are one cure of the node.
TEST(Cures, OfANodeAreToldTogether) {
  std::string yaml = NodeYaml("n1", 0) + PodYaml("a", "", "9");
  yaml.replace(yaml.find("status:"), 7, "spec: {unschedulable: true}\nstatus:");
  EXPECT_THAT(CuresFor(yaml, "a"), ElementsAre("node n1 needs to be uncordoned, and 1 more cpu"));
  EXPECT_THAT(
      CuresFor(NodeYaml("n1", 0) + PodYaml("a", "  nodeSelector: {disk: fast}\n", "9"), "a"),
      ElementsAre(
          "node n1 needs 1 more cpu, and the pod must have no node selector and no required "
          "node affinity"));
}

// KEP-5075: a request policy names the amounts that there are.
TEST(Cures, AnAmountThatAPolicyForbidsBecomesOneThatItHas) {
  const auto cluster = [](std::string_view policy) {
    return ClassYaml() + NodeYaml("n1", 0) +
           testing::SliceYaml(fmt::format(R"(
  devices:
  - {{name: gpu-0, allowMultipleAllocations: true, capacity: {{memory: {{value: 10Gi, requestPolicy: {}}}}}}}
)",
                                          policy)) +
           R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, capacity: {requests: {memory: 8Gi}}}}]}}
)" + ClaimPodYaml("p", "c");
  };
  EXPECT_THAT(CuresFor(cluster("{default: 1Gi, validValues: [1Gi, 2Gi, 4Gi]}"), "p"),
              Contains("let request gpu ask for 4Gi of memory instead of 8Gi"));
  EXPECT_THAT(CuresFor(cluster("{default: 1Gi, validRange: {min: 1Gi, max: 5Gi, step: 1Gi}}"), "p"),
              Contains("let request gpu ask for 5Gi of memory instead of 8Gi"));
}

TEST(Cures, AMisspeltClassTemplateOrClaimIsGuessedAt) {
  const std::string cluster = ClassYaml() + NodeYaml("n1", 2) + ClaimYaml("good", 1);
  std::string misspelt = ClaimYaml("odd", 1);
  misspelt.replace(misspelt.find("deviceClassName: gpu"), 20, "deviceClassName: gpus");
  EXPECT_THAT(CuresFor(cluster + misspelt + ClaimPodYaml("a", "odd"), "a"),
              Contains("there is no DeviceClass \"gpus\": did you mean \"gpu\"?"));
  EXPECT_THAT(CuresFor(cluster + ClaimPodYaml("a", "goood"), "a"),
              Contains("there is no ResourceClaim \"goood\" in namespace \"default\": did you mean "
                       "\"good\"?"));
  EXPECT_THAT(
      CuresFor(cluster + PodYaml("a",
                                 "  resourceClaims: [{name: g, resourceClaimTemplateName: "
                                 "gpus-11}]\n"),
               "a"),
      Contains("there is no ResourceClaimTemplate \"gpus-11\" in namespace \"default\": did you "
               "mean \"gpus-1\"?"));
}

TEST(Cures, AGuessThatIsNotEnoughIsAHint) {
  std::string misspelt = ClaimYaml("odd", 3);
  misspelt.replace(misspelt.find("deviceClassName: gpu"), 20, "deviceClassName: gpus");
  const Help help =
      HelpFor(ClassYaml() + NodeYaml("n1", 2) + misspelt + ClaimPodYaml("a", "odd"), "a");
  EXPECT_THAT(help.cures, IsEmpty());
  EXPECT_THAT(help.hints, ElementsAre("there is no DeviceClass \"gpus\": did you mean \"gpu\"? "
                                      "That alone would not be enough"));
}

TEST(Cures, NothingComesToMindForAnotherScheduler) {
  EXPECT_THAT(CuresFor(NodeYaml("n1", 0) + PodYaml("a", "  schedulerName: other\n"), "a"),
              IsEmpty());
}

TEST(Cures, HaveAnEnd) {
  std::string yaml = ClassYaml() + GpuPodYaml("big", 4);
  for (int i = 0; i < 12; ++i) {
    const std::string node = fmt::format("n{}", i);
    const std::string claim = fmt::format("c{}", i);
    yaml += NodeYaml(node, 1) + ClaimYaml(claim, 1) + ClaimPodYaml(fmt::format("p{}", i), claim);
  }
  EXPECT_THAT(CuresFor(yaml, "big"), SizeIs(::testing::Le(kMaxCures)));
}

// The card is cut by somebody: that one has to leave, whatever other nodes have.
TEST(Cures, WhoHasPartitionedACardIsNamed) {
  const std::string yaml = R"(---
apiVersion: v1
kind: Node
metadata: {name: aaa}
status: {allocatable: {cpu: "8", pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: counters}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  sharedCounters: [{name: card, counters: {memory: {value: 80Gi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: parts}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 2}
  devices:
  - name: mig
    consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}, compatibilityGroups: [mig]}]
  - name: vgpu
    consumesCounters: [{counterSet: card, counters: {memory: {value: 40Gi}}, compatibilityGroups: [vgpu]}]
)" + ClaimYaml("mig", 1) + ClaimYaml("vgpu", 1) +
                           ClaimPodYaml("cuts", "mig") + ClaimPodYaml("waits", "vgpu");
  const auto cures = CuresFor(yaml, "waits");
  EXPECT_THAT(cures, Contains("schedule it before pod cuts, which would get mig"));
  EXPECT_THAT(cures, Each(Not(HasSubstr("aaa"))));
}

}  // namespace
}  // namespace dray::planner

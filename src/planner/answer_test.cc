// SPDX-License-Identifier: Apache-2.0
//
// Answers and causes of small plans.
#include "planner/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "allocator/explanation.h"
#include "api/json.h"
#include "fmt/format.h"
#include "planner/asked.h"
#include "planner/plan_for_test.h"
#include "planner/plan_json.h"
#include "testing/slice_yaml.h"

namespace dray::planner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Answer AnswerOf(std::string_view yaml, std::string_view pod) {
  const Plan plan = PlanOf(yaml);
  for (const PodOutcome& outcome : plan.pods) {
    if (outcome.name == pod && outcome.explanation) return AnswerFor(*outcome.explanation);
  }
  ADD_FAILURE() << pod << " is not pending";
  return {};
}

const std::string kRunning = "  nodeName: n1\nstatus: {phase: Running}\n";

// A claim that pod `pod` has with gpu-0 to gpu-(devices - 1) of node n1.
std::string HeldYaml(std::string_view name, std::string_view pod, int devices) {
  std::string results;
  for (int i = 0; i < devices; ++i) {
    results += fmt::format("{}{{request: gpu, driver: gpu.example.com, pool: n1, device: gpu-{}}}",
                           i == 0 ? "" : ", ", i);
  }
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default, uid: u-{0}, resourceVersion: "1"}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {2}}}}}]}}}}
status:
  reservedFor: [{{resource: pods, name: {1}, uid: p-{1}}}]
  allocation:
    devices: {{results: [{3}]}}
    nodeSelector: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [n1]}}]}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {1}, namespace: default, uid: p-{1}, resourceVersion: "1", creationTimestamp: "2026-05-28T17:26:40Z"}}
spec:
  priority: 100
  nodeName: n1
  containers: [{{name: c, image: i}}]
  resourceClaims: [{{name: gpus, resourceClaimName: {0}}}]
status: {{phase: Running}}
)",
                     name, pod, devices, results);
}

TEST(Answers, ARequestThatIsLargerThanAnyNodeIsSaidToBeSo) {
  const Answer answer =
      AnswerOf(ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 3) + GpuPodYaml("big", 4), "big");
  EXPECT_EQ(answer.sentence,
            "request gpu needs 4 devices of class gpu on one node, and no node has more than 3 "
            "(node n2)");
  EXPECT_EQ(answer.cause, "count_exceeds_node/gpu");
}

// The nic would be there again if its pod went; so many GPUs are nowhere. So it is the GPUs.
TEST(Answers, WhatNoNodeHasComesBeforeWhatIsInUse) {
  const std::string claims = R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec: {selectors: [{cel: {expression: device.driver == "nic.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: n1
  pool: {name: nics, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held-nic, namespace: default, uid: u-nic, resourceVersion: "1"}
spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nic, allocationMode: ExactCount, count: 1}}]}}
status:
  allocation:
    devices: {results: [{request: nic, driver: nic.example.com, pool: nics, device: nic-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: both, namespace: default}
spec:
  devices:
    requests:
    - {name: nic, exactly: {deviceClassName: nic, allocationMode: ExactCount, count: 1}}
    - {name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 16}}
)";
  const Answer answer =
      AnswerOf(ClassYaml() + NodeYaml("n1", 4) + claims + ClaimPodYaml("p", "both"), "p");
  EXPECT_EQ(answer.sentence,
            "request gpu needs 16 devices of class gpu on one node, and the only node, n1, has 4");
  EXPECT_EQ(answer.cause, "count_exceeds_node/gpu");
}

TEST(Answers, NoNodeHasTheClass) {
  const Answer answer =
      AnswerOf(ClassYaml() + NodeYaml("n1", 0) + NodeYaml("n2", 0) + GpuPodYaml("a", 1), "a");
  EXPECT_EQ(answer.sentence, "no node has devices of class gpu, which request gpu needs");
  EXPECT_EQ(answer.cause, "no_devices_of_class/gpu");
}

TEST(Answers, HoldersArePods) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 3) + NodeYaml("n2", 1) +
                           HeldYaml("held", "serving", 2) + GpuPodYaml("waits", 2);
  const Answer answer = AnswerOf(yaml, "waits");
  EXPECT_EQ(answer.sentence,
            "node n1, the nearest fit, has 1 usable of the 2 devices of class gpu that request gpu "
            "needs: 2 are in use by pod serving");
  EXPECT_EQ(answer.cause, "devices_in_use/gpu");
  // The details say more of them.
  const Plan plan = PlanOf(yaml);
  bool told = false;
  for (const PodOutcome& pod : plan.pods) {
    if (!pod.explanation) continue;
    told = true;
    EXPECT_THAT(allocator::ToText(*pod.explanation->closest->reasons.front().devices),
                HasSubstr("by pod serving (claim held, for 3h, priority 100)"));
  }
  EXPECT_TRUE(told);
}

TEST(Answers, WhatIsOnlyPlannedIsNoFact) {
  const std::string yaml =
      ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1) + GpuPodYaml("b", 1);
  const Answer answer = AnswerOf(yaml, "b");
  EXPECT_THAT(answer.sentence,
              AllOf(HasSubstr("1 would go first to pod a"), Not(HasSubstr("in use"))));
  EXPECT_EQ(answer.cause, "devices_go_first/gpu");
}

TEST(Answers, SelectorsAndTaintsAreQuoted) {
  const std::string slice = testing::SliceYaml(R"(
  devices:
  - {name: gpu-0, attributes: {model: {string: A}}}
  - {name: gpu-1, attributes: {model: {string: B}}, taints: [{key: example.com/hot, effect: NoSchedule}]}
)");
  const std::string claim = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "B"'}}]
)";
  const Answer answer =
      AnswerOf(ClassYaml() + NodeYaml("n1", 0) + slice + claim + ClaimPodYaml("p", "c"), "p");
  EXPECT_THAT(
      answer.sentence,
      AllOf(HasSubstr("the only node, n1, has no usable device of class gpu for request gpu"),
            HasSubstr("1 does not match the selector device.attributes"),
            HasSubstr("1 has the taint example.com/hot:NoSchedule")));
  EXPECT_EQ(answer.cause, "device_taint/gpu");
}

// Three are of another model, one is in use: with that one it would fit, so it is not the model. Where
// two are asked for, it is.
TEST(Answers, TheCauseIsWhatWouldHaveToChange) {
  const std::string slice = testing::SliceYaml(R"(
  devices:
  - {name: gpu-0, attributes: {model: {string: B}}}
  - {name: gpu-1, attributes: {model: {string: A}}}
  - {name: gpu-2, attributes: {model: {string: A}}}
  - {name: gpu-3, attributes: {model: {string: A}}}
)");
  for (const auto& [count, cause] :
       {std::pair(1, "devices_in_use/gpu"), {2, "selector_false/gpu"}}) {
    const std::string claim = fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c, namespace: default}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        count: {}
        selectors: [{{cel: {{expression: 'device.attributes["gpu.example.com"].model == "B"'}}}}]
)",
                                          count);
    const Answer answer =
        AnswerOf(ClassYaml() + NodeYaml("n1", 0) + slice + HeldYaml("held", "holder", 1) + claim +
                     ClaimPodYaml("p", "c"),
                 "p");
    EXPECT_EQ(answer.cause, cause) << answer.sentence;
    EXPECT_THAT(answer.sentence,
                HasSubstr("1 is in use by pod holder, 3 do not match the selector"));
  }
}

TEST(Answers, OfNodesTheyAreAboutTheNearest) {
  EXPECT_EQ(AnswerOf(NodeYaml("n1", 0) + PodYaml("big", "", "9"), "big").sentence,
            "it needs 9 cpu; the only node, n1, has 8 free");
  const Answer affinity = AnswerOf(
      NodeYaml("n1", 0) + NodeYaml("n2", 0) + PodYaml("p", "  nodeSelector: {disk: fast}\n"), "p");
  EXPECT_EQ(affinity.sentence,
            "the pod's node selector or node affinity matches none of the 2 nodes");
  EXPECT_EQ(affinity.cause, "node_affinity");
  EXPECT_EQ(AnswerOf(PodYaml("p"), "p").sentence, "there are no nodes");
}

TEST(Causes, GroupWhatWaitsForTheSame) {
  std::string yaml = ClassYaml() + NodeYaml("n1", 2) + PodYaml("cpu", "", "99");
  for (const char* name : {"a", "b", "c"}) yaml += GpuPodYaml(name, 4);
  const Plan plan = PlanOf(yaml);
  std::vector<const PodOutcome*> pods;
  for (const PodOutcome& pod : plan.pods) pods.push_back(&pod);
  const std::vector<Cause> causes = CausesOf(pods, {}, {});
  ASSERT_THAT(causes, SizeIs(2));
  EXPECT_EQ(causes[0].key, "count_exceeds_node/gpu");
  EXPECT_THAT(causes[0].pods, SizeIs(3));
  EXPECT_EQ(causes[1].key, "insufficient_resource/cpu");
}

TEST(Causes, WhoHasWaitedLongestIsFirst) {
  const auto since = [](const std::string& pod, std::string_view time) {
    std::string text = pod;
    constexpr std::string_view kName = "metadata: {";
    return text.replace(text.find(kName), kName.size(),
                        fmt::format("metadata: {{uid: u-{0}, creationTimestamp: \"{0}\", ", time));
  };
  const Plan plan =
      PlanOf(ClassYaml() + NodeYaml("n1", 2) + since(GpuPodYaml("a", 4), "2026-03-02T00:00:00Z") +
             since(GpuPodYaml("b", 4), "2026-03-01T00:00:00Z") +
             since(GpuPodYaml("c", 4), "2026-03-03T00:00:00Z"));
  const std::vector<Cause> causes = CausesOf(PendingIn(plan).pods, {}, {});
  ASSERT_THAT(causes, SizeIs(1));
  std::string names;
  for (const PodOutcome* pod : causes[0].pods) names += pod->name;
  EXPECT_EQ(names, "bac");
  EXPECT_EQ(causes[0].oldest->ToRfc3339(), "2026-03-01T00:00:00Z");
}

// Two hundred of the same: one cause.
TEST(Causes, TwoHundredEqualPodsAreOneCause) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 3) + DeploymentYaml("web", 203));
  std::vector<const PodOutcome*> pods;
  for (const PodOutcome& pod : plan.pods) pods.push_back(&pod);
  const std::vector<Cause> causes = CausesOf(pods, {}, {});
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_THAT(causes[0].pods, SizeIs(200));
}

TEST(PlanJson, HasTheFieldsThatPagesKnow) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 2) + GpuPodYaml("a", 1) +
                           GpuPodYaml("b", 4) + DeploymentYaml("web", 1));
  const PlanOptions options = DefaultOptions();
  CureFinder finder(plan, options);
  const std::string json = api::ToJson(ToJson(plan, {.finder = &finder}));
  EXPECT_THAT(
      json,
      AllOf(
          HasSubstr(R"("summary":{"existing":0,"placed":2,"waiting":0,"pending":1,)"),
          HasSubstr(R"("outcomes":[{"kind":"Pod","namespace":"default","name":"a",)"
                    R"("state":"Placed","planned":false,"node":"n1")"),
          HasSubstr(R"("planned":true)"), HasSubstr(R"("skipped":[])"),
          HasSubstr(
              R"("cures":[{"kind":"extend_node","text":"node n1 needs 4 more devices like gpu-0",)"
              R"("verified":"sufficient","node":"n1","newNode":false,"plan":)")));
}

}  // namespace
}  // namespace dray::planner

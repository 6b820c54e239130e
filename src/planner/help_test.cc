// SPDX-License-Identifier: Apache-2.0
#include "planner/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/plan_for_test.h"
#include "testing/slice_yaml.h"

namespace dray::planner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Of the pod or claim called `name`.
std::vector<std::string> HelpFor(std::string_view yaml, std::string_view name) {
  const Plan plan = PlanOf(yaml);
  for (const PodOutcome& pod : plan.pods) {
    if (pod.name == name && pod.explanation) return WhatWouldHelp(*pod.explanation);
  }
  for (const ClaimOutcome& claim : plan.claims) {
    if (claim.claim.name == name && claim.explanation) return WhatWouldHelp(*claim.explanation);
  }
  ADD_FAILURE() << name << " was not refused";
  return {};
}

TEST(Help, NamesTheSmallestChangeFirst) {
  const std::string yaml = NodeYaml("n1", 0) + NodeYaml("n2", 0) + PodYaml("big", "", "9") +
                           PodYaml("here", "  nodeName: n1\nstatus: {phase: Running}\n", "2");
  EXPECT_THAT(HelpFor(yaml, "big"), ElementsAre("node n2 with 1 more cpu"));
}

TEST(Help, NamesWhoHasTheDevices) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 2) + ClaimYaml("b", 1) +
                           ClaimPodYaml("b", "b") + GpuPodYaml("c", 2);
  EXPECT_THAT(HelpFor(yaml, "c"), ElementsAre("node n1 with 1 more device of class gpu",
                                              "1 device coming back from default/b"));
}

TEST(Help, NamesTolerationsAndSelectors) {
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
        selectors: [{cel: {expression: device.name == "gpu-0"}}]
)";
  const auto help = HelpFor(yaml, "c");
  EXPECT_THAT(help, Contains("request gpu tolerating example.com/broken:NoSchedule: 1 device"));
  EXPECT_THAT(help, Contains("request gpu with another selector than device.name == \"gpu-0\": "
                             "false for 1 device"));
}

TEST(Help, IsNotRepeatedAndHasAnEnd) {
  std::string yaml = ClassYaml() + GpuPodYaml("big", 4);
  for (int i = 0; i < 12; ++i) {
    const std::string node = fmt::format("n{}", i);
    const std::string claim = fmt::format("c{}", i);
    yaml += NodeYaml(node, 1) + ClaimYaml(claim, 1) + ClaimPodYaml(fmt::format("p{}", i), claim);
  }
  EXPECT_THAT(HelpFor(yaml, "big"), SizeIs(::testing::Le(kMaxHelp)));
}

TEST(Help, IsEmptyWhenNothingComesToMind) {
  EXPECT_THAT(HelpFor(PodYaml("a", "  schedulerName: other\n"), "a"), IsEmpty());
}

}  // namespace
}  // namespace dray::planner

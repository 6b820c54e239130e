// SPDX-License-Identifier: Apache-2.0
//
// A pod with four times the claims takes four times the work, from its templates to its devices.
#include <gtest/gtest.h>

#include <string>

#include "planner/plan_for_test.h"
#include "testing/scaling.h"

namespace dray::planner {
namespace {

// One device that any number of claims can share.
constexpr std::string_view kSharedDevice = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, allowMultipleAllocations: true}
)";

std::string PodWithClaims(int claims) {
  std::string text = R"(---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers:
  - {name: c, image: i}
  resourceClaims:
)";
  for (int i = 0; i < claims; ++i) {
    text += fmt::format("  - {{name: c{}, resourceClaimTemplateName: gpus-1}}\n", i);
  }
  return text;
}

TEST(Scaling, ClaimsOfOnePod) {
  const auto run = [](int claims) {
    const auto objects = testing::ObjectsFrom(ClassYaml() + NodeYaml("node", 0) +
                                              std::string(kSharedDevice) + PodWithClaims(claims));
    const double began = testing::ProcessorSeconds();
    const Plan plan = PlanOf(objects);
    const double took = testing::ProcessorSeconds() - began;
    EXPECT_EQ(plan.pods.at(0).node, "node");
    return took;
  };
  EXPECT_LT(testing::CostOfFourTimes(100, run), testing::kMoreThanProportional);
}

// Many writes for one object are no sign of writes without an end.
TEST(PlanEnds, APodWithThousandsOfClaimsIsPlaced) {
  const Plan plan = PlanOf(testing::ObjectsFrom(ClassYaml() + NodeYaml("node", 0) +
                                                std::string(kSharedDevice) + PodWithClaims(8000)));
  EXPECT_EQ(plan.pods.at(0).node, "node");
}

}  // namespace
}  // namespace dray::planner

// SPDX-License-Identifier: Apache-2.0
//
// Deployments, ReplicaSets and Jobs in plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/pod.h"
#include "api/workloads.h"
#include "planner/plan_for_test.h"

namespace dray::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string JobYaml(std::string_view name, int parallelism, std::string_view more = "") {
  return fmt::format(R"(---
apiVersion: batch/v1
kind: Job
metadata: {{name: {}, namespace: default}}
spec:
  parallelism: {}
{}  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]
)",
                     name, parallelism, more);
}

TEST(PlanWorkloads, ADeploymentGetsPodsAndTheyGetDevices) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 2) + DeploymentYaml("web", 3));
  ASSERT_THAT(plan.pods, SizeIs(3));
  EXPECT_EQ(plan.Count(State::kPlaced), 2U);
  EXPECT_EQ(plan.Count(State::kRefused), 1U);
  for (const PodOutcome& pod : plan.pods) {
    EXPECT_THAT(pod.name, StartsWith("web-"));
    EXPECT_THAT(pod.owners, ElementsAre(StartsWith("ReplicaSet/web-"), "Deployment/web"));
  }
}

TEST(PlanWorkloads, AJobGetsAsManyPodsAsRunAtOnce) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + JobYaml("once", 3, "  completions: 5\n"));
  EXPECT_THAT(plan.pods, SizeIs(3));
  EXPECT_EQ(plan.Count(State::kPlaced), 3U);
}

// Time goes by to look at what was refused once more; nobody's deadline is meant by that.
TEST(PlanWorkloads, ADeadlineDoesNotPassInAPlan) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + JobYaml("once", 9, "  activeDeadlineSeconds: 60\n"));
  EXPECT_THAT(plan.pods, SizeIs(9));
  EXPECT_EQ(plan.Count(State::kRefused), 1U);
}

TEST(PlanWorkloads, ADumpOfOneIsNotRolledOutAgain) {
  const Plan first = PlanOf(ClassYaml() + NodeYaml("n1", 2) + DeploymentYaml("web", 2));
  const Plan again = PlanOf(first.objects);
  EXPECT_THAT(again.notes, IsEmpty());
  EXPECT_EQ(Lines(again).size(), 2U);
  EXPECT_EQ(again.Count(State::kExisting), 2U);
  EXPECT_EQ(JsonOf(again.objects), JsonOf(first.objects));
}

// Their controllers are not run in a plan: better said than left to be missed.
TEST(PlanWorkloads, OfWorkloadsThatAPlanDoesNotMakePodsForItSaysSo) {
  const auto daemons = [](const std::string& name) {
    return "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: " + name +
           ", namespace: default}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n"
           "    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i}]}\n";
  };
  const Plan plan = PlanOf(NodeYaml("n1", 0) + daemons("d") + daemons("e"));
  EXPECT_THAT(plan.pods, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre("2 DaemonSets: a plan makes no pods for them; pods in the "
                                      "input count"));
}

// kubectl get deployments,replicasets -o yaml: their pods are on nodes that are not shown.
TEST(PlanWorkloads, ADumpWithoutItsPodsGetsNoOthers) {
  Plan first =
      PlanOf(ClassYaml() + NodeYaml("n1", 4) + DeploymentYaml("web", 2) + JobYaml("once", 1));
  std::erase_if(first.objects, [](const api::Object& o) { return o.As<api::Pod>() != nullptr; });
  const Plan again = PlanOf(first.objects);
  EXPECT_THAT(again.pods, IsEmpty());
  EXPECT_THAT(again.notes,
              ElementsAre(HasSubstr("ReplicaSet default/web-"),
                          "Deployment default/web: its status tells of pods that are not in the "
                          "input; no pods are made for it",
                          HasSubstr("Job default/once"), StartsWith("2 claims are for pods")));
  EXPECT_TRUE(std::ranges::any_of(again.objects, [](const api::Object& object) {
    return object.As<api::Deployment>() != nullptr;
  }));
  // Nor without its ReplicaSets.
  std::erase_if(first.objects,
                [](const api::Object& o) { return o.As<api::ReplicaSet>() != nullptr; });
  EXPECT_THAT(PlanOf(first.objects).pods, IsEmpty());
}

TEST(PlanWorkloads, MoreThanAPlanMakesIsAnError) {
  const auto plan =
      MakePlan(testing::ObjectsFrom(DeploymentYaml("web", 2'000'000'000)), DefaultOptions());
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(base::Message(plan.status())),
              HasSubstr("Deployment default/web: spec.replicas asks for 2000000000 more pods"));
}

}  // namespace
}  // namespace dray::planner

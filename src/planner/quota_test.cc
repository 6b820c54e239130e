// SPDX-License-Identifier: Apache-2.0
//
// Quota in plans, and plans that must end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "api/resource_quota.h"
#include "api/workloads.h"
#include "base/clock.h"
#include "controllers/replica_set_controller.h"
#include "planner/internal/rehearsal.h"
#include "planner/internal/write_guard.h"
#include "planner/plan_for_test.h"

namespace dray::planner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string QuotaYaml(std::string_view hard, std::string_view status = "") {
  return fmt::format(
      "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: few, namespace: default}}\n"
      "spec: {{hard: {{{}}}}}\n{}",
      hard, status);
}

const PodOutcome& PodOf(const Plan& plan, std::string_view name) {
  for (const PodOutcome& pod : plan.pods) {
    if (pod.name == name) return pod;
  }
  ADD_FAILURE() << "no pod " << name;
  return plan.pods.front();
}

TEST(PlanQuota, ADeploymentLacksThePodsThatNoQuotaHasRoomFor) {
  const Plan plan =
      PlanOf(ClassYaml() + NodeYaml("n1", 4) + DeploymentYaml("web", 3) + QuotaYaml("pods: \"2\""));
  EXPECT_THAT(plan.pods, SizeIs(2));
  EXPECT_EQ(plan.Count(State::kPlaced), 2U);
  ASSERT_THAT(plan.missing, SizeIs(1));
  EXPECT_EQ(plan.missing[0].owners.back(), "Deployment/web");
  EXPECT_EQ(plan.missing[0].wanted, 3);
  EXPECT_EQ(plan.missing[0].missing, 1);
  EXPECT_EQ(plan.missing[0].reason,
            "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2");
  EXPECT_FALSE(plan.Satisfied());
}

TEST(PlanQuota, APodSaysWhatItTakesOfWhatIsLimited) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + PodYaml("a") + QuotaYaml("limits.cpu: \"2\""));
  EXPECT_EQ(PodOf(plan, "a").state, State::kRefused);
  EXPECT_THAT(PodOf(plan, "a").explanation->before.front().text,
              HasSubstr("failed quota: few: must specify limits.cpu for: "));
}

TEST(PlanQuota, DevicesOfAClassAreCounted) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 4) + ClaimYaml("a", 2) + ClaimYaml("b", 2) +
                           QuotaYaml("gpu.deviceclass.resource.k8s.io/devices: \"3\""));
  ASSERT_THAT(plan.claims, SizeIs(2));
  EXPECT_EQ(plan.claims[0].state, State::kPlaced);
  EXPECT_EQ(plan.claims[1].state, State::kRefused);
  EXPECT_EQ(plan.claims[1].explanation->before.front().code, "exceeded_quota");
}

TEST(PlanQuota, APodThatSomebodyWroteIsRefusedLikeOneOfAWorkload) {
  const Plan plan =
      PlanOf(NodeYaml("n1", 0) + PodYaml("a") + PodYaml("b") + QuotaYaml("count/pods: \"1\""));
  EXPECT_EQ(PodOf(plan, "a").state, State::kPlaced);
  EXPECT_EQ(PodOf(plan, "b").state, State::kRefused);
  EXPECT_THAT(PodOf(plan, "b").explanation->before.front().text,
              HasSubstr("exceeded quota: few, requested: count/pods=1"));
}

// A dump need not hold all that a quota has counted.
TEST(PlanQuota, AStoredQuotaKnowsWhatIsUsed) {
  const std::string status = "status: {hard: {pods: \"2\"}, used: {pods: \"2\"}}\n";
  std::string yaml = QuotaYaml("pods: \"2\"", status);
  yaml.replace(yaml.find("name: few"), 9, "name: few, uid: q, resourceVersion: \"1\"");
  const Plan plan = PlanOf(NodeYaml("n1", 0) + PodYaml("a") + yaml);
  EXPECT_EQ(PodOf(plan, "a").state, State::kRefused);
}

TEST(PlanQuota, APlanOfAPlanCountsTheSame) {
  const Plan plan =
      PlanOf(ClassYaml() + NodeYaml("n1", 4) + DeploymentYaml("web", 3) + QuotaYaml("pods: \"2\""));
  const Plan again = PlanOf(plan.objects);
  EXPECT_EQ(JsonOf(again.objects), JsonOf(plan.objects));
  ASSERT_THAT(again.missing, SizeIs(1));
  EXPECT_EQ(again.missing[0].missing, 1);
}

std::string MismatchYaml(std::string_view kind) {
  return fmt::format(R"(---
apiVersion: apps/v1
kind: {}
metadata: {{name: d, namespace: default}}
spec:
  selector: {{matchLabels: {{app: x}}}}
  template:
    metadata: {{labels: {{app: other}}}}
    spec: {{containers: [{{name: c, image: x}}]}}
)",
                     kind);
}

TEST(PlanEnds, AWorkloadThatDoesNotSelectItsPodsIsNamed) {
  for (const std::string kind : {"Deployment", "ReplicaSet"}) {
    const auto plan =
        MakePlan(testing::ObjectsFrom(NodeYaml("n1", 0) + MismatchYaml(kind)), DefaultOptions());
    ASSERT_FALSE(plan.ok());
    EXPECT_THAT(std::string(base::Message(plan.status())),
                AllOf(HasSubstr(kind + " default/d"),
                      HasSubstr("`selector` does not match template `labels`")));
  }
}

// Whatever a controller is never satisfied by: its writes have an end, and the verdict its name.
TEST(PlanEnds, AControllerThatIsNeverSatisfiedComesToRest) {
  base::ManualClock clock(base::Time::FromUnix(1'780'000'000));
  base::SeededRandomSource random(1);
  internal::WriteGuard guard({}, clock.Now(), 500);
  api::MemoryCluster cluster(clock, random, {.validate = false});
  ASSERT_TRUE(cluster.Load(testing::ObjectsFrom(MismatchYaml("ReplicaSet"))).ok());
  guard.Watch(cluster);
  EXPECT_TRUE(guard.Verdict().ok());
  internal::Settle(internal::MakeControllers(cluster, clock, {}));
  EXPECT_THAT(std::string(base::Message(guard.Verdict())),
              AllOf(HasSubstr("ReplicaSet default/d can never be satisfied"),
                    HasSubstr("pods were created for it")));
  EXPECT_LE(cluster.All(api::HubKind(api::TypeInfoOf<api::Pod>())).size(), 500U);
}

// Names of what is planned depend on nothing but the workload: not on uids, resourceVersions, or
// what else is there.
TEST(PlannedNames, AreTheSameInEveryRun) {
  const auto names = [](const Plan& plan) {
    std::vector<std::string> list;
    for (const PodOutcome& pod : plan.pods) {
      if (!pod.owners.empty()) list.push_back(pod.name);
    }
    return list;
  };
  const std::string yaml = ClassYaml() + NodeYaml("n1", 4) + DeploymentYaml("web", 2);
  const auto first = names(PlanOf(yaml));
  EXPECT_THAT(first, SizeIs(2));
  std::string other = yaml + PodYaml("aaa");
  other.replace(other.find("name: n1,"), 9, "name: n1, resourceVersion: \"77\", uid: u,");
  EXPECT_EQ(names(PlanOf(other)), first);
}

TEST(PlannedPods, AreMarked) {
  const Plan plan =
      PlanOf(ClassYaml() + NodeYaml("n1", 4) + DeploymentYaml("web", 1) + PodYaml("a"));
  EXPECT_FALSE(PodOf(plan, "a").made);
  for (const PodOutcome& pod : plan.pods) EXPECT_EQ(pod.made, pod.name != "a");
}

}  // namespace
}  // namespace dray::planner

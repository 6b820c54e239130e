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

std::string TemplateYaml(std::string_view more = "") {
  return fmt::format(R"(  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      {}
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]
)",
                     more.empty() ? "restartPolicy: Always" : more);
}
std::string DaemonsYaml(std::string_view name, std::string_view more = "") {
  return fmt::format(
      "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: {}, namespace: default}}\n"
      "spec:\n{}",
      name, TemplateYaml(more));
}
std::string StatefulYaml(std::string_view name, int replicas) {
  return fmt::format(
      "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {}, namespace: default}}\n"
      "spec:\n  replicas: {}\n  serviceName: s\n{}",
      name, replicas, TemplateYaml());
}
std::string CronYaml(std::string_view name, bool suspend = false) {
  return fmt::format(R"(---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: {}, namespace: default}}
spec:
  schedule: "0 3 * * *"
  suspend: {}
  jobTemplate:
    spec:
      parallelism: 2
      template:
        spec:
          restartPolicy: Never
          containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1"}}}}}}]
)",
                     name, suspend);
}

TEST(PlanWorkloads, ADaemonSetGetsAPodOnEveryNodeThatItFits) {
  const std::string tainted = R"(---
apiVersion: v1
kind: Node
metadata: {name: n3}
spec: {taints: [{key: k, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 64Gi, pods: "110"}}
)";
  const Plan plan = PlanOf(NodeYaml("n1", 0) + NodeYaml("n2", 0) + tainted + DaemonsYaml("d"));
  ASSERT_THAT(plan.pods, SizeIs(2));
  EXPECT_EQ(plan.Count(State::kPlaced), 2U);
  EXPECT_NE(plan.pods[0].node, plan.pods[1].node);
  EXPECT_THAT(plan.pods[0].owners, ElementsAre("DaemonSet/d"));
  EXPECT_THAT(plan.notes, IsEmpty());
  const Plan again = PlanOf(plan.objects);
  EXPECT_EQ(again.Count(State::kExisting), 2U);
  EXPECT_EQ(JsonOf(again.objects), JsonOf(plan.objects));
}

TEST(PlanWorkloads, AStatefulSetGetsAllItsPodsThoughNothingBecomesReady) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + StatefulYaml("db", 3));
  ASSERT_THAT(plan.pods, SizeIs(3));
  EXPECT_EQ(plan.pods[0].name, "db-0");
  EXPECT_EQ(plan.pods[2].name, "db-2");
  EXPECT_EQ(plan.Count(State::kPlaced), 3U);
  const Plan again = PlanOf(plan.objects);
  EXPECT_EQ(JsonOf(again.objects), JsonOf(plan.objects));
}

TEST(PlanWorkloads, TheJobOfACronJobIsPlannedOnce) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + CronYaml("nightly") + CronYaml("paused", true));
  ASSERT_THAT(plan.pods, SizeIs(2));
  EXPECT_THAT(plan.pods[0].owners, ElementsAre(StartsWith("Job/nightly-"), "CronJob/nightly"));
  EXPECT_THAT(plan.notes, ElementsAre("1 CronJob: its job is planned once, as if it were due"));
  const Plan again = PlanOf(plan.objects);
  EXPECT_THAT(again.notes, IsEmpty());
  EXPECT_EQ(JsonOf(again.objects), JsonOf(plan.objects));
}

// A dump of Kubernetes has labels that Kubernetes made: nothing is replaced because of them.
TEST(PlanWorkloads, WhatIsThereOfOtherTemplatesStays) {
  Plan first = PlanOf(NodeYaml("n1", 0) + DaemonsYaml("d") + StatefulYaml("db", 2));
  for (api::Object& object : first.objects) {
    if (object.As<api::Pod>() == nullptr) continue;
    object.MutableMetadata().labels["controller-revision-hash"] = "of-another";
  }
  const Plan again = PlanOf(first.objects);
  EXPECT_EQ(again.Count(State::kExisting), 3U);
  EXPECT_THAT(again.pods, SizeIs(3));
}

TEST(PlanWorkloads, ADumpOfThemWithoutTheirPodsGetsNoOthers) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + R"(---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: default, uid: d}
spec:
)" + TemplateYaml() +
                           "status: {currentNumberScheduled: 1, desiredNumberScheduled: 1, "
                           "numberMisscheduled: 0, numberReady: 1}\n");
  EXPECT_THAT(plan.pods, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre("DaemonSet default/d: its status counts pods that are not in "
                                      "the input; no pods are created for it"));
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
                          "Deployment default/web: its status counts pods that are not in the "
                          "input; no pods are created for it",
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

// Nobody provisions in a plan: the device is what the answer is about.
TEST(PlanVolumes, ThatAreNotBoundHideNothing) {
  const std::string claim = R"(---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
)";
  const std::string volumes =
      "  volumes:\n  - {name: d, persistentVolumeClaim: {claimName: data}}\n"
      "  - {name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "
      "resources: {requests: {storage: 1Gi}}}}}}\n";
  const std::string yaml = ClassYaml() + NodeYaml("n1", 1) + claim + GpuPodYaml("a", 1, volumes) +
                           GpuPodYaml("b", 4, volumes);
  const Plan plan = PlanOf(yaml);
  EXPECT_THAT(Lines(plan), ::testing::ElementsAre("a placed n1 gpu-0", "b refused"));
  EXPECT_THAT(plan.pods[1].explanation->before, ::testing::IsEmpty());
  EXPECT_THAT(plan.notes,
              ::testing::Contains(
                  "PersistentVolumeClaims default/a-e, default/b-e, default/data "
                  "are missing or not bound; planned as if they could be used on every node"));
  // They are there afterwards.
  EXPECT_THAT(JsonOf(plan.objects), ::testing::HasSubstr("\"claimName\":\"data\""));
}

TEST(PlanVolumes, OfAServerAClaimThatIsNotThereIsMissing) {
  PlanOptions options = DefaultOptions();
  const std::string yaml =
      NodeYaml("n1", 0) +
      PodYaml("a", "  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n");
  EXPECT_THAT(Lines(PlanOf(yaml, options)), ::testing::ElementsAre("a placed n1"));
  options.everything_given = true;
  EXPECT_THAT(Lines(PlanOf(yaml, options)), ::testing::ElementsAre("a refused"));
}

// The first pod can be anywhere and takes the node that another one's volume is on, unless all are looked at.
TEST(PlanVolumes, AGangIsPlacedWhereItsVolumesAre) {
  PlanOptions options = DefaultOptions();
  options.gates.Set(api::Gate::kGenericWorkload, true);
  const auto volume_on = [](std::string_view node) {
    return fmt::format(R"(---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: pv-{0}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  claimRef: {{name: of-{0}, namespace: default, uid: uid-{0}}}
  local: {{path: /x}}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{0}]}}]}}]
status: {{phase: Bound}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: of-{0}, namespace: default, uid: uid-{0}, annotations: {{pv.kubernetes.io/bind-completed: "yes"}}}}
spec: {{accessModes: [ReadWriteOnce], volumeName: pv-{0}, resources: {{requests: {{storage: 1Gi}}}}}}
status: {{phase: Bound}}
)",
                       node);
  };
  const auto member = [](std::string_view name, std::string_view volume) {
    return PodYaml(
        name,
        "  schedulingGroup: {podGroupName: g}\n" +
            (volume.empty() ? std::string()
                            : fmt::format("  volumes: [{{name: d, persistentVolumeClaim: "
                                          "{{claimName: {}}}}}]\n",
                                          volume)),
        "8");
  };
  const std::string yaml = NodeYaml("n1", 0) + NodeYaml("n2", 0) + NodeYaml("n3", 0) +
                           volume_on("n1") + volume_on("n2") +
                           "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
                           "metadata: {name: g, namespace: default}\n"
                           "spec: {schedulingPolicy: {gang: {minCount: 3}}}\n" +
                           member("a", "") + member("b", "of-n1") + member("c", "of-n2");
  EXPECT_THAT(Lines(PlanOf(yaml, options)),
              ::testing::ElementsAre("a placed n3", "b placed n1", "c placed n2"));
}

}  // namespace
}  // namespace dray::planner

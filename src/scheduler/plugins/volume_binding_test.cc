// SPDX-License-Identifier: Apache-2.0
//
// Where volumes let a pod run, what is written for those that wait for one, and what becomes of it.
#include "scheduler/plugins/volume_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "base/clock.h"
#include "fmt/format.h"
#include "scheduler/fake_plugins_for_test.h"
#include "scheduler/scheduler.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kNodes = R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, zone: a}}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2, zone: b}}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}
)";

// A volume that only one node can reach.
std::string Volume(std::string_view name, std::string_view node, std::string_view more = "",
                   std::string_view size = "10Gi", std::string_view phase = "Available") {
  return fmt::format(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {0}, uid: uid-{0}}}
spec:
  capacity: {{storage: {3}}}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{1}]}}]}}]}}}}
  local: {{path: /data}}
{2}
status: {{phase: {4}}}
---)",
                     name, node, more, size, phase);
}

std::string Claim(std::string_view name, std::string_view class_name, std::string_view volume = "",
                  std::string_view mode = "ReadWriteOnce") {
  const bool bound = !volume.empty();
  return fmt::format(R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {0}
  namespace: ns
  uid: uid-{0}
  annotations: {{{3}}}
spec:
  accessModes: [{4}]
  storageClassName: {1}
  volumeName: "{2}"
  resources: {{requests: {{storage: 5Gi}}}}
status: {{phase: {5}}}
---)",
                     name, class_name, volume,
                     bound ? R"(pv.kubernetes.io/bind-completed: "yes")" : "", mode,
                     bound ? "Bound" : "Pending");
}

std::string Class(std::string_view name, std::string_view provisioner, bool waits = true,
                  std::string_view more = "") {
  return fmt::format(R"(
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: {}}}
provisioner: {}
volumeBindingMode: {}
{}
---)",
                     name, provisioner, waits ? "WaitForFirstConsumer" : "Immediate", more);
}

std::string PodWith(std::string_view name, std::string_view claim) {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: ns, uid: uid-{0}}}
spec:
  schedulerName: default-scheduler
  containers: [{{name: c, image: i}}]
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: {1}}}}}]
---)",
                     name, claim);
}

class VolumeBindingTest : public ::testing::Test {
 protected:
  VolumeBindingTest() : cluster_(clock_, random_, {.validate = false}) {}

  void Load(std::string_view yaml) {
    EXPECT_THAT(cluster_.Load(testing::ObjectsFrom(yaml)), testing::IsOk());
  }
  // Tries everything that can be tried now.
  void Run() {
    if (scheduler_ == nullptr) {
      scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, SchedulerOptions{});
    }
    scheduler_->Run();
    clock_.Advance(std::chrono::seconds(20));
    scheduler_->Tick();
    scheduler_->Run();
  }
  std::string NodeOf(std::string_view pod) {
    return cluster_.Stored(Kind("v1", "Pod"), "ns", pod)->As<api::Pod>()->spec.node_name;
  }
  // Why it waits.
  std::string Why(std::string_view pod) {
    const api::Pod stored = *cluster_.Stored(Kind("v1", "Pod"), "ns", pod)->As<api::Pod>();
    for (const api::PodCondition& condition : stored.status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return condition.message;
    }
    return "";
  }
  static const api::KindInfo& Kind(std::string_view version, std::string_view kind) {
    return *api::FindKind(version, kind);
  }
  std::string Annotation(std::string_view claim, std::string_view key) {
    const auto object = cluster_.Stored(Kind("v1", "PersistentVolumeClaim"), "ns", claim);
    const std::string* value = object->metadata().annotations.Find(key);
    return value == nullptr ? "" : *value;
  }
  void Update(std::string_view yaml) {
    for (api::Object& object : testing::ObjectsFrom(yaml)) {
      EXPECT_THAT(cluster_.Update(std::move(object)), testing::IsOk());
    }
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000)};
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_;
  FakeIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(VolumeBindingTest, APodGoesWhereItsVolumeIs) {
  Load(kNodes);
  Load(Volume("v", "n2", "  claimRef: {name: c, namespace: ns, uid: uid-c}", "10Gi", "Bound") +
       Claim("c", "local", "v") + PodWith("p", "c"));
  Run();
  EXPECT_EQ(NodeOf("p"), "n2");
}

TEST_F(VolumeBindingTest, WhoseVolumeNoNodeReachesIsToldSo) {
  Load(kNodes);
  Load(Volume("v", "n3", "", "10Gi", "Bound") + Claim("c", "local", "v") + PodWith("p", "c"));
  Run();
  EXPECT_EQ(NodeOf("p"), "");
  EXPECT_THAT(Why("p"), HasSubstr("node(s) didn't match PersistentVolume's node affinity"));
  // A node that does comes.
  Load(R"({apiVersion: v1, kind: Node, metadata: {name: n3, labels: {kubernetes.io/hostname: n3}},
           status: {allocatable: {cpu: "8", memory: 16Gi, pods: "10"}}})");
  Run();
  EXPECT_EQ(NodeOf("p"), "n3");
}

TEST_F(VolumeBindingTest, WhatIsMissingIsNamedAndWaitedFor) {
  Load(kNodes);
  Load(PodWith("p", "c"));
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("persistentvolumeclaim \"c\" not found"));
  Load(Claim("c", "slow"));
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("storageclass.storage.k8s.io \"slow\" not found"));
  Load(Class("slow", "disks.example.com", false));
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("pod has unbound immediate PersistentVolumeClaims"));
  // Its controller binds it, to a volume that is not there.
  Update(Claim("c", "slow", "v"));
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("pvc(s) bound to non-existent pv(s)"));
  Load(Volume("v", "n1", "", "10Gi", "Bound"));
  Run();
  EXPECT_EQ(NodeOf("p"), "n1");
}

TEST_F(VolumeBindingTest, AFreeVolumeIsKeptForTheClaimAndThePodBoundWhenItIsBound) {
  Load(kNodes);
  Load(Class("local", "kubernetes.io/no-provisioner") + Volume("large", "n2", "", "100Gi") +
       Volume("small", "n2", "", "1Gi") + Volume("right", "n2", "", "5Gi") + Claim("c", "local") +
       PodWith("p", "c"));
  Run();
  EXPECT_EQ(NodeOf("p"), "");
  const auto kept = cluster_.Stored(Kind("v1", "PersistentVolume"), "", "right");
  EXPECT_THAT(kept->ToJson(), HasSubstr(R"("uid":"uid-c")"));
  EXPECT_THAT(kept->ToJson(), HasSubstr(R"("path":"/data")"));
  EXPECT_EQ(*kept->metadata().annotations.Find("pv.kubernetes.io/bound-by-controller"), "yes");
  EXPECT_EQ(Annotation("c", kSelectedNode), "");
  Update(Claim("c", "local", "right"));
  Run();
  EXPECT_EQ(NodeOf("p"), "n2");
}

TEST_F(VolumeBindingTest, TwoPodsDoNotGetOneVolume) {
  Load(kNodes);
  Load(Class("local", "kubernetes.io/no-provisioner") + Volume("v1", "n1") + Claim("a", "local") +
       Claim("b", "local") + PodWith("pa", "a") + PodWith("pb", "b"));
  Run();
  EXPECT_THAT(cluster_.Stored(Kind("v1", "PersistentVolume"), "", "v1")->ToJson(),
              HasSubstr(R"("uid":"uid-a")"));
  EXPECT_THAT(Why("pb"), HasSubstr("node(s) didn't find available persistent volumes to bind"));
  Load(Volume("v2", "n2"));
  Run();
  EXPECT_THAT(cluster_.Stored(Kind("v1", "PersistentVolume"), "", "v2")->ToJson(),
              HasSubstr(R"("uid":"uid-b")"));
}

TEST_F(VolumeBindingTest, AProvisionerIsToldTheNode) {
  Load(kNodes);
  Load(Class("fast", "disks.example.com", true,
             "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [b]}]}]") +
       Claim("c", "fast") + PodWith("p", "c"));
  Run();
  EXPECT_EQ(Annotation("c", kSelectedNode), "n2");
  EXPECT_EQ(NodeOf("p"), "");
  // It cannot do it there.
  Update(Claim("c", "fast"));
  scheduler_->Run();
  clock_.Advance(std::chrono::milliseconds(100));
  EXPECT_THAT(Why("p"), HasSubstr("provisioning failed for PVC \"c\""));
  Run();
  EXPECT_EQ(Annotation("c", kSelectedNode), "n2");
  Load(Volume("made", "n2", "", "5Gi", "Bound"));
  Update(Claim("c", "fast", "made"));
  Run();
  // The annotation is gone in what the test has written, but the claim is bound: whoever waits
  // tries again and finds it so.
  EXPECT_EQ(NodeOf("p"), "n2");
}

TEST_F(VolumeBindingTest, WhereADriverHasNoRoomNothingIsAskedFor) {
  Load(kNodes);
  Load(Class("fast", "disks.example.com") + Claim("c", "fast") + PodWith("p", "c"));
  Load(
      R"({apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: disks.example.com}, spec: {storageCapacity: true}})");
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("node(s) did not have enough free storage"));
  Load(
      R"({apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: a, namespace: ns}, storageClassName: fast,
           capacity: 1Gi, nodeTopology: {matchLabels: {zone: a}}})");
  Run();
  EXPECT_EQ(Annotation("c", kSelectedNode), "");
  Load(
      R"({apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: b, namespace: ns}, storageClassName: fast,
           capacity: 50Gi, nodeTopology: {matchLabels: {zone: b}}})");
  Run();
  EXPECT_EQ(Annotation("c", kSelectedNode), "n2");
}

TEST_F(VolumeBindingTest, AWriteWhoseAnswerIsLostIsLookedUp) {
  Load(kNodes);
  Load(Class("fast", "disks.example.com") + Claim("c", "fast") + PodWith("p", "c"));
  int writes = 0;
  cluster_.SetAnswerHook([&](api::Verb, const api::Object& object) -> Status {
    if (object.kind().kind != "PersistentVolumeClaim") return {};
    return ++writes == 1 ? api::OutcomeUnknown("no answer came") : Status();
  });
  Run();
  EXPECT_NE(Annotation("c", kSelectedNode), "");
  // Once: it was found to be done.
  EXPECT_EQ(writes, 1);
  EXPECT_THAT(Why("p"), IsEmpty());
}

TEST_F(VolumeBindingTest, WhoWaitsTooLongIsTriedAnew) {
  Load(kNodes);
  Load(Class("fast", "disks.example.com") + Claim("c", "fast") + PodWith("p", "c"));
  Run();
  clock_.Advance(std::chrono::seconds(601));
  scheduler_->Tick();
  EXPECT_THAT(Why("p"), HasSubstr("timed out waiting for the volumes of the pod"));
}

TEST_F(VolumeBindingTest, AClaimForOnePodIsForOnePod) {
  Load(kNodes);
  Load(Volume("v", "n2", "", "10Gi", "Bound") + Claim("c", "local", "v", "ReadWriteOncePod") +
       PodWith("p", "c"));
  Run();
  ASSERT_EQ(NodeOf("p"), "n2");
  Load(PodWith("q", "c"));
  Run();
  EXPECT_THAT(Why("q"), HasSubstr("ReadWriteOncePod access mode already in-use by another pod"));
  EXPECT_THAT(cluster_.Delete(Kind("v1", "Pod"), "ns", "p"), testing::IsOk());
  Run();
  EXPECT_EQ(NodeOf("q"), "n2");
}

TEST_F(VolumeBindingTest, ANodeHasNoMoreVolumesThanItsDriverSays) {
  Load(kNodes);
  std::string objects = R"(
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: n2}
spec: {drivers: [{name: disks.example.com, nodeID: n2, topologyKeys: [], allocatable: {count: 1}}]}
---)";
  for (const std::string_view name : {"a", "b"}) {
    objects += fmt::format(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {{name: v{0}}}
spec:
  capacity: {{storage: 10Gi}}
  accessModes: [ReadWriteOnce]
  csi: {{driver: disks.example.com, volumeHandle: {0}}}
  nodeAffinity: {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, values: [b]}}]}}]}}}}
---)",
                           name);
    objects +=
        Claim(name, "fast", "v" + std::string(name)) + PodWith("p" + std::string(name), name);
  }
  Load(objects);
  Run();
  EXPECT_EQ(NodeOf("pa"), "n2");
  EXPECT_THAT(Why("pb"), HasSubstr("node(s) exceed max volume count"));
  EXPECT_THAT(cluster_.Delete(Kind("v1", "Pod"), "ns", "pa"), testing::IsOk());
  Run();
  EXPECT_EQ(NodeOf("pb"), "n2");
}

TEST_F(VolumeBindingTest, AnEphemeralVolumeIsAClaimOfItsPod) {
  Load(kNodes);
  Load(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ns, uid: uid-p}
spec:
  schedulerName: default-scheduler
  containers: [{name: c, image: i}]
  volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]
)");
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("waiting for ephemeral volume controller to create the "
                                  "persistentvolumeclaim \"p-scratch\""));
  Load(Volume("v", "n2", "", "10Gi", "Bound") + Claim("p-scratch", "local", "v"));
  Run();
  EXPECT_THAT(Why("p"), HasSubstr("was not created for pod ns/p"));
}

}  // namespace
}  // namespace dray::scheduler

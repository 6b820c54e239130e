// SPDX-License-Identifier: Apache-2.0
#include "planner/edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/workloads.h"
#include "testing/objects_from.h"
#include "testing/status_matchers.h"

namespace dray::planner {
namespace {

using ::testing::ElementsAre;
using testing::StatusIs;

std::vector<std::string> NamesOf(const std::vector<api::Object>& objects) {
  std::vector<std::string> names;
  for (const api::Object& object : objects) names.push_back(object.metadata().name);
  return names;
}

constexpr std::string_view kCluster = R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, zone: a}}
spec: {unschedulable: true}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ns}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: ns
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: a, controller: true}]
spec: {selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1-a
  namespace: ns
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: b, controller: true}]
spec: {nodeName: n1, containers: [{name: c, image: i}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: own
  namespace: ns
  ownerReferences: [{apiVersion: v1, kind: Pod, name: web-1-a, uid: c, controller: true}]
status:
  reservedFor: [{resource: pods, name: web-1-a, uid: c}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared, namespace: ns}
status:
  allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: n1, device: gpu-0}]}}
  reservedFor: [{resource: pods, name: web-1-a, uid: c}]
)";

TEST(Edits, WhoGoesTakesAlongWhatItOwns) {
  auto objects = testing::ObjectsFrom(kCluster);
  ASSERT_TRUE(RemoveObject(objects, *KindCalled("deployment"), "ns", "web").ok());
  EXPECT_THAT(NamesOf(objects), ElementsAre("n1", "s1", "shared"));
  // Only the pod used it.
  EXPECT_FALSE(objects.back().As<api::ResourceClaim>()->status.allocation.has_value());
  EXPECT_THAT(RemoveObject(objects, *KindCalled("pods"), "ns", "gone"),
              StatusIs(StatusCode::kNotFound, "there is no Pod ns/gone"));
}

TEST(Edits, KindsHaveSeveralNames) {
  EXPECT_EQ(KindCalled("claim")->kind, "ResourceClaim");
  EXPECT_EQ(KindCalled("ResourceClaims")->kind, "ResourceClaim");
  EXPECT_EQ(KindCalled("nothing"), nullptr);
}

TEST(Edits, WorkloadsHaveANumber) {
  auto objects = testing::ObjectsFrom(kCluster);
  ASSERT_TRUE(ScaleObject(objects, *KindCalled("deployment"), "ns", "web", 5).ok());
  EXPECT_EQ(objects[2].As<api::Deployment>()->spec.replicas, 5);
  EXPECT_THAT(ScaleObject(objects, *KindCalled("claim"), "ns", "own", 5),
              StatusIs(StatusCode::kInvalidArgument,
                       "the number of replicas of a ResourceClaim cannot be changed"));
}

TEST(Edits, ANewNodeHasTheDevicesOfTheOneThatItIsLike) {
  auto objects = testing::ObjectsFrom(kCluster);
  const auto names = AddNodesLike(objects, "n1", 2);
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, ElementsAre("n1-new-0", "n1-new-1"));
  ASSERT_EQ(objects.size(), 11U);
  const auto& node = *objects[7].As<api::Node>();
  EXPECT_FALSE(node.spec.unschedulable);
  EXPECT_EQ(*node.metadata.labels.Find("kubernetes.io/hostname"), "n1-new-0");
  const auto& slice = *objects[8].As<api::ResourceSlice>();
  EXPECT_EQ(slice.spec.pool.name, "n1-new-0");
  EXPECT_EQ(slice.spec.node_name, "n1-new-0");
  EXPECT_THAT(AddNodesLike(objects, "n2", 1), StatusIs(StatusCode::kNotFound, "node n2 not found"));
}

}  // namespace
}  // namespace dray::planner

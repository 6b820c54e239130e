// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/namespace.h"
#include "controllers/definitions_for_test.h"
#include "controllers/hiding_cluster_for_test.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NamespaceTest : public ::testing::Test {
 protected:
  void AddNamespace(std::string_view name) {
    api::Namespace space;
    space.metadata.name = name;
    scene_.Add(space);
    controller_.Sync();
  }
  api::Namespace Get(std::string_view name) { return scene_.Get<api::Namespace>(name, ""); }
  Scene scene_;
  NamespaceController controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(NamespaceTest, ANewOneIsActiveAndProtected) {
  AddNamespace("ns");
  EXPECT_EQ(Get("ns").status.phase, api::kNamespaceActive);
  EXPECT_THAT(Get("ns").spec.finalizers, ElementsAre("kubernetes"));
  EXPECT_EQ(controller_.Sync(), 0u);
}

TEST_F(NamespaceTest, ADeletedOneIsEmptiedAndGoes) {
  AddNamespace("ns");
  AddNamespace("other");
  scene_.Add(PodNamed("a"));
  scene_.Add(DeploymentNamed("web", 1));
  scene_.Add(ClaimNamed("c"));
  api::Pod stays = PodNamed("a");
  stays.metadata.namespace_ = "other";
  scene_.Add(stays);
  scene_.Delete<api::Namespace>("ns", "");
  EXPECT_TRUE(scene_.Has<api::Namespace>("ns", ""));
  controller_.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
  EXPECT_THAT(scene_.All<api::Pod>(), SizeIs(1));
  EXPECT_THAT(scene_.All<api::Deployment>(), IsEmpty());
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
}

TEST_F(NamespaceTest, WaitsForWhatIsHeld) {
  AddNamespace("ns");
  api::Pod held = PodNamed("held");
  held.metadata.finalizers = {"example.com/wait"};
  scene_.Add(held);
  scene_.Delete<api::Namespace>("ns", "");
  controller_.Sync();
  EXPECT_EQ(Get("ns").status.phase, api::kNamespaceTerminating);
  EXPECT_EQ(controller_.Sync(), 0u);
  held = scene_.Get<api::Pod>("held");
  held.metadata.finalizers.clear();
  scene_.Put(held);
  controller_.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
}

// Whoever looks at a namespace that does not go sees why, in Kubernetes's words.
TEST_F(NamespaceTest, SaysWhatKeepsIt) {
  AddNamespace("ns");
  api::Pod held = PodNamed("held");
  held.metadata.finalizers = {"example.com/wait", "b.example.com/too"};
  scene_.Add(held);
  held.metadata.name = "another";
  held.metadata.finalizers.pop_back();
  scene_.Add(held);
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {"example.com/wait"};
  scene_.Add(claim);
  scene_.Delete<api::Namespace>("ns", "");
  controller_.Sync();
  // One that is empty in a moment is not told about.
  EXPECT_THAT(Get("ns").status.conditions, IsEmpty());
  scene_.clock().Advance(std::chrono::seconds(3));
  controller_.Sync();
  const auto conditions = Get("ns").status.conditions;
  ASSERT_THAT(conditions, SizeIs(2));
  EXPECT_EQ(conditions[0].type, "NamespaceContentRemaining");
  EXPECT_EQ(conditions[0].status, "True");
  EXPECT_EQ(conditions[0].reason, "SomeResourcesRemain");
  EXPECT_EQ(conditions[0].message,
            "Some resources are remaining: pods. has 2 resource instances, "
            "resourceclaims.resource.k8s.io has 1 resource instances");
  EXPECT_EQ(conditions[1].type, "NamespaceFinalizersRemaining");
  EXPECT_EQ(conditions[1].message,
            "Some content in the namespace has finalizers remaining: b.example.com/too in 1 "
            "resource instances, example.com/wait in 3 resource instances");
  // Not at each change, and nothing is written when nothing has changed.
  scene_.clock().Advance(std::chrono::seconds(11));
  EXPECT_EQ(controller_.Sync(), 0u);
  for (const char* name : {"held", "another"}) {
    held = scene_.Get<api::Pod>(name);
    held.metadata.finalizers.clear();
    scene_.Put(held);
  }
  controller_.Sync();
  EXPECT_EQ(Get("ns").status.conditions[0].message, conditions[0].message);
  scene_.clock().Advance(std::chrono::seconds(11));
  controller_.Sync();
  EXPECT_EQ(
      Get("ns").status.conditions[0].message,
      "Some resources are remaining: resourceclaims.resource.k8s.io has 1 resource instances");
  claim = scene_.Get<api::ResourceClaim>("c");
  claim.metadata.finalizers.clear();
  scene_.Put(claim);
  controller_.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
}

TEST_F(NamespaceTest, WhatComesWhileItLeavesGoes) {
  AddNamespace("ns");
  api::Pod held = PodNamed("held");
  held.metadata.finalizers = {"example.com/wait"};
  scene_.Add(held);
  scene_.Delete<api::Namespace>("ns", "");
  controller_.Sync();
  scene_.Add(PodNamed("late"));
  controller_.Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("late"));
}

// An object that nobody can read (docs/decisions.md, 375) is not gone. A namespace that went before it
// would leave it behind where no controller ever looks again.
TEST_F(NamespaceTest, StaysWhileSomethingInItCannotBeRead) {
  HidingCluster cluster(scene_.cluster());
  NamespaceController controller(cluster, scene_.clock());
  for (const char* name : {"ns", "other"}) AddNamespace(name);
  scene_.Add(PodNamed("broken"));
  cluster.Hide(ObjectKey::Of<api::Pod>("ns", "broken"));
  controller.Sync();
  scene_.Delete<api::Namespace>("ns", "");
  scene_.Delete<api::Namespace>("other", "");
  controller.Sync();
  // What cannot be read elsewhere is nobody's trouble here.
  EXPECT_FALSE(scene_.Has<api::Namespace>("other", ""));
  ASSERT_TRUE(scene_.Has<api::Namespace>("ns", ""));
  const api::Namespace stays = Get("ns");
  EXPECT_EQ(stays.status.phase, api::kNamespaceTerminating);
  ASSERT_THAT(stays.status.conditions, SizeIs(1));
  EXPECT_EQ(stays.status.conditions[0].type, "NamespaceDeletionContentFailure");
  EXPECT_THAT(stays.status.conditions[0].message, HasSubstr("cannot be read"));
  // Again and again, and it is told once.
  scene_.clock().Advance(std::chrono::minutes(1));
  EXPECT_EQ(controller.Sync(), 0u);
  // Once it can be read it goes the way of everything.
  cluster.Show();
  scene_.clock().Advance(std::chrono::minutes(1));
  controller.Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("broken"));
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
}

// What there is of a kind whose definition cannot be read, nobody knows.
TEST_F(NamespaceTest, StaysWhileADefinitionCannotBeRead) {
  HidingCluster cluster(scene_.cluster());
  NamespaceController controller(cluster, scene_.clock());
  Define(scene_, "widgets", "Widget");
  AddNamespace("ns");
  cluster.Hide({api::DefinitionKind().hub, "", FullName("widgets")});
  controller.Sync();
  scene_.Delete<api::Namespace>("ns", "");
  controller.Sync();
  EXPECT_TRUE(scene_.Has<api::Namespace>("ns", ""));
  cluster.Show();
  scene_.clock().Advance(std::chrono::minutes(1));
  controller.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
}

// The same of a kind that somebody has defined.
TEST_F(NamespaceTest, StaysWhileAnObjectOfADefinedKindCannotBeRead) {
  HidingCluster cluster(scene_.cluster());
  NamespaceController controller(cluster, scene_.clock());
  const api::KindInfo& kind = Named("widgets", "Widget");
  Define(scene_, "widgets", "Widget");
  for (const char* name : {"ns", "other"}) AddNamespace(name);
  AddCustom(scene_, kind, "broken");
  AddCustom(scene_, kind, "fine");
  cluster.Hide({kind.hub, "ns", "broken"});
  controller.Sync();
  scene_.Delete<api::Namespace>("ns", "");
  scene_.Delete<api::Namespace>("other", "");
  controller.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("other", ""));
  EXPECT_TRUE(scene_.Has<api::Namespace>("ns", ""));
  EXPECT_THAT(scene_.cluster().All(kind), SizeIs(1));
  cluster.Show();
  scene_.clock().Advance(std::chrono::minutes(1));
  controller.Sync();
  EXPECT_FALSE(scene_.Has<api::Namespace>("ns", ""));
  EXPECT_THAT(scene_.cluster().All(kind), ::testing::IsEmpty());
}

}  // namespace
}  // namespace dray::controllers

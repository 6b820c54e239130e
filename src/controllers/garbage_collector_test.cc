// SPDX-License-Identifier: Apache-2.0
#include "controllers/garbage_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "controllers/hiding_cluster_for_test.h"
#include "controllers/workload_pods.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class GarbageTest : public ::testing::Test {
 protected:
  void Start() {
    controller_ = std::make_unique<GarbageCollector>(scene_.cluster(), scene_.clock());
  }
  void SetUp() override { Start(); }
  template <typename T>
  api::OwnerReference Reference(const T& owner) {
    return ControllerReference(api::Object::Of(owner));
  }
  api::Pod Owned(std::string_view name, std::vector<api::OwnerReference> owners) {
    api::Pod pod = PodNamed(name);
    for (std::size_t i = 1; i < owners.size(); ++i) owners[i].controller.reset();
    pod.metadata.owner_references = std::move(owners);
    return scene_.Add(pod);
  }
  Scene scene_;
  std::unique_ptr<GarbageCollector> controller_;
};

TEST_F(GarbageTest, WhatTheLastOwnerLeftBehindIsDeleted) {
  const auto set = scene_.Add(SetNamed("web", 0));
  Owned("a", {Reference(set)});
  scene_.Add(PodNamed("b"));
  EXPECT_EQ(controller_->Sync(), 0u);
  scene_.Delete<api::ReplicaSet>("web");
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_FALSE(scene_.Has<api::Pod>("a"));
  EXPECT_TRUE(scene_.Has<api::Pod>("b"));
}

TEST_F(GarbageTest, GenerationsGoOneAfterTheOther) {
  const auto deployment = scene_.Add(DeploymentNamed("web", 0));
  auto child = SetNamed("web-1", 0);
  child.metadata.owner_references = {Reference(deployment)};
  const auto set = scene_.Add(child);
  const auto pod = Owned("a", {Reference(set)});
  auto claim = ClaimNamed("c");
  claim.metadata.owner_references = {Reference(pod)};
  scene_.Add(claim);
  controller_->Sync();
  scene_.Delete<api::Deployment>("web");
  EXPECT_EQ(controller_->Sync(), 3u);
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
}

TEST_F(GarbageTest, AnOwnerThatWentBeforeTheStartIsMissed) {
  const auto set = scene_.Add(SetNamed("web", 0));
  Owned("a", {Reference(set)});
  scene_.Delete<api::ReplicaSet>("web");
  Start();
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("a"));
}

// A stored owner that does not decode, a server that is away: an error is not an absence.
TEST_F(GarbageTest, AnOwnerThatCannotBeReadIsThere) {
  auto gone = SetNamed("web", 0);
  gone.metadata.uid = "00000000-0000-4000-8000-000000000001";
  Owned("a", {Reference(gone)});
  for (const StatusCode code : {StatusCode::kDataLoss, StatusCode::kUnavailable}) {
    scene_.cluster().SetReadHook([code](const api::KindInfo& kind) {
      return kind.kind == "ReplicaSet" ? base::MakeStatus(code, "it cannot be read") : Status();
    });
    Start();
    EXPECT_EQ(controller_->Sync(), 0u);
    EXPECT_TRUE(scene_.Has<api::Pod>("a"));
  }
  // It is asked again; once somebody can say that there is none, what it left behind goes.
  scene_.cluster().SetReadHook({});
  Start();
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_FALSE(scene_.Has<api::Pod>("a"));
}

TEST_F(GarbageTest, AnotherOneByTheOwnersNameIsNoOwner) {
  const auto set = scene_.Add(SetNamed("web", 0));
  Owned("a", {Reference(set)});
  scene_.Delete<api::ReplicaSet>("web");
  scene_.Add(SetNamed("web", 0));
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("a"));
}

TEST_F(GarbageTest, OneOwnerThatStaysIsEnough) {
  const auto a = scene_.Add(SetNamed("a", 0));
  const auto b = scene_.Add(SetNamed("b", 0));
  Owned("pod", {Reference(a), Reference(b)});
  controller_->Sync();
  scene_.Delete<api::ReplicaSet>("a");
  EXPECT_EQ(controller_->Sync(), 1u);
  const auto owners = scene_.Get<api::Pod>("pod").metadata.owner_references;
  ASSERT_THAT(owners, SizeIs(1));
  EXPECT_EQ(owners[0].uid, b.metadata.uid);
}

TEST_F(GarbageTest, OwnersOfKindsThatAreNotKnownAreTakenToBeThere) {
  Owned("a", {{.api_version = "example.com/v1", .kind = "Thing", .name = "t", .uid = "u"}});
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(scene_.Has<api::Pod>("a"));
}

TEST_F(GarbageTest, OrphansAreLetGo) {
  auto wanted = SetNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kOrphanFinalizer)};
  const auto set = scene_.Add(wanted);
  Owned("a", {Reference(set)});
  controller_->Sync();
  scene_.Delete<api::ReplicaSet>("web");
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web"));
  EXPECT_THAT(scene_.Get<api::Pod>("a").metadata.owner_references, IsEmpty());
}

// Who cannot be read still names its owner: let go too early, it would be deleted as soon as it can be.
TEST_F(GarbageTest, AnOwnerStaysWhileADependentMayBeThatCannotBeRead) {
  for (const std::string_view finalizer : {kOrphanFinalizer, kForegroundFinalizer}) {
    HidingCluster cluster(scene_.cluster());
    GarbageCollector controller(cluster, scene_.clock());
    auto wanted = SetNamed("web", 0);
    wanted.metadata.finalizers = {std::string(finalizer)};
    const auto set = scene_.Add(wanted);
    Owned("hidden", {Reference(set)});
    cluster.Hide(ObjectKey::Of<api::Pod>("ns", "hidden"));
    controller.Sync();
    scene_.Delete<api::ReplicaSet>("web");
    controller.Sync();
    scene_.clock().Advance(std::chrono::minutes(1));
    controller.Sync();
    EXPECT_TRUE(scene_.Has<api::ReplicaSet>("web")) << finalizer;
    cluster.Show();
    scene_.clock().Advance(std::chrono::minutes(1));
    controller.Sync();
    EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web")) << finalizer;
    if (finalizer == kOrphanFinalizer) {
      EXPECT_THAT(scene_.Get<api::Pod>("hidden").metadata.owner_references, IsEmpty());
      scene_.Delete<api::Pod>("hidden");
    } else {
      EXPECT_FALSE(scene_.Has<api::Pod>("hidden"));
    }
  }
}

TEST_F(GarbageTest, InTheForegroundTheOwnerWaitsForThoseWhoBlockIt) {
  auto wanted = SetNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto set = scene_.Add(wanted);
  api::Pod slow = PodNamed("slow");
  slow.metadata.owner_references = {Reference(set)};
  slow.metadata.finalizers = {"example.com/slow"};
  scene_.Add(slow);
  api::OwnerReference idle = Reference(set);
  idle.block_owner_deletion.reset();
  Owned("idle", {idle});
  controller_->Sync();
  scene_.Delete<api::ReplicaSet>("web");
  controller_->Sync();
  EXPECT_TRUE(scene_.Has<api::ReplicaSet>("web"));
  EXPECT_FALSE(scene_.Has<api::Pod>("idle"));
  auto leaving = scene_.Get<api::Pod>("slow");
  EXPECT_TRUE(leaving.metadata.deletion_timestamp.has_value());
  leaving.metadata.finalizers.clear();
  scene_.Put(leaving);
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web"));
}

// Kubernetes deletes what has dependents of its own in the foreground, too: the deployment is there
// until the last pod is gone.
TEST_F(GarbageTest, InTheForegroundEveryLevelWaitsForTheOneBelow) {
  auto wanted = DeploymentNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto deployment = scene_.Add(wanted);
  auto child = SetNamed("web-1", 0);
  child.metadata.owner_references = {Reference(deployment)};
  const auto set = scene_.Add(child);
  for (const std::string name : {"a", "b", "c"}) {
    api::Pod slow = PodNamed(name);
    slow.metadata.owner_references = {Reference(set)};
    slow.metadata.finalizers = {"example.com/slow"};
    scene_.Add(slow);
  }
  controller_->Sync();
  scene_.Delete<api::Deployment>("web");
  controller_->Sync();
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_TRUE(scene_.Has<api::Deployment>("web"));
    ASSERT_TRUE(scene_.Has<api::ReplicaSet>("web-1"));
    EXPECT_TRUE(scene_.Get<api::ReplicaSet>("web-1").metadata.deletion_timestamp.has_value());
    auto leaving = scene_.Get<api::Pod>(name);
    EXPECT_TRUE(leaving.metadata.deletion_timestamp.has_value());
    leaving.metadata.finalizers.clear();
    scene_.Put(leaving);
    controller_->Sync();
  }
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web-1"));
  EXPECT_FALSE(scene_.Has<api::Deployment>("web"));
  EXPECT_EQ(controller_->Sync(), 0u);
}

// A deployment in the foreground, and its replica set was left by another version: nobody knows what that one wants,
// so everybody waits, and goes in order once it can be read.
TEST_F(GarbageTest, InTheForegroundALevelThatCannotBeReadIsWaitedFor) {
  HidingCluster cluster(scene_.cluster());
  auto wanted = DeploymentNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto deployment = scene_.Add(wanted);
  auto child = SetNamed("web-1", 0);
  child.metadata.owner_references = {Reference(deployment)};
  const auto set = scene_.Add(child);
  api::Pod slow = PodNamed("a");
  slow.metadata.owner_references = {Reference(set)};
  slow.metadata.finalizers = {"example.com/slow"};
  scene_.Add(slow);
  cluster.Hide(ObjectKey::Of<api::ReplicaSet>("ns", "web-1"));
  GarbageCollector controller(cluster, scene_.clock());
  controller.Sync();
  scene_.Delete<api::Deployment>("web");
  for (int i = 0; i < 5; ++i) {
    controller.Sync();
    scene_.clock().Advance(std::chrono::minutes(1));
  }
  EXPECT_TRUE(scene_.Has<api::Deployment>("web"));
  EXPECT_FALSE(scene_.Get<api::ReplicaSet>("web-1").metadata.deletion_timestamp.has_value());
  EXPECT_FALSE(scene_.Get<api::Pod>("a").metadata.deletion_timestamp.has_value());
  cluster.Show();
  for (int i = 0; i < 5; ++i) {
    controller.Sync();
    scene_.clock().Advance(std::chrono::minutes(1));
  }
  EXPECT_TRUE(scene_.Has<api::Deployment>("web"));
  EXPECT_TRUE(scene_.Get<api::ReplicaSet>("web-1").metadata.deletion_timestamp.has_value());
  auto leaving = scene_.Get<api::Pod>("a");
  EXPECT_TRUE(leaving.metadata.deletion_timestamp.has_value());
  leaving.metadata.finalizers.clear();
  scene_.Put(leaving);
  controller.Sync();
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web-1"));
  EXPECT_FALSE(scene_.Has<api::Deployment>("web"));
}

// The pod of a replica set cannot be read: to all appearances the replica set has none.
TEST_F(GarbageTest, InTheForegroundALevelBelowThatCannotBeReadIsWaitedFor) {
  HidingCluster cluster(scene_.cluster());
  auto wanted = DeploymentNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto deployment = scene_.Add(wanted);
  auto child = SetNamed("web-1", 0);
  child.metadata.owner_references = {Reference(deployment)};
  const auto set = scene_.Add(child);
  Owned("hidden", {Reference(set)});
  cluster.Hide(ObjectKey::Of<api::Pod>("ns", "hidden"));
  GarbageCollector controller(cluster, scene_.clock());
  controller.Sync();
  scene_.Delete<api::Deployment>("web");
  for (int i = 0; i < 5; ++i) {
    controller.Sync();
    scene_.clock().Advance(std::chrono::minutes(1));
  }
  EXPECT_TRUE(scene_.Has<api::Deployment>("web"));
  EXPECT_TRUE(scene_.Has<api::ReplicaSet>("web-1"));
  cluster.Show();
  for (int i = 0; i < 5; ++i) {
    controller.Sync();
    scene_.clock().Advance(std::chrono::minutes(1));
  }
  EXPECT_FALSE(scene_.Has<api::Pod>("hidden"));
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web-1"));
  EXPECT_FALSE(scene_.Has<api::Deployment>("web"));
}

// One of its dependents has another owner that cannot be read: it stays, and the others go.
TEST_F(GarbageTest, InTheForegroundOneThatCannotBeJudgedDoesNotKeepTheOthers) {
  auto wanted = SetNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto set = scene_.Add(wanted);
  const auto other = scene_.Add(JobNamed("other"));
  HidingCluster cluster(scene_.cluster());
  cluster.Hide(ObjectKey::Of<api::Job>("ns", "other"));
  Owned("a", {Reference(set), Reference(other)});
  Owned("b", {Reference(set)});
  GarbageCollector controller(cluster, scene_.clock());
  controller.Sync();
  scene_.Delete<api::ReplicaSet>("web");
  controller.Sync();
  EXPECT_TRUE(scene_.Has<api::Pod>("a"));
  EXPECT_FALSE(scene_.Has<api::Pod>("b"));
  EXPECT_TRUE(scene_.Has<api::ReplicaSet>("web"));
}

// One that is stopped between its two writes leaves the finalizer behind, and another goes on.
TEST_F(GarbageTest, InTheForegroundARestartGoesOn) {
  auto wanted = DeploymentNamed("web", 0);
  wanted.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto deployment = scene_.Add(wanted);
  auto child = SetNamed("web-1", 0);
  child.metadata.owner_references = {Reference(deployment)};
  child.metadata.finalizers = {std::string(kForegroundFinalizer)};
  const auto set = scene_.Add(child);
  Owned("a", {Reference(set)});
  scene_.Delete<api::Deployment>("web");
  Start();
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("a"));
  EXPECT_FALSE(scene_.Has<api::ReplicaSet>("web-1"));
  EXPECT_FALSE(scene_.Has<api::Deployment>("web"));
}

TEST_F(GarbageTest, InTheForegroundACircleOfOwnersDoesNotWaitForItself) {
  auto first = SetNamed("a", 0);
  first.metadata.finalizers = {std::string(kForegroundFinalizer)};
  auto a = scene_.Add(first);
  auto second = SetNamed("b", 0);
  second.metadata.owner_references = {Reference(a)};
  const auto b = scene_.Add(second);
  auto third = SetNamed("c", 0);
  third.metadata.owner_references = {Reference(b)};
  const auto c = scene_.Add(third);
  a.metadata.owner_references = {Reference(c)};
  scene_.Put(a);
  controller_->Sync();
  scene_.Delete<api::ReplicaSet>("a");
  controller_->Sync();
  EXPECT_THAT(scene_.All<api::ReplicaSet>(), IsEmpty());
}

TEST_F(GarbageTest, AChangeThatIsNotAboutOwnersIsNotLookedAt) {
  const auto set = scene_.Add(SetNamed("web", 0));
  Owned("a", {Reference(set)});
  controller_->Sync();
  const std::size_t before = controller_->reconciled();
  scene_.SetPhase("a", api::kPodRunning);
  controller_->Sync();
  EXPECT_EQ(controller_->reconciled(), before);
}

}  // namespace
}  // namespace dray::controllers

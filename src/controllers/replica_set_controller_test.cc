// SPDX-License-Identifier: Apache-2.0
#include "controllers/replica_set_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "controllers/workloads_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class ReplicaSetTest : public ::testing::Test {
 protected:
  std::vector<api::Pod> Pods() { return scene_.All<api::Pod>(); }
  api::ReplicaSetStatus StatusOf(std::string_view set) {
    return scene_.Get<api::ReplicaSet>(set).status;
  }
  void Resize(std::string_view name, std::int32_t replicas) {
    auto set = scene_.Get<api::ReplicaSet>(name);
    set.spec.replicas = replicas;
    scene_.Put(set);
  }
  Scene scene_;
  ReplicaSetController controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(ReplicaSetTest, MakesPodsFromItsTemplate) {
  auto wanted = SetNamed("web", 2);
  wanted.spec.template_.metadata.annotations["a"] = "1";
  const auto set = scene_.Add(wanted);
  EXPECT_EQ(controller_.Sync(), 3u);  // two pods, the status
  ASSERT_THAT(Pods(), SizeIs(2));
  const api::Pod pod = Pods()[0];
  EXPECT_THAT(pod.metadata.name, StartsWith("web-"));
  EXPECT_EQ(*pod.metadata.labels.Find("app"), "web");
  EXPECT_EQ(*pod.metadata.annotations.Find("a"), "1");
  ASSERT_THAT(pod.metadata.owner_references, SizeIs(1));
  EXPECT_EQ(pod.metadata.owner_references[0], (api::OwnerReference{.api_version = "apps/v1",
                                                                   .kind = "ReplicaSet",
                                                                   .name = "web",
                                                                   .uid = set.metadata.uid,
                                                                   .controller = true,
                                                                   .block_owner_deletion = true}));
  EXPECT_EQ(StatusOf("web").replicas, 2);
  EXPECT_EQ(StatusOf("web").fully_labeled_replicas, 2);
  EXPECT_EQ(StatusOf("web").ready_replicas, 0);
  EXPECT_EQ(controller_.Sync(), 0u);
}

TEST_F(ReplicaSetTest, CountsWhatIsReadyAndAvailable) {
  auto wanted = SetNamed("web", 2);
  wanted.spec.min_ready_seconds = 10;
  scene_.Add(wanted);
  controller_.Sync();
  MakeReady(scene_, Pods()[0].metadata.name);
  controller_.Sync();
  EXPECT_EQ(StatusOf("web").ready_replicas, 1);
  EXPECT_EQ(StatusOf("web").available_replicas, 0);
  EXPECT_EQ(*controller_.NextDue() - scene_.clock().Monotonic(), 10s);
  scene_.clock().Advance(10s);
  controller_.Sync();
  EXPECT_EQ(StatusOf("web").available_replicas, 1);
}

TEST_F(ReplicaSetTest, ReplacesPodsThatHaveEndedOrGone) {
  scene_.Add(SetNamed("web", 2));
  controller_.Sync();
  const auto first = Pods();
  scene_.SetPhase(first[0].metadata.name, api::kPodFailed);
  scene_.Delete<api::Pod>(first[1].metadata.name);
  controller_.Sync();
  EXPECT_THAT(Pods(), SizeIs(3));  // the failed one stays to be looked at
  EXPECT_EQ(StatusOf("web").replicas, 2);
}

TEST_F(ReplicaSetTest, DeletesWhatHasDoneLeast) {
  scene_.Add(SetNamed("web", 3));
  controller_.Sync();
  const auto pods = Pods();
  MakeReady(scene_, pods[0].metadata.name);
  MakeReady(scene_, pods[2].metadata.name);
  auto cheap = scene_.Get<api::Pod>(pods[2].metadata.name);
  cheap.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "-1";
  scene_.Put(cheap);
  Resize("web", 1);
  controller_.Sync();
  ASSERT_THAT(Pods(), SizeIs(1));
  EXPECT_EQ(Pods()[0].metadata.name, pods[0].metadata.name);
}

TEST_F(ReplicaSetTest, AdoptsOrphansAndLetsStrangersGo) {
  api::Pod orphan = PodNamed("orphan");
  orphan.metadata.labels["app"] = "web";
  scene_.Add(orphan);
  const auto set = scene_.Add(SetNamed("web", 1));
  controller_.Sync();
  ASSERT_THAT(Pods(), SizeIs(1));
  ASSERT_THAT(Pods()[0].metadata.owner_references, SizeIs(1));
  EXPECT_EQ(Pods()[0].metadata.owner_references[0].uid, set.metadata.uid);

  auto relabelled = scene_.Get<api::Pod>("orphan");
  relabelled.metadata.labels["app"] = "debug";
  scene_.Put(relabelled);
  controller_.Sync();
  EXPECT_THAT(scene_.Get<api::Pod>("orphan").metadata.owner_references, IsEmpty());
  EXPECT_THAT(Pods(), SizeIs(2));
}

TEST_F(ReplicaSetTest, AFailureIsToldAndTriedAgain) {
  scene_.Add(SetNamed("web", 2));
  scene_.cluster().SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kCreate ? base::Unavailable("down") : Status();
  });
  controller_.Sync();
  ASSERT_THAT(StatusOf("web").conditions, SizeIs(1));
  EXPECT_EQ(StatusOf("web").conditions[0].type, "ReplicaFailure");
  EXPECT_EQ(StatusOf("web").conditions[0].message, "down");
  EXPECT_THAT(scene_.Events(), ElementsAre("FailedCreate: Error creating: down"));
  scene_.cluster().SetWriteHook(nullptr);
  scene_.clock().Advance(1s);
  controller_.Sync();
  EXPECT_THAT(Pods(), SizeIs(2));
  EXPECT_THAT(StatusOf("web").conditions, IsEmpty());
}

// As with a quota: what is said names the pod that was refused, and that is another each time.
TEST_F(ReplicaSetTest, ARefusalInOtherWordsIsNotTriedAgainAtOnce) {
  scene_.Add(SetNamed("web", 2));
  int tries = 0;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object&) {
    if (verb != api::Verb::kCreate || tries == 100) return Status();
    return base::Unavailable(fmt::format("pods \"web-{}\" is forbidden", tries++));
  });
  controller_.Sync();
  EXPECT_LE(tries, 2);
  EXPECT_GT(*controller_.NextDue(), scene_.clock().Monotonic());
  EXPECT_EQ(StatusOf("web").conditions[0].message, "pods \"web-0\" is forbidden");
}

TEST_F(ReplicaSetTest, OneThatIsBeingDeletedMakesNoPods) {
  auto wanted = SetNamed("web", 2);
  wanted.metadata.finalizers = {"example.com/wait"};
  scene_.Add(wanted);
  scene_.Delete<api::ReplicaSet>("web");
  controller_.Sync();
  EXPECT_THAT(Pods(), IsEmpty());
}

// More than one burst, and none twice.
TEST_F(ReplicaSetTest, ManyPodsComeInSeveralSteps) {
  scene_.Add(SetNamed("web", 1'200));
  controller_.Sync();
  EXPECT_THAT(Pods(), SizeIs(1'200));
  Resize("web", 10);
  controller_.Sync();
  EXPECT_THAT(Pods(), SizeIs(10));
}

TEST_F(ReplicaSetTest, SaysWhatItDid) {
  scene_.Add(SetNamed("web", 1));
  controller_.Sync();
  const std::string pod = Pods()[0].metadata.name;
  EXPECT_THAT(scene_.Events(), ElementsAre("SuccessfulCreate: Created pod: " + pod));
}

}  // namespace
}  // namespace dray::controllers

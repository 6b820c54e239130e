// SPDX-License-Identifier: Apache-2.0
#include "controllers/stateful_set_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "api/daemon_set.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StatefulSetTest : public ::testing::Test {
 protected:
  static api::StatefulSet Stateful(std::string_view name, std::int32_t replicas) {
    api::StatefulSet set = WorkloadNamed<api::StatefulSet>(name, replicas);
    set.spec.service_name = "svc";
    return set;
  }
  void Settle() { scene_.Settle(controller_); }
  // Pods become ready one after the other until nothing changes.
  void RunAll() {
    for (int i = 0; i < 20; ++i) {
      Settle();
      MakeAllReady(scene_);
    }
    Settle();
  }
  std::vector<std::string> Pods() {
    std::vector<std::string> pods;
    for (const api::Pod& pod : scene_.All<api::Pod>()) pods.push_back(pod.metadata.name);
    return pods;
  }
  std::string ImageOf(const std::string& pod) {
    return scene_.Get<api::Pod>(pod).spec.containers[0].image;
  }
  void SetImage(const std::string& image) {
    api::StatefulSet set = scene_.Get<api::StatefulSet>("s");
    set.spec.template_.spec.containers[0].image = image;
    scene_.Put(set);
  }

  Scene scene_;
  StatefulSetController controller_{scene_.cluster(), scene_.clock()};
};

TEST(StatefulSetNames, NumbersAreReadFromNames) {
  EXPECT_EQ(OrdinalOf("s", "s-0"), 0);
  EXPECT_EQ(OrdinalOf("s", "s-12"), 12);
  for (const char* name : {"s", "s-", "s-01", "s-1x", "t-1", "s--1", "sa-1"}) {
    EXPECT_FALSE(OrdinalOf("s", name).has_value()) << name;
  }
}

TEST_F(StatefulSetTest, PodsComeOneAfterTheOtherAndHaveNames) {
  scene_.Add(Stateful("s", 3));
  Settle();
  EXPECT_THAT(Pods(), ElementsAre("s-0"));
  EXPECT_EQ(scene_.Settle(controller_), 0u);
  MakeReady(scene_, "s-0");
  Settle();
  EXPECT_THAT(Pods(), ElementsAre("s-0", "s-1"));
  RunAll();
  EXPECT_THAT(Pods(), ElementsAre("s-0", "s-1", "s-2"));
  const api::Pod pod = scene_.Get<api::Pod>("s-1");
  EXPECT_EQ(pod.spec.hostname, "s-1");
  EXPECT_EQ(pod.spec.subdomain, "svc");
  EXPECT_EQ(*pod.metadata.labels.Find("apps.kubernetes.io/pod-index"), "1");
  const auto status = scene_.Get<api::StatefulSet>("s").status;
  EXPECT_EQ(status.ready_replicas, 3);
  EXPECT_EQ(status.updated_replicas, 3);
  EXPECT_EQ(status.current_revision, status.update_revision);
}

TEST_F(StatefulSetTest, InParallelAllComeAtOnce) {
  api::StatefulSet set = Stateful("s", 3);
  set.spec.pod_management_policy = "Parallel";
  scene_.Add(set);
  Settle();
  EXPECT_THAT(Pods(), SizeIs(3));
}

// Somebody else's pod waits meanwhile: controllers share a thread.
TEST_F(StatefulSetTest, ManyPodsComeAndGoInSeveralSteps) {
  api::StatefulSet set = Stateful("s", 120);
  set.spec.pod_management_policy = "Parallel";
  scene_.Add(set);
  controller_.LetOthersInAfter(1);
  std::size_t before = 0;
  const auto step = [&] {
    controller_.Sync();
    const std::size_t now = Pods().size();
    EXPECT_LE(std::max(now, before) - std::min(now, before), 50u);
    before = now;
  };
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(before, 120u);
  RunAll();
  set = scene_.Get<api::StatefulSet>("s");
  set.spec.replicas = 0;
  scene_.Put(set);
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(before, 0u);
}

TEST_F(StatefulSetTest, NumbersEndWithTheLastThatThereIs) {
  api::StatefulSet set = Stateful("s", std::numeric_limits<std::int32_t>::max());
  set.spec.ordinals.emplace().start = std::numeric_limits<std::int32_t>::max() - 1;
  set.spec.pod_management_policy = "Parallel";
  scene_.Add(set);
  Settle();
  EXPECT_THAT(Pods(), SizeIs(2));
}

TEST_F(StatefulSetTest, NumbersMayBeginElsewhere) {
  api::StatefulSet set = Stateful("s", 2);
  set.spec.ordinals.emplace().start = 5;
  scene_.Add(set);
  RunAll();
  EXPECT_THAT(Pods(), ElementsAre("s-5", "s-6"));
}

TEST_F(StatefulSetTest, TheHighestNumberGoesFirst) {
  scene_.Add(Stateful("s", 3));
  RunAll();
  api::StatefulSet set = scene_.Get<api::StatefulSet>("s");
  set.spec.replicas = 1;
  scene_.Put(set);
  Settle();
  EXPECT_THAT(Pods(), ElementsAre("s-0"));
}

TEST_F(StatefulSetTest, APodThatFailedComesBackUnderItsName) {
  scene_.Add(Stateful("s", 1));
  Settle();
  const std::string uid = scene_.Get<api::Pod>("s-0").metadata.uid;
  scene_.SetPhase("s-0", api::kPodFailed);
  Settle();
  EXPECT_NE(scene_.Get<api::Pod>("s-0").metadata.uid, uid);
}

TEST_F(StatefulSetTest, ANewTemplateGoesFromTheLastToTheFirst) {
  scene_.Add(Stateful("s", 3));
  RunAll();
  SetImage("new");
  Settle();
  // The last one was replaced, and nothing else until it is ready.
  EXPECT_EQ(ImageOf("s-0"), "i");
  EXPECT_EQ(ImageOf("s-1"), "i");
  EXPECT_EQ(ImageOf("s-2"), "new");
  RunAll();
  EXPECT_EQ(ImageOf("s-0"), "new");
  const auto status = scene_.Get<api::StatefulSet>("s").status;
  EXPECT_EQ(status.current_revision, status.update_revision);
  EXPECT_EQ(scene_.All<api::ControllerRevision>().size(), 2u);
}

TEST_F(StatefulSetTest, BelowThePartitionTheOldTemplateStaysEvenForNewPods) {
  scene_.Add(Stateful("s", 3));
  RunAll();
  api::StatefulSet set = scene_.Get<api::StatefulSet>("s");
  set.spec.update_strategy.rolling_update.emplace().partition = 2;
  set.spec.template_.spec.containers[0].image = "new";
  scene_.Put(set);
  RunAll();
  EXPECT_EQ(ImageOf("s-1"), "i");
  EXPECT_EQ(ImageOf("s-2"), "new");
  scene_.Delete<api::Pod>("s-0");
  RunAll();
  EXPECT_EQ(ImageOf("s-0"), "i");
}

TEST_F(StatefulSetTest, AnOldPodThatIsNeverReadyIsReplaced) {
  scene_.Add(Stateful("s", 2));
  Settle();
  EXPECT_THAT(Pods(), ElementsAre("s-0"));
  SetImage("new");
  Settle();
  EXPECT_EQ(ImageOf("s-0"), "new");
}

TEST_F(StatefulSetTest, APodOfItsNameThatIsNobodysIsAdopted) {
  api::Pod pod = PodNamed("s-0");
  pod.metadata.labels["app"] = "s";
  scene_.Add(pod);
  scene_.Add(Stateful("s", 1));
  Settle();
  // And replaced, since nobody knows which template it is of.
  const api::Pod adopted = scene_.Get<api::Pod>("s-0");
  ASSERT_NE(api::FindController(adopted.metadata), nullptr);
  EXPECT_EQ(api::FindController(adopted.metadata)->name, "s");
  EXPECT_TRUE(adopted.metadata.labels.contains("controller-revision-hash"));
}

TEST_F(StatefulSetTest, EachPodHasVolumesOfItsOwnAndTheyStay) {
  api::StatefulSet set = Stateful("s", 2);
  api::StatefulSetVolumeClaim& claim = set.spec.volume_claim_templates.emplace_back();
  claim.metadata.name = "data";
  claim.spec.access_modes = {"ReadWriteOnce"};
  claim.spec.resources.requests["storage"] = *base::Quantity::Parse("1Gi");
  scene_.Add(set);
  RunAll();
  const api::KindInfo& kind = *api::FindKind("v1", "PersistentVolumeClaim");
  const auto names = [&] {
    std::vector<std::string> all;
    for (const api::Object& object : scene_.cluster().All(kind)) {
      all.push_back(object.metadata().name);
    }
    return all;
  };
  EXPECT_THAT(names(), ElementsAre("data-s-0", "data-s-1"));
  EXPECT_EQ(scene_.Get<api::Pod>("s-1").spec.volumes.at(0).persistent_volume_claim->claim_name,
            "data-s-1");
  set = scene_.Get<api::StatefulSet>("s");
  set.spec.replicas = 1;
  scene_.Put(set);
  RunAll();
  EXPECT_THAT(names(), ElementsAre("data-s-0", "data-s-1"));
}

TEST_F(StatefulSetTest, OldTemplatesAreForgottenAfterAWhile) {
  api::StatefulSet set = Stateful("s", 1);
  set.spec.revision_history_limit = 1;
  scene_.Add(set);
  RunAll();
  for (const char* image : {"a", "b", "c"}) {
    SetImage(image);
    RunAll();
  }
  EXPECT_LE(scene_.All<api::ControllerRevision>().size(), 2u);
  // Back to one that is still known: it is moved to the end, not made again.
  SetImage("b");
  RunAll();
  EXPECT_EQ(ImageOf("s-0"), "b");
}

}  // namespace
}  // namespace dray::controllers

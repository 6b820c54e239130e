// SPDX-License-Identifier: Apache-2.0
#include "controllers/replica_set_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "controllers/pods.h"
#include "controllers/workload_pods.h"
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

// Thousands of pods come one after the other, and each time their set is looked at again.
TEST_F(ReplicaSetTest, OnlyPodsThatHaveChangedAreLookedAt) {
  scene_.Add(SetNamed("web", 1'000));
  controller_.Sync();
  ASSERT_THAT(Pods(), SizeIs(1'000));
  EXPECT_LE(controller_.looked_at(), 1'000u);
  const std::uint64_t before = controller_.looked_at();
  for (const api::Pod& pod : Pods()) {
    if (pod.metadata.name < "web-d") MakeReady(scene_, pod.metadata.name);
  }
  controller_.Sync();
  const std::int32_t ready = StatusOf("web").ready_replicas;
  EXPECT_GT(ready, 0);
  EXPECT_EQ(controller_.looked_at() - before, static_cast<std::uint64_t>(ready));
  // Nor do those that are none of its business concern it, after the first look at them.
  for (int i = 0; i < 100; ++i) scene_.Add(PodNamed(fmt::format("other-{}", i)));
  Resize("web", 1'001);
  controller_.Sync();
  const std::uint64_t others = controller_.looked_at();
  Resize("web", 1'002);
  controller_.Sync();
  EXPECT_LE(controller_.looked_at() - others, 2u);
}

// Counting from changes gives what counting all of them would.
TEST_F(ReplicaSetTest, CountsFromChangesWhatIsThere) {
  std::mt19937 random(7);
  const auto pick = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const auto uid = scene_.Add(SetNamed("web", 8)).metadata.uid;
  const auto expected = [&] {
    const auto set = scene_.Get<api::ReplicaSet>("web");
    api::ReplicaSetStatus counted;
    for (const api::Pod& pod : Pods()) {
      const auto* owner = api::FindController(pod.metadata);
      if (owner == nullptr || owner->uid != uid || IsTerminal(pod) ||
          pod.metadata.deletion_timestamp.has_value()) {
        continue;
      }
      ++counted.replicas;
      const std::string* tier = pod.metadata.labels.Find("tier");
      const std::string* wanted = set.spec.template_.metadata.labels.Find("tier");
      const bool all = wanted == nullptr || (tier != nullptr && *tier == *wanted);
      counted.fully_labeled_replicas += all ? 1 : 0;
      const auto available = AvailableAt(pod, set.spec.min_ready_seconds);
      counted.ready_replicas += available.has_value() ? 1 : 0;
      counted.available_replicas += available <= scene_.clock().Now() && available ? 1 : 0;
    }
    return counted;
  };
  int orphans = 0;
  for (int step = 0; step < 600; ++step) {
    const auto pods = Pods();
    const std::string some = pods.empty() ? "" : pods[pick(pods.size())].metadata.name;
    auto set = scene_.Get<api::ReplicaSet>("web");
    switch (some.empty() ? 0 : pick(10)) {
      case 0:
        Resize("web", static_cast<std::int32_t>(pick(14)));
        break;
      case 1:
        set.spec.min_ready_seconds = static_cast<std::int32_t>(pick(3) * 10);
        scene_.Put(set);
        break;
      case 2:
        set.spec.template_.metadata.labels["tier"] = pick(2) == 0 ? "a" : "b";
        scene_.Put(set);
        break;
      case 3:
        scene_.clock().Advance(std::chrono::seconds(pick(15)));
        break;
      case 4:
        scene_.clock().SetNow(scene_.clock().Now() - std::chrono::seconds(pick(8)));
        break;
      case 5:
        if (!IsTerminal(scene_.Get<api::Pod>(some))) scene_.SetPhase(some, api::kPodFailed);
        break;
      case 6:
        scene_.Delete<api::Pod>(some);
        break;
      case 7: {
        auto pod = scene_.Get<api::Pod>(some);
        pod.metadata.labels["app"] = pod.metadata.labels["app"] == "web" ? "debug" : "web";
        scene_.Put(pod);
        break;
      }
      case 8: {
        api::Pod orphan = PodNamed(fmt::format("orphan-{}", orphans++));
        orphan.metadata.labels["app"] = pick(2) == 0 ? "web" : "debug";
        scene_.Add(orphan);
        break;
      }
      default: {
        const auto pod = scene_.Get<api::Pod>(some);
        if (!IsTerminal(pod) && !pod.metadata.deletion_timestamp && !IsReadyNow(pod)) {
          MakeReady(scene_, some);
        }
      }
    }
    controller_.Sync();
    // Nobody tells of a clock that was set; the next look sees it.
    if (const auto now = expected(); now.available_replicas != StatusOf("web").available_replicas) {
      Resize("web", scene_.Get<api::ReplicaSet>("web").spec.replicas.value_or(1) + 1);
      controller_.Sync();
    }
    const auto now = expected();
    const auto said = StatusOf("web");
    ASSERT_EQ(said.replicas, now.replicas) << step;
    ASSERT_EQ(said.fully_labeled_replicas, now.fully_labeled_replicas) << step;
    ASSERT_EQ(said.ready_replicas, now.ready_replicas) << step;
    ASSERT_EQ(said.available_replicas, now.available_replicas) << step;
    ASSERT_EQ(said.replicas, scene_.Get<api::ReplicaSet>("web").spec.replicas) << step;
  }
}

TEST_F(ReplicaSetTest, SaysWhatItDid) {
  scene_.Add(SetNamed("web", 1));
  controller_.Sync();
  const std::string pod = Pods()[0].metadata.name;
  EXPECT_THAT(scene_.Events(), ElementsAre("SuccessfulCreate: Created pod: " + pod));
}

}  // namespace
}  // namespace dray::controllers

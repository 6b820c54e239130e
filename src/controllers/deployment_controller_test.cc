// SPDX-License-Identifier: Apache-2.0
#include "controllers/deployment_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/strategy.h"
#include "controllers/replica_set_controller.h"
#include "controllers/rollout.h"
#include "controllers/workloads_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class DeploymentTest : public ::testing::Test {
 protected:
  std::size_t Settle() { return scene_.Settle(deployments_, sets_); }
  std::vector<api::ReplicaSet> Sets() { return scene_.All<api::ReplicaSet>(); }
  // Of the present template.
  api::ReplicaSet Fresh() {
    const auto deployment = scene_.Get<api::Deployment>("web");
    for (const auto& set : Sets()) {
      if (SameTemplate(set.spec.template_, deployment.spec.template_)) return set;
    }
    ADD_FAILURE() << "no set of the present template";
    return {};
  }
  std::int32_t Total() {
    std::int32_t total = 0;
    for (const auto& set : Sets()) total += set.spec.replicas.value_or(0);
    return total;
  }
  void SetImage(std::string_view image) {
    auto deployment = scene_.Get<api::Deployment>("web");
    deployment.spec.template_.spec.containers[0].image = image;
    scene_.Put(deployment);
  }
  std::string ConditionOf(std::string_view type) {
    for (const auto& condition : scene_.Get<api::Deployment>("web").status.conditions) {
      if (condition.type == type) return condition.status + " " + condition.reason;
    }
    return "";
  }
  Scene scene_;
  DeploymentController deployments_{scene_.cluster(), scene_.clock()};
  ReplicaSetController sets_{scene_.cluster(), scene_.clock()};
};

TEST_F(DeploymentTest, HasASetOfItsTemplate) {
  scene_.Add(DeploymentNamed("web", 3));
  Settle();
  ASSERT_THAT(Sets(), SizeIs(1));
  const api::ReplicaSet set = Sets()[0];
  const std::string* hash = set.metadata.labels.Find(api::kPodTemplateHashLabel);
  ASSERT_NE(hash, nullptr);
  EXPECT_EQ(set.metadata.name, "web-" + *hash);
  EXPECT_EQ(*set.spec.selector->match_labels.Find(api::kPodTemplateHashLabel), *hash);
  EXPECT_EQ(*set.spec.template_.metadata.labels.Find(api::kPodTemplateHashLabel), *hash);
  EXPECT_EQ(set.spec.replicas, 3);
  EXPECT_EQ(*set.metadata.annotations.Find(api::kDeploymentRevisionAnnotation), "1");
  EXPECT_THAT(scene_.All<api::Pod>(), SizeIs(3));
  EXPECT_EQ(RevisionOf(scene_.Get<api::Deployment>("web").metadata), 1);
  EXPECT_EQ(ConditionOf("Available"), "False MinimumReplicasUnavailable");
  EXPECT_EQ(Settle(), 0u);
}

TEST_F(DeploymentTest, SaysHowFarItIs) {
  scene_.Add(DeploymentNamed("web", 2));
  Settle();
  MakeAllReady(scene_);
  Settle();
  const auto status = scene_.Get<api::Deployment>("web").status;
  EXPECT_EQ(status.replicas, 2);
  EXPECT_EQ(status.updated_replicas, 2);
  EXPECT_EQ(status.ready_replicas, 2);
  EXPECT_EQ(status.available_replicas, 2);
  EXPECT_EQ(status.unavailable_replicas, 0);
  EXPECT_EQ(ConditionOf("Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(ConditionOf("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(Settle(), 0u);
}

TEST_F(DeploymentTest, RollsOutWithinItsLimits) {
  scene_.Add(DeploymentNamed("web", 8));  // two more, two fewer
  Settle();
  MakeAllReady(scene_);
  Settle();
  SetImage("new");
  for (int step = 0; step < 50; ++step) {
    Settle();
    std::int32_t available = 0;
    for (const auto& set : Sets()) available += set.status.available_replicas;
    EXPECT_LE(Total(), 10);
    EXPECT_GE(available, 6);
    const auto pods = scene_.All<api::Pod>();
    const auto waiting = std::ranges::find_if_not(pods, IsReadyNow);
    if (waiting == pods.end()) break;
    MakeReady(scene_, waiting->metadata.name);
  }
  EXPECT_EQ(Fresh().status.available_replicas, 8);
  EXPECT_EQ(Total(), 8);
  EXPECT_EQ(RevisionOf(Fresh().metadata), 2);
  EXPECT_EQ(ConditionOf("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, ScalingInTheMiddleOfARollOutIsTheNewSets) {
  scene_.Add(DeploymentNamed("web", 4));
  Settle();
  MakeAllReady(scene_);
  Settle();
  SetImage("new");
  Settle();  // one more, one fewer
  const auto old = [&] { return Total() - Fresh().spec.replicas.value_or(0); };
  EXPECT_EQ(old(), 3);
  EXPECT_EQ(Fresh().spec.replicas, 2);
  auto larger = scene_.Get<api::Deployment>("web");
  larger.spec.replicas = 8;
  scene_.Put(larger);
  Settle();
  EXPECT_EQ(old(), 3);
  EXPECT_EQ(Fresh().spec.replicas, 7);  // with the surge of two
}

TEST_F(DeploymentTest, GoingBackTakesTheOldSetAndANewRevision) {
  scene_.Add(DeploymentNamed("web", 1));
  Settle();
  MakeAllReady(scene_);
  Settle();
  for (const std::string_view image : {"new", "i"}) {
    SetImage(image);
    for (int i = 0; i < 5; ++i) {
      Settle();
      MakeAllReady(scene_);
    }
    Settle();
  }
  EXPECT_THAT(Sets(), SizeIs(2));
  EXPECT_EQ(RevisionOf(Fresh().metadata), 3);
  EXPECT_EQ(RevisionOf(scene_.Get<api::Deployment>("web").metadata), 3);
  EXPECT_EQ(Total(), 1);
}

TEST_F(DeploymentTest, RecreateEndsTheOldPodsFirst) {
  auto wanted = DeploymentNamed("web", 2);
  wanted.spec.strategy.type = api::kStrategyRecreate;
  wanted.spec.template_.metadata.finalizers = {"example.com/slow"};
  scene_.Add(wanted);
  Settle();
  MakeAllReady(scene_);
  SetImage("new");
  Settle();
  EXPECT_THAT(Sets(), SizeIs(1));  // its pods are on their way out
  for (auto pod : scene_.All<api::Pod>()) {
    pod.metadata.finalizers.clear();
    scene_.Put(pod);
  }
  Settle();
  EXPECT_THAT(Sets(), SizeIs(2));
  EXPECT_EQ(Fresh().spec.replicas, 2);
}

TEST_F(DeploymentTest, APausedOneScalesButDoesNotRollOut) {
  scene_.Add(DeploymentNamed("web", 2));
  Settle();
  auto paused = scene_.Get<api::Deployment>("web");
  paused.spec.paused = true;
  paused.spec.replicas = 5;
  paused.spec.template_.spec.containers[0].image = "new";
  scene_.Put(paused);
  Settle();
  ASSERT_THAT(Sets(), SizeIs(1));
  EXPECT_EQ(Sets()[0].spec.replicas, 5);
}

TEST_F(DeploymentTest, ANameThatIsTakenIsAvoided) {
  api::Object with_defaults = api::Object::Of(DeploymentNamed("web", 1));
  api::SetDefaults(with_defaults, scene_.clock().Now());
  const auto wanted = *with_defaults.As<api::Deployment>();
  auto stranger = SetNamed("web-" + HashOf(wanted.spec.template_, 0), 0);
  stranger.spec.selector->match_labels["app"] = "other";
  stranger.spec.template_.metadata.labels["app"] = "other";
  scene_.Add(stranger);
  scene_.Add(wanted);
  Settle();
  EXPECT_EQ(scene_.Get<api::Deployment>("web").status.collision_count, 1);
  EXPECT_EQ(Fresh().metadata.name, "web-" + HashOf(wanted.spec.template_, 1));
}

TEST_F(DeploymentTest, OldSetsAreKeptUpToALimit) {
  auto wanted = DeploymentNamed("web", 1);
  wanted.spec.revision_history_limit = 1;
  scene_.Add(wanted);
  for (const std::string_view image : {"a", "b", "c"}) {
    Settle();
    MakeAllReady(scene_);
    Settle();
    SetImage(image);
  }
  for (int i = 0; i < 5; ++i) {
    Settle();
    MakeAllReady(scene_);
  }
  EXPECT_THAT(Sets(), SizeIs(2));
}

TEST_F(DeploymentTest, OneThatGetsNowhereSaysSo) {
  auto wanted = DeploymentNamed("web", 1);
  wanted.spec.progress_deadline_seconds = 60;
  scene_.Add(wanted);
  Settle();
  EXPECT_EQ(*deployments_.NextDue() - scene_.clock().Monotonic(), 60s);
  scene_.clock().Advance(60s);
  Settle();
  EXPECT_EQ(ConditionOf("Progressing"), "False ProgressDeadlineExceeded");
  MakeAllReady(scene_);
  Settle();
  EXPECT_EQ(ConditionOf("Progressing"), "True NewReplicaSetAvailable");
}

TEST(Rollout, LimitsAreNumbersOrPercentages) {
  struct Case {
    std::optional<api::IntOrString> surge;
    std::optional<api::IntOrString> unavailable;
    RolloutLimits limits;
  };
  const Case cases[] = {
      {{}, {}, {3, 2}},
      {api::IntOrString{1}, api::IntOrString{0}, {1, 0}},
      {api::IntOrString{"10%"}, api::IntOrString{"10%"}, {1, 1}},
      {api::IntOrString{"1%"}, api::IntOrString{"1%"}, {1, 0}},
      {api::IntOrString{0}, api::IntOrString{0}, {0, 1}},
  };
  for (const Case& c : cases) {
    api::DeploymentSpec spec;
    spec.replicas = 10;
    auto& rolling = spec.strategy.rolling_update.emplace();
    rolling.max_surge = c.surge;
    rolling.max_unavailable = c.unavailable;
    EXPECT_EQ(LimitsOf(spec).surge, c.limits.surge);
    EXPECT_EQ(LimitsOf(spec).unavailable, c.limits.unavailable);
  }
}

}  // namespace
}  // namespace dray::controllers

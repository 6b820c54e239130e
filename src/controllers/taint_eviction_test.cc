// SPDX-License-Identifier: Apache-2.0
#include "controllers/taint_eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using namespace std::chrono_literals;

class TaintEvictionTest : public ::testing::Test {
 protected:
  void Taint(std::string_view key, std::string_view effect, bool with_time = false) {
    if (!scene_.Has<api::Node>("n", "")) {
      api::Node made;
      made.metadata.name = "n";
      scene_.Add(made);
    }
    auto node = scene_.Get<api::Node>("n", "");
    node.spec.taints.clear();
    if (!key.empty()) {
      api::Taint& taint = node.spec.taints.emplace_back();
      taint.key = key;
      taint.effect = effect;
      if (with_time) taint.time_added = scene_.clock().Now();
    }
    scene_.Put(node);
  }
  void AddPod(std::string_view name, std::vector<api::Toleration> tolerations) {
    api::Pod pod = PodNamed(name);
    pod.spec.node_name = "n";
    pod.spec.tolerations = std::move(tolerations);
    pod.status.phase = api::kPodRunning;
    scene_.Add(pod);
  }
  static api::Toleration For(std::optional<std::int64_t> seconds) {
    return {
        .key = "k", .operator_ = "Exists", .effect = "NoExecute", .toleration_seconds = seconds};
  }
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    for (const auto& pod : scene_.All<api::Pod>()) names.push_back(pod.metadata.name);
    return names;
  }

  Scene scene_;
  TaintEviction controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(TaintEvictionTest, OnlyTaintsThatSaySoDriveAway) {
  AddPod("p", {});
  for (const char* effect : {"NoSchedule", "PreferNoSchedule"}) {
    Taint("k", effect);
    EXPECT_EQ(scene_.Settle(controller_), 0u);
  }
  Taint("k", "NoExecute");
  api::PodStatus last;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object& object) {
    if (verb == api::Verb::kDelete) last = object.As<api::Pod>()->status;
    return Status();
  });
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre());
  ASSERT_EQ(last.conditions.size(), 1u);
  EXPECT_EQ(last.conditions[0].reason, "DeletionByTaintManager");
  EXPECT_THAT(scene_.Events(), Contains("TaintManagerEviction: Marking for deletion Pod ns/p"));
}

TEST_F(TaintEvictionTest, TheShortestTolerationCounts) {
  AddPod("ever", {For(std::nullopt)});
  AddPod("ever-but-100", {For(std::nullopt), For(100)});
  AddPod("50", {For(50), For(100)});
  AddPod("never", {For(-5)});
  Taint("k", "NoExecute");
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("50", "ever", "ever-but-100"));
  scene_.clock().Advance(50s);
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("ever", "ever-but-100"));
  scene_.clock().Advance(50s);
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("ever"));
}

// People write the largest number that there is when they mean for ever.
TEST_F(TaintEvictionTest, WhoToleratesForLongerThanCanBeCountedStays) {
  AddPod("p", {For(std::numeric_limits<std::int64_t>::max())});
  AddPod("q", {For(10'000'000'000)});
  Taint("k", "NoExecute", true);
  EXPECT_EQ(scene_.Settle(controller_), 0u);
  scene_.clock().Advance(24h);
  EXPECT_EQ(scene_.Settle(controller_), 0u);
  EXPECT_EQ(Left(), (std::vector<std::string>{"p", "q"}));
}

TEST_F(TaintEvictionTest, TimeCountsFromTheTaintAlsoAfterARestart) {
  AddPod("p", {For(100)});
  Taint("k", "NoExecute", true);
  scene_.Settle(controller_);
  scene_.clock().Advance(60s);
  TaintEviction next(scene_.cluster(), scene_.clock());
  scene_.Settle(next);
  EXPECT_EQ(*next.NextDue() - scene_.clock().Monotonic(), 40s);
}

// It would be sent away and made again for ever if an old taint counted against it.
TEST_F(TaintEvictionTest, WhoComesLaterHasItsTimeFromThenOn) {
  Taint("k", "NoExecute", true);
  scene_.clock().Advance(3600s);
  AddPod("p", {For(100)});
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("p"));
  scene_.clock().Advance(100s);
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre());
}

TEST_F(TaintEvictionTest, ATaintThatGoesTakesTheTimeAlong) {
  AddPod("p", {For(100)});
  Taint("k", "NoExecute");
  scene_.Settle(controller_);
  scene_.clock().Advance(60s);
  Taint("", "");
  scene_.Settle(controller_);
  Taint("k", "NoExecute");
  scene_.Settle(controller_);
  scene_.clock().Advance(60s);
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("p"));
}

TEST_F(TaintEvictionTest, WhatHasEndedStays) {
  AddPod("p", {});
  scene_.SetPhase("p", api::kPodSucceeded);
  Taint("k", "NoExecute");
  scene_.Settle(controller_);
  EXPECT_THAT(Left(), ElementsAre("p"));
}

}  // namespace
}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "scheduler/objects_for_test.h"

namespace dray::scheduler {
namespace {

TEST(TournamentTest, TheBestIsTheHighestAndTheFirstOfEqualOnes) {
  std::mt19937 random(7);
  for (const std::size_t n : {1u, 2u, 3u, 8u, 33u}) {
    Tournament tournament;
    tournament.Reset(n);
    EXPECT_EQ(tournament.Best(), std::nullopt);
    std::vector<std::int64_t> scores(n, Tournament::kNone);
    for (int step = 0; step < 300; ++step) {
      const std::size_t place = random() % n;
      scores[place] = random() % 3 == 0 ? Tournament::kNone : static_cast<int>(random() % 5);
      tournament.Set(place, scores[place]);
      const auto best = std::ranges::max_element(scores);
      if (*best == Tournament::kNone) {
        EXPECT_EQ(tournament.Best(), std::nullopt);
      } else {
        ASSERT_EQ(tournament.Best(), best - scores.begin()) << n;
      }
    }
  }
}

class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    for (const char* name : {"a", "b", "c"}) world_.Apply(Added(MakeNode(name)));
  }
  void Refuse(const NodeInfo& node, Refusal refusal) {
    std::string key = refusal.Key();
    placement_.Refuse(node, std::move(refusal), std::move(key));
  }
  // Admits all but the refused one, with the score of a node's free cpu.
  std::size_t Answer(std::string_view refused = "") {
    const auto stale = placement_.Stale(world_);
    for (const NodeInfo* node : stale) {
      if (node->name() == refused) {
        Refuse(*node, {.reasons = {{.code = "x", .text = "no"}}});
      } else {
        placement_.Admit(*node);
      }
    }
    placement_.Finish();
    for (const NodeInfo* node : placement_.Unscored(world_)) {
      placement_.SetScore(*node, node->allocatable.milli_cpu - node->requested.milli_cpu, {});
    }
    return stale.size();
  }
  std::string Best() const {
    const auto rank = placement_.BestRank();
    return rank ? world_.nodes()[*rank]->name() : "";
  }
  World world_{WorldOptions{}};
  Placement placement_;
};

TEST_F(PlacementTest, OnlyChangedNodesAreStale) {
  EXPECT_EQ(Answer(), 3u);
  EXPECT_EQ(Answer(), 0u);
  EXPECT_EQ(Best(), "a");
  world_.Apply(Added(MakePod({.name = "p", .node = "a"})));
  EXPECT_EQ(Answer(), 1u);
  EXPECT_EQ(Best(), "b");
}

TEST_F(PlacementTest, ARoundThatWasNotFinishedComesAgain) {
  EXPECT_EQ(placement_.Stale(world_).size(), 3u);
  placement_.Admit(*world_.FindNode("a"));
  EXPECT_EQ(Answer(), 2u);
  EXPECT_EQ(placement_.admitted(), 3u);
}

TEST_F(PlacementTest, NodesMayComeAndGo) {
  Answer("b");
  EXPECT_EQ(placement_.admitted(), 2u);
  world_.Apply(Deleted(MakeNode("a")));
  EXPECT_EQ(Answer(), 0u);
  EXPECT_EQ(Best(), "c");
  world_.Apply(Added(MakeNode("aa", "9")));
  EXPECT_EQ(Answer(), 1u);
  EXPECT_EQ(Best(), "aa");
  world_.Apply(Deleted(MakeNode("b")));
  EXPECT_EQ(Answer(), 0u);
  EXPECT_EQ(placement_.admitted(), 2u);
}

TEST_F(PlacementTest, EqualRefusalsHaveOneNumber) {
  for (const NodeInfo* node : placement_.Stale(world_)) {
    Refuse(*node, {.reasons = {{.text = node->name() == "b" ? "other" : "same"}}});
  }
  const auto number = [&](std::string_view node) {
    return placement_.RefusalNumber(*world_.FindNode(node));
  };
  EXPECT_EQ(number("a"), number("c"));
  EXPECT_NE(number("a"), number("b"));
  EXPECT_EQ(placement_.RefusalOf(*world_.FindNode("b"))->reasons.front().text, "other");
}

TEST_F(PlacementTest, OtherScorersMeanOtherScores) {
  Answer();
  placement_.SetScorers(3, 1);
  EXPECT_EQ(Best(), "");
  for (const NodeInfo* node : placement_.Unscored(world_)) {
    const std::vector<std::int64_t> raw = {node->name() == "c" ? 1 : 0};
    placement_.SetScore(*node, node->name() == "b" ? 5 : 4, raw);
  }
  EXPECT_EQ(Best(), "b");
  EXPECT_FALSE(placement_.RawIsEqual(0));
  world_.Apply(Deleted(MakeNode("c")));
  EXPECT_TRUE(placement_.Stale(world_).empty());
  EXPECT_TRUE(placement_.RawIsEqual(0));
}

TEST_F(PlacementTest, ANodeThatIsLeftOutComesBack) {
  Answer();
  placement_.LeaveOut(0);
  EXPECT_EQ(Best(), "b");
  placement_.Restore();
  EXPECT_EQ(Best(), "a");
}

TEST(PlacementsTest, TheShapeThatWasUsedLongestAgoIsForgotten) {
  World world{WorldOptions{}};
  ResourceNames names;
  const auto pod = PodInfo::From(std::make_shared<const api::Pod>(MakePod({.name = "p"})), names);
  Placements placements(2);
  Placement* one = &placements.Get({.shape = 1}, pod, world);
  placements.Get({.shape = 2}, pod, world);
  EXPECT_EQ(&placements.Get({.shape = 1}, pod, world), one);
  placements.Get({.shape = 3}, pod, world);
  EXPECT_EQ(placements.size(), 2u);
  EXPECT_EQ(&placements.Get({.shape = 1}, pod, world), one);
}

TEST(PlacementsTest, WhatConcernsEveryNodeEndsAllMemory) {
  World world{WorldOptions{}};
  world.Apply(Added(MakeNode("a")));
  ResourceNames names;
  const auto pod = PodInfo::From(std::make_shared<const api::Pod>(MakePod({.name = "p"})), names);
  Placements placements(2);
  Placement& before = placements.Get({.shape = 1}, pod, world);
  for (const NodeInfo* node : before.Stale(world)) before.Admit(*node);
  before.Finish();
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  world.Apply(Added(gpu));
  EXPECT_EQ(placements.Get({.shape = 1}, pod, world).Stale(world).size(), 1u);
}

}  // namespace
}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/resource_slice.h"
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
    const std::uint32_t number = refusals_.Add(std::move(refusal));
    placement_.Refuse(node, refusals_.At(number));
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
    std::vector<std::int64_t> totals;
    const std::vector<NodeInfo*> unscored = placement_.Unscored(world_);
    for (const NodeInfo* node : unscored) {
      totals.push_back(node->allocatable.milli_cpu - node->requested.milli_cpu);
    }
    placement_.SetScores(unscored, totals, {});
    return stale.size();
  }
  std::string Best() const {
    const auto rank = placement_.BestRank();
    return rank ? world_.nodes()[*rank]->name() : "";
  }
  World world_{WorldOptions{}};
  Refusals refusals_;
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

// Until something of it is given back, or its object changes. Why it refuses may be another matter by then.
TEST_F(PlacementTest, ANodeThatIsFullIsNotAskedAgainWhileOthersTakeMoreOfIt) {
  for (const NodeInfo* node : placement_.Stale(world_)) {
    if (node->name() == "b") {
      Refuse(*node, {.reasons = {{.text = "full"}}, .lasts = true});
    } else {
      placement_.Admit(*node);
    }
  }
  placement_.Finish();
  EXPECT_TRUE(placement_.Outdated(world_).empty());
  for (const char* pod : {"p", "q"}) world_.Apply(Added(MakePod({.name = pod, .node = "b"})));
  EXPECT_EQ(Answer(), 0u);
  EXPECT_EQ(placement_.admitted(), 2u);
  EXPECT_TRUE(placement_.Knows(*world_.FindNode("b")));
  const auto outdated = placement_.Outdated(world_);
  ASSERT_EQ(outdated.size(), 1u);
  Refuse(*outdated.front(), {.reasons = {{.text = "fuller"}}, .lasts = true});
  EXPECT_TRUE(placement_.Outdated(world_).empty());
  EXPECT_EQ(placement_.RefusalOf(*world_.FindNode("b"))->reasons.front().text, "fuller");
  world_.Apply(Deleted(MakePod({.name = "p", .node = "b"})));
  EXPECT_FALSE(placement_.Knows(*world_.FindNode("b")));
  EXPECT_EQ(Answer("b"), 1u);
  world_.Apply(Added(MakePod({.name = "r", .node = "b"})));
  EXPECT_EQ(Answer(), 1u) << "what refused it last may pass";
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

TEST_F(PlacementTest, ARefusalThatNobodyHasAnyMoreIsNotMistakenForAnother) {
  for (const NodeInfo* node : placement_.Stale(world_)) {
    Refuse(*node, {.reasons = {{.text = node->name()}}});
  }
  placement_.Finish();
  // The only node that had the reason gets another one, and then another node that reason again.
  world_.Apply(Added(MakePod({.name = "p", .node = "a"})));
  world_.Apply(Added(MakePod({.name = "q", .node = "b"})));
  const auto stale = placement_.Stale(world_);
  ASSERT_EQ(stale.size(), 2u);
  const Refusals::Known fresh = refusals_.At(refusals_.Add({.reasons = {{.text = "fresh"}}}));
  const std::uint32_t number = placement_.Refuse(*stale[0], fresh);
  placement_.RefuseAgain(*stale[1], number);
  const auto text = [&](std::string_view node) {
    return placement_.RefusalOf(*world_.FindNode(node))->reasons.front().text;
  };
  EXPECT_EQ(text("a"), "fresh");
  EXPECT_EQ(text("b"), "fresh");
  EXPECT_EQ(text("c"), "c");
}

TEST_F(PlacementTest, OneThatBeginsAnewIsAsANewOne) {
  Answer("b");
  placement_.SetScorers(3, 1);
  placement_.Reset(world_.node_indices());
  EXPECT_EQ(placement_.admitted(), 0u);
  EXPECT_EQ(Best(), "");
  EXPECT_EQ(Answer("c"), 3u);
  EXPECT_EQ(placement_.admitted(), 2u);
  EXPECT_EQ(Best(), "a");
  EXPECT_EQ(placement_.RefusalOf(*world_.FindNode("b")), nullptr);
}

TEST(RefusalsTest, WhatSaysTheSameHasOneNumber) {
  using Code = PluginStatus::Code;
  Refusals refusals;
  const auto said = [](std::string text, std::string free = "1", std::uint32_t filter = 0) {
    return Refusal{
        .filter = filter,
        .reasons = {{.text = std::move(text), .shortages = {{"cpu", "2", std::move(free)}}}}};
  };
  EXPECT_EQ(refusals.Add(said("a")), 0u);
  EXPECT_EQ(refusals.Add(said("a")), 0u);
  EXPECT_EQ(refusals.Add(said("b")), 1u);
  EXPECT_EQ(refusals.Add(said("a")), 0u) << "not the last one";
  EXPECT_EQ(refusals.Add(said("a", "0")), 2u) << "another amount is missing";
  EXPECT_EQ(refusals.Add(said("a", "1", 1)), 3u) << "another filter";
  Refusal for_good = said("a");
  for_good.code = Code::kUnresolvable;
  EXPECT_EQ(refusals.Add(for_good), 4u);
  EXPECT_EQ(refusals.size(), 5u);
  EXPECT_EQ(refusals.At(1).refusal->reasons.front().text, "b");
}

TEST_F(PlacementTest, OtherScorersMeanOtherScores) {
  Answer();
  placement_.SetScorers(3, 1);
  EXPECT_EQ(Best(), "");
  const std::vector<NodeInfo*> unscored = placement_.Unscored(world_);
  std::vector<std::int64_t> totals;
  std::vector<std::int64_t> raw;
  for (const NodeInfo* node : unscored) {
    totals.push_back(node->name() == "b" ? 5 : 4);
    raw.push_back(node->name() == "c" ? 1 : 0);
  }
  placement_.SetScores(unscored, totals, raw);
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

TEST(PlacementsTest, WhatConcernsAShapeOnEveryNodeEndsItsMemory) {
  World world{WorldOptions{}};
  world.Apply(Added(MakeNode("a")));
  ResourceNames names;
  const auto pod = PodInfo::From(std::make_shared<const api::Pod>(MakePod({.name = "p"})), names);
  Placements placements(2);
  Placement& before = placements.Get({.shape = 1}, pod, world);
  for (const NodeInfo* node : before.Stale(world)) before.Admit(*node);
  before.Finish();
  api::ResourceSlice everywhere;
  everywhere.metadata.name = "everywhere";
  everywhere.spec.driver = "d";
  everywhere.spec.pool.name = "p";
  everywhere.spec.all_nodes = true;
  world.Apply(Added(everywhere));
  EXPECT_EQ(placements.Get({.shape = 1}, pod, world).Stale(world).size(), 0u);
  EXPECT_EQ(placements.Get({.shape = 1}, pod, world, world.global_version()).Stale(world).size(),
            1u);
}

}  // namespace
}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/resource_scoring.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "scheduler/plugins/node_resources_balanced_allocation.h"
#include "scheduler/plugins/small_world_for_test.h"

namespace dray::scheduler {
namespace {

using Loads = std::vector<ResourceLoad>;

ResourceLoad Load(std::int64_t allocatable, std::int64_t used, std::int64_t wanted,
                  std::int64_t weight = 1) {
  return {.weight = weight, .allocatable = allocatable, .used = used, .wanted = wanted};
}

TEST(LeastAllocated, IsWhatIsLeft) {
  EXPECT_EQ(LeastAllocated(Loads{Load(10, 0, 0)}), 100);
  EXPECT_EQ(LeastAllocated(Loads{Load(10, 4, 1)}), 50);
  EXPECT_EQ(LeastAllocated(Loads{Load(10, 10, 1)}), 0);
  EXPECT_EQ(LeastAllocated(Loads{Load(10, 4, 1, 3), Load(10, 0, 0, 1)}), 62);
  EXPECT_EQ(LeastAllocated(Loads{Load(0, 0, 1), Load(10, 4, 1)}), 50);
  EXPECT_EQ(LeastAllocated(Loads{}), 0);
}

TEST(MostAllocated, IsWhatIsUsed) {
  EXPECT_EQ(MostAllocated(Loads{Load(10, 0, 0)}), 0);
  EXPECT_EQ(MostAllocated(Loads{Load(10, 4, 1)}), 50);
  EXPECT_EQ(MostAllocated(Loads{Load(10, 10, 1)}), 100);
}

TEST(ResourceScores, HoldForAmountsThatFillTheWord) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(LeastAllocated(Loads{Load(kHuge, kHuge / 4, 0)}), 75);
  EXPECT_EQ(MostAllocated(Loads{Load(kHuge, kHuge / 2, 0)}), 49);
}

TEST(RequestedToCapacityRatio, FollowsTheShape) {
  const std::vector<ShapePoint> shape = {{0, 10}, {50, 0}, {100, 10}};
  EXPECT_EQ(RequestedToCapacityRatio(Loads{Load(100, 0, 0)}, shape), 100);
  EXPECT_EQ(RequestedToCapacityRatio(Loads{Load(100, 20, 5)}, shape), 50);
  EXPECT_EQ(RequestedToCapacityRatio(Loads{Load(100, 70, 5)}, shape), 50);
  EXPECT_EQ(RequestedToCapacityRatio(Loads{Load(100, 100, 5)}, shape), 100);
  // A resource that scores nothing does not pull the others down.
  EXPECT_EQ(RequestedToCapacityRatio(Loads{Load(100, 50, 0), Load(100, 100, 0)}, shape), 100);
}

TEST(BalancedAllocation, WantsSharesToBecomeAlike) {
  EXPECT_EQ(BalancedAllocation(Loads{Load(10, 5, 0), Load(10, 5, 0)}), 75);
  // 50% and 0% in use, then both 50%.
  EXPECT_EQ(BalancedAllocation(Loads{Load(10, 5, 0), Load(10, 0, 5)}), 87);
  // Further apart: from 75 to 50.
  EXPECT_EQ(BalancedAllocation(Loads{Load(10, 5, 5), Load(10, 0, 0)}), 62);
  // Shares of 0.9, 0.6 and 0 (62), then 0.9, 0.6 and 0.6 (85).
  EXPECT_EQ(BalancedAllocation(Loads{Load(10, 9, 0), Load(10, 6, 0), Load(10, 0, 6)}), 86);
}

TEST(NodeResourcesBalancedAllocation, HasNothingToSayOfPodsThatAskForNothing) {
  SmallWorld small;
  small.Node(testing::Worker("n1").Has("cpu", "4").Has("memory", "4Gi"));
  const std::vector<ResourceWeight> resources = {{"cpu", 1}, {"memory", 1}};
  NodeResourcesBalancedAllocation plugin(resources, small.world());
  CycleState state;
  EXPECT_EQ(Said(plugin.PreScore(state, *small.Info(testing::Pod("p")), small.world())), "skip");
  const auto even = small.Info(testing::Pod("p").Request("cpu", "1").Request("memory", "1Gi"));
  const auto lopsided = small.Info(testing::Pod("p").Request("cpu", "4"));
  EXPECT_EQ(Said(plugin.PreScore(state, *even, small.world())), "ok");
  EXPECT_EQ(plugin.Score(state, *even, small.At("n1")), 75);
  EXPECT_EQ(plugin.Score(state, *lopsided, small.At("n1")), 50);
}

}  // namespace
}  // namespace dray::scheduler

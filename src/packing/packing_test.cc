// SPDX-License-Identifier: Apache-2.0
//
// Rules of packing, each by a small example.
#include <gtest/gtest.h>

#include <algorithm>

#include "packing/fragmentation.h"
#include "packing/packer.h"
#include "packing/relaxation.h"
#include "packing/variety.h"

namespace dray::packing {
namespace {

constexpr Amount kHalf = kWhole / 2;

Request Wants(std::int32_t cpu, std::initializer_list<Demand> demands) {
  return {.needs = {cpu, 0, 0}, .demands = demands};
}
Demand Whole(std::uint32_t count, std::initializer_list<std::uint16_t> kinds,
             std::int8_t match = -1) {
  Demand demand{.count = count, .match = match};
  for (const std::uint16_t kind : kinds) {
    demand.options.push_back({.kind = kind, .whole = true, .amounts = {kWhole}});
  }
  return demand;
}
Demand Part(Amount amount, std::initializer_list<std::uint16_t> kinds = {0}) {
  Demand demand;
  for (const std::uint16_t kind : kinds) {
    demand.options.push_back({.kind = kind, .amounts = {amount}});
  }
  return demand;
}
NodeState Node(std::int32_t cpu, std::initializer_list<Amount> units, std::uint16_t kind = 0) {
  NodeState node{.left = {cpu, 0, 0}};
  for (const Amount free : units) node.Add(kind, 0, {free});
  return node;
}

TEST(Place, TakesTheFullestUnitWithRoom) {
  NodeState node = Node(4, {kWhole, 400'000, 700'000});
  ASSERT_TRUE(Place(node, Wants(1, {Part(600'000)})));
  EXPECT_EQ(node, Node(3, {kWhole, 400'000, 100'000}));
}

TEST(Place, OfEquallyFullUnitsThatOfTheGroupWithTheFewestUntouchedOnes) {
  NodeState node{.left = {8, 0, 0}};
  for (const std::uint16_t group : {1, 1, 2, 1, 3, 3}) node.Add(0, group, {kWhole});
  ASSERT_TRUE(Place(node, Wants(1, {Part(kHalf)})));
  EXPECT_EQ(node.free[2], kHalf);
}

TEST(Place, WholeUnitsAreUntouchedOnes) {
  NodeState node = Node(4, {999'999, kWhole});
  EXPECT_FALSE(Place(node, Wants(1, {Whole(2, {0})})));
  node = Node(4, {999'999, kWhole});
  EXPECT_TRUE(Place(node, Wants(1, {Whole(1, {0})})));
  EXPECT_EQ(FreeOf(node), 999'999);
}

TEST(Place, AMatchedSetHasOneGroupAndTheFullestThatWillDo) {
  NodeState node{.left = {8, 0, 0}};
  for (const std::uint16_t group : {1, 1, 1, 2, 2, 3}) node.Add(0, group, {kWhole});
  ASSERT_TRUE(Place(node, Wants(1, {Whole(2, {0}, 0)})));
  // Group 3 has one unit only; of 2 nothing is left, so that 1 stays whole.
  EXPECT_FALSE(Untouched(node, node.units[3]));
  EXPECT_FALSE(Untouched(node, node.units[4]));
  EXPECT_TRUE(Untouched(node, node.units[5]));
  ASSERT_TRUE(Place(node, Wants(1, {Whole(3, {0}, 0)})));
  EXPECT_FALSE(Place(node, Wants(1, {Whole(2, {0}, 0)})));
}

TEST(Place, SeveralDemandsMatchEachOther) {
  // A device of kind 0 and one of kind 1 in the same group: only group 2 has both.
  NodeState node{.left = {8, 0, 0}};
  node.Add(0, 1, {kWhole});
  node.Add(0, 2, {kWhole});
  node.Add(1, 2, {kWhole});
  node.Add(1, 3, {kWhole});
  ASSERT_TRUE(Place(node, Wants(1, {Whole(1, {0}, 0), Whole(1, {1}, 0)})));
  EXPECT_TRUE(Untouched(node, node.units[0]));
  EXPECT_TRUE(Untouched(node, node.units[3]));
}

TEST(Place, PartitionsDrawOnEveryDimension) {
  NodeState node{.left = {8, 0, 0}};
  node.Add(0, 0, {kWhole, kHalf});
  Demand small;
  small.options.push_back({.kind = 0, .amounts = {kHalf, kHalf}});
  EXPECT_TRUE(Place(node, Wants(1, {small})));
  EXPECT_FALSE(Place(node, Wants(1, {small}))) << "the second dimension is used up";
  EXPECT_EQ(FreeOf(node), kHalf / 2);
}

TEST(Successors, OneForEachDifferentUnit) {
  NodeState node = Node(4, {kWhole, kWhole, 400'000, 700'000, 700'000});
  Normalize(node);
  EXPECT_EQ(Successors(node, Wants(1, {Part(300'000)})).size(), 3u);
  EXPECT_EQ(Successors(node, Wants(1, {Part(500'000)})).size(), 2u);
  EXPECT_EQ(Successors(node, Wants(1, {})).size(), 1u);
  EXPECT_TRUE(Successors(node, Wants(5, {})).empty());
}

TEST(History, WhatWasSeenLongAgoCountsLess) {
  History history({.capacity = 4, .half_life = 100});
  const std::uint32_t first = history.Learn(Wants(1, {}));
  for (int i = 0; i < 100; ++i) history.Learn(Wants(2, {}));
  EXPECT_NEAR(history.SeenOf(history.entries()[first]), 0.5, 0.01);
  EXPECT_LT(history.total(), 150);
}

TEST(History, TheRarestMakesRoom) {
  History history({.capacity = 2, .half_life = 1e9});
  history.Learn(Wants(1, {}));
  history.Learn(Wants(1, {}));
  const std::uint32_t rare = history.Learn(Wants(2, {}));
  const std::uint32_t version = history.entries()[rare].version;
  EXPECT_EQ(history.Learn(Wants(3, {})), rare);
  EXPECT_NE(history.entries()[rare].version, version);
  EXPECT_NEAR(history.total(), 3, 0.001);
}

TEST(Prices, WhoCanGoAnywhereHasNone) {
  History history;
  history.Learn(Wants(1, {Part(kHalf, {0, 1})}));
  Prices prices;
  prices.Reset(history);
  prices.Count(Node(8, {kWhole, kWhole}, 0), 1);
  prices.Count(Node(8, {kWhole, kWhole}, 1), 1);
  prices.Renew();
  EXPECT_TRUE(prices.priced().empty());
}

TEST(Prices, TheRarerTheDearer) {
  // Half of what is asked for needs kind 1, and one unit in four is of it: 0.5 * (4 - 1).
  History history;
  history.Learn(Wants(1, {Part(kHalf, {0, 1})}));
  history.Learn(Wants(1, {Part(kHalf, {1})}));
  Prices prices;
  prices.Reset(history);
  prices.Count(Node(8, {kWhole, kWhole, kWhole}, 0), 1);
  prices.Count(Node(8, {kWhole}, 1), 1);
  prices.Renew();
  ASSERT_EQ(prices.priced().size(), 1u);
  EXPECT_NEAR(prices.priced()[0].price, 1.5, 1e-4);
  EXPECT_NEAR(prices.WorthOf(Node(8, {kHalf}, 1)), 1.5 * kHalf, 20);
  EXPECT_DOUBLE_EQ(prices.WorthOf(Node(8, {kHalf}, 0)), 0);
}

TEST(Prices, KindsThatNobodyExchangesDoNotCompareWithEachOther) {
  // Network cards are not rare because there are graphics cards as well.
  History history;
  history.Learn(Wants(1, {Whole(1, {0}), Whole(1, {1})}));
  Prices prices;
  prices.Reset(history);
  NodeState node = Node(8, {kWhole, kWhole, kWhole}, 0);
  node.Add(1, 0, {kWhole});
  prices.Count(node, 1);
  prices.Renew();
  EXPECT_TRUE(prices.priced().empty());
}

TEST(Prices, RoomForSetsIsCountedInSets) {
  const NodeState node = Node(8, {kWhole, kWhole, kWhole, kHalf});
  EXPECT_EQ(RoomFor(ClassOf(Whole(2, {0})), node), 2 * kWhole);
  EXPECT_EQ(RoomFor(ClassOf(Part(kHalf)), node), 3 * kWhole + kHalf);
  NodeState groups{.left = {8, 0, 0}};
  for (const std::uint16_t group : {1, 1, 1, 2, 2, 3}) groups.Add(0, group, {kWhole});
  EXPECT_EQ(RoomFor(ClassOf(Whole(2, {0}, 0)), groups), 4 * kWhole);
}

TEST(Packer, APartGoesWhereItsRemainderIsOfUse) {
  // 0.65 and 0.32 go together: beside 0.65 the next 0.32 costs less than on an empty device.
  Packer packer;
  packer.Set(0, Node(100, {kWhole}));
  packer.Set(1, Node(100, {350'000}));
  for (int i = 0; i < 50; ++i) packer.Learn(Wants(1, {Part(650'000)}));
  const auto small = packer.Learn(Wants(1, {Part(320'000)}));
  for (int i = 0; i < 50; ++i) packer.Learn(Wants(1, {Part(320'000)}));
  EXPECT_LT(packer.CostOf(1, small)->cost, packer.CostOf(0, small)->cost);
}

TEST(Packer, PodsWithoutDevicesStayAwayFromTheCpuThatDevicesNeed) {
  Packer packer;
  packer.Set(0, Node(10, {kWhole}));
  packer.Set(1, Node(10, {}));
  for (int i = 0; i < 20; ++i) packer.Learn(Wants(8, {Whole(1, {0})}));
  const auto plain = packer.Learn(Wants(4, {}));
  EXPECT_GT(packer.CostOf(0, plain)->cost, 0);
  EXPECT_EQ(packer.CostOf(1, plain)->cost, 0);
}

TEST(Packer, ThatNothingIsKnownIsDecidedByCpuBesideFreeUnits) {
  // Only pods without devices have been seen: every node costs nothing.
  Packer packer;
  packer.Set(0, Node(10, {kWhole, kWhole}));
  packer.Set(1, Node(10, {kWhole}));
  packer.Set(2, Node(10, {}));
  const auto plain = packer.Learn(Wants(4, {}));
  EXPECT_EQ(packer.CostOf(0, plain)->cost, 0);
  EXPECT_LT(packer.CostOf(2, plain)->ease, packer.CostOf(1, plain)->ease);
  EXPECT_LT(packer.CostOf(1, plain)->ease, packer.CostOf(0, plain)->ease);
}

TEST(Packer, TheLastWholeNodesAreKeptForThoseWhoNeedThem) {
  // Sets of four are asked for as much as single ones; node 0 is the last that has four.
  Packer packer;
  packer.Set(0, Node(100, {kWhole, kWhole, kWhole, kWhole}));
  for (std::uint32_t n = 1; n < 8; ++n) packer.Set(n, Node(100, {kWhole, kWhole, kWhole}));
  for (int i = 0; i < 10; ++i) packer.Learn(Wants(1, {Whole(4, {0})}));
  const auto one = packer.Learn(Wants(1, {Whole(1, {0})}));
  for (int i = 0; i < 40; ++i) packer.Learn(Wants(1, {Whole(1, {0})}));
  EXPECT_GT(packer.CostOf(0, one)->cost, packer.CostOf(1, one)->cost);
}

// Sorted requests say little of what comes next, mixed ones much.
TEST(Variety, IsInTheChangesFromOneSortToAnother) {
  const Request share = Wants(1, {Part(kHalf)});
  const Request whole = Wants(1, {Whole(1, {0})});
  Variety sorted;
  EXPECT_DOUBLE_EQ(sorted.Worth(), 0.1);
  for (int i = 0; i < 2000; ++i) sorted.Learn(share);
  for (int i = 0; i < 2000; ++i) sorted.Learn(whole);
  EXPECT_GT(sorted.Worth(), 0.015);
  Variety mixed;
  for (int i = 0; i < 1000; ++i) {
    mixed.Learn(share);
    mixed.Learn(whole);
    ASSERT_LE(mixed.Worth(), 0.1 * 5 / (5 + i));
  }
  EXPECT_EQ(mixed.Worth(), 0);
  Variety said;
  said.Learn(share, 1000);
  for (int i = 0; i < 100; ++i) said.Learn(whole, 0.01);  // of little weight
  EXPECT_EQ(said.Worth(), 0);
  Variety little;
  for (int i = 0; i < 100; ++i) little.Learn(whole, 0.01);
  EXPECT_GT(little.Worth(), 0.09);
  EXPECT_LE(little.Worth(), 0.1);
}

TEST(Variety, SetsAreComplete) {
  NodeState state;
  for (int i = 0; i < 7; ++i) state.Add(0, 0, {kWhole});
  state.Add(0, 0, {kHalf});
  EXPECT_EQ(RoomForSets(state), std::int64_t{7 + 6 + 4} * kWhole);
}

// Nothing but shares has come, and every node has room for all of them; whole devices and sets of
// them may be wanted next.
TEST(Packer, UntouchedDevicesAreKeptForThoseWhoMayCome) {
  Packer packer;
  packer.Set(0, Node(1'000'000, {kWhole, kWhole}));
  packer.Set(1, Node(1'000, {kHalf, kWhole}));
  packer.Set(2, Node(1'000'000, {kWhole}));
  const auto share = packer.Learn(Wants(1, {Part(kWhole / 4)}));
  for (int i = 0; i < 200; ++i) packer.Learn(Wants(1, {Part(kWhole / 4)}));
  EXPECT_LT(packer.CostOf(1, share)->cost, packer.CostOf(2, share)->cost);
  EXPECT_LT(packer.CostOf(2, share)->cost, packer.CostOf(0, share)->cost);
}

TEST(Packer, WhatDoesNotFitHasNoCost) {
  Packer packer;
  packer.Set(0, Node(10, {kHalf}));
  EXPECT_FALSE(packer.CostOf(0, packer.Learn(Wants(4, {Whole(1, {0})}))).has_value());
  EXPECT_FALSE(packer.CostOf(7, 0).has_value()) << "no such node";
}

TEST(Packer, NodesMayComeAndGo) {
  Packer packer;
  packer.Set(3, Node(10, {kWhole}));
  ASSERT_NE(packer.Find(3), nullptr);
  packer.Remove(3);
  packer.Remove(3);
  EXPECT_EQ(packer.Find(3), nullptr);
}

TEST(Packer, BoundsAreThoseOfNodesAsTheyAreHoweverOftenTheyHaveChanged) {
  const Request half = Wants(1, {Part(kHalf)});
  Packer packer;
  Packer fresh;
  packer.Set(0, Node(4, {kWhole}));
  packer.Set(1, Node(4, {kWhole}));
  const auto number = packer.Learn(half);
  ASSERT_EQ(fresh.Learn(half), number);
  packer.LowerBounds(number);
  // More changes than are listed, then few; a node goes.
  for (int i = 0; i < 10; ++i) packer.Set(0, Node(4, {i % 2 == 0 ? kHalf : kWhole}));
  packer.Set(0, Node(4, {700'000}));
  packer.Set(2, Node(4, {kWhole, kHalf}));
  fresh.Set(0, Node(4, {700'000}));
  fresh.Set(1, Node(4, {kWhole}));
  fresh.Set(2, Node(4, {kWhole, kHalf}));
  const auto same = [&] {
    const auto bounds = [&](Packer& of) {
      const auto by_slot = of.LowerBounds(number);
      std::vector<std::int64_t> by_node;
      for (Packer::NodeNumber node = 0; node < 3; ++node) {
        const Packer::Slot slot = of.SlotOf(node);
        by_node.push_back(slot == Packer::kNoSlot ? Packer::kNever : by_slot[slot]);
      }
      return by_node;
    };
    return bounds(packer) == bounds(fresh);
  };
  EXPECT_TRUE(same());
  packer.Set(1, Node(4, {300'000}));
  packer.Remove(2);
  fresh.Set(1, Node(4, {300'000}));
  fresh.Remove(2);
  EXPECT_TRUE(same());
}

// What is computed for a state is computed for all nodes in it.
TEST(Packer, NodesInEqualStatesHaveOneSlot) {
  Packer packer;
  for (Packer::NodeNumber node = 0; node < 100; ++node) packer.Set(node, Node(4, {kWhole}));
  const Packer::Slot slot = packer.SlotOf(0);
  for (Packer::NodeNumber node = 0; node < 100; ++node) EXPECT_EQ(packer.SlotOf(node), slot);
  const auto number = packer.Learn(Wants(1, {Part(kHalf)}));
  EXPECT_EQ(packer.LowerBounds(number).size(), 1u);
  EXPECT_TRUE(packer.CostAt(slot, number).has_value());
  EXPECT_LE(packer.statistics().values, 2u) << "before and after";
  // Its nodes are in the order of chance.
  ASSERT_EQ(packer.MembersOf(slot).size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(packer.MembersOf(slot)));
  packer.Set(7, Node(4, {kHalf}));
  EXPECT_NE(packer.SlotOf(7), slot);
  EXPECT_EQ(packer.MembersOf(slot).size(), 99u);
  packer.Set(7, Node(4, {kWhole}));
  EXPECT_EQ(packer.SlotOf(7), slot);
  for (Packer::NodeNumber node = 0; node < 100; ++node) packer.Remove(node);
  EXPECT_EQ(packer.SlotOf(0), Packer::kNoSlot);
  EXPECT_EQ(packer.LowerBounds(number).front(), Packer::kNever);
}

TEST(Fragmentation, IsWhatTheRequestsSeenCannotUse) {
  History history;
  history.Learn(Wants(1, {Part(600'000)}));
  history.Learn(Wants(1, {Part(200'000)}));
  history.Learn(Wants(1, {}));  // does not count
  FragmentationMeter meter(history);
  meter.Add(Node(8, {kHalf, kWhole}));
  // The half is of no use to one of two requests.
  EXPECT_EQ(meter.sum().all.free, kWhole + kHalf);
  EXPECT_NEAR(meter.sum().all.share(), 0.25 / 1.5, 1e-4);
  FragmentationMeter without_cpu(history);
  without_cpu.Add(Node(0, {kHalf, kWhole}), 3);
  EXPECT_DOUBLE_EQ(without_cpu.sum().kinds[0].share(), 1);
}

TEST(Relaxation, FillsDevicesOnlyWithWhatFitsTogether) {
  // Two devices; 0.6 goes once into each, whatever is asked for.
  RelaxedRequest large{.cpu = 1, .parts = 600, .came = 10};
  const RelaxedNodes node{.nodes = 1, .cpu = 100, .devices = 2};
  const auto bound = [&](std::vector<RelaxedRequest> requests, RelaxedNodes nodes) {
    std::vector<double> came;
    for (const RelaxedRequest& request : requests) came.push_back(request.came);
    return Relaxation(std::move(requests), {nodes}).Solve().For(came);
  };
  EXPECT_NEAR(bound({large}, node), 1.2, 1e-6);
  EXPECT_NEAR(bound({large, {.cpu = 1, .parts = 300, .came = 1}}, node), 1.5, 1e-6);
  EXPECT_NEAR(bound({large, {.cpu = 1, .parts = 400, .came = 9}}, node), 2, 1e-6);
  // Cpu for one and a half of them.
  EXPECT_NEAR(bound({large}, {.nodes = 1, .cpu = 1.5, .devices = 2}), 0.9, 1e-6);
  large.came = 1;
  EXPECT_NEAR(bound({large}, node), 0.6, 1e-6);
  large.kinds = KindBit(3);
  EXPECT_NEAR(bound({large}, node), 0, 1e-6) << "nobody has the kind";
  // Four at a time need nodes with four.
  EXPECT_NEAR(bound({{.count = 4, .came = 5}}, {.nodes = 3, .cpu = 1, .devices = 2}), 0, 1e-6);
  EXPECT_NEAR(bound({{.count = 4, .came = 5}}, {.nodes = 3, .cpu = 1, .devices = 8}), 20, 1e-6);
}

}  // namespace
}  // namespace dray::packing

// SPDX-License-Identifier: Apache-2.0
#include "inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using ::dray::testing::Device;
using ::dray::testing::Slice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class InventoryTest : public ::testing::Test {
 protected:
  NameId Name(std::string_view text) { return inventory_.snapshot().dictionary().Intern(text); }
  PoolId Pool(std::string_view name) {
    return inventory_.snapshot().dictionary().InternPool("gpu.example.com", name);
  }
  static std::vector<std::string> NamesOf(const Slices& slices) {
    std::vector<std::string> names;
    for (const auto& slice : slices) names.push_back(slice->object_name());
    return names;
  }
  std::vector<std::string> OfNode(std::string_view node) {
    return NamesOf(inventory_.snapshot().OfNode(Name(node)));
  }
  std::vector<std::string> OfPool(std::string_view pool) {
    return NamesOf(inventory_.snapshot().OfPool(Pool(pool)));
  }
  std::vector<std::string> Unbound() { return NamesOf(inventory_.snapshot().Unbound()); }

  Inventory inventory_;
};

TEST_F(InventoryTest, ListsSlicesByNodeAndPoolInOrderOfArrival) {
  inventory_.Put(Slice("b").OnNode("n1").With(Device("x")));
  inventory_.Put(Slice("a").OnNode("n1").With(Device("y")).With(Device("z")));
  inventory_.Put(Slice("c").Pool("other").OnNode("n2"));
  inventory_.Put(Slice("d").OnAllNodes());
  EXPECT_THAT(OfNode("n1"), ElementsAre("b", "a"));
  EXPECT_THAT(OfNode("n2"), ElementsAre("c"));
  EXPECT_THAT(OfNode("n3"), IsEmpty());
  EXPECT_THAT(OfPool("pool"), ElementsAre("b", "a", "d"));
  EXPECT_THAT(OfPool("other"), ElementsAre("c"));
  EXPECT_THAT(Unbound(), ElementsAre("d"));
  EXPECT_EQ(inventory_.snapshot().devices(), 3u);
}

TEST_F(InventoryTest, AReplacedSliceKeepsItsPlace) {
  inventory_.Put(Slice("b").OnNode("n1"));
  inventory_.Put(Slice("a").OnNode("n1"));
  const Change change = inventory_.Put(Slice("b").OnNode("n1").With(Device("x")));
  EXPECT_THAT(OfNode("n1"), ElementsAre("b", "a"));
  EXPECT_THAT(OfPool("pool"), ElementsAre("b", "a"));
  EXPECT_EQ(inventory_.snapshot().devices(), 1u);
  EXPECT_THAT(change.pools, ElementsAre(Pool("pool")));
  EXPECT_THAT(change.nodes, ElementsAre(Name("n1")));
  EXPECT_FALSE(change.unbound);
}

TEST_F(InventoryTest, ASliceThatMovesIsWhereItsFirstArrivalPutsIt) {
  inventory_.Put(Slice("first").OnNode("n1"));
  inventory_.Put(Slice("second").OnNode("n2"));
  const Change change = inventory_.Put(Slice("first").Pool("other").OnNode("n2"));
  EXPECT_THAT(OfNode("n1"), IsEmpty());
  EXPECT_THAT(OfNode("n2"), ElementsAre("first", "second"));
  EXPECT_THAT(OfPool("pool"), ElementsAre("second"));
  EXPECT_THAT(OfPool("other"), ElementsAre("first"));
  EXPECT_THAT(change.nodes, UnorderedElementsAre(Name("n1"), Name("n2")));
  EXPECT_THAT(change.pools, UnorderedElementsAre(Pool("pool"), Pool("other")));

  const Change unbound = inventory_.Put(Slice("first").Pool("other").OnAllNodes());
  EXPECT_THAT(OfNode("n2"), ElementsAre("second"));
  EXPECT_THAT(Unbound(), ElementsAre("first"));
  EXPECT_THAT(unbound.nodes, ElementsAre(Name("n2")));
  EXPECT_TRUE(unbound.unbound);
}

TEST_F(InventoryTest, WhatSaysNothingNewTouchesNothing) {
  inventory_.Put(Slice("a").OnNode("n1").With(Device("x")));
  const Slices* before = &inventory_.snapshot().OfNode(Name("n1"));
  const Change change = inventory_.Put(Slice("a").OnNode("n1").With(Device("x")));
  EXPECT_THAT(change.pools, IsEmpty());
  EXPECT_THAT(change.nodes, IsEmpty());
  EXPECT_EQ(&inventory_.snapshot().OfNode(Name("n1")), before);
}

TEST_F(InventoryTest, RemovingForgetsTheArrivalToo) {
  inventory_.Put(Slice("a").OnNode("n1").With(Device("x")));
  inventory_.Put(Slice("b").OnNode("n1"));
  const Change change = inventory_.Remove("a");
  EXPECT_THAT(change.nodes, ElementsAre(Name("n1")));
  EXPECT_EQ(inventory_.snapshot().devices(), 0u);
  inventory_.Put(Slice("a").OnNode("n1"));
  EXPECT_THAT(OfNode("n1"), ElementsAre("b", "a"));
  EXPECT_THAT(inventory_.Remove("nobody").pools, IsEmpty());
}

TEST_F(InventoryTest, ASnapshotDoesNotChange) {
  inventory_.Put(Slice("a").OnNode("n1").With(Device("x")));
  inventory_.Put(Slice("u").OnAllNodes());
  const Snapshot before = inventory_.snapshot();
  inventory_.Put(Slice("a").OnNode("n2"));
  inventory_.Put(Slice("b").OnNode("n1"));
  inventory_.Remove("u");
  EXPECT_THAT(NamesOf(before.OfNode(Name("n1"))), ElementsAre("a"));
  EXPECT_THAT(NamesOf(before.OfNode(Name("n2"))), IsEmpty());
  EXPECT_THAT(NamesOf(before.Unbound()), ElementsAre("u"));
  EXPECT_THAT(NamesOf(before.OfPool(Pool("pool"))), ElementsAre("a", "u"));
  EXPECT_EQ(before.devices(), 1u);
}

TEST_F(InventoryTest, TaintRulesAreSortedByNameAndReplaced) {
  const auto put = [&](std::string name, std::string key) {
    api::DeviceTaintRule rule;
    rule.metadata.name = std::move(name);
    rule.spec.device_selector = api::DeviceTaintSelector{};
    rule.spec.taint.key = std::move(key);
    inventory_.PutTaintRule(rule);
  };
  const auto keys = [&] {
    std::vector<std::string> keys;
    for (const TaintRule& rule : inventory_.snapshot().taint_rules())
      keys.push_back(rule.taint.key);
    return keys;
  };
  put("b", "1");
  put("a", "2");
  EXPECT_THAT(keys(), ElementsAre("2", "1"));
  put("b", "3");
  EXPECT_THAT(keys(), ElementsAre("2", "3"));
  // Losing its selector, a rule matches nothing any more.
  api::DeviceTaintRule rule;
  rule.metadata.name = "a";
  EXPECT_TRUE(inventory_.PutTaintRule(rule).unbound);
  EXPECT_THAT(keys(), ElementsAre("3"));
}

TEST_F(InventoryTest, MemoryGrowsWithDevicesAndShrinksWithSlices) {
  const std::size_t empty = inventory_.MemoryBytes();
  for (int i = 0; i < 100; ++i) {
    Slice slice("slice-" + std::to_string(i));
    slice.OnNode("n" + std::to_string(i));
    for (int d = 0; d < 16; ++d) {
      slice.With(Device("gpu-" + std::to_string(d)).String("model", "H100").Int("index", d));
    }
    inventory_.Put(slice);
  }
  const std::size_t full = inventory_.MemoryBytes();
  // 16 devices of two attributes: more than their rows, less than a few hundred bytes each.
  EXPECT_GT(full - empty, 1600 * (sizeof(DeviceRow) + 2 * sizeof(AttributeEntry)));
  EXPECT_LT(full - empty, 1600u * 400);
  for (int i = 0; i < 100; ++i) inventory_.Remove("slice-" + std::to_string(i));
  EXPECT_LT(inventory_.MemoryBytes(), full);
  EXPECT_EQ(inventory_.snapshot().devices(), 0u);
}

}  // namespace
}  // namespace dray::inventory

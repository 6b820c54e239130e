// SPDX-License-Identifier: Apache-2.0
//
// A pool that spans nodes costs each node its own devices, and what all nodes share once.
#include "inventory/pool_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "inventory/inventory.h"
#include "inventory/node_devices.h"
#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using testing::Device;
using ::testing::HasSubstr;
using testing::Node;
using testing::Slice;

// One pool: eight devices on each node, half of which draw on a set of their node and the others on
// one of the whole pool.
class SpanningPool {
 public:
  explicit SpanningPool(int nodes) : nodes_(nodes) {
    Slice all = Slice("counters").Pool("pool").Of(2 * nodes + 1).OnAllNodes();
    all.Counters("all", {{"links", "1000"}});
    inventory_.Put(all);
    for (int n = 0; n < nodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      Slice counters = Slice("counters-" + node).Pool("pool").Of(2 * nodes + 1).OnNode(node);
      counters.Counters("set-" + node, {{"memory", "80"}});
      inventory_.Put(counters);
      Slice slice = Slice("slice-" + node).Pool("pool").Of(2 * nodes + 1).OnNode(node);
      for (int i = 0; i < 8; ++i) {
        Device device(node + "-" + std::to_string(i));
        i % 2 == 0 ? device.Consumes("set-" + node, {{"memory", "10"}})
                   : device.Consumes("all", {{"links", "1"}});
        slice.With(device);
      }
      inventory_.Put(slice);
    }
  }

  std::shared_ptr<const NodeDevices> Of(int node) const {
    return Gather(inventory_.snapshot(), Node("n" + std::to_string(node)), Features::All()).value();
  }
  std::size_t BytesOfAllNodes() const {
    std::size_t bytes = 0;
    for (int n = 0; n < nodes_; ++n) bytes += Of(n)->MemoryBytes();
    return bytes;
  }
  Inventory& inventory() { return inventory_; }

 private:
  const int nodes_;
  Inventory inventory_;
};

TEST(PoolCounters, ANodeCostsItsOwnDevicesHoweverManyNodesThereAre) {
  const SpanningPool few(10), many(200);
  EXPECT_EQ(few.Of(3)->MemoryBytes(), many.Of(3)->MemoryBytes());
  EXPECT_EQ(many.Of(3)->counter_sets().size(), 2u) << "those that its devices draw on";
  EXPECT_LE(many.BytesOfAllNodes(), 21 * few.BytesOfAllNodes());
}

TEST(PoolCounters, AreMadeOnceForAllNodesAndAgainWhenASliceChanges) {
  SpanningPool pool(20);
  const auto first = pool.Of(0), last = pool.Of(19);
  ASSERT_NE(first->shared_counters(0), nullptr);
  EXPECT_EQ(first->shared_counters(0), last->shared_counters(0));
  EXPECT_NE(first->FindElsewhere(0, *first->dictionary().Find("n19-1")), nullptr);
  EXPECT_EQ(first->FindElsewhere(0, *first->dictionary().Find("n0-1")), nullptr) << "it is here";

  Slice changed = Slice("slice-n19").Pool("pool").Of(41).OnNode("n19");
  changed.With(Device("other").Consumes("all", {{"links", "2"}}));
  pool.inventory().Put(changed);
  const auto after = pool.Of(0);
  EXPECT_NE(after->shared_counters(0), first->shared_counters(0));
  EXPECT_NE(after->FindElsewhere(0, *after->dictionary().Find("other")), nullptr);
  EXPECT_EQ(after->FindElsewhere(0, *after->dictionary().Find("n19-1")), nullptr) << "it is gone";
  EXPECT_NE(first->FindElsewhere(0, *first->dictionary().Find("n19-1")), nullptr)
      << "what was gathered before does not change";
}

TEST(PoolCounters, WhatIsWrongWithTheNodesOwnDevicesIsSaidFirst) {
  SpanningPool pool(3);
  const auto broken = [&](const std::string& node) {
    Slice slice = Slice("slice-" + node).Pool("pool").Of(7).OnNode(node);
    slice.With(Device("broken-" + node).Consumes("missing", {{"links", "2"}}));
    pool.inventory().Put(slice);
  };
  broken("n0");
  broken("n2");
  EXPECT_THAT(pool.Of(2)->pools()[0].why, HasSubstr("broken-n2"));
  EXPECT_THAT(pool.Of(1)->pools()[0].why, HasSubstr("broken-n0"));
}

}  // namespace
}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
#include "ledger/node_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "inventory/inventory.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::ledger {
namespace {

using inventory::Features;
using testing::Device;
using testing::Slice;
using Claim = testing::AllocatedClaim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Amount kUnit = 1'000'000'000;

class NodeUsageTest : public ::testing::Test {
 protected:
  // What the node sees after all that was put.
  NodeUsage& Update() {
    auto devices = inventory::Gather(inventory_.snapshot(), testing::Node("n1"), features_);
    EXPECT_TRUE(devices.ok()) << devices.status();
    devices_ = *devices;
    usage_.Update(devices_, ledger_.snapshot());
    return usage_;
  }
  std::size_t Index(std::string_view device) const {
    for (std::size_t i = 0; i < devices_->devices().size(); ++i) {
      if (dictionary_->View(devices_->devices()[i].row->name) == device) return i;
    }
    ADD_FAILURE() << "no device " << device;
    return 0;
  }
  bool Taken(std::string_view device) { return usage_.taken().Test(Index(device)); }
  bool Shared(std::string_view device) { return usage_.shared().Test(Index(device)); }
  // Of a set named so in any pool, in the pools' order.
  std::vector<Amount> Left(std::string_view counter) const {
    std::vector<Amount> left;
    for (std::size_t i = 0; i < devices_->counters().size(); ++i) {
      if (dictionary_->View(devices_->counters()[i].name) == counter) {
        left.push_back(usage_.counters()[i] / kUnit);
      }
    }
    return left;
  }

  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
  inventory::Inventory inventory_{dictionary_};
  Ledger ledger_{dictionary_};
  Features features_ = Features::All();
  std::shared_ptr<const inventory::NodeDevices> devices_;
  NodeUsage usage_;
};

TEST_F(NodeUsageTest, ExclusiveDevicesAreTaken) {
  inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0")).With(Device("gpu-1")));
  ledger_.Put(Claim("a").Exclusive("gpu-1"));
  ledger_.Put(Claim("b").Admin("gpu-0"));
  Update();
  EXPECT_TRUE(Taken("gpu-1"));
  EXPECT_FALSE(Taken("gpu-0"));
  EXPECT_THAT(usage_.holders(Index("gpu-0")), IsEmpty());
  ASSERT_THAT(usage_.holders(Index("gpu-1")), SizeIs(1));
  EXPECT_EQ(usage_.NameOf(usage_.holders(Index("gpu-1")).front()), "ns/a");
  ledger_.Remove("uid-a");
  Update();
  EXPECT_TRUE(usage_.taken().None());
  EXPECT_THAT(usage_.holders(Index("gpu-1")), IsEmpty());
}

TEST_F(NodeUsageTest, SharesLeaveAMultiAllocatableDeviceOpen) {
  inventory_.Put(Slice("s").OnNode("n1").With(
      Device("gpu-0").Shared().Capacity("lanes", "8").Capacity("memory", "80Gi")));
  ledger_.Put(Claim("a").Share("gpu-0", {{"memory", "3"}}));
  ledger_.Put(Claim("b").Share("gpu-0", {{"memory", "4"}, {"gone", "1"}}));
  Update();
  EXPECT_FALSE(Taken("gpu-0"));
  EXPECT_TRUE(Shared("gpu-0"));
  EXPECT_THAT(usage_.consumed(0), ElementsAre(0, 7 * kUnit)) << "in the order of the row";
  ledger_.Remove("uid-a");
  ledger_.Remove("uid-b");
  Update();
  EXPECT_FALSE(Shared("gpu-0"));
  EXPECT_THAT(usage_.consumed(0), IsEmpty());
}

// A driver that publishes a capacity with its domain or without means the same one.
TEST_F(NodeUsageTest, WhatWasConsumedCountsWhicheverWayTheCapacityIsSpelled) {
  ledger_.Put(Claim("a").Share("gpu-0", {{"bandwidth", "3"}}));
  ledger_.Put(Claim("b").Share("gpu-0", {{"gpu.example.com/bandwidth", "4"}}));
  ledger_.Put(Claim("c").Share("gpu-0", {{"other.example.com/bandwidth", "1"}}));
  for (const char* name : {"gpu.example.com/bandwidth", "bandwidth"}) {
    inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0").Shared().Capacity(name, "10")));
    Update();
    EXPECT_THAT(usage_.consumed(0), ElementsAre(7 * kUnit)) << name;
  }
  // Two capacities, then: each name means itself.
  inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0")
                                                  .Shared()
                                                  .Capacity("bandwidth", "10")
                                                  .Capacity("gpu.example.com/bandwidth", "10")));
  Update();
  EXPECT_THAT(usage_.consumed(0), ElementsAre(3 * kUnit, 4 * kUnit));
}

// KEP-5075: no new allocations until the shares are gone. docs/decisions.md.
TEST_F(NodeUsageTest, AMultiAllocatableDeviceThatBecameDedicatedIsClosedWhileSharesExist) {
  inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0")));
  ledger_.Put(Claim("a").Share("gpu-0"));
  Update();
  EXPECT_TRUE(Taken("gpu-0"));
  EXPECT_TRUE(Shared("gpu-0"));
  ledger_.Put(Claim("a").Share("gpu-0").Pending());
  Update();
  EXPECT_FALSE(Taken("gpu-0"));
}

TEST_F(NodeUsageTest, ADedicatedDeviceThatBecameMultiAllocatableStaysTakenUntilReleased) {
  inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0").Shared()));
  ledger_.Put(Claim("a").Exclusive("gpu-0"));
  Update();
  EXPECT_TRUE(Taken("gpu-0"));
  ledger_.Remove("uid-a");
  Update();
  EXPECT_FALSE(Taken("gpu-0"));
}

TEST_F(NodeUsageTest, WithoutConsumableCapacityAShareTakesTheDevice) {
  features_.consumable_capacity = false;
  inventory_.Put(Slice("s").OnNode("n1").With(Device("gpu-0").Shared().Capacity("memory", "8")));
  ledger_.Put(Claim("a").Share("gpu-0", {{"memory", "1"}}));
  Update();
  EXPECT_TRUE(Taken("gpu-0"));
  EXPECT_FALSE(Shared("gpu-0"));
  EXPECT_THAT(usage_.consumed(0), IsEmpty());
}

Slice CounterSlice(std::string_view pool = "pool") {
  return Slice("counters-" + std::string(pool))
      .Pool(pool)
      .OnNode("n1")
      .Of(2)
      .Counters("set", {{"memory", "80"}});
}

TEST_F(NodeUsageTest, EveryDeviceInUseDrawsOnItsCountersOnce) {
  inventory_.Put(CounterSlice());
  inventory_.Put(Slice("s")
                     .OnNode("n1")
                     .Of(2)
                     .With(Device("a").Consumes("set", {{"memory", "10"}}))
                     .With(Device("b").Shared().Consumes("set", {{"memory", "20"}}))
                     .With(Device("c").Consumes("set", {{"memory", "40"}})));
  ledger_.Put(Claim("one").Exclusive("a"));
  ledger_.Put(Claim("two").Share("b"));
  ledger_.Put(Claim("three").Share("b"));
  ledger_.Put(Claim("four").Exclusive("gone"));
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(50));
  EXPECT_FALSE(usage_.overdrawn(0));
  ledger_.Remove("uid-two");
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(50)) << "the other share is still there";
  ledger_.Remove("uid-three");
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(70));
}

// Kubernetes gave counters twice after a restart, since it had only looked at exclusive devices.
TEST_F(NodeUsageTest, SharesDrawOnCountersAfterARestartToo) {
  inventory_.Put(CounterSlice());
  inventory_.Put(
      Slice("s").OnNode("n1").Of(2).With(Device("b").Shared().Consumes("set", {{"memory", "80"}})));
  Ledger restarted(dictionary_);
  restarted.Put(Claim("two").Share("b"));
  Update();
  usage_.Update(devices_, restarted.snapshot());
  EXPECT_THAT(Left("memory"), ElementsAre(0));
}

TEST_F(NodeUsageTest, MoreGivenThanThereIsNowIsOverdrawn) {
  inventory_.Put(CounterSlice());
  inventory_.Put(Slice("s")
                     .OnNode("n1")
                     .Of(2)
                     .With(Device("a").Consumes("set", {{"memory", "60"}}))
                     .With(Device("b").Consumes("set", {{"memory", "60"}})));
  ledger_.Put(Claim("one").Exclusive("a").Exclusive("b"));
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(-40));
  EXPECT_TRUE(usage_.overdrawn(0));
  ledger_.Put(Claim("one").Exclusive("a"));
  Update();
  EXPECT_FALSE(usage_.overdrawn(0));
}

// A counter cache of Kubernetes was once keyed without the pool.
TEST_F(NodeUsageTest, EqualNamesInAnotherPoolAreUnrelated) {
  for (const std::string pool : {"p1", "p2"}) {
    inventory_.Put(CounterSlice(pool));
    inventory_.Put(Slice("devices-" + pool)
                       .Pool(pool)
                       .OnNode("n1")
                       .Of(2)
                       .With(Device("a").Consumes("set", {{"memory", "60"}})));
  }
  ledger_.Put(Claim("one").In("p2").Exclusive("a"));
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(80, 20));
}

TEST_F(NodeUsageTest, DevicesForOtherNodesDrawOnThePoolsCounters) {
  inventory_.Put(Slice("c").Of(3).OnAllNodes().Counters("set", {{"memory", "80"}}));
  inventory_.Put(
      Slice("s1").Of(3).OnNode("n1").With(Device("a").Consumes("set", {{"memory", "10"}})));
  inventory_.Put(
      Slice("s2").Of(3).OnNode("n2").With(Device("b").Consumes("set", {{"memory", "30"}}, {"x"})));
  ledger_.Put(Claim("one").Exclusive("b"));
  Update();
  EXPECT_THAT(Left("memory"), ElementsAre(50));
  EXPECT_EQ(usage_.groups()[0].kind, GroupState::Kind::kGroups) << "its groups count too";
  EXPECT_TRUE(usage_.taken().None());
}

TEST_F(NodeUsageTest, OnlyPoolsThatChangedAreLookedAt) {
  inventory_.Put(Slice("s1").Pool("p1").OnNode("n1").With(Device("a")));
  inventory_.Put(Slice("s2").Pool("p2").OnNode("n1").With(Device("a")));
  auto devices = inventory::Gather(inventory_.snapshot(), testing::Node("n1"), features_);
  ASSERT_TRUE(devices.ok());
  EXPECT_TRUE(usage_.Update(*devices, ledger_.snapshot())) << "the first time";
  EXPECT_FALSE(usage_.Update(*devices, ledger_.snapshot()));
  ledger_.Put(Claim("x").In("elsewhere").Exclusive("a"));
  EXPECT_FALSE(usage_.Update(*devices, ledger_.snapshot()));
  const Claim claim = Claim("one").In("p2").Exclusive("a");
  ledger_.Put(claim);
  EXPECT_TRUE(usage_.Update(*devices, ledger_.snapshot()));
  EXPECT_FALSE(usage_.taken().Test(0));
  EXPECT_TRUE(usage_.taken().Test(1));
  ledger_.Put(claim);
  EXPECT_FALSE(usage_.Update(*devices, ledger_.snapshot()));
}

TEST_F(NodeUsageTest, OtherDevicesAreTakenAnew) {
  inventory_.Put(Slice("s1").Pool("p1").OnNode("n1").With(Device("a")).With(Device("b")));
  ledger_.Put(Claim("one").In("p1").Exclusive("b"));
  Update();
  EXPECT_TRUE(Taken("b"));
  inventory_.Put(Slice("s1").Pool("p1").OnNode("n1").With(Device("b")));
  Update();
  EXPECT_EQ(usage_.taken().size(), 1u);
  EXPECT_TRUE(Taken("b"));
}

}  // namespace
}  // namespace dray::ledger

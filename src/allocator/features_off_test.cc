// SPDX-License-Identifier: Apache-2.0
//
// What each feature being off means: docs/spec/allocator.md chapter 13, with dray's own answers
// where docs/decisions.md has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using inventory::Features;
using testing::AllocatedClaim;
using testing::Ask;
using testing::Device;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PendingClaim;
using testing::Slice;
using ::testing::StartsWith;

class FeaturesOff : public ::testing::Test {
 protected:
  WorldForTest world_;
};

TEST_F(FeaturesOff, AdminAccessIsAnErrorTrueOrFalse) {
  world_.Devices({Device("a")});
  world_.features.admin_access = false;
  for (const bool access : {true, false}) {
    EXPECT_THAT(world_.Solve(Ask("r").Admin(access)), HasSubstr("DRAAdminAccess, which is off"));
  }
  EXPECT_EQ(world_.Solve(Ask("r")), "r=a");
}

TEST_F(FeaturesOff, PrioritizedListIsAnError) {
  world_.Devices({Device("a")});
  world_.features.prioritized_list = false;
  EXPECT_THAT(world_.Solve(PendingClaim("c").FirstAvailable("r", {Ask("a")})),
              HasSubstr("DRAPrioritizedList, which is off"));
}

TEST_F(FeaturesOff, PartitionableDevicesLeavesOutWhatConsumesCounters) {
  world_.Partitions(Slice("t").Counters("set", {{"m", "9"}}),
                    {Device("part").Consumes("set", {{"m", "1"}}), Device("plain")});
  EXPECT_EQ(world_.Solve(Ask("r").Count(2)), "r=part r=plain");
  world_.features.partitionable_devices = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "r=plain");
  EXPECT_EQ(world_.Solve(Ask("r").Count(2)), "refused");
  EXPECT_EQ(world_.Solve(Ask("r").All()), "refused") << "All includes what cannot be had";
}

TEST_F(FeaturesOff, PartitionableDevicesDoesNotValidateCounters) {
  world_.Devices({Device("part").Consumes("nowhere", {{"m", "1"}}), Device("plain")});
  EXPECT_THAT(world_.Solve(Ask("r")), StartsWith("error on this node"));
  world_.features.partitionable_devices = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "r=plain");
}

TEST_F(FeaturesOff, PartitionableDevicesLeavesSlicesWithPerDeviceSelectionAlone) {
  world_.Put(Slice("s").PerDevice().With(Device("a").OnAllNodes()));
  world_.Put(Slice("t").Pool("q").OnNode("n1").PerDevice(false).With(Device("b")));
  EXPECT_EQ(world_.Solve(Ask("r").Count(2)), "r=a r=b");
  world_.features.partitionable_devices = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "refused");
}

// KEP-5963; Kubernetes ignores the whole slice, and with it the pool.
TEST_F(FeaturesOff, CompatibilityGroupsLeavesOutDevicesThatDeclareThem) {
  world_.Partitions(Slice("t").Counters("set", {{"m", "9"}}),
                    {Device("grouped").Consumes("set", {{"m", "1"}}, {"mig"}),
                     Device("part").Consumes("set", {{"m", "1"}}), Device("plain")});
  world_.features.compatibility_groups = false;
  EXPECT_EQ(world_.Solve(Ask("r").Count(2)), "r=part r=plain");
  EXPECT_EQ(world_.Solve(Ask("r").All()), "r=part r=plain") << "All does not include them";
  EXPECT_EQ(world_.Solve(Ask("r").Where("device.attributes['gpu.example.com'].gone == 1 || "
                                        "device.name != 'grouped'")),
            "r=part")
      << "a selector that fails on them is not run";
}

TEST_F(FeaturesOff, CompatibilityGroupsClosesSetsWithRecordedGroups) {
  world_
      .Partitions(Slice("t").Counters("x", {{"m", "9"}}).Counters("y", {{"m", "9"}}),
                  {Device("x").Consumes("x", {{"m", "1"}}), Device("y").Consumes("y", {{"m", "1"}}),
                   Device("gone")})
      .Taken(AllocatedClaim("t").Exclusive("gone").Groups("x", {"mig"}));
  world_.features.compatibility_groups = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "r=y");
}

TEST_F(FeaturesOff, CompatibilityGroupsRecordsNone) {
  world_.Partitions(Slice("t").Counters("set", {{"m", "9"}}),
                    {Device("part").Consumes("set", {{"m", "1"}})});
  world_.features.compatibility_groups = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "r=part");
  EXPECT_TRUE(world_.results()[0].devices.results[0].compatibility_groups.empty());
}

TEST_F(FeaturesOff, ConsumableCapacityMakesEveryDeviceDedicated) {
  world_.Devices({Device("a").Shared().Capacity("m", "8")});
  const PendingClaim twice = PendingClaim("c").Request(Ask("r")).Request(Ask("s"));
  world_.features.consumable_capacity = false;
  EXPECT_EQ(world_.Solve(twice), "refused");
  EXPECT_EQ(world_.Solve(Ask("r")), "r=a");
  EXPECT_FALSE(world_.results()[0].devices.results[0].share_id.has_value());
  EXPECT_TRUE(world_.results()[0].devices.results[0].consumed_capacity.empty());
  EXPECT_THAT(world_.Solve(Ask("r").Capacity({})), HasSubstr("DRAConsumableCapacity"));
  EXPECT_EQ(world_.Solve(Ask("r").Where("device.allowMultipleAllocations")), "r=a")
      << "expressions see what is published";
  world_.Taken(AllocatedClaim("t").Share("a", {{"m", "1"}}));
  EXPECT_EQ(world_.Solve(Ask("r")), "refused") << "a share takes it";
}

TEST_F(FeaturesOff, ConsumableCapacityLeavesDistinctAttributeAlone) {
  world_.Devices({Device("a").Int("v", 1), Device("b").Int("v", 1)});
  world_.features.consumable_capacity = false;
  const PendingClaim claim =
      PendingClaim("c").Request(Ask("r").Count(2)).Distinct("gpu.example.com/v");
  EXPECT_EQ(world_.Solve(claim), "refused");
}

TEST_F(FeaturesOff, FractionalCapacityRangeCountsInWholeUnits) {
  world_.Devices({Device("a").Shared().Capacity(
      "m", "8",
      {.valid_range = api::CapacityRequestPolicyRange{.min = testing::ToQuantity("500m"),
                                                      .step = testing::ToQuantity("250m")}})});
  const auto consumed = [&] {
    EXPECT_EQ(world_.Solve(Ask("r").Capacity({{"m", "600m"}})), "r=a");
    return world_.results()[0].devices.results[0].consumed_capacity.begin()->second.ToString();
  };
  EXPECT_EQ(consumed(), "750m");
  world_.features.fractional_capacity_range = false;
  EXPECT_EQ(consumed(), "1");
}

// KEP-6080; Kubernetes gives up on the claim.
TEST_F(FeaturesOff, DerivedAttributesAreIgnored) {
  world_.Devices({Device("a").Int("v", 1), Device("b").Int("v", 2)});
  const PendingClaim claim = PendingClaim("c")
                                 .Request(Ask("r").Count(2).Derive("gpu.example.com/v", "7"))
                                 .Match("gpu.example.com/v");
  EXPECT_EQ(world_.Solve(claim), "r=a r=b");
  world_.features.derived_attributes = false;
  EXPECT_EQ(world_.Solve(claim), "refused") << "what is published counts";
  EXPECT_EQ(world_.Solve(PendingClaim("c").Request(Ask("r").Derive("x", "device.")).Match("x")),
            "refused")
      << "an expression that is broken is not looked at, and nobody has the attribute";
}

TEST_F(FeaturesOff, ListTypeAttributesComparesScalars) {
  world_.Devices({Device("a").Strings("v", {"x"}), Device("b").Strings("v", {"x"})});
  const PendingClaim claim =
      PendingClaim("c").Request(Ask("r").Count(2)).Match("gpu.example.com/v");
  EXPECT_EQ(world_.Solve(claim), "r=a r=b");
  world_.features.list_type_attributes = false;
  EXPECT_EQ(world_.Solve(claim), "refused");
  EXPECT_EQ(world_.Solve(Ask("r").Where("device.attributes['gpu.example.com'].v.includes('x')")),
            "r=a")
      << "expressions see lists";
}

TEST_F(FeaturesOff, DeviceTaintsAreIgnored) {
  world_.Devices({Device("a").Taint("t")});
  EXPECT_EQ(world_.Solve(Ask("r")), "refused");
  world_.features.device_taints = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "r=a");
}

TEST_F(FeaturesOff, DeviceBindingAndStatusLeavesOutDevicesWithConditions) {
  world_.Devices(
      {Device("bound").BindingCondition("ready"), Device("failing").BindingFailure("f")});
  world_.features.device_binding_and_status = false;
  EXPECT_EQ(world_.Solve(Ask("r").All()), "r=failing");
  EXPECT_THAT(world_.results()[0].devices.results[0].binding_failure_conditions, IsEmpty());
}

TEST_F(FeaturesOff, DeviceBindingAndStatusStillOrdersPoolsAndBindsToNodes) {
  world_.Put(Slice("a")
                 .Pool("a")
                 .OnAllNodes()
                 .With(Device("bound").BindingCondition("x"))
                 .With(Device("a").BindsToNode()));
  world_.Put(Slice("b").Pool("b").OnAllNodes().With(Device("b")));
  world_.features.device_binding_and_status = false;
  EXPECT_EQ(world_.Solve(Ask("r").Count(2)), "r=b r=a");
  ASSERT_TRUE(world_.results()[0].node_selector.has_value());
  EXPECT_EQ(world_.results()[0].node_selector->node_selector_terms[0].match_fields[0].values[0],
            "n1");
}

TEST_F(FeaturesOff, OptionalNodeOperationsLeavesOutDevicesThatSkipThem) {
  world_.node = testing::Node("n1").Declares("DRAOptionalNodeOperations");
  world_.Put(Slice("s").OnNode("n1").SkipsNodeOperations().With(Device("a")));
  EXPECT_EQ(world_.Solve(Ask("r")), "r=a");
  world_.features.optional_node_operations = false;
  EXPECT_EQ(world_.Solve(Ask("r")), "refused");
  EXPECT_EQ(world_.Solve(Ask("r").All()), "refused");
}

}  // namespace
}  // namespace dray::allocator

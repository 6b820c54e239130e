// SPDX-License-Identifier: Apache-2.0
#include "driver/slice_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/internal/dropped_fields.h"
#include "driver/slices_for_test.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Dev = dray::testing::Device;

PoolPlan PlanFor(const WantedPool& wanted, const StoredSlices& stored) {
  return PlanPool(TestPublisher(), "pool", &wanted, stored.All());
}

TEST(SlicePlan, ANewPoolBeginsWithGenerationOne) {
  const PoolPlan plan = PlanFor(PoolWith({{"a"}, {"b"}}), {});
  ASSERT_THAT(plan.creates, SizeIs(2));
  const api::ResourceSlice& first = plan.creates[0];
  EXPECT_EQ(first.metadata.generate_name, "00000-gpu.example.com-n1-");
  EXPECT_EQ(first.spec.pool,
            (api::ResourcePool{.name = "pool", .generation = 1, .resource_slice_count = 2}));
  EXPECT_EQ(first.spec.node_name, "n1");
  EXPECT_EQ(first.metadata.owner_references.at(0).uid, "node-uid");
  EXPECT_EQ(first.metadata.owner_references.at(0).controller, true);
  EXPECT_EQ(plan.creates[1].metadata.generate_name, "00001-gpu.example.com-n1-");
  EXPECT_THAT(plan.updates, IsEmpty());
}

TEST(SlicePlan, APoolWithoutSlicesIsOneSliceWithoutDevices) {
  const PoolPlan plan = PlanFor({}, {});
  ASSERT_THAT(plan.creates, SizeIs(1));
  ASSERT_TRUE(plan.creates[0].spec.devices.has_value());
  EXPECT_THAT(*plan.creates[0].spec.devices, IsEmpty());
}

TEST(SlicePlan, NothingIsToBeDoneTwice) {
  StoredSlices stored;
  const WantedPool wanted = PoolWith({{"a"}, {"b"}});
  stored.Apply(PlanFor(wanted, stored));
  EXPECT_TRUE(PlanFor(wanted, stored).empty());
}

TEST(SlicePlan, AHigherGenerationOfTheDriverIsTaken) {
  StoredSlices stored;
  WantedPool wanted = PoolWith({{"a"}, {"b"}});
  stored.Apply(PlanFor(wanted, stored));
  wanted.generation = 7;
  const PoolPlan plan = PlanFor(wanted, stored);
  ASSERT_THAT(plan.updates, SizeIs(2));
  EXPECT_EQ(plan.updates[0].spec.pool.generation, 7);
  stored.Apply(plan);
  wanted.generation = 3;  // lower than what is there: nothing
  EXPECT_TRUE(PlanFor(wanted, stored).empty());
}

TEST(SlicePlan, WhatIsObsoleteGoesFirst) {
  StoredSlices stored;
  stored.Add("00000-x", 2, 1, {"a"});
  stored.Add("00000-y", 2, 1, {"a"});    // taken twice
  stored.Add("00001-x", 2, 1, {"a"});    // out of range
  stored.Add("0000-x", 2, 1, {"a"});     // another length
  stored.Add("legacy", 2, 1, {"a"});     // no index
  stored.Add("00000-old", 1, 1, {"a"});  // another generation
  const PoolPlan plan = PlanFor(PoolWith({{"a"}}), stored);
  std::vector<std::string> names;
  for (const DoomedSlice& doomed : plan.deletes) names.push_back(doomed.name);
  EXPECT_THAT(names, ElementsAre("0000-x", "00000-old", "00000-y", "00001-x", "legacy"));
  EXPECT_THAT(plan.updates, IsEmpty());
  EXPECT_THAT(plan.creates, IsEmpty());
}

TEST(SlicePlan, APoolThatIsNotWantedGoes) {
  StoredSlices stored;
  stored.Add("00000-x", 1, 1, {"a"});
  EXPECT_THAT(PlanPool(TestPublisher(), "pool", nullptr, stored.All()).deletes, SizeIs(1));
}

TEST(SlicePlan, IndexesAreHexOfFiveDigitsOrMore) {
  EXPECT_EQ(IndexText(31, 40), "0001f");
  EXPECT_EQ(IndexText(0, 0x100001), "000000");
  EXPECT_EQ(IndexOf("0001f-d-n-abc", 40), 31u);
  EXPECT_EQ(IndexOf("0001f-d-n-abc", 31), std::nullopt);
  EXPECT_EQ(IndexOf("0001g-d", 40), std::nullopt);
  EXPECT_EQ(IndexOf("00001", 40), std::nullopt);
  EXPECT_EQ(IndexOf("-00001", 40), std::nullopt);
  EXPECT_EQ(IndexOf("00001-d", 0x100001), std::nullopt);
  EXPECT_EQ(IndexOf("000001-d", 0x100001), 1u);
}

TEST(SlicePlan, OrderOfDevicesCounts) {
  StoredSlices stored;
  stored.Apply(PlanFor(PoolWith({{"a", "b"}}), stored));
  EXPECT_THAT(PlanFor(PoolWith({{"b", "a"}}), stored).updates, SizeIs(1));
}

// A server fills in when a taint came; that is no difference, and stays when something else changes.
TEST(SlicePlan, TimesOfTaintsAreTakenOver) {
  WantedPool wanted = PoolWith({{"a", "b"}});
  wanted.slices[0].devices[0] = Dev("a").Taint("broken");
  StoredSlices stored;
  stored.Apply(PlanFor(wanted, stored));
  const base::Time when = base::Time::FromUnix(1'700'000'000);
  stored.Mutable(0).spec.devices->at(0).taints[0].time_added = when;
  EXPECT_TRUE(PlanFor(wanted, stored).empty());
  wanted.slices[0].devices.pop_back();
  const PoolPlan plan = PlanFor(wanted, stored);
  ASSERT_THAT(plan.updates, SizeIs(1));
  EXPECT_EQ(plan.updates[0].spec.devices->at(0).taints[0].time_added, when);
  stored.Apply(plan);
  wanted.slices[0].devices[0].taints[0].time_added = when + std::chrono::milliseconds(900);
  EXPECT_TRUE(PlanFor(wanted, stored).empty());
  wanted.slices[0].devices[0].taints[0].time_added = when + std::chrono::seconds(1);
  EXPECT_FALSE(PlanFor(wanted, stored).empty());
}

TEST(SlicePlan, WithoutANodeThePoolSaysWhere) {
  const Publisher publisher{.driver = "gpu.example.com"};
  WantedPool wanted = PoolWith({{"a"}});
  wanted.all_nodes = true;
  const PoolPlan plan = PlanPool(publisher, "pool", &wanted, {});
  ASSERT_THAT(plan.creates, SizeIs(1));
  EXPECT_EQ(plan.creates[0].spec.all_nodes, true);
  EXPECT_FALSE(plan.creates[0].spec.node_name.has_value());
  EXPECT_EQ(plan.creates[0].metadata.generate_name, "00000-gpu.example.com-");
  EXPECT_THAT(plan.creates[0].metadata.owner_references, IsEmpty());
}

TEST(WantedPools, WhatNoRetryHelpsIsFoundBeforeAnythingIsWritten) {
  WantedPool pool = PoolWith({{"a"}, {"a"}});
  pool.slices[0].devices[0] = Dev("a").Consumes("set", {{"x", "1"}});
  pool.slices.push_back({.shared_counters = {{.name = "other"}, {.name = "other"}}});
  pool.slices[1].devices.push_back(Dev("c").Consumes("other", {{"y", "1"}}));
  EXPECT_THAT(
      CheckPool("p", pool, true),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("device \"a\" appears twice"),
                     HasSubstr("counter set \"other\" is declared twice"),
                     HasSubstr("counters of \"set\", which no slice of the pool declares"),
                     HasSubstr("counter \"y\", which counter set \"other\" does not have"))));
  EXPECT_THAT(CheckPool("p", PoolWith({{"a"}}), true), IsOk());
  pool = PoolWith({{"a"}});
  pool.all_nodes = true;
  EXPECT_THAT(CheckPool("p", pool, false), IsOk());
  EXPECT_THAT(CheckPool("p", pool, true),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("it chooses nodes")));
}

TEST(WantedPools, DevicesAreCutIntoSlicesThatTheApiTakes) {
  std::vector<api::Device> devices;
  for (int i = 0; i < 129; ++i) devices.push_back(Dev("d" + std::to_string(i)));
  const WantedPool plain = PoolOf(devices);
  ASSERT_THAT(plain.slices, SizeIs(2));
  EXPECT_THAT(plain.slices[0].devices, SizeIs(128));
  EXPECT_THAT(plain.slices[1].devices, SizeIs(1));
  devices[3] = Dev("t").Taint("x");
  const WantedPool small = PoolOf(devices, {{.name = "set"}});
  ASSERT_THAT(small.slices, SizeIs(4));
  EXPECT_THAT(small.slices[0].shared_counters, SizeIs(1));
  EXPECT_THAT(small.slices[0].devices, IsEmpty());
  EXPECT_THAT(small.slices[1].devices, SizeIs(64));
}

TEST(DroppedFields, AreNamedWithTheirGates) {
  api::ResourceSliceSpec wanted;
  wanted.devices.emplace();
  wanted.devices->push_back(Dev("a").Taint("x").Shared());
  wanted.skip_node_operations = {"*"};
  api::ResourceSliceSpec stored = wanted;
  stored.devices->at(0).taints.clear();
  stored.devices->at(0).allow_multiple_allocations.reset();
  stored.skip_node_operations.clear();
  EXPECT_THAT(
      internal::DroppedFields(wanted, stored),
      ElementsAre(internal::DroppedField{"spec.devices[0].taints", "DRADeviceTaints"},
                  internal::DroppedField{"spec.devices[0].allowMultipleAllocations",
                                         "DRAConsumableCapacity"},
                  internal::DroppedField{"spec.skipNodeOperations", "DRAOptionalNodeOperations"}));
  EXPECT_THAT(internal::DroppedFields(wanted, wanted), IsEmpty());
}

}  // namespace
}  // namespace dray::driver

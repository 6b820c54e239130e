// SPDX-License-Identifier: Apache-2.0
#include "inventory/slice_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inventory/features.h"
#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using ::dray::testing::Device;
using ::dray::testing::LabelIs;
using ::dray::testing::Slice;
using ::testing::ElementsAre;

class SliceTableTest : public ::testing::Test {
 protected:
  std::shared_ptr<const SliceTable> Make(const api::ResourceSlice& slice) {
    return SliceTable::Create(slice, dictionary_);
  }
  std::shared_ptr<const SliceTable> Make(const api::Device& device) {
    return Make(Slice("s").OnNode("n1").With(device));
  }

  Dictionary dictionary_;
};

TEST_F(SliceTableTest, KeepsWhatIsSaidOfTheSlice) {
  const auto table =
      Make(Slice("s").Driver("d").Pool("p").Generation(7).Of(3).OnNode("n1").SkipsNodeOperations());
  EXPECT_EQ(table->object_name(), "s");
  EXPECT_EQ(dictionary_.View(table->driver()), "d");
  EXPECT_EQ(table->pool(), dictionary_.FindPool("d", "p"));
  EXPECT_EQ(table->generation(), 7);
  EXPECT_EQ(table->slice_count(), 3);
  EXPECT_TRUE(table->node_choice().has_node);
  EXPECT_EQ(dictionary_.View(table->node_choice().node), "n1");
  EXPECT_THAT(table->skip_node_operations(), ElementsAre("*"));
  EXPECT_FALSE(table->mentions_per_device_node_selection());
}

TEST_F(SliceTableTest, EqualDevicesHaveEqualNumbers) {
  const auto table =
      Make(Slice("s")
               .With(Device("a").String("model", "H100").Capacity("memory", "80Gi"))
               .With(Device("b").String("model", "H100").Capacity("memory", "80Gi")));
  ASSERT_EQ(table->devices().size(), 2u);
  const auto& [a, b] = std::tie(table->devices()[0], table->devices()[1]);
  EXPECT_EQ(table->attributes(a)[0], table->attributes(b)[0]);
  EXPECT_EQ(table->capacities(a)[0], table->capacities(b)[0]);
  EXPECT_NE(a.name, b.name);
}

// What the device before had is reused where it is the same, at the same place.
TEST_F(SliceTableTest, ADeviceGetsItsOwnValuesWhateverTheOneBeforeHad) {
  const std::vector<api::Device> devices = {
      Device("a")
          .Int("index", 0)
          .String("model", "H100")
          .Capacity("memory", "1")
          .Capacity("x", "5"),
      Device("b")
          .Int("index", 1)
          .String("model", "H100")
          .Capacity("memory", "2")
          .Capacity("x", "5"),
      Device("c").String("model", "H100").Capacity("x", "5"),
      Device("d"),
      Device("e").Int("index", 1).Int("model", 1).Capacity("memory", "2"),
  };
  Slice slice("s");
  for (const api::Device& device : devices) slice.With(device);
  const auto table = Make(slice);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceRow& row = table->devices()[i];
    ASSERT_EQ(row.attributes, devices[i].attributes.size());
    for (const auto& [name, attribute] : devices[i].attributes) {
      EXPECT_EQ(table->FindAttribute(row, *dictionary_.Find(name.view())),
                dictionary_.Intern(attribute));
    }
    ASSERT_EQ(row.capacities, devices[i].capacity.size());
    for (std::size_t c = 0; c < row.capacities; ++c) {
      const auto& [name, capacity] = devices[i].capacity.entry(c);
      EXPECT_EQ(dictionary_.View(table->capacities(row)[c].name), name.view());
      EXPECT_EQ(table->capacities(row)[c].capacity, dictionary_.Intern(capacity));
    }
  }
}

TEST_F(SliceTableTest, AttributesAreSortedByNumberAndCapacitiesByKey) {
  dictionary_.Intern("z");
  const auto table =
      Make(Device("x").Int("a", 1).Int("m", 2).Int("z", 3).Capacity("b", "1").Capacity("a", "2"));
  const DeviceRow& row = table->devices()[0];
  const auto attributes = table->attributes(row);
  ASSERT_EQ(attributes.size(), 3u);
  EXPECT_EQ(dictionary_.View(attributes[0].name), "z");
  EXPECT_LT(attributes[0].name, attributes[1].name);
  EXPECT_LT(attributes[1].name, attributes[2].name);
  EXPECT_EQ(dictionary_.View(table->capacities(row)[0].name), "a");
}

TEST_F(SliceTableTest, FindsAnAttributeByItsQualifiedNameThenByTheBareOne) {
  const auto table = Make(Device("x")
                              .Int("bare", 1)
                              .Int("both", 2)
                              .Int("gpu.example.com/both", 3)
                              .Int("other.example/bare", 4));
  const DeviceRow& row = table->devices()[0];
  const auto find = [&](std::string_view name, std::optional<std::string_view> bare) {
    std::optional<NameId> bare_name;
    if (bare.has_value()) bare_name = dictionary_.Intern(*bare);
    const ValueId id = table->FindAttribute(row, dictionary_.Intern(name), bare_name);
    return id == ValueId::kNone ? 0 : dictionary_.At(id).value.as_int();
  };
  EXPECT_EQ(find("gpu.example.com/bare", "bare"), 1);
  EXPECT_EQ(find("gpu.example.com/both", "both"), 3);
  EXPECT_EQ(find("other.example/bare", std::nullopt), 4);
  EXPECT_EQ(find("other.example/both", std::nullopt), 0);
  EXPECT_EQ(find("both", std::nullopt), 2);
}

TEST_F(SliceTableTest, AnAttributeThatCannotBeReadMakesItsDeviceUnreadable) {
  EXPECT_FALSE(Make(Device("x").Version("v", "1.2.3").Strings("l", {}))->devices()[0].unreadable);
  EXPECT_TRUE(Make(Device("x").Int("a", 1).NoValue("b"))->devices()[0].unreadable);
  EXPECT_TRUE(Make(Device("x").Version("v", "1.2"))->devices()[0].unreadable);
  EXPECT_TRUE(Make(Device("x").Versions("v", {"1.2.3", "x"}))->devices()[0].unreadable);
}

TEST_F(SliceTableTest, KnowsWhichDevicesNeedAFeature) {
  const auto table = Make(Slice("s")
                              .With(Device("plain"))
                              .With(Device("consuming").Consumes("c", {{"m", "1"}}))
                              .With(Device("grouped").Consumes("c", {{"m", "1"}}, {"g"}))
                              .With(Device("binding").BindingCondition("r").BindsToNode())
                              .With(Device("failing").BindingFailure("f").Shared()));
  const auto rows = table->devices();
  EXPECT_EQ(rows[0].consumption, ConsumptionId::kNone);
  EXPECT_NE(rows[1].consumption, ConsumptionId::kNone);
  EXPECT_FALSE(rows[1].has_groups);
  EXPECT_TRUE(rows[2].has_groups);
  EXPECT_TRUE(rows[3].has_binding_conditions);
  EXPECT_TRUE(rows[3].binds_to_node);
  EXPECT_FALSE(rows[4].has_binding_conditions);
  EXPECT_TRUE(rows[4].allow_multiple_allocations);
  EXPECT_THAT(dictionary_.At(rows[4].conditions).binding_failure, ElementsAre("f"));
  EXPECT_TRUE(table->has_groups());
  EXPECT_TRUE(table->has_consumption());
  EXPECT_TRUE(table->has_binding_conditions());
}

TEST_F(SliceTableTest, DevicesHaveTheirOwnNodesOnlyWithPerDeviceSelection) {
  const api::Device device = Device("x").Where(LabelIs("zone", "a"));
  const auto with = Make(Slice("s").PerDevice().With(device));
  EXPECT_NE(with->choice(with->devices()[0]).selector, SelectionId::kNone);
  const auto without = Make(Slice("s").OnAllNodes().PerDevice(false).With(device));
  EXPECT_TRUE(without->choice(without->devices()[0]).all_nodes);
  EXPECT_TRUE(without->mentions_per_device_node_selection());
}

TEST_F(SliceTableTest, CounterSetsKeepTheirCountersSortedByNumber) {
  dictionary_.Intern("z");
  const auto table =
      Make(Slice("s").Counters("one", {{"a", "1"}, {"z", "2"}}).Counters("two", {{"a", "500m"}}));
  ASSERT_EQ(table->counter_sets().size(), 2u);
  const auto counters = table->counter_sets()[0].counters;
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(dictionary_.View(counters[0].counter), "z");
  EXPECT_EQ(counters[0].amount, 2'000'000'000);
  EXPECT_EQ(table->counter_sets()[1].counters[0].amount, 500'000'000);
  EXPECT_TRUE(table->has_shared_counters());
}

TEST_F(SliceTableTest, SameContentSeesEveryDifference) {
  const auto base = [] { return Slice("s").OnNode("n1"); };
  const auto one = Make(base().With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}));
  EXPECT_TRUE(
      one->SameContent(*Make(base().With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}))));
  for (const api::ResourceSlice& other : std::vector<api::ResourceSlice>{
           base().With(Device("x").Int("a", 2)).Counters("c", {{"m", "1"}}),
           base().With(Device("x").Int("b", 1)).Counters("c", {{"m", "1"}}),
           base().With(Device("y").Int("a", 1)).Counters("c", {{"m", "1"}}),
           base().With(Device("x").Int("a", 1).Taint("t")).Counters("c", {{"m", "1"}}),
           base().With(Device("x").Int("a", 1).Capacity("m", "1")).Counters("c", {{"m", "1"}}),
           base().With(Device("x").Int("a", 1)).Counters("c", {{"m", "2"}}),
           base().With(Device("x").Int("a", 1)).Counters("d", {{"m", "1"}}),
           base().With(Device("x").Int("a", 1)),
           base().Of(2).With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}),
           base().Generation(2).With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}),
           base().OnNode("n2").With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}),
           base().PerDevice(false).With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}),
           base().SkipsNodeOperations().With(Device("x").Int("a", 1)).Counters("c", {{"m", "1"}}),
       }) {
    EXPECT_FALSE(one->SameContent(*Make(other)));
  }
}

TEST(Features, FollowTheirGates) {
  api::FeatureGates gates;
  EXPECT_TRUE(Features::From(gates).compatibility_groups);
  gates.Set(api::Gate::kDRADeviceCompatibilityGroups, false);
  EXPECT_FALSE(Features::From(gates).compatibility_groups);
  for (const api::GateInfo& gate : api::GateTable()) gates.Set(gate.gate, true);
  EXPECT_EQ(Features::From(gates), Features::All());
  for (const api::GateInfo& gate : api::GateTable()) gates.Set(gate.gate, false);
  EXPECT_EQ(Features::From(gates), Features());
}

TEST(Features, BindingConditionsNeedTheClaimsDeviceStatus) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRADeviceBindingConditions, true);
  gates.Set(api::Gate::kDRAResourceClaimDeviceStatus, true);
  EXPECT_TRUE(Features::From(gates).device_binding_and_status);
  gates.Set(api::Gate::kDRAResourceClaimDeviceStatus, false);
  EXPECT_FALSE(Features::From(gates).device_binding_and_status);
}

}  // namespace
}  // namespace dray::inventory

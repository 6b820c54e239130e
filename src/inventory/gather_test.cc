// SPDX-License-Identifier: Apache-2.0
//
// What a node sees, rule by rule of docs/spec/allocator.md chapter 2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "inventory/node_devices.h"
#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::inventory {
namespace {

using ::dray::testing::Device;
using ::dray::testing::IsOk;
using ::dray::testing::LabelIs;
using ::dray::testing::Node;
using ::dray::testing::Slice;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Gathered = std::shared_ptr<const NodeDevices>;

StatusOr<Gathered> TryGather(const std::vector<api::ResourceSlice>& slices,
                             const api::Node& node = Node("n1"),
                             const Features& features = Features::All()) {
  Inventory inventory;
  for (const api::ResourceSlice& slice : slices) inventory.Put(slice);
  return Gather(inventory.snapshot(), node, features);
}

Gathered GatherAll(const std::vector<api::ResourceSlice>& slices,
                   const api::Node& node = Node("n1"), const Features& features = Features::All()) {
  auto gathered = TryGather(slices, node, features);
  EXPECT_THAT(gathered, IsOk());
  return *gathered;
}

std::vector<std::string> NamesOf(const NodeDevices& devices) {
  std::vector<std::string> names;
  for (const NodeDevice& device : devices.devices()) {
    names.emplace_back(devices.dictionary().View(device.row->name));
  }
  return names;
}

// "driver/pool" and what is wrong with it.
std::vector<std::string> PoolsOf(const NodeDevices& devices) {
  std::vector<std::string> pools;
  for (const PoolOnNode& pool : devices.pools()) {
    std::string text(devices.dictionary().View(pool.driver));
    text.append("/").append(devices.dictionary().View(pool.name));
    if (pool.state == PoolState::kIncomplete) text += " incomplete";
    if (pool.state == PoolState::kInvalid) text += " invalid";
    pools.push_back(text);
  }
  return pools;
}

Features Without(bool Features::*feature) {
  Features features = Features::All();
  features.*feature = false;
  return features;
}

// 2.1 and 2.2: which slices.

TEST(Gather, ANodeSeesItsOwnSlicesThoseForAllAndThoseWhoseSelectorMatches) {
  const auto devices = GatherAll(
      {
          Slice("own").Pool("own").OnNode("n1").With(Device("a")),
          Slice("other").Pool("other").OnNode("n2").With(Device("b")),
          Slice("all").Pool("all").OnAllNodes().With(Device("c")),
          Slice("zone-a").Pool("zone-a").Where(LabelIs("zone", "a")).With(Device("d")),
          Slice("zone-b").Pool("zone-b").Where(LabelIs("zone", "b")).With(Device("e")),
      },
      Node("n1").Label("zone", "a"));
  EXPECT_THAT(NamesOf(*devices), ElementsAre("c", "a", "d"));
  EXPECT_THAT(PoolsOf(*devices),
              ElementsAre("gpu.example.com/all", "gpu.example.com/own", "gpu.example.com/zone-a"));
  EXPECT_EQ(devices->node_name(), "n1");
}

TEST(Gather, ASliceThatSaysNothingOfNodesIsIgnored) {
  const auto devices = GatherAll({Slice("a").With(Device("a"))});
  EXPECT_THAT(devices->pools(), IsEmpty());
}

TEST(Gather, AnEmptyNodeNameIsNone) {
  const auto devices = GatherAll({Slice("a").OnNode("").OnAllNodes().With(Device("a"))});
  EXPECT_THAT(NamesOf(*devices), ElementsAre("a"));
}

TEST(Gather, PerDeviceSelectionMakesASliceRelevantByOneDevice) {
  const api::ResourceSlice slice = Slice("a")
                                       .PerDevice()
                                       .With(Device("on-n1").OnNode("n1"))
                                       .With(Device("on-n2").OnNode("n2"))
                                       .With(Device("on-all").OnAllNodes())
                                       .With(Device("nowhere"))
                                       .With(Device("zone-a").Where(LabelIs("zone", "a")));
  const auto devices = GatherAll({slice}, Node("n1").Label("zone", "a"));
  ASSERT_EQ(devices->devices().size(), 5u);
  std::vector<bool> on_node;
  for (const NodeDevice& device : devices->devices()) on_node.push_back(device.on_node);
  EXPECT_THAT(on_node, ElementsAre(true, false, true, false, true));

  const api::ResourceSlice elsewhere = Slice("a").PerDevice().With(Device("x").OnNode("n2"));
  EXPECT_THAT(GatherAll({elsewhere})->pools(), IsEmpty());
}

TEST(Gather, ABrokenSelectorIsAnErrorEvenInAPoolNobodyAsksFor) {
  const api::NodeSelector broken = {
      .node_selector_terms = {{.match_expressions = {{.key = "zone", .operator_ = "Near"}}}}};
  EXPECT_THAT(
      TryGather({Slice("good").OnNode("n1").With(Device("a")),
                 Slice("bad").Pool("other").Where(broken).With(Device("b"))}),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("slice \"bad\""), HasSubstr("Near"))));
  EXPECT_THAT(TryGather({Slice("bad")
                             .PerDevice()
                             .With(Device("a").OnAllNodes())
                             .With(Device("b").Where(broken))}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("slice \"bad\", device \"b\""), HasSubstr("Near"))));
  // The slice of another node is not looked at.
  EXPECT_THAT(TryGather({Slice("bad").OnNode("n2").Where(broken).With(Device("a"))}), IsOk());
}

// 2.3 and 2.4: generations and completeness.

TEST(Gather, OnlyTheNewestGenerationIsKept) {
  const auto devices = GatherAll({
      Slice("old").Generation(1).OnNode("n1").With(Device("old")),
      Slice("new").Generation(3).OnNode("n1").With(Device("new")),
      Slice("middle").Generation(2).OnNode("n1").With(Device("middle")),
  });
  EXPECT_THAT(NamesOf(*devices), ElementsAre("new"));
}

TEST(Gather, APoolWithMissingSlicesIsIncompleteAndHasNoDevices) {
  const auto devices = GatherAll({Slice("a").Of(2).OnNode("n1").With(Device("a"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/pool incomplete"));
  EXPECT_EQ(devices->pools()[0].why, "has 1 of 2 slices of generation 1");
  EXPECT_TRUE(devices->any_incomplete());
  EXPECT_FALSE(devices->any_invalid());
  EXPECT_THAT(devices->devices(), IsEmpty());
}

TEST(Gather, APoolWithTooManySlicesIsIncomplete) {
  const auto devices = GatherAll(
      {Slice("a").OnNode("n1").With(Device("a")), Slice("b").OnNode("n1").With(Device("b"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/pool incomplete"));
}

TEST(Gather, SlicesForOtherNodesCountForCompleteness) {
  const auto devices = GatherAll({Slice("a").Of(2).OnNode("n1").With(Device("a")),
                                  Slice("b").Of(2).OnNode("n2").With(Device("b"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/pool"));
  EXPECT_THAT(NamesOf(*devices), ElementsAre("a"));
}

TEST(Gather, TheFirstSliceSaysHowManyThereAre) {
  // A node's own slices come before those without a node, whatever their order of arrival.
  const auto complete = GatherAll({Slice("b").Of(7).OnAllNodes().With(Device("b")),
                                   Slice("a").Of(2).OnNode("n1").With(Device("a"))});
  EXPECT_THAT(NamesOf(*complete), ElementsAre("a", "b"));
  const auto incomplete = GatherAll({Slice("b").Of(7).OnAllNodes().With(Device("b")),
                                     Slice("a").Of(2).OnAllNodes().With(Device("a"))});
  EXPECT_THAT(PoolsOf(*incomplete), ElementsAre("gpu.example.com/pool incomplete"));
}

TEST(Gather, APoolThatIsCompleteHereDoesNotNoticeANewerGenerationElsewhere) {
  const auto devices = GatherAll({Slice("a").Generation(1).OnNode("n1").With(Device("a")),
                                  Slice("b").Generation(2).Of(2).OnNode("n2").With(Device("b"))});
  EXPECT_THAT(NamesOf(*devices), ElementsAre("a"));
}

TEST(Gather, AnObsoletePoolVanishes) {
  const auto devices = GatherAll({Slice("a").Generation(1).Of(2).OnNode("n1").With(Device("a")),
                                  Slice("b").Generation(2).Of(2).OnNode("n2").With(Device("b"))});
  EXPECT_THAT(devices->pools(), IsEmpty());
  EXPECT_FALSE(devices->any_incomplete());
}

TEST(Gather, PoolsOfDifferentDriversAreDifferent) {
  const auto devices = GatherAll({Slice("a").Driver("b.example").OnNode("n1").With(Device("x")),
                                  Slice("b").Driver("a.example").OnNode("n1").With(Device("x"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("a.example/pool", "b.example/pool"));
}

// 2.6: invalid pools.

TEST(Gather, TwoDevicesOfOneNameMakeAPoolInvalid) {
  const auto devices = GatherAll({Slice("a").Of(2).OnNode("n1").With(Device("x")),
                                  Slice("b").Of(2).OnNode("n1").With(Device("x"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/pool invalid"));
  EXPECT_EQ(devices->pools()[0].why, "two devices are named \"x\"");
  EXPECT_TRUE(devices->any_invalid());
  EXPECT_THAT(devices->devices(), IsEmpty());
}

TEST(Gather, NamesOnOtherNodesAreNotCompared) {
  const auto devices = GatherAll({Slice("a").Of(2).OnNode("n1").With(Device("x")),
                                  Slice("b").Of(2).OnNode("n2").With(Device("x"))});
  EXPECT_THAT(NamesOf(*devices), ElementsAre("x"));
}

TEST(Gather, AnIncompletePoolIsNotValidated) {
  const auto devices =
      GatherAll({Slice("a").Of(2).OnNode("n1").With(Device("x")).With(Device("x"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/pool incomplete"));
}

TEST(Gather, TwoCounterSetsOfOneNameMakeAPoolInvalid) {
  const auto devices = GatherAll({Slice("a").Of(2).OnNode("n1").Counters("s", {{"c", "1"}}),
                                  Slice("b").Of(2).OnNode("n2").Counters("s", {{"c", "1"}})});
  EXPECT_EQ(devices->pools()[0].why, "two counter sets are named \"s\"");
  EXPECT_TRUE(devices->any_invalid());
}

TEST(Gather, ConsumingFromACounterSetThatIsNotThereMakesAPoolInvalid) {
  const api::ResourceSlice slice =
      Slice("a").OnNode("n1").With(Device("x").Consumes("s", {{"c", "1"}}));
  const auto devices = GatherAll({slice});
  EXPECT_EQ(devices->pools()[0].why,
            "device \"x\" consumes from counter set \"s\", which the pool does not have");
  // Without the feature nobody looks.
  EXPECT_THAT(PoolsOf(*GatherAll({slice}, Node("n1"), Without(&Features::partitionable_devices))),
              ElementsAre("gpu.example.com/pool"));
}

TEST(Gather, ConsumingACounterThatIsNotThereMakesAPoolInvalidAlsoForOtherNodes) {
  const auto devices =
      GatherAll({Slice("a").Of(3).OnNode("n1").With(Device("x")),
                 Slice("b").Of(3).OnNode("n2").With(Device("y").Consumes("s", {{"d", "1"}})),
                 Slice("c").Of(3).OnAllNodes().Counters("s", {{"c", "1"}})});
  EXPECT_EQ(devices->pools()[0].why,
            "device \"y\" consumes counter \"d\", which counter set \"s\" does not have");
}

// 2.7: order.

TEST(Gather, PoolsAreSortedByDriverThenName) {
  const auto devices =
      GatherAll({Slice("1").Driver("b.example").Pool("a").OnNode("n1").With(Device("x")),
                 Slice("2").Driver("a.example").Pool("b").OnAllNodes().With(Device("x")),
                 Slice("3").Driver("a.example").Pool("a-").OnNode("n1").With(Device("x")),
                 Slice("4").Driver("a.example").Pool("a").Of(2).OnNode("n1").With(Device("x"))});
  EXPECT_THAT(PoolsOf(*devices),
              ElementsAre("a.example/a incomplete", "a.example/a-", "a.example/b", "b.example/a"));
}

TEST(Gather, PoolsWithBindingConditionsComeLastWhateverTheFeature) {
  const std::vector<api::ResourceSlice> slices = {
      Slice("1").Pool("a").OnNode("n1").With(Device("a").BindingCondition("ready")),
      Slice("2").Pool("b").OnNode("n1").With(Device("b")),
      Slice("3").Pool("c").OnNode("n1").With(Device("c").BindingCondition("ready")),
      Slice("4").Pool("d").OnNode("n1").With(Device("d").BindingFailure("broken")),
  };
  EXPECT_THAT(NamesOf(*GatherAll(slices)), ElementsAre("b", "d", "a", "c"));
  EXPECT_THAT(NamesOf(*GatherAll(slices, Node("n1"), Features{})), ElementsAre("b", "d", "a", "c"));
}

TEST(Gather, PoolsThatCannotBeUsedDoNotWaitForBinding) {
  const auto devices = GatherAll(
      {Slice("1").Pool("a").Of(2).OnNode("n1").With(Device("a").BindingCondition("r")),
       Slice("2").Pool("b").OnNode("n1").With(Device("b").BindingCondition("r")).With(Device("b")),
       Slice("3").Pool("c").OnNode("n1").With(Device("c"))});
  EXPECT_THAT(PoolsOf(*devices), ElementsAre("gpu.example.com/a incomplete",
                                             "gpu.example.com/b invalid", "gpu.example.com/c"));
}

TEST(Gather, SlicesAreSortedByNameAndDevicesStayInTheirOrder) {
  const auto devices =
      GatherAll({Slice("b").Of(2).OnNode("n1").With(Device("z")).With(Device("y")),
                 Slice("a").Of(2).OnAllNodes().With(Device("x")).With(Device("w"))});
  EXPECT_THAT(NamesOf(*devices), ElementsAre("x", "w", "z", "y"));
  ASSERT_EQ(devices->slices().size(), 2u);
  EXPECT_EQ(devices->slices()[1].slice->object_name(), "b");
  EXPECT_EQ(devices->slices()[1].first_device, 2u);
}

}  // namespace
}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
//
// What a node sees of counters, groups, taints and node operations, with each feature on and off.
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
using ::dray::testing::Node;
using ::dray::testing::Slice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Amount kUnit = 1'000'000'000;

// A pool of three slices: counters, devices for n1 and devices for n2.
std::vector<api::ResourceSlice> Partitioned() {
  return {
      Slice("counters").Of(3).OnNode("n2").Counters("s", {{"memory", "80"}, {"cores", "8"}}),
      Slice("here")
          .Of(3)
          .OnNode("n1")
          .With(Device("half").Consumes("s", {{"memory", "40"}, {"cores", "4"}}, {"mig"}))
          .With(Device("plain")),
      Slice("there")
          .Of(3)
          .OnNode("n2")
          .With(Device("far").Consumes("s", {{"cores", "1"}}))
          .With(Device("far-plain")),
  };
}

class GatherFeatures : public ::testing::Test {
 protected:
  void Put(const std::vector<api::ResourceSlice>& slices) {
    for (const api::ResourceSlice& slice : slices) inventory_.Put(slice);
  }
  void PutRule(std::string name, std::string key,
               std::optional<api::DeviceTaintSelector> selector) {
    api::DeviceTaintRule rule;
    rule.metadata.name = std::move(name);
    if (selector.has_value()) rule.spec.device_selector = *selector;
    rule.spec.taint = {.key = std::move(key), .effect = "NoSchedule"};
    inventory_.PutTaintRule(rule);
  }
  std::shared_ptr<const NodeDevices> Gathered(const Features& features = Features::All(),
                                              const api::Node& node = Node("n1")) {
    auto gathered = Gather(inventory_.snapshot(), node, features);
    EXPECT_THAT(gathered, IsOk());
    return *gathered;
  }
  NameId Name(std::string_view text) { return inventory_.snapshot().dictionary().Intern(text); }
  // The keys of each device's taints.
  std::vector<std::vector<std::string>> TaintKeys(const NodeDevices& devices) {
    std::vector<std::vector<std::string>> keys;
    for (const NodeDevice& device : devices.devices()) {
      keys.emplace_back();
      for (const api::DeviceTaint& taint : devices.dictionary().At(device.taints)) {
        keys.back().push_back(taint.key);
      }
    }
    return keys;
  }

  Inventory inventory_;
};

TEST_F(GatherFeatures, CountersAreFoundInSlicesThatAreForOtherNodes) {
  Put(Partitioned());
  const auto devices = Gathered();
  ASSERT_EQ(devices->pools().size(), 1u);
  EXPECT_EQ(devices->pools()[0].state, PoolState::kComplete);
  EXPECT_EQ(devices->pools()[0].devices, 2u);
  ASSERT_EQ(devices->pools()[0].sets, 1u);
  const auto set = devices->FindSet(0, Name("s"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(devices->counter_sets()[*set].counters, 2u);
  const auto memory = devices->FindCounter(*set, Name("memory"));
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(devices->counters()[*memory].value, 80 * kUnit);
  EXPECT_EQ(devices->counters()[*memory].set, *set);
  EXPECT_FALSE(devices->FindCounter(*set, Name("disks")).has_value());
  EXPECT_FALSE(devices->FindSet(0, Name("memory")).has_value());
}

TEST_F(GatherFeatures, ADeviceKnowsWhatItDrawsByNumber) {
  Put(Partitioned());
  const auto devices = Gathered();
  const NodeDevice& half = devices->devices()[*devices->FindDevice(0, Name("half"))];
  const auto set = devices->FindSet(0, Name("s"));
  ASSERT_EQ(devices->set_uses(half).size(), 1u);
  EXPECT_EQ(devices->set_uses(half)[0].set, *set);
  EXPECT_THAT(devices->dictionary().At(devices->set_uses(half)[0].groups),
              ElementsAre(Name("mig")));
  ASSERT_EQ(devices->counter_uses(half).size(), 2u);
  Amount total = 0;
  for (const CounterUse& use : devices->counter_uses(half)) {
    EXPECT_EQ(devices->counters()[use.counter].set, *set);
    total += use.amount;
  }
  EXPECT_EQ(total, 44 * kUnit);
  EXPECT_THAT(devices->counter_uses(devices->devices()[1]), IsEmpty());
}

TEST_F(GatherFeatures, DevicesElsewhereAreKnownIfTheyConsume) {
  Put(Partitioned());
  const auto devices = Gathered();
  const DeviceRow* far = devices->FindElsewhere(0, Name("far"));
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->name, Name("far"));
  EXPECT_EQ(devices->FindElsewhere(0, Name("far-plain")), nullptr);
  EXPECT_EQ(devices->FindElsewhere(0, Name("half")), nullptr);
  EXPECT_FALSE(devices->FindDevice(0, Name("far")).has_value());
}

TEST_F(GatherFeatures, DevicesOfASliceWithCountersAreNotUsable) {
  Put({Slice("a").OnNode("n1").Counters("s", {{"c", "1"}}).With(Device("x"))});
  const auto devices = Gathered();
  EXPECT_EQ(devices->pools()[0].state, PoolState::kComplete);
  EXPECT_THAT(devices->devices(), IsEmpty());
}

TEST_F(GatherFeatures, WithoutPartitionableDevicesOtherDevicesOfThePoolCanBeHad) {
  Put(Partitioned());
  Features features = Features::All();
  features.partitionable_devices = false;
  const auto devices = Gathered(features);
  ASSERT_EQ(devices->devices().size(), 2u);
  EXPECT_TRUE(devices->devices()[0].counters_off);
  EXPECT_FALSE(devices->devices()[1].counters_off);
  EXPECT_THAT(devices->counter_sets(), IsEmpty());
  EXPECT_THAT(devices->counter_uses(devices->devices()[0]), IsEmpty());
}

TEST_F(GatherFeatures, WithoutPartitionableDevicesAMentionOfPerDeviceSelectionDropsTheSlice) {
  Put({Slice("a").Pool("a").OnNode("n1").PerDevice(false).With(Device("x")),
       Slice("b").Pool("b").PerDevice().With(Device("y").OnNode("n1")),
       Slice("c").Pool("c").OnNode("n1").Counters("s", {{"c", "1"}})});
  EXPECT_EQ(Gathered()->pools().size(), 3u);
  Features features = Features::All();
  features.partitionable_devices = false;
  EXPECT_THAT(Gathered(features)->pools(), IsEmpty());
}

// KEP-5963: Kubernetes ignores the whole slice, so that its pool becomes incomplete.
TEST_F(GatherFeatures, WithoutCompatibilityGroupsOnlyDevicesThatDeclareThemAreOff) {
  Put(Partitioned());
  Features features = Features::All();
  features.compatibility_groups = false;
  const auto devices = Gathered(features);
  EXPECT_EQ(devices->pools()[0].state, PoolState::kComplete);
  ASSERT_EQ(devices->devices().size(), 2u);
  EXPECT_TRUE(devices->devices()[0].groups_off);
  EXPECT_FALSE(devices->devices()[1].groups_off);
  EXPECT_FALSE(Gathered()->devices()[0].groups_off);
}

TEST_F(GatherFeatures, SkippedNodeOperationsNeedTheFeatureAndTheNode) {
  Put({Slice("a").OnNode("n1").SkipsNodeOperations().With(Device("x"))});
  const api::Node able = Node("n1").Declares("DRAOptionalNodeOperations");
  Features off = Features::All();
  off.optional_node_operations = false;
  EXPECT_TRUE(Gathered(Features::All(), Node("n1"))->devices()[0].operations_missing);
  EXPECT_TRUE(Gathered(off, able)->devices()[0].operations_missing);
  EXPECT_FALSE(Gathered(Features::All(), able)->devices()[0].operations_missing);
}

TEST_F(GatherFeatures, DevicesThatTheNodeCouldHaveSomethingAgainstAreNotable) {
  const auto notable = [&](const Features& features = Features::All()) {
    const auto devices = Gathered(features);
    std::vector<std::string> names;
    devices->notable().ForEach([&](std::size_t i) {
      names.emplace_back(devices->dictionary().View(devices->devices()[i].row->name));
    });
    return names;
  };
  Put(Partitioned());
  EXPECT_THAT(notable(), ElementsAre("half"));
  Features features = Features::All();
  features.partitionable_devices = false;
  EXPECT_THAT(notable(features), ElementsAre("half"));
  features = Features::All();
  features.compatibility_groups = false;
  EXPECT_THAT(notable(features), ElementsAre("half"));
  Put({Slice("p")
           .Pool("p")
           .PerDevice()
           .With(Device("near").OnNode("n1"))
           .With(Device("elsewhere").OnNode("n2")),
       Slice("q").Pool("q").OnNode("n1").SkipsNodeOperations().With(Device("skips")),
       Slice("r").Pool("r").OnNode("n1").With(Device("tainted").Taint("t")).With(Device("clean"))});
  EXPECT_THAT(notable(), ElementsAre("elsewhere", "half", "skips", "tainted"));
  PutRule("a", "k", api::DeviceTaintSelector{.device = "clean"});
  EXPECT_THAT(notable(), ElementsAre("elsewhere", "half", "skips", "tainted", "clean"));
}

TEST_F(GatherFeatures, DevicesForMultipleAllocationsAndTheirSlicesAreKnown) {
  Put({Slice("a").Of(2).OnNode("n1").With(Device("x")).With(Device("y").Shared()),
       Slice("b").Of(2).OnNode("n1").With(Device("z").Shared())});
  const auto devices = Gathered();
  std::vector<std::size_t> shareable;
  devices->shareable().ForEach([&](std::size_t i) { shareable.push_back(i); });
  EXPECT_THAT(shareable, ElementsAre(1, 2));
  std::vector<std::uint32_t> ranges;
  for (const NodeDevice& device : devices->devices()) {
    ranges.push_back(device.range);
    EXPECT_EQ(devices->slices()[device.range].slice, device.slice);
  }
  EXPECT_THAT(ranges, ElementsAre(0, 0, 1));
}

TEST_F(GatherFeatures, TaintsOfRulesComeAfterTheDevicesOwn) {
  Put({Slice("a").OnNode("n1").With(Device("x").Taint("own")).With(Device("y"))});
  PutRule("b", "second", api::DeviceTaintSelector{.driver = "gpu.example.com"});
  PutRule("a", "first", api::DeviceTaintSelector{.pool = "pool"});
  PutRule("c", "one", api::DeviceTaintSelector{.device = "y"});
  EXPECT_THAT(TaintKeys(*Gathered()), ElementsAre(ElementsAre("own", "first", "second"),
                                                  ElementsAre("first", "second", "one")));
}

TEST_F(GatherFeatures, AllFieldsOfARulesSelectorMustMatch) {
  Put({Slice("a").OnNode("n1").With(Device("x"))});
  PutRule("a", "driver", api::DeviceTaintSelector{.driver = "other.example"});
  PutRule("b", "pool", api::DeviceTaintSelector{.driver = "gpu.example.com", .pool = "other"});
  PutRule("c", "device", api::DeviceTaintSelector{.pool = "pool", .device = "y"});
  PutRule("d", "all",
          api::DeviceTaintSelector{.driver = "gpu.example.com", .pool = "pool", .device = "x"});
  EXPECT_THAT(TaintKeys(*Gathered()), ElementsAre(ElementsAre("all")));
}

TEST_F(GatherFeatures, AnEmptySelectorOfARuleMatchesAllAndNoneMatchesNothing) {
  Put({Slice("a").OnNode("n1").With(Device("x"))});
  PutRule("a", "everything", api::DeviceTaintSelector{});
  PutRule("b", "nothing", std::nullopt);
  EXPECT_THAT(TaintKeys(*Gathered()), ElementsAre(ElementsAre("everything")));
}

}  // namespace
}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
//
// docs/spec/allocator.md chapter 12, KEP-5963 for the snapshot of groups.
#include "allocator/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using testing::Ask;
using testing::Device;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LabelIs;
using testing::PendingClaim;
using testing::Slice;
using testing::ToQuantity;

// The only result of a claim with one request.
api::DeviceRequestAllocationResult One(WorldForTest& world, const Ask& ask) {
  const std::string answer = world.Solve(ask);
  EXPECT_EQ(world.results().size(), 1) << answer;
  EXPECT_EQ(world.results().front().devices.results.size(), 1) << answer;
  return world.results().front().devices.results.front();
}

TEST(Result, SaysWhichDeviceItIs) {
  WorldForTest world;
  world.Devices({Device("a")});
  EXPECT_EQ(One(world, Ask("r")),
            (api::DeviceRequestAllocationResult{
                .request = "r", .driver = "gpu.example.com", .pool = "pool", .device = "a"}));
  EXPECT_FALSE(world.results().front().allocation_timestamp.has_value());
}

TEST(Result, ASubrequestIsNamedWithItsRequest) {
  WorldForTest world;
  world.Devices({Device("a")});
  world.Solve(PendingClaim("c").FirstAvailable("r", {Ask("no").Count(2), Ask("yes")}));
  EXPECT_EQ(world.results().front().devices.results.front().request, "r/yes");
}

TEST(Result, AdminAccessIsThereOnlyIfTrue) {
  WorldForTest world;
  world.Devices({Device("a")});
  EXPECT_EQ(One(world, Ask("r").Admin(true)).admin_access, true);
  EXPECT_EQ(One(world, Ask("r").Admin(false)).admin_access, std::nullopt);
}

TEST(Result, TolerationsAreCopiedWhateverTheyTolerate) {
  WorldForTest world;
  world.features.device_taints = false;
  world.Devices({Device("a")});
  const api::DeviceToleration toleration{
      .key = "k", .operator_ = "Exists", .toleration_seconds = 7};
  EXPECT_THAT(One(world, Ask("r").Tolerate(toleration)).tolerations, ElementsAre(toleration));
}

TEST(Result, BindingConditionsAreCopied) {
  WorldForTest world;
  world.Devices({Device("a").BindingCondition("ready").BindingFailure("failed")});
  EXPECT_THAT(One(world, Ask("r")).binding_conditions, ElementsAre("ready"));
  EXPECT_THAT(One(world, Ask("r")).binding_failure_conditions, ElementsAre("failed"));
}

TEST(Result, SkippedNodeOperationsAreCopied) {
  WorldForTest world;
  world.node = testing::Node("n1").Declares("DRAOptionalNodeOperations");
  world.Put(Slice("s").OnNode("n1").SkipsNodeOperations().With(Device("a")));
  EXPECT_THAT(One(world, Ask("r")).skip_node_operations, ElementsAre("*"));
}

TEST(Result, EveryShareHasItsOwnIdAndWhatItConsumes) {
  WorldForTest world;
  world.Devices({Device("a")
                     .Shared()
                     .Capacity("m", "8Gi")
                     .Capacity("zero", "0")
                     .Capacity("lanes", "4", {.default_value = ToQuantity("2")})});
  world.Solve(PendingClaim("c")
                  .Request(Ask("r").Capacity({{"m", "1Gi"}}))
                  .Request(Ask("s").Capacity({{"m", "0"}})));
  const auto& results = world.results().front().devices.results;
  ASSERT_EQ(results.size(), 2);
  EXPECT_EQ(results[0].share_id, "share-1");
  EXPECT_EQ(results[1].share_id, "share-2");
  api::Map<base::Quantity> wanted;
  wanted["m"] = ToQuantity("1Gi");
  wanted["zero"] = ToQuantity("0");
  wanted["lanes"] = ToQuantity("2");
  EXPECT_EQ(results[0].consumed_capacity, wanted) << "all of them, zero amounts too";
  wanted["m"] = ToQuantity("0");
  EXPECT_EQ(results[1].consumed_capacity, wanted);
}

TEST(Result, AShareWithoutCapacityConsumesNothing) {
  WorldForTest world;
  world.Devices({Device("a").Shared()});
  EXPECT_EQ(One(world, Ask("r")).share_id, "share-1");
  EXPECT_TRUE(One(world, Ask("r")).consumed_capacity.empty());
}

TEST(Result, ADedicatedDeviceHasNeitherShareNorConsumedCapacity) {
  WorldForTest world;
  world.Devices({Device("a").Capacity("m", "8")});
  const auto result = One(world, Ask("r").Capacity({{"m", "1"}}));
  EXPECT_FALSE(result.share_id.has_value());
  EXPECT_TRUE(result.consumed_capacity.empty());
}

TEST(Result, ConsumedCapacityGoesByTheDevicesNames) {
  WorldForTest world;
  world.Devices({Device("a").Shared().Capacity("m", "8")});
  const auto result = One(world, Ask("r").Capacity({{"gpu.example.com/m", "3"}}));
  ASSERT_EQ(result.consumed_capacity.size(), 1);
  EXPECT_EQ(result.consumed_capacity.begin()->first, "m");
  EXPECT_EQ(result.consumed_capacity.begin()->second.ToString(), "3");
}

// KEP-5963: authoritative from now on, whatever the slice says later. docs/decisions.md: sorted.
// KEP-5963 omits the field where there are no groups; but then nobody knows later that there were
// none, once the driver has added some.
TEST(Result, GroupsAreRecordedSortedForEverySetThatTheDeviceDrawsOnNoneToo) {
  WorldForTest world;
  world.Partitions(
      Slice("t").Counters("x", {{"m", "1"}}).Counters("y", {{"m", "1"}}),
      {Device("a").Consumes("x", {{"m", "1"}}, {"mps", "mig"}).Consumes("y", {{"m", "1"}})});
  const auto result = One(world, Ask("r"));
  ASSERT_EQ(result.compatibility_groups.size(), 2);
  EXPECT_THAT(*result.compatibility_groups.Find("x"), ElementsAre("mig", "mps"));
  EXPECT_THAT(*result.compatibility_groups.Find("y"), IsEmpty());
  world.features.compatibility_groups = false;
  world.Partitions(Slice("t").Counters("x", {{"m", "1"}}),
                   {Device("a").Consumes("x", {{"m", "1"}})});
  EXPECT_TRUE(One(world, Ask("r")).compatibility_groups.empty());
}

TEST(Result, ADeviceThatDrawsOnNoCountersHasNoSnapshot) {
  WorldForTest world;
  world.Devices({Device("a")});
  EXPECT_TRUE(One(world, Ask("r")).compatibility_groups.empty());
}

// What the driver adds later does not let others in beside a device that was given without groups.
TEST(Result, ADeviceGivenWithoutGroupsStaysSo) {
  WorldForTest world;
  const auto counters = [] { return Slice("t").Counters("x", {{"m", "9"}}); };
  world.Partitions(counters(), {Device("a").Consumes("x", {{"m", "1"}})});
  EXPECT_EQ(world.Solve(Ask("r")), "r=a");
  api::ResourceClaim holder = PendingClaim("holder");
  holder.status.allocation = world.results().front();
  world.Taken(holder);
  world.Partitions(counters(), {Device("a").Consumes("x", {{"m", "1"}}, {"mig"}),
                                Device("b").Consumes("x", {{"m", "1"}}, {"mig"}),
                                Device("c").Consumes("x", {{"m", "1"}})});
  EXPECT_EQ(world.Solve(Ask("r")), "r=c");
}

// Configuration as "source requests... driver".
std::vector<std::string> ConfigOf(const WorldForTest& world) {
  std::vector<std::string> lines;
  for (const auto& entry : world.results().front().devices.config) {
    lines.push_back(fmt::format("{} {} {}", entry.source, fmt::join(entry.requests, ","),
                                entry.opaque->driver));
  }
  return lines;
}

void AddConfig(api::DeviceClass& device_class, std::string_view driver) {
  device_class.spec.config.emplace_back().opaque =
      api::OpaqueDeviceConfiguration{.driver = std::string(driver)};
}

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    world_.Devices({Device("a"), Device("b"), Device("c")});
    auto& one = world_.AddClass("one");
    AddConfig(one, "1a");
    AddConfig(one, "1b");
    AddConfig(world_.AddClass("two"), "2");
  }
  WorldForTest world_;
};

TEST_F(ConfigTest, ClassesComeFirstInTheOrderOfRequests) {
  world_.Solve(PendingClaim("c")
                   .Config("mine")
                   .Request(Ask("r").Class("two"))
                   .Request(Ask("s").Class("one"))
                   .Request(Ask("t").Class("two")));
  EXPECT_THAT(ConfigOf(world_), ElementsAre("FromClass r,t 2", "FromClass s 1a", "FromClass s 1b",
                                            "FromClaim  mine"));
}

TEST_F(ConfigTest, WhoConcernsAllRequestsNamesNone) {
  world_.Solve(PendingClaim("c")
                   .Config("both", {"s", "r"})
                   .Config("one", {"r"})
                   .Request(Ask("r").Class("two"))
                   .Request(Ask("s").Class("two")));
  EXPECT_THAT(ConfigOf(world_), ElementsAre("FromClass  2", "FromClaim  both", "FromClaim r one"));
}

TEST_F(ConfigTest, OfAListTheChosenAlternativeCounts) {
  world_.Solve(PendingClaim("c")
                   .Config("main", {"r"})
                   .Config("chosen", {"r/yes"})
                   .Config("dropped", {"r/no"})
                   .Config("both", {"r/no", "r/yes"})
                   .Config("unknown", {"other"})
                   .FirstAvailable("r", {Ask("no").Class("one").Count(9), Ask("yes").Class("two")})
                   .Request(Ask("s")));
  EXPECT_THAT(ConfigOf(world_), ElementsAre("FromClass r/yes 2", "FromClaim r main",
                                            "FromClaim r/yes chosen", "FromClaim r/no,r/yes both"));
}

TEST_F(ConfigTest, AListWithItsRequestsCoversAll) {
  world_.Solve(PendingClaim("c")
                   .Config("all", {"r/yes", "s"})
                   .FirstAvailable("r", {Ask("yes")})
                   .Request(Ask("s")));
  EXPECT_THAT(ConfigOf(world_), ElementsAre("FromClaim  all"));
}

TEST_F(ConfigTest, IsEachClaimsOwn) {
  world_.Solve({PendingClaim("c").Config("x").Request(Ask("r")),
                PendingClaim("d").Request(Ask("r").Class("two"))});
  EXPECT_THAT(ConfigOf(world_), ElementsAre("FromClaim  x"));
  EXPECT_EQ(world_.results()[1].devices.config.size(), 1);
}

// Node selectors as "fields / labels", each "key op values".
std::string NodesOf(const api::AllocationResult& result) {
  if (!result.node_selector.has_value()) return "anywhere";
  EXPECT_EQ(result.node_selector->node_selector_terms.size(), 1);
  const auto& term = result.node_selector->node_selector_terms.front();
  std::string text;
  const auto add = [&](const std::vector<api::NodeSelectorRequirement>& list) {
    for (const auto& requirement : list) {
      text += fmt::format("{} {} {};", requirement.key, requirement.operator_,
                          fmt::join(requirement.values, ","));
    }
  };
  add(term.match_fields);
  text += "/";
  add(term.match_expressions);
  return text;
}

struct NodesCase {
  std::string name;
  std::vector<api::ResourceSlice> slices;
  std::string want;
  friend void PrintTo(const NodesCase& c, std::ostream* os) { *os << c.name; }
};
class NodesTest : public ::testing::TestWithParam<NodesCase> {};

TEST_P(NodesTest, AreThoseFromWhichAllDevicesCanBeUsed) {
  WorldForTest world;
  world.node = testing::Node("n1").Label("zone", "z").Label("rack", "k");
  for (const api::ResourceSlice& slice : GetParam().slices) world.Put(slice);
  const std::string answer =
      world.Solve(Ask("r").Count(static_cast<int>(GetParam().slices.size())));
  EXPECT_EQ(answer.starts_with("error") ? answer : NodesOf(world.results().front()),
            GetParam().want);
}

api::NodeSelector Two(std::string_view value, std::string_view other) {
  api::NodeSelector selector = LabelIs("zone", value);
  selector.node_selector_terms[0].match_expressions[0].values.emplace_back(other);
  return selector;
}
api::NodeSelector NotNamed(std::string_view name) {
  api::NodeSelector selector;
  selector.node_selector_terms.emplace_back().match_fields.push_back(
      {.key = "metadata.name", .operator_ = "NotIn", .values = {std::string(name)}});
  return selector;
}
api::NodeSelector TwoTerms() {
  api::NodeSelector selector = LabelIs("zone", "z");
  selector.node_selector_terms.push_back(selector.node_selector_terms.front());
  return selector;
}
Slice In(std::string_view name) { return Slice(name).Pool(name).With(Device(name)); }

INSTANTIATE_TEST_SUITE_P(
    Chapter12, NodesTest,
    ::testing::Values(
        NodesCase{.name = "all_nodes", .slices = {In("a").OnAllNodes()}, .want = "anywhere"},
        NodesCase{.name = "a_node_name",
                  .slices = {In("a").OnNode("n1")},
                  .want = "metadata.name In n1;/"},
        NodesCase{.name = "a_node_name_makes_all_else_needless",
                  .slices = {In("a").Where(LabelIs("zone", "z")), In("b").OnNode("n1")},
                  .want = "metadata.name In n1;/"},
        NodesCase{.name = "a_selector",
                  .slices = {In("a").Where(LabelIs("zone", "z"))},
                  .want = "/zone In z;"},
        NodesCase{
            .name = "selectors_are_merged",
            .slices = {In("a").Where(LabelIs("zone", "z")), In("b").Where(LabelIs("rack", "k")),
                       In("c").Where(NotNamed("n9")), In("d").OnAllNodes()},
            .want = "metadata.name NotIn n9;/zone In z;rack In k;"},
        NodesCase{.name = "equal_requirements_once",
                  .slices = {In("a").Where(Two("z", "y")), In("b").Where(Two("y", "z")),
                             In("c").Where(LabelIs("zone", "z"))},
                  .want = "/zone In z,y;zone In z;"},
        NodesCase{.name = "per_device_selection_counts_the_devices",
                  .slices = {Slice("a").PerDevice().With(Device("a").Where(LabelIs("zone", "z")))},
                  .want = "/zone In z;"},
        NodesCase{.name = "a_device_of_a_node",
                  .slices = {Slice("a").PerDevice().With(Device("a").OnNode("n1"))},
                  .want = "metadata.name In n1;/"},
        NodesCase{.name = "binds_to_node",
                  .slices = {Slice("a").OnAllNodes().With(Device("a").BindsToNode())},
                  .want = "metadata.name In n1;/"},
        NodesCase{.name = "two_terms_cannot_be_merged",
                  .slices = {In("a").Where(TwoTerms())},
                  .want = "error: device a: its node selector has 2 terms, one is what an "
                          "allocation can carry"}),
    [](const auto& info) { return info.param.name; });

TEST(Result, NodesAreEachClaimsOwn) {
  WorldForTest world;
  world.Put(In("a").OnAllNodes()).Put(In("b").OnNode("n1"));
  world.Solve({PendingClaim("c").Request(Ask("r")), PendingClaim("d").Request(Ask("r"))});
  EXPECT_EQ(NodesOf(world.results()[0]), "anywhere");
  EXPECT_EQ(NodesOf(world.results()[1]), "metadata.name In n1;/");
}

}  // namespace
}  // namespace dray::allocator

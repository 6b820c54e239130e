// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "inventory/inventory.h"
#include "ledger/node_usage.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::ledger {
namespace {

using inventory::Features;
using testing::Device;
using testing::Slice;
using Claim = testing::AllocatedClaim;
using Kind = GroupState::Kind;

const NameId kX(1), kY(2), kZ(3);
using Names = std::vector<NameId>;

TEST(GroupState, WhereNothingIsPlacedAnythingMayCome) {
  const GroupState state;
  EXPECT_TRUE(state.Admits({}));
  EXPECT_TRUE(state.Admits(Names{kX}));
}

TEST(GroupState, NoGroupsGoWithNoGroupsOnly) {
  GroupState state;
  state.Place({});
  EXPECT_TRUE(state.Admits({}));
  EXPECT_FALSE(state.Admits(Names{kX}));
}

// KEP-5963 never lets them meet. When a driver makes them, whoever comes joins one that it must
// not.
TEST(GroupState, WhereDevicesWithAndWithoutGroupsMeetNothingMoreMayCome) {
  GroupState groups_first;
  groups_first.Place(Names{kX});
  groups_first.Place({});
  GroupState groups_last;
  groups_last.Place({});
  groups_last.Place(Names{kX});
  EXPECT_EQ(groups_first, groups_last) << "whatever the order";
  for (GroupState state : {groups_first, groups_last}) {
    EXPECT_FALSE(state.Admits({}));
    EXPECT_FALSE(state.Admits(Names{kX}));
    state.Place(Names{kX});
    EXPECT_EQ(state.kind, Kind::kMixed);
  }
}

TEST(GroupState, GroupsIntersectOneAfterTheOther) {
  GroupState state;
  state.Place(Names{kX, kY});
  EXPECT_FALSE(state.Admits({}));
  EXPECT_TRUE(state.Admits(Names{kY, kZ}));
  EXPECT_TRUE(state.Admits(Names{kX}));
  state.Place(Names{kY, kZ});
  EXPECT_FALSE(state.Admits(Names{kX}));
  EXPECT_FALSE(state.Admits(Names{kZ})) << "the first device is not in z";
  EXPECT_TRUE(state.Admits(Names{kY}));
  state.Place(Names{kZ});
  EXPECT_FALSE(state.Admits(Names{kX, kY, kZ})) << "nothing is left";
  EXPECT_FALSE(state.Admits({}));
}

TEST(GroupState, AClosedSetAdmitsNothing) {
  GroupState state{.kind = Kind::kClosed};
  EXPECT_FALSE(state.Admits({}));
  EXPECT_FALSE(state.Admits(Names{kX}));
  state.Place({});
  EXPECT_EQ(state.kind, Kind::kClosed);
}

// Devices a (groups x, y), b (y), c (none) on the set "set" of pool "pool"; e is for another node.
struct GroupsCase {
  std::string name;
  std::vector<Claim> claims;
  Kind kind = Kind::kNothing;
  std::vector<std::string> groups;
  Kind kind_when_off = Kind::kNothing;
  friend void PrintTo(const GroupsCase& c, std::ostream* os) { *os << c.name; }
};
class AllocatedGroupsTest : public ::testing::TestWithParam<GroupsCase> {
 protected:
  GroupState StateWith(const Features& features) {
    inventory::Inventory inventory(dictionary_);
    inventory.Put(Slice("c").Of(3).OnAllNodes().Counters("set", {{"memory", "80"}}));
    inventory.Put(Slice("s1")
                      .Of(3)
                      .OnNode("n1")
                      .With(Device("c").Consumes("set", {{"memory", "1"}}))
                      .With(Device("a").Consumes("set", {{"memory", "1"}}, {"x", "y"}))
                      .With(Device("b").Shared().Consumes("set", {{"memory", "1"}}, {"y"})));
    inventory.Put(
        Slice("s2").Of(3).OnNode("n2").With(Device("e").Consumes("set", {{"memory", "1"}}, {"y"})));
    Ledger ledger(dictionary_);
    for (const Claim& claim : GetParam().claims) ledger.Put(claim);
    auto devices = inventory::Gather(inventory.snapshot(), testing::Node("n1"), features);
    EXPECT_TRUE(devices.ok()) << devices.status();
    NodeUsage usage;
    usage.Update(*devices, ledger.snapshot());
    EXPECT_EQ(usage.groups().size(), 1u);
    return usage.groups()[0];
  }

  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
};

TEST_P(AllocatedGroupsTest, AreWhatTheClaimsRecordedAndElseTheSlices) {
  const GroupState state = StateWith(Features::All());
  EXPECT_EQ(state.kind, GetParam().kind);
  std::vector<std::string> groups;
  for (const NameId group : state.groups) groups.emplace_back(dictionary_->View(group));
  EXPECT_THAT(groups, ::testing::UnorderedElementsAreArray(GetParam().groups));
}

TEST_P(AllocatedGroupsTest, CloseTheSetWhenTheFeatureIsOff) {
  Features features = Features::All();
  features.compatibility_groups = false;
  EXPECT_EQ(StateWith(features).kind, GetParam().kind_when_off);
}

INSTANTIATE_TEST_SUITE_P(
    Kep5963, AllocatedGroupsTest,
    ::testing::ValuesIn(std::vector<GroupsCase>{
        {.name = "nothing_in_use"},
        {.name = "no_snapshot_goes_by_the_slice",
         .claims = {Claim("1").Exclusive("a")},
         .kind = Kind::kGroups,
         .groups = {"x", "y"}},
        {.name = "no_snapshot_on_another_node_goes_by_the_slice",
         .claims = {Claim("1").Exclusive("e")},
         .kind = Kind::kGroups,
         .groups = {"y"}},
        {.name = "no_snapshot_without_groups",
         .claims = {Claim("1").Exclusive("c")},
         .kind = Kind::kNoGroups},
        {.name = "no_snapshot_and_no_device_is_nothing", .claims = {Claim("1").Exclusive("gone")}},
        {.name = "the_snapshot_beats_the_slice",
         .claims = {Claim("1").Exclusive("a").Groups("set", {"z"})},
         .kind = Kind::kGroups,
         .groups = {"z"},
         .kind_when_off = Kind::kClosed},
        {.name = "the_snapshot_stands_when_the_device_is_gone",
         .claims = {Claim("1").Exclusive("gone").Groups("set", {"z"})},
         .kind = Kind::kGroups,
         .groups = {"z"},
         .kind_when_off = Kind::kClosed},
        {.name = "the_snapshot_of_a_device_for_another_node",
         .claims = {Claim("1").Exclusive("e").Groups("set", {"z"})},
         .kind = Kind::kGroups,
         .groups = {"z"},
         .kind_when_off = Kind::kClosed},
        {.name = "an_empty_snapshot_is_no_groups",
         .claims = {Claim("1").Exclusive("a").Groups("set", {})},
         .kind = Kind::kNoGroups},
        // Renamed since, or drawn on since: what the device says now is all that is known.
        {.name = "a_snapshot_of_another_set_only_goes_by_the_slice_here",
         .claims = {Claim("1").Exclusive("a").Groups("other", {"z"})},
         .kind = Kind::kGroups,
         .groups = {"x", "y"}},
        {.name = "a_group_that_came_later_does_not_change_what_was_placed_without",
         .claims = {Claim("1").Exclusive("a").Groups("set", {}), Claim("2").Exclusive("c")},
         .kind = Kind::kNoGroups},
        {.name = "a_snapshot_for_a_set_that_the_device_no_longer_uses",
         .claims = {Claim("1").Exclusive("c").Groups("set", {"x"})},
         .kind = Kind::kGroups,
         .groups = {"x"},
         .kind_when_off = Kind::kClosed},
        {.name = "devices_intersect",
         .claims = {Claim("1").Exclusive("a"), Claim("2").Exclusive("e").Groups("set", {"y", "z"})},
         .kind = Kind::kGroups,
         .groups = {"y"},
         .kind_when_off = Kind::kClosed},
        {.name = "nothing_in_common_admits_nothing",
         .claims = {Claim("1").Exclusive("a").Groups("set", {"x"}), Claim("2").Exclusive("e")},
         .kind = Kind::kGroups,
         .kind_when_off = Kind::kClosed},
        {.name = "of_both_kinds_nothing_more_may_come",
         .claims = {Claim("1").Exclusive("a"), Claim("2").Exclusive("c")},
         .kind = Kind::kMixed},
        {.name = "of_both_kinds_by_record_and_slice",
         .claims = {Claim("1").Exclusive("0-gone").Groups("set", {"x"}), Claim("2").Exclusive("c")},
         .kind = Kind::kMixed,
         .kind_when_off = Kind::kClosed},
        {.name = "of_both_kinds_by_records_alone",
         .claims = {Claim("1").Exclusive("z-gone").Groups("set", {"x"}),
                    Claim("2").Exclusive("b-gone").Groups("set", {})},
         .kind = Kind::kMixed,
         .kind_when_off = Kind::kClosed},
        {.name = "shares_of_one_device_of_both_kinds",
         .claims = {Claim("1").Share("b").Groups("set", {}), Claim("2").Share("b")},
         .kind = Kind::kMixed},
        {.name = "shares_of_one_device_intersect",
         .claims = {Claim("1").Share("b").Groups("set", {"x", "y"}), Claim("2").Share("b")},
         .kind = Kind::kGroups,
         .groups = {"y"},
         .kind_when_off = Kind::kClosed},
        {.name = "admin_access_plays_no_role", .claims = {Claim("1").Admin("a")}},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::ledger

// SPDX-License-Identifier: Apache-2.0
//
// What an explanation says: one small world per reason, and whole texts for the shapes that a
// conflict can have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "allocator/explain.h"
#include "engine/engine.h"
#include "engine/small_world.h"
#include "model/instance.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::engine {
namespace {

using allocator::AlternativeReport;
using allocator::CodeOf;
using allocator::Decision;
using allocator::Drop;
using allocator::Explanation;
using dray::testing::AllocatedClaim;
using dray::testing::Device;
using dray::testing::Slice;
using dray::testing::ToQuantity;
using model::Instance;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Explanation ExplanationOf(const Instance& instance) {
  World world(instance);
  EXPECT_TRUE(world.status().ok()) << world.status().ToString();
  return Explain(*world.plan(), world.usage());
}

struct ReasonCase {
  std::string name;
  Instance instance;
  std::string code;
  std::string line;  // of the text, without its branches
  friend void PrintTo(const ReasonCase& c, std::ostream* os) { *os << c.name; }
};
class ReasonTest : public ::testing::TestWithParam<ReasonCase> {};

// Each case has one request, of which one device, the first, drops out for the reason; what else
// there is drops out for none.
TEST_P(ReasonTest, IsFoundAndSaidInWords) {
  const Explanation explanation = ExplanationOf(GetParam().instance);
  ASSERT_EQ(explanation.kind, Decision::Kind::kRefused);
  const AlternativeReport& report = explanation.claims[0].requests[0].alternatives[0];
  ASSERT_EQ(report.drops.size(), 1u) << ToText(explanation);
  EXPECT_EQ(CodeOf(report.drops[0].reason), GetParam().code);
  EXPECT_EQ(report.drops[0].devices, 1);
  EXPECT_THAT(ToText(explanation), HasSubstr("─ " + GetParam().line + "\n"));
  EXPECT_THAT(ToJson(explanation), HasSubstr("\"reason\":\"" + GetParam().code + "\""));
}

Instance WithFeatureOff(Instance instance, bool model::Features::*feature) {
  instance.features.*feature = false;
  return instance;
}

Instance PerDevice() {
  return WorldOf({OnNode()
                      .OnNode("")
                      .PerDevice()
                      .With(Device("g0").OnNode("node-2"))
                      .With(Device("g1").OnNode("node-1"))},
                 {Claim("c", {Ask("gpu", 2)})});
}

Slice CounterSlice() {
  Slice slice("counters");
  slice.OnNode("node-1").Of(2).Counters("card", {{"memory", "40Gi"}});
  return slice;
}

api::Device WithPolicy(std::string_view max) {
  api::Device device = Device("g0").Capacity("memory", "80Gi").Shared();
  api::CapacityRequestPolicy policy;
  policy.default_value = ToQuantity("1Gi");
  policy.valid_range.emplace();
  policy.valid_range->min = ToQuantity("1Gi");
  policy.valid_range->max = ToQuantity(max);
  device.capacity["memory"].request_policy = policy;
  return device;
}

std::vector<ReasonCase> ReasonCases() {
  std::vector<ReasonCase> cases;
  const auto add = [&](std::string name, Instance instance, std::string code, std::string line) {
    cases.push_back({std::move(name), std::move(instance), std::move(code), std::move(line)});
  };
  add("in_use",
      WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("gpu")})},
              {AllocatedClaim("a").Exclusive("g0")}),
      "in_use", "1 in use: g0 by ns/a");
  add("in_use_by_shares_although_dedicated",
      WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("gpu")})},
              {AllocatedClaim("a").Share("g0")}),
      "in_use_by_shares", "1 still shared: g0 by ns/a");
  add("class_selector",
      WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("nic").Class("nic")})}),
      "selector_false", "1 not of the class: device.driver == 'nic.example.com'");
  add("second_selector_of_the_request",
      WorldOf({OnNode().With(Device("g0").Int("gen", 1)).With(Device("g1").Int("gen", 2))},
              {Claim("c", {Ask("gpu", 2).Where("true").Where(
                              "device.attributes['gpu.example.com'].gen > 1")})}),
      "selector_false",
      "1 that does not match the selector device.attributes['gpu.example.com'].gen > 1: g0");
  add("binding_conditions_off",
      WithFeatureOff(WorldOf({OnNode().With(Device("g0").BindingCondition("ready"))},
                             {Claim("c", {Ask("gpu")})}),
                     &model::Features::device_binding_and_status),
      "binding_conditions_off",
      "1 with binding conditions while DRADeviceBindingConditions is off: g0");
  add("other_node", PerDevice(), "other_node", "1 for other nodes: g0");
  add("capacity_missing",
      WorldOf({OnNode().With(Device("g0").Shared())},
              {Claim("c", {Ask("gpu").Capacity("memory", "1Gi")})}),
      "capacity_missing", "1 without capacity memory: g0");
  add("capacity_policy",
      WorldOf({OnNode().With(WithPolicy("8Gi"))},
              {Claim("c", {Ask("gpu").Capacity("memory", "9Gi")})}),
      "capacity_policy", "1 that cannot give 9Gi of memory, only 1Gi to 8Gi: g0");
  add("capacity_too_small",
      WorldOf({OnNode().With(Device("g0").Capacity("memory", "40Gi"))},
              {Claim("c", {Ask("gpu").Capacity("memory", "48Gi")})}),
      "capacity_too_small", "1 too small: 48Gi of memory asked, 40Gi is all there is: g0");
  // Of two names for one capacity the literal one counts, for deciding and for explaining.
  add("capacity_under_two_names",
      WorldOf(
          {OnNode().With(Device("g0").Shared().Capacity("gpu.example.com/memory", "10"))},
          {Claim("c",
                 {Ask("gpu").Capacity("gpu.example.com/memory", "11").Capacity("memory", "1")})}),
      "capacity_too_small",
      "1 too small: 11 of gpu.example.com/memory asked, 10 is all there is: g0");
  add("capacity_of_which_more_is_in_use_than_there_is",
      WorldOf({OnNode().With(Device("g0").Shared().Capacity("memory", "8Gi"))},
              {Claim("c", {Ask("gpu").Capacity("memory", "1Gi")})},
              {AllocatedClaim("a").Share("g0", {{"memory", "10Gi"}})}),
      "capacity_in_use", "1 too full: 1Gi of memory asked, 0 free: g0 by ns/a");
  add("capacity_in_use",
      WorldOf({OnNode().With(Device("g0").Shared().Capacity("memory", "40Gi"))},
              {Claim("c", {Ask("gpu").Capacity("memory", "30Gi")})},
              {AllocatedClaim("a").Share("g0", {{"memory", "20Gi"}})}),
      "capacity_in_use", "1 too full: 30Gi of memory asked, 20Gi free: g0 by ns/a");
  add("node_operations",
      WorldOf({OnNode().SkipsNodeOperations().With(Device("g0"))}, {Claim("c", {Ask("gpu")})}),
      "node_operations", "1 that skip node operations, which this node does not support: g0");
  add("counters_off",
      WithFeatureOff(WorldOf({CounterSlice(), OnNode().Of(2).With(Device("g0").Consumes(
                                                  "card", {{"memory", "10Gi"}}))},
                             {Claim("c", {Ask("gpu")})}),
                     &model::Features::partitionable_devices),
      "counters_off", "1 with counters while DRAPartitionableDevices is off: g0");
  add("groups_off",
      WithFeatureOff(WorldOf({CounterSlice(), OnNode().Of(2).With(Device("g0").Consumes(
                                                  "card", {{"memory", "10Gi"}}, {"mig"}))},
                             {Claim("c", {Ask("gpu")})}),
                     &model::Features::compatibility_groups),
      "groups_off", "1 with groups while DRADeviceCompatibilityGroups is off: g0");
  add("counters",
      WorldOf({CounterSlice(),
               OnNode().Of(2).With(Device("g0").Consumes("card", {{"memory", "48Gi"}}))},
              {Claim("c", {Ask("gpu")})}),
      "counters", "1 short of counter memory in card: 48Gi needed, 40Gi left: g0");
  add("taint",
      WorldOf({OnNode().With(Device("g0").Taint("maintenance")).With(Device("g1"))},
              {Claim("c", {Ask("gpu", 2)})}),
      "taint", "1 tainted maintenance:NoSchedule: g0");
  add("attribute_missing",
      WorldOf({OnNode().With(Device("g0")).With(Device("g1").Int("numa", 0))},
              {Claim("c", {Ask("gpu", 2)}, {Match("gpu.example.com/numa")})}),
      "attribute_missing", "1 without attribute gpu.example.com/numa: g0");
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Explanation, ReasonTest, ::testing::ValuesIn(ReasonCases()),
                         [](const auto& info) { return info.param.name; });

// Groups and overdrawn counters need a device in use, which drops out for that.
TEST(Explanation, GroupsAreToldAgainstWhatIsPlaced) {
  const Explanation explanation = ExplanationOf(WorldOf(
      {CounterSlice(), OnNode()
                           .Of(2)
                           .With(Device("g0").Consumes("card", {{"memory", "1Gi"}}, {"mig"}))
                           .With(Device("g1").Consumes("card", {{"memory", "1Gi"}}, {"vgpu"}))},
      {Claim("c", {Ask("gpu")})}, {AllocatedClaim("a").Exclusive("g0")}));
  const auto& drops = explanation.claims[0].requests[0].alternatives[0].drops;
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(CodeOf(drops[1].reason), "groups");
  EXPECT_THAT(drops[1].declared, ElementsAre("vgpu"));
  EXPECT_THAT(drops[1].placed, ElementsAre("mig"));
  EXPECT_EQ(drops[1].counter_set, "card");
  EXPECT_THAT(ToText(explanation),
              HasSubstr("1 that cannot be mixed with what is in use on card (vgpu against mig: no "
                        "group in common with the devices in use there): g1\n"));
}

TEST(Explanation, AnOverdrawnCounterBlocksDevicesThatDrawOnOthers) {
  const Explanation explanation =
      ExplanationOf(WorldOf({CounterSlice().Counters("other", {{"memory", "8Gi"}}),
                             OnNode()
                                 .Of(2)
                                 .With(Device("g0").Consumes("card", {{"memory", "48Gi"}}))
                                 .With(Device("g1").Consumes("other", {{"memory", "1Gi"}}))},
                            {Claim("c", {Ask("gpu")})}, {AllocatedClaim("a").Exclusive("g0")}));
  const auto& drops = explanation.claims[0].requests[0].alternatives[0].drops;
  ASSERT_EQ(drops.size(), 2u);
  EXPECT_EQ(CodeOf(drops[1].reason), "counters_overdrawn");
  EXPECT_EQ(drops[1].short_by, "8Gi");
  EXPECT_THAT(ToText(explanation), HasSubstr("whose counter memory in card is overdrawn by 8Gi"));
}

// The device that fails is in the second request, which the search does not come to.
TEST(Explanation, ADeviceOnWhichAnExpressionFailsIsCounted) {
  const Explanation explanation = ExplanationOf(
      WorldOf({OnNode().With(Device("g0"))},
              {Claim("c", {Ask("none").Class("nic"),
                           Ask("bad").Where("device.attributes['gpu.example.com'].x == 1")})}));
  ASSERT_EQ(explanation.kind, Decision::Kind::kRefused);
  const AlternativeReport& bad = explanation.claims[0].requests[1].alternatives[0];
  ASSERT_EQ(bad.drops.size(), 1u);
  EXPECT_EQ(CodeOf(bad.drops[0].reason), "expression_error");
  EXPECT_THAT(bad.drops[0].message, HasSubstr("x"));
}

TEST(Explanation, WhatADeviceIsComesBeforeWhoHasIt) {
  const Explanation explanation =
      ExplanationOf(WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("nic").Class("nic")})},
                            {AllocatedClaim("a").Exclusive("g0")}));
  const AlternativeReport& report = explanation.claims[0].requests[0].alternatives[0];
  ASSERT_EQ(report.drops.size(), 1u);
  EXPECT_EQ(CodeOf(report.drops[0].reason), "selector_false");
  EXPECT_EQ(report.considered, 1);
  EXPECT_EQ(report.of_class, 0);
}

TEST(Explanation, AmountsAreThoseOfTheDeviceThatCameClosest) {
  const Explanation explanation =
      ExplanationOf(WorldOf({OnNode()
                                 .With(Device("g0").Capacity("memory", "10Gi"))
                                 .With(Device("g1").Capacity("memory", "40Gi"))
                                 .With(Device("g2").Capacity("memory", "20Gi"))},
                            {Claim("c", {Ask("gpu").Capacity("memory", "48Gi")})}));
  const Drop& drop = explanation.claims[0].requests[0].alternatives[0].drops.at(0);
  EXPECT_EQ(drop.devices, 3);
  EXPECT_EQ(drop.available, "40Gi");
  EXPECT_EQ(drop.short_by, "8Gi");
}

// Without the constraint, which has no part in the conflict, g1 would do as well.
TEST(Explanation, RoomIsCountedWithoutConstraintsOutsideTheConflict) {
  const Explanation explanation = ExplanationOf(
      WorldOf({OnNode().With(Device("g0").Int("numa", 0)).With(Device("g1"))},
              {Claim("c", {Ask("a"), Ask("b"), Ask("c")}, {Match("gpu.example.com/numa")})}));
  EXPECT_EQ(explanation.conflict.size(), 3u);
  EXPECT_EQ(explanation.claims[0].requests[0].alternatives[0].usable, 1);
  EXPECT_EQ(explanation.room_together, 2);
}

TEST(Explanation, ClaimsThatFitAreSaidToFit) {
  const Explanation explanation =
      ExplanationOf(WorldOf({OnNode().With(Device("g0"))}, {Claim("c", {Ask("gpu")})}));
  EXPECT_EQ(explanation.kind, Decision::Kind::kFits);
  EXPECT_EQ(ToText(explanation), "the claims fit\n");
  EXPECT_THAT(explanation.claims, IsEmpty());
}

TEST(Explanation, ABudgetThatRunsOutIsNotCalledARefusal) {
  const Instance instance =
      WorldOf({OnNode().With(Device("g0")).With(Device("g1"))}, {Claim("c", {Ask("gpu", 2)})});
  World world(instance);
  const Explanation explanation =
      Explain(*world.plan(), world.usage(), {.search = {.work_budget = 1}});
  EXPECT_EQ(explanation.kind, Decision::Kind::kBudget);
  EXPECT_THAT(explanation.conflict, IsEmpty());
  EXPECT_THAT(ToText(explanation),
              HasSubstr("cannot allocate all claims: the search was given up because"));
}

TEST(Explanation, AConflictWithoutWorkToShrinkItSaysThatItIsNotExact) {
  const Instance instance =
      WorldOf({OnNode().With(Device("g0"))}, {Claim("a", {Ask("gpu")}), Claim("b", {Ask("gpu")})});
  World world(instance);
  allocator::WorkMeter nothing(0);
  const Explanation explanation = Explain(*world.plan(), world.usage(), {.allowance = &nothing});
  EXPECT_FALSE(explanation.conflict_exact);
  EXPECT_EQ(explanation.conflict.size(), 2u);
  EXPECT_THAT(ToText(explanation), HasSubstr("looking further was given up\n"));
}

TEST(Explanation, NamesAreAsLongAsTheyHaveToBe) {
  const Explanation explanation = ExplanationOf(
      WorldOf({OnNode("a").Pool("p").With(Device("g0").Taint("t")).With(Device("g1").Taint("t")),
               OnNode("b").Pool("q").With(Device("g0").Taint("t"))},
              {Claim("c", {Ask("gpu")})}));
  const Drop& drop = explanation.claims[0].requests[0].alternatives[0].drops.at(0);
  ASSERT_EQ(drop.examples.size(), 3u);
  EXPECT_EQ(drop.examples[0].label, "p/g0");
  EXPECT_EQ(drop.examples[1].label, "g1");
  EXPECT_EQ(drop.examples[2].label, "q/g0");
}

}  // namespace
}  // namespace dray::engine

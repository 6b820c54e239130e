// SPDX-License-Identifier: Apache-2.0
#include "allocator/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using inventory::Features;
using testing::Ask;
using testing::Device;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PendingClaim;

api::DeviceRequest OfNoType(std::string_view name) { return {.name = std::string(name)}; }

// Everything that is wrong with a request, in the order in which it is looked at: each is reported
// although all that come after it are wrong too.
struct FaultCase {
  std::string name;
  std::vector<api::ResourceClaim> claims;
  std::string want;
  bool Features::*off = nullptr;
  friend void PrintTo(const FaultCase& c, std::ostream* os) { *os << c.name; }
};
class PlanFaultTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(PlanFaultTest, IsReported) {
  WorldForTest world;
  world.Devices({Device("a"), Device("b")});
  if (GetParam().off != nullptr) world.features.*(GetParam().off) = false;
  EXPECT_EQ(world.Solve(GetParam().claims), GetParam().want);
}

std::vector<FaultCase> Faults() {
  const Ask bad =
      Ask("s").SelectorWithoutExpression().Admin(false).Class("").Mode("Some").Capacity({});
  return {
      {.name = "prioritized_list_off",
       .claims = {PendingClaim("c").FirstAvailable("r", {bad})},
       .want = "error: claim ns/c: request r: firstAvailable needs the feature DRAPrioritizedList, "
               "which is off",
       .off = &Features::prioritized_list},
      // Kubernetes crashes.
      {.name = "no_type",
       .claims = {PendingClaim("c").Request(OfNoType("r"))},
       .want = "error: claim ns/c: request r: one of exactly and firstAvailable is needed"},
      {.name = "capacity_off_even_when_it_is_empty",
       .claims = {PendingClaim("c").Request(bad)},
       .want = "error: claim ns/c: request s: capacity needs the feature DRAConsumableCapacity, "
               "which is off",
       .off = &Features::consumable_capacity},
      {.name = "capacity_of_any_subrequest",
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("a").Class(""), bad})},
       .want = "error: claim ns/c: request r: capacity needs the feature DRAConsumableCapacity, "
               "which is off",
       .off = &Features::consumable_capacity},
      {.name = "selector_without_expression",
       .claims = {PendingClaim("c").Request(bad)},
       .want = "error: claim ns/c: request s: a selector has no CEL expression",
       .off = &Features::admin_access},
      {.name = "admin_access_off_even_when_it_is_false",
       .claims = {PendingClaim("c").Request(Ask("r").Admin(false).Class("").Mode("Some"))},
       .want = "error: claim ns/c: request r: adminAccess needs the feature DRAAdminAccess, which "
               "is off",
       .off = &Features::admin_access},
      {.name = "no_class_name",
       .claims = {PendingClaim("c").Request(Ask("r").Class("").Mode("Some"))},
       .want = "error: claim ns/c: request r: a device class name is needed"},
      {.name = "unknown_class",
       .claims = {PendingClaim("c").Request(Ask("r").Class("gone").Mode("Some"))},
       .want = "error: claim ns/c: request r: device class gone does not exist"},
      {.name = "unknown_mode",
       .claims = {PendingClaim("c").Request(Ask("r").Mode("Some"))},
       .want = "error: claim ns/c: request r: allocation mode \"Some\" is not known; one of "
               "ExactCount, All"},
      // Nothing is defaulted.
      {.name = "empty_mode",
       .claims = {PendingClaim("c").Request(Ask("r").Mode(""))},
       .want = "error: claim ns/c: request r: allocation mode \"\" is not known; one of "
               "ExactCount, All"},
      {.name = "a_subrequest_has_its_own_name",
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("a"), Ask("b").Class("gone")})},
       .want = "error: claim ns/c: request r/b: device class gone does not exist"},
      {.name = "too_many_devices",
       .claims = {PendingClaim("c").Request(Ask("r").Count(20)).Request(Ask("s").Count(13))},
       .want = "error: claim ns/c: it asks for 33 devices; one claim can have at most 32"},
      {.name = "of_alternatives_the_smallest_counts",
       .claims = {PendingClaim("c")
                      .Request(Ask("r").Count(20))
                      .FirstAvailable("s", {Ask("a").Count(30), Ask("b").Count(14)})},
       .want = "error: claim ns/c: it asks for 34 devices; one claim can have at most 32"},
      {.name = "too_many_before_constraints",
       .claims = {PendingClaim("c").Request(Ask("r").Count(33)).Constraint({})},
       .want = "error: claim ns/c: it asks for 33 devices; one claim can have at most 32"},
      {.name = "constraint_of_nothing",
       .claims = {PendingClaim("c").Request(Ask("r")).Match("d/a").Constraint({})},
       .want = "error: claim ns/c: a constraint has neither matchAttribute nor distinctAttribute"},
      {.name = "requests_before_constraints",
       .claims = {PendingClaim("c").Constraint({}).Request(Ask("r").Class("gone"))},
       .want = "error: claim ns/c: request r: device class gone does not exist"},
      {.name = "the_first_request_first",
       .claims = {PendingClaim("c").Request(Ask("r").Mode("")).Request(OfNoType("s"))},
       .want = "error: claim ns/c: request r: allocation mode \"\" is not known; one of "
               "ExactCount, All"},
      {.name = "the_first_claim_first",
       .claims = {PendingClaim("c").Request(Ask("r")).Constraint({}),
                  PendingClaim("d").Request(OfNoType("s"))},
       .want = "error: claim ns/c: a constraint has neither matchAttribute nor distinctAttribute"},
      {.name = "the_second_claim_too",
       .claims = {PendingClaim("c").Request(Ask("r")),
                  PendingClaim("d").Request(Ask("s").Class("gone"))},
       .want = "error: claim ns/d: request s: device class gone does not exist"},
  };
}

INSTANTIATE_TEST_SUITE_P(Chapter3, PlanFaultTest, ::testing::ValuesIn(Faults()),
                         [](const auto& info) { return info.param.name; });

TEST(Plan, ThirtyTwoDevicesAreNotTooMany) {
  WorldForTest world;
  std::vector<api::Device> devices;
  for (int i = 0; i < 32; ++i) devices.push_back(Device("d" + std::to_string(i)));
  world.Devices(devices);
  EXPECT_EQ(world.Decide({PendingClaim("c").Request(Ask("r").Count(32))}).kind,
            Decision::Kind::kFits);
}

TEST(Plan, WhatIsNotCompiledIsAnErrorOnlyForDevicesThatGetThere) {
  WorldForTest world;
  const Ask broken = Ask("r").Where("false").Where("device.");
  EXPECT_EQ(world.Solve(broken), "refused");
  world.Devices({Device("a")});
  EXPECT_EQ(world.Solve(broken), "refused") << "the first selector is false";
  EXPECT_THAT(world.Solve(Ask("r").Where("device.")), HasSubstr("error: request r: selector"));
}

TEST(Plan, SelectorsAreTheClassesThenTheRequests) {
  WorldForTest world;
  world.AddClass("two", {"device.driver == 'a'", "device.driver == 'b'"});
  const auto plan = world.PlanOf({PendingClaim("c").Request(Ask("r").Class("two").Where("true"))});
  const Alternative& alternative = plan->alternatives().front();
  std::vector<std::string> texts;
  for (const Expression* selector : alternative.selectors) texts.push_back(selector->text);
  EXPECT_THAT(texts, ElementsAre("device.driver == 'a'", "device.driver == 'b'", "true"));
  EXPECT_EQ(alternative.class_selectors, 2);
}

// Which constraints an alternative is under, by number.
std::vector<std::uint32_t> UsesOf(const Alternative& alternative) {
  std::vector<std::uint32_t> uses;
  for (const ConstraintUse& use : alternative.constraints) uses.push_back(use.constraint);
  return uses;
}

TEST(Plan, AConstraintCoversTheRequestsThatItNames) {
  WorldForTest world;
  const auto plan = world.PlanOf({PendingClaim("c")
                                      .Request(Ask("r"))
                                      .FirstAvailable("p", {Ask("a"), Ask("b")})
                                      .Match("d/everybody")
                                      .Match("d/exact", {"r"})
                                      .Match("d/main", {"p"})
                                      .Distinct("d/sub", {"p/b"})
                                      .Distinct("d/bare-sub", {"a"})});
  const auto alternatives = plan->alternatives();
  ASSERT_EQ(alternatives.size(), 3);
  EXPECT_THAT(UsesOf(alternatives[0]), ElementsAre(0, 1));
  EXPECT_THAT(UsesOf(alternatives[1]), ElementsAre(0, 2)) << "p/a";
  EXPECT_THAT(UsesOf(alternatives[2]), ElementsAre(0, 2, 3)) << "p/b";
  EXPECT_EQ(plan->constraints()[3].type, &kDistinctAttribute);
  EXPECT_EQ(plan->constraints()[2].type, &kMatchAttribute);
}

TEST(Plan, ConstraintsOfOneClaimDoNotCoverAnother) {
  WorldForTest world;
  const auto plan = world.PlanOf({PendingClaim("c").Request(Ask("r")).Match("d/a"),
                                  PendingClaim("d").Request(Ask("r")).Match("d/b").Match("d/c")});
  EXPECT_THAT(UsesOf(plan->alternatives()[1]), ElementsAre(0, 1));
  EXPECT_EQ(plan->constraints(plan->claims()[1]).front().attribute, "d/b");
}

TEST(Plan, ADerivedAttributeIsUsedByTheConstraintsOfItsName) {
  WorldForTest world;
  const auto plan = world.PlanOf(
      {PendingClaim("c")
           .Request(Ask("r").Derive("half", "1").Derive("half", "2").Derive("other", "3"))
           .Request(Ask("s"))
           .Match("half")
           .Distinct("d/b")});
  const auto& uses = plan->alternatives()[0].constraints;
  ASSERT_NE(uses[0].derived, nullptr);
  EXPECT_EQ(uses[0].derived->text, "2") << "the last of that name";
  EXPECT_EQ(uses[1].derived, nullptr);
  EXPECT_EQ(plan->alternatives()[1].constraints[0].derived, nullptr) << "another request's";
}

TEST(Plan, AConstraintWithMatchAndDistinctIsTwo) {
  WorldForTest world;
  api::DeviceConstraint both;
  both.match_attribute = "d/a";
  both.distinct_attribute = "d/b";
  const auto plan = world.PlanOf({PendingClaim("c").Request(Ask("r")).Constraint(both)});
  ASSERT_EQ(plan->constraints().size(), 2);
  EXPECT_EQ(plan->constraints()[0].type, &kMatchAttribute);
  EXPECT_EQ(plan->constraints()[0].attribute, "d/a");
  EXPECT_EQ(plan->constraints()[1].type, &kDistinctAttribute);
  EXPECT_EQ(plan->constraints()[1].attribute, "d/b");
  EXPECT_THAT(UsesOf(plan->alternatives()[0]), ElementsAre(0, 1));
}

// Alternatives of one claim, all in one plan: equal filters where the same devices pass.
TEST(Plan, FiltersAreEqualWhereTheSameDevicesPass) {
  WorldForTest world;
  const auto plan = world.PlanOf({PendingClaim("c")
                                      .Request(Ask("r").Where("true"))
                                      .Request(Ask("s").Where("true").Count(3).Admin().Tolerate({}))
                                      .Request(Ask("t").Where("false"))
                                      .Request(Ask("u").Where("true").Capacity({{"m", "1"}}))
                                      .Request(Ask("v").Where("true").Capacity({{"m", "2"}}))
                                      .Request(Ask("w").Where("true").Derive("d/a", "1"))
                                      .Match("d/a", {"w"})});
  std::vector<std::uint32_t> filters;
  for (const Alternative& alternative : plan->alternatives()) filters.push_back(alternative.filter);
  EXPECT_EQ(filters[0], filters[1]) << "number, tolerations and admin access are not the filter's";
  std::ranges::sort(filters);
  const auto repeated = std::unique(filters.begin(), filters.end());
  EXPECT_EQ(filters.end() - repeated, 1) << "all others differ";
}

TEST(Plan, AFilterBelongsToItsFeatures) {
  WorldForTest world;
  const PendingClaim claim = PendingClaim("c").Request(Ask("r").Where("true"));
  const auto on = world.PlanOf({claim});
  world.features.consumable_capacity = false;
  const auto off = world.PlanOf({claim});
  EXPECT_NE(on->alternatives()[0].filter, off->alternatives()[0].filter);
}

TEST(Plan, ShapesAreEqualForClaimsThatAskForTheSame) {
  WorldForTest world;
  const auto shape = [&](const PendingClaim& claim) {
    return world.PlanOf({claim})->claims().front().shape;
  };
  const auto base = shape(PendingClaim("c").Request(Ask("r").Count(2)).Match("d/a"));
  EXPECT_EQ(base, shape(PendingClaim("d").Request(Ask("other").Count(2)).Match("d/a")));
  const std::vector<PendingClaim> others = {
      PendingClaim("c").Request(Ask("r").Count(3)).Match("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2)).Match("d/b"),
      PendingClaim("c").Request(Ask("r").Count(2)).Distinct("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2)),
      PendingClaim("c").Request(Ask("r").Count(2).Admin()).Match("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2).All()).Match("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2).Where("true")).Match("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2).Tolerate({.operator_ = "Exists"})).Match("d/a"),
      PendingClaim("c").Request(Ask("r").Count(2)).Match("d/a", {"nobody"}),
      PendingClaim("c").Request(Ask("r").Count(2)).Request(Ask("s")).Match("d/a"),
  };
  for (const PendingClaim& other : others) EXPECT_NE(shape(other), base);
}

// Nothing to look at before the search, which then need not look.
TEST(Plan, IsSimpleWithoutErrorsAllAndAdminAccess) {
  WorldForTest world;
  const auto simple = [&](const PendingClaim& claim) { return world.PlanOf({claim})->simple(); };
  EXPECT_TRUE(simple(PendingClaim("c").Request(Ask("r")).Match("d/a")));
  EXPECT_FALSE(simple(PendingClaim("c").Request(Ask("r").All())));
  EXPECT_FALSE(simple(PendingClaim("c").Request(Ask("r").Admin())));
  EXPECT_FALSE(simple(PendingClaim("c").Request(Ask("r").Class("gone"))));
  EXPECT_FALSE(simple(PendingClaim("c").Request(Ask("r")).Constraint({})));
  EXPECT_FALSE(simple(PendingClaim("c").Request(Ask("r").Count(33))));
}

TEST(Plan, ACountBelowOneNeedsNoDevice) {
  WorldForTest world;
  EXPECT_EQ(world.Solve(PendingClaim("c").Request(Ask("r").Count(0)).Request(Ask("s").Count(-3))),
            "");
  EXPECT_EQ(world.Solve(PendingClaim("c").Request(Ask("r").Count(40)).Request(Ask("s").Count(-9))),
            "error: claim ns/c: it asks for 40 devices; one claim can have at most 32");
}

TEST(Plan, NoClaimsAndNoRequestsAreFulfilled) {
  WorldForTest world;
  EXPECT_EQ(world.Solve(std::vector<api::ResourceClaim>{}), "");
  EXPECT_THAT(world.results(), IsEmpty());
  EXPECT_EQ(world.Solve(PendingClaim("c")), "");
  ASSERT_EQ(world.results().size(), 1);
  EXPECT_EQ(world.results().front(), api::AllocationResult{});
}

}  // namespace
}  // namespace dray::allocator

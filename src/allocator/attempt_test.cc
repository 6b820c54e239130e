// SPDX-License-Identifier: Apache-2.0
//
// Which devices an alternative can have before anything is chosen, and which errors that brings:
// docs/spec/allocator.md 4.1 steps 1 to 10.
#include "allocator/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using testing::AllocatedClaim;
using ::testing::AllOf;
using testing::Ask;
using testing::Device;
using ::testing::HasSubstr;
using testing::LabelIs;
using testing::PendingClaim;
using testing::Slice;
using ::testing::StartsWith;

constexpr const char* kBroken = "device.attributes['gpu.example.com'].gone == 1";

TEST(Attempt, ADeviceInUseIsSkippedBeforeItsSelectorsRun) {
  WorldForTest world;
  world.Devices({Device("a"), Device("b").Int("gone", 1)})
      .Taken(AllocatedClaim("t").Exclusive("a"));
  EXPECT_EQ(world.Solve(Ask("r").Where(kBroken)), "r=b");
}

TEST(Attempt, ASelectorThatFailsOnAFreeDeviceIsAnError) {
  WorldForTest world;
  world.Devices({Device("a"), Device("b").Int("gone", 1)});
  EXPECT_THAT(world.Solve(Ask("r").Where(kBroken)),
              AllOf(StartsWith("error: request r: device gpu.example.com/pool/a: "),
                    HasSubstr("no such key: gone")));
}

TEST(Attempt, DevicesThatAreNotReachedRaiseNoError) {
  WorldForTest world;
  world.Devices({Device("a").Int("gone", 1), Device("b")});
  EXPECT_EQ(world.Solve(Ask("r").Where(kBroken)), "r=a");
  EXPECT_THAT(world.Solve(Ask("r").Where(kBroken).Count(2)), StartsWith("error: request r"));
}

TEST(Attempt, TheFirstSelectorThatIsFalseEndsTheEvaluation) {
  WorldForTest world;
  world.Devices({Device("a")});
  world.AddClass("none", {"false"});
  EXPECT_EQ(world.Solve(Ask("r").Class("none").Where(kBroken)), "refused");
  EXPECT_EQ(world.Solve(Ask("r").Where("false").Where(kBroken)), "refused");
}

// docs/decisions.md: the selectors run before it is asked which node a device is for.
TEST(Attempt, ASelectorThatFailsOnADeviceOfAnotherNodeInTheSliceIsAnError) {
  WorldForTest world;
  world.Put(Slice("s")
                .PerDevice()
                .With(Device("there").OnNode("n2"))
                .With(Device("here").OnNode("n1").Int("gone", 1)));
  EXPECT_THAT(world.Solve(Ask("r").Where(kBroken)), StartsWith("error: request r"));
  EXPECT_EQ(world.Solve(Ask("r")), "r=here");
}

TEST(Attempt, ADerivedAttributeFailsForDevicesOfOtherNodesTooButNotForThoseInUse) {
  WorldForTest world;
  world.Put(Slice("s")
                .PerDevice()
                .With(Device("there").OnNode("n2"))
                .With(Device("here").OnNode("n1").Int("gone", 1)));
  const PendingClaim claim =
      PendingClaim("c")
          .Request(Ask("r").Derive("half", "device.attributes['gpu.example.com'].gone"))
          .Match("half");
  EXPECT_THAT(world.Solve(claim), AllOf(StartsWith("error: request r"), HasSubstr("derived")));
  world.Taken(AllocatedClaim("t").Exclusive("there"));
  EXPECT_EQ(world.Solve(claim), "r=here");
}

// KEP-6080: for every candidate that passed the selectors and that a constraint covers, though
// another device than this one would be taken first; here the search has to reach it.
TEST(Attempt, ADerivedAttributeIsEvaluatedForWhatPassesTheSelectorsAndIsUnderAConstraint) {
  const Ask ask = Ask("r").Derive("half", "device.attributes['gpu.example.com'].gone");
  const auto solve = [&](const PendingClaim& claim) {
    WorldForTest world;
    // Tainted: Kubernetes never gets as far as the expression.
    world.Devices({Device("a").Taint("t"), Device("b").Int("gone", 1)});
    return world.Solve(claim);
  };
  EXPECT_EQ(solve(PendingClaim("c").Request(ask)), "r=b") << "no constraint asks for it";
  EXPECT_EQ(solve(PendingClaim("c").Request(ask).Request(Ask("s")).Match("half", {"other"})),
            "refused")
      << "a constraint on another request";
  EXPECT_THAT(solve(PendingClaim("c").Request(ask).Match("half")), StartsWith("error: request r"));
  EXPECT_EQ(solve(PendingClaim("c")
                      .Request(Ask(ask).Where("'gone' in device.attributes['gpu.example.com']"))
                      .Match("half")),
            "r=b");
}

// KEP-6080 "Runtime Error Handling": even if other candidates evaluate, so whatever the order of
// the search. A selector that fails is an error where the search comes across it, as in Kubernetes.
TEST(Attempt, ADerivedAttributeThatFailsIsAnErrorWhereverTheDeviceIs) {
  const PendingClaim derives =
      PendingClaim("c")
          .Request(Ask("r").Derive("half", "device.attributes['gpu.example.com'].gone"))
          .Match("half");
  const PendingClaim selects =
      PendingClaim("c").Request(Ask("r").Where("device.attributes['gpu.example.com'].gone == 1"));
  for (const bool bad_first : {true, false}) {
    WorldForTest world;
    std::vector<api::Device> devices = {Device("good").Int("gone", 1), Device("bad")};
    if (bad_first) std::swap(devices[0], devices[1]);
    world.Devices(devices);
    EXPECT_THAT(world.Solve(derives),
                AllOf(StartsWith("error: request r"), HasSubstr("bad: derived attribute")));
    EXPECT_THAT(world.Solve(selects), StartsWith(bad_first ? "error: request r" : "r=good"));
  }
}

// The proposal says both that it aborts and that the device is left out. docs/decisions.md #106.
TEST(Attempt, ADerivedAttributeThatCostsTooMuchIsAnError) {
  WorldForTest world;
  world.Devices({Device("good"), Device("bad")});
  std::string list = "[0";
  for (int i = 1; i < 40; ++i) list += "," + std::to_string(i);
  list += "]";
  const auto all = [&](const std::string& name, const std::string& of) {
    return list + ".all(" + name + ", " + of + ")";
  };
  const std::string costly =
      all("a", all("b", all("c", all("d", "a + b + c + d >= 0 && device.driver != ''"))));
  EXPECT_THAT(world.Solve(PendingClaim("c")
                              .Request(Ask("r").Derive(
                                  "half", "device.name == 'bad' ? " + costly + " : true"))
                              .Match("half")),
              AllOf(StartsWith("error: request r"), HasSubstr("bad"), HasSubstr("limit exceeded")));
}

TEST(Attempt, ADerivedAttributeThatFailsIsAnErrorInAnyAlternative) {
  WorldForTest world;
  world.Devices({Device("a"), Device("b")});
  EXPECT_THAT(
      world.Solve(PendingClaim("c")
                      .FirstAvailable(
                          "r", {Ask("one"), Ask("two").Derive("half", "device.attributes['x'].y")})
                      .Match("half", {"r/two"})),
      StartsWith("error: request r/two"));
}

// A name without a domain has the driver's, in a constraint as in a slice.
TEST(Attempt, AConstraintFindsAnAttributeWithTheDriversDomainOrWithout) {
  const PendingClaim claim =
      PendingClaim("c")
          .Request(Ask("gpu").Derive("shared", "1").Where("device.driver == 'gpu.example.com'"))
          .Request(Ask("nic").Where("device.driver == 'nic.example.com'"))
          .Match("shared");
  for (const char* name : {"shared", "nic.example.com/shared", "other.example.com/shared"}) {
    WorldForTest world;
    world.Devices({Device("g")});
    world.Put(Slice("n")
                  .Driver("nic.example.com")
                  .Pool("nics")
                  .OnNode("n1")
                  .With(Device("n").Int(name, 1)));
    EXPECT_EQ(world.Solve(claim),
              std::string_view(name).starts_with("other") ? "refused" : "gpu=g nic=n")
        << name;
  }
}

TEST(Attempt, ABrokenAttributeIsAnErrorOnlyWhereSomethingIsEvaluated) {
  WorldForTest world;
  world.Devices({Device("a").NoValue("odd")});
  EXPECT_EQ(world.Solve(Ask("r")), "r=a");
  EXPECT_THAT(world.Solve(Ask("r").Where("true")), StartsWith("error: request r"));
}

// Skips that come from the device and its slice alone.
struct SkipCase {
  std::string name;
  Slice slice;
  bool node_declares = false;
  std::string want;
  friend void PrintTo(const SkipCase& c, std::ostream* os) { *os << c.name; }
};
class AttemptSkipTest : public ::testing::TestWithParam<SkipCase> {};

TEST_P(AttemptSkipTest, LeavesOutWhatTheNodeCannotUse) {
  WorldForTest world;
  if (GetParam().node_declares) {
    world.node = testing::Node("n1").Declares("DRAOptionalNodeOperations");
  }
  world.Put(GetParam().slice);
  EXPECT_EQ(world.Solve(Ask("r")), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Chapter4, AttemptSkipTest,
    ::testing::Values(
        SkipCase{.name = "per_device_selection",
                 .slice = Slice("s")
                              .PerDevice()
                              .With(Device("a").OnNode("n2"))
                              .With(Device("b").Where(LabelIs("zone", "z")))
                              .With(Device("c").OnAllNodes()),
                 .want = "r=c"},
        SkipCase{.name = "node_operations_without_the_node",
                 .slice = Slice("s").OnNode("n1").SkipsNodeOperations().With(Device("a")),
                 .want = "refused"},
        SkipCase{.name = "node_operations_with_the_node",
                 .slice = Slice("s").OnNode("n1").SkipsNodeOperations().With(Device("a")),
                 .node_declares = true,
                 .want = "r=a"},
        SkipCase{.name = "taints",
                 .slice = Slice("s").OnNode("n1").With(Device("a").Taint("t")).With(Device("b")),
                 .want = "r=b"}),
    [](const auto& info) { return info.param.name; });

struct TaintCase {
  std::string name;
  std::vector<api::DeviceTaint> taints;
  std::vector<api::DeviceToleration> tolerations;
  bool tolerated = false;
  friend void PrintTo(const TaintCase& c, std::ostream* os) { *os << c.name; }
};
class TaintTest : public ::testing::TestWithParam<TaintCase> {};

TEST_P(TaintTest, IsToleratedOrNot) {
  EXPECT_EQ(Tolerates(GetParam().tolerations, GetParam().taints), GetParam().tolerated);
}

const api::DeviceTaint kSick{.key = "sick", .value = "x", .effect = "NoSchedule"};

INSTANTIATE_TEST_SUITE_P(
    Chapter11, TaintTest,
    ::testing::Values(
        TaintCase{.name = "no_taints", .tolerated = true},
        TaintCase{.name = "no_tolerations", .taints = {kSick}},
        TaintCase{.name = "no_execute_counts_too", .taints = {{.key = "k", .effect = "NoExecute"}}},
        TaintCase{.name = "effect_none_is_ignored",
                  .taints = {{.key = "k", .effect = "None"}},
                  .tolerated = true},
        TaintCase{.name = "unknown_effects_are_ignored",
                  .taints = {{.key = "k", .effect = "NoWay"}},
                  .tolerated = true},
        TaintCase{.name = "equal_value",
                  .taints = {kSick},
                  .tolerations = {{.key = "sick", .operator_ = "Equal", .value = "x"}},
                  .tolerated = true},
        TaintCase{.name = "no_operator_is_equal",
                  .taints = {kSick},
                  .tolerations = {{.key = "sick", .value = "x"}},
                  .tolerated = true},
        TaintCase{.name = "another_value",
                  .taints = {kSick},
                  .tolerations = {{.key = "sick", .operator_ = "Equal", .value = "y"}}},
        TaintCase{.name = "exists_ignores_the_value",
                  .taints = {kSick},
                  .tolerations = {{.key = "sick", .operator_ = "Exists", .value = "y"}},
                  .tolerated = true},
        TaintCase{.name = "another_key",
                  .taints = {kSick},
                  .tolerations = {{.key = "old", .operator_ = "Exists"}}},
        TaintCase{.name = "an_empty_key_with_exists_is_any",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Exists"}},
                  .tolerated = true},
        TaintCase{.name = "an_empty_key_with_equal_compares_the_value",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Equal", .value = "x"}},
                  .tolerated = true},
        TaintCase{.name = "an_empty_key_with_another_value",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Equal", .value = "y"}}},
        TaintCase{.name = "the_same_effect",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Exists", .effect = "NoSchedule"}},
                  .tolerated = true},
        TaintCase{.name = "another_effect",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Exists", .effect = "NoExecute"}}},
        TaintCase{.name = "an_unknown_operator_matches_nothing",
                  .taints = {kSick},
                  .tolerations = {{.key = "sick", .operator_ = "Gt", .value = "x"}}},
        TaintCase{.name = "seconds_do_not_matter",
                  .taints = {kSick},
                  .tolerations = {{.operator_ = "Exists", .toleration_seconds = 0}},
                  .tolerated = true},
        TaintCase{.name = "each_taint_needs_one",
                  .taints = {kSick, {.key = "old", .effect = "NoSchedule"}},
                  .tolerations = {{.key = "sick", .operator_ = "Exists"}}}),
    [](const auto& info) { return info.param.name; });

TEST(Attempt, AdminAccessTakesWhatIsInUseButNotWhatIsTainted) {
  WorldForTest world;
  world.Devices({Device("a").Taint("t"), Device("b")}).Taken(AllocatedClaim("t").Exclusive("b"));
  EXPECT_EQ(world.Solve(Ask("r")), "refused");
  EXPECT_EQ(world.Solve(Ask("r").Admin()), "r=b");
  EXPECT_EQ(world.Solve(Ask("r").Admin().Count(2)), "refused");
}

// KEP-5075; docs/decisions.md. Kubernetes gives it away when the capacity fits.
TEST(Attempt, ADedicatedDeviceWithSharesIsInUseExceptForAdminAccess) {
  WorldForTest world;
  world.Devices({Device("a").Capacity("m", "8")})
      .Taken(AllocatedClaim("t").Share("a", {{"m", "1"}}));
  EXPECT_EQ(world.Solve(Ask("r").Capacity({{"m", "2"}})), "refused");
  EXPECT_EQ(world.Solve(Ask("r").Admin().Capacity({{"m", "2"}})), "r=a");
  EXPECT_EQ(world.Solve(Ask("r").Admin().Capacity({{"m", "8"}})), "refused")
      << "what the shares consume is gone for it too";
}

// Capacity as a filter, also of devices that cannot be shared.
struct FilterCase {
  std::string name;
  std::string driver = "gpu.example.com";
  Device device;
  Ask ask;
  std::string want;
  friend void PrintTo(const FilterCase& c, std::ostream* os) { *os << c.name; }
};
class CapacityFilterTest : public ::testing::TestWithParam<FilterCase> {};

TEST_P(CapacityFilterTest, DecidesWhetherADeviceCanServe) {
  WorldForTest world;
  world.Put(Slice("s").Driver(GetParam().driver).OnNode("n1").With(GetParam().device));
  EXPECT_EQ(world.Solve(GetParam().ask), GetParam().want);
}

const api::CapacityRequestPolicy kTwoOrFour{
    .default_value = testing::ToQuantity("2"),
    .valid_values = {testing::ToQuantity("2"), testing::ToQuantity("4")}};

INSTANTIATE_TEST_SUITE_P(
    Chapter10, CapacityFilterTest,
    ::testing::Values(
        FilterCase{.name = "enough",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"m", "8"}}),
                   .want = "r=a"},
        FilterCase{.name = "too_little",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"m", "8001m"}}),
                   .want = "refused"},
        FilterCase{.name = "not_there",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"n", "1"}}),
                   .want = "refused"},
        FilterCase{.name = "no_capacity_at_all",
                   .device = Device("a"),
                   .ask = Ask("r").Capacity({{"m", "0"}}),
                   .want = "refused"},
        FilterCase{.name = "rounded_up_past_what_there_is",
                   .device = Device("a").Capacity("m", "3", kTwoOrFour),
                   .ask = Ask("r").Capacity({{"m", "3"}}),
                   .want = "refused"},
        FilterCase{.name = "not_of_the_policy",
                   .device = Device("a").Capacity("m", "8", kTwoOrFour),
                   .ask = Ask("r").Capacity({{"m", "5"}}),
                   .want = "refused"},
        // Kubernetes aborts on this and the next; the proposal calls the device not eligible.
        FilterCase{.name = "negative",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"m", "-1"}}),
                   .want = "refused"},
        FilterCase{
            .name = "uncountable",
            .device = Device("a").Capacity(
                "m", "8",
                {.valid_range = api::CapacityRequestPolicyRange{.min = testing::ToQuantity("1"),
                                                                .step = testing::ToQuantity("1")}}),
            .ask = Ask("r").Capacity({{"m", "9223372036854775808"}}),
            .want = "refused"},
        FilterCase{.name = "the_drivers_domain_may_be_left_out",
                   .device = Device("a").Capacity("gpu.example.com/m", "8"),
                   .ask = Ask("r").Capacity({{"m", "8"}}),
                   .want = "r=a"},
        FilterCase{.name = "the_drivers_domain_may_be_added",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"gpu.example.com/m", "8"}}),
                   .want = "r=a"},
        FilterCase{.name = "another_domain_may_not",
                   .device = Device("a").Capacity("m", "8"),
                   .ask = Ask("r").Capacity({{"other.example.com/m", "8"}}),
                   .want = "refused"},
        FilterCase{.name = "the_literal_name_first",
                   .device = Device("a").Capacity("m", "2").Capacity("gpu.example.com/m", "8"),
                   .ask = Ask("r").Capacity({{"m", "8"}}),
                   .want = "refused"},
        // Both names mean the one capacity; the literal one counts, whichever comes first.
        FilterCase{.name = "both_spellings_bare_device",
                   .driver = "z.example.com",
                   .device = Device("a").Capacity("m", "2"),
                   .ask = Ask("r").Capacity({{"m", "2"}, {"z.example.com/m", "8"}}),
                   .want = "r=a"},
        FilterCase{.name = "both_spellings_qualified_device",
                   .driver = "a.example.com",
                   .device = Device("a").Capacity("a.example.com/m", "2"),
                   .ask = Ask("r").Capacity({{"a.example.com/m", "2"}, {"m", "8"}}),
                   .want = "r=a"},
        // docs/decisions.md: beyond 2^110 billionths an amount is clamped. Of two such amounts
        // nobody can say which is larger; below it they are exact.
        FilterCase{.name = "large_but_exact",
                   .device = Device("a").Capacity("m", "1e24").Shared(),
                   .ask = Ask("r").Capacity({{"m", "1000000000000000000000001"}}),
                   .want = "refused"}),
    [](const auto& info) { return info.param.name; });

// docs/decisions.md: Kubernetes crashes.
TEST(Attempt, AStepOfZeroIsAnErrorWhereADeviceIsLookedAt) {
  const api::CapacityRequestPolicy policy{
      .default_value = testing::ToQuantity("2"),
      .valid_range = api::CapacityRequestPolicyRange{.min = testing::ToQuantity("1"),
                                                     .step = testing::ToQuantity("0")}};
  const Ask ask = Ask("r").Capacity({{"m", "3"}});
  const std::string error =
      "request r: device gpu.example.com/pool/a: capacity m has a step of 0; it must be positive";
  WorldForTest world;
  world.Devices({Device("a").Capacity("m", "8", policy), Device("b").Capacity("m", "8")});
  EXPECT_EQ(world.Solve(ask), "error: " + error);
  EXPECT_EQ(world.Solve(Ask(ask).All()), "error: claim ns/c: " + error);
  EXPECT_EQ(world.Solve(Ask("r")), "r=a") << "the default needs no steps";
  EXPECT_EQ(world.Solve(Ask(ask).Where("device.name == 'b'")), "r=b");
  EXPECT_EQ(world.Solve(Ask(ask).Capacity({{"m", "3"}, {"n", "1"}})), "refused")
      << "has no n, so what it has is not counted";
  world.features.consumable_capacity = false;
  EXPECT_EQ(world.Solve(Ask("r")), "r=a");
  WorldForTest taken;
  taken.Devices({Device("a").Capacity("m", "8", policy), Device("b").Capacity("m", "8")})
      .Taken(AllocatedClaim("t").Exclusive("a"));
  EXPECT_EQ(taken.Solve(ask), "r=b") << "what is in use is not looked at";
  WorldForTest elsewhere;
  elsewhere.Put(Slice("s")
                    .PerDevice()
                    .With(Device("a").OnNode("n2").Capacity("m", "8", policy))
                    .With(Device("b").OnNode("n1").Capacity("m", "8")));
  EXPECT_EQ(elsewhere.Solve(ask), "r=b") << "nor is what is for another node";
}

// Amounts are held in 128 bits of billionths and clamped at 2^110 of them, some 1.3e24.
TEST(Attempt, AmountsBeyondTheirClampFitOnlyOnce) {
  WorldForTest world;
  world.Devices({Device("a").Shared().Capacity("m", "1e30")});
  const auto twice = [](testing::Amounts amounts) {
    return PendingClaim("c")
        .Request(Ask("r").Capacity(amounts))
        .Request(Ask("s").Capacity(amounts));
  };
  EXPECT_EQ(world.Solve(twice({{"m", "6e23"}})), "r=a s=a");
  EXPECT_EQ(world.Solve(twice({{"m", "1e24"}})), "refused");
  EXPECT_EQ(world.Solve(Ask("r").Capacity({{"m", "1e30"}})), "r=a");
}

TEST(Attempt, NothingFoundBesideAnInvalidPoolIsAnErrorOfThisNode) {
  WorldForTest world;
  world.Devices({Device("a")})
      .Put(Slice("t").Pool("other").OnNode("n1").With(Device("b")).With(Device("b")));
  EXPECT_EQ(world.Solve(Ask("r")), "r=a");
  EXPECT_EQ(world.Solve(Ask("r").Count(2)),
            "error on this node: invalid resource pools were encountered");
}

// Faults of claims are found claim by claim, before anything is searched.
TEST(Attempt, AFaultOfTheFirstClaimHidesThoseOfTheSecond) {
  WorldForTest world;
  world.Devices({Device("a")});
  EXPECT_THAT(world.Solve({PendingClaim("c").Request(Ask("r").All().Where(kBroken)),
                           PendingClaim("d").Request(Ask("r").Class("gone"))}),
              StartsWith("error: claim ns/c: request r"));
  EXPECT_THAT(world.Solve({PendingClaim("c").Request(Ask("r").Where(kBroken)),
                           PendingClaim("d").Request(Ask("r").Class("gone"))}),
              StartsWith("error: claim ns/d"))
      << "an error of the search comes after all faults of claims";
}

TEST(Attempt, VerdictsAreForgottenOnlyBetweenAttempts) {
  WorldForTest world;
  world.Devices({Device("a"), Device("b")});
  VerdictCache cache(1);
  Attempt attempt;
  const auto plan =
      world.PlanOf({PendingClaim("c").Request(Ask("r")).Request(Ask("s").Where("true"))});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(attempt.Prepare(*plan, world.Usage(), cache).status.ok());
    EXPECT_EQ(attempt.candidates(0).devices.Count(), 2);
    EXPECT_EQ(attempt.candidates(1).devices.Count(), 2);
  }
}

}  // namespace
}  // namespace dray::allocator

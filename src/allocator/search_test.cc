// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes's order: docs/spec/allocator.md chapter 4, and what is in use within one attempt,
// chapter 6. Each case runs with and without looking ahead.
#include "allocator/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using testing::AllocatedClaim;
using testing::Ask;
using testing::Device;
using testing::PendingClaim;
using testing::Slice;

// Only devices of this name.
Ask Named(std::string_view request, std::string_view device) {
  return Ask(request).Where(fmt::format("device.name == '{}'", device));
}

struct OrderCase {
  std::string name;
  std::vector<api::ResourceSlice> slices;
  std::vector<api::ResourceClaim> taken;
  std::vector<api::ResourceClaim> claims;
  std::string want;
  friend void PrintTo(const OrderCase& c, std::ostream* os) { *os << c.name; }
};
class SearchOrderTest : public ::testing::TestWithParam<OrderCase> {};

TEST_P(SearchOrderTest, IsKubernetess) {
  WorldForTest world;
  for (const api::ResourceSlice& slice : GetParam().slices) world.Put(slice);
  for (const api::ResourceClaim& claim : GetParam().taken) world.Taken(claim);
  EXPECT_EQ(world.Solve(GetParam().claims, {.look_ahead = false}), GetParam().want);
  EXPECT_EQ(world.Solve(GetParam().claims), GetParam().want) << "looking ahead";
}

Slice Plain(int devices) {
  Slice slice("s");
  slice.OnNode("n1");
  for (int i = 0; i < devices; ++i) slice.With(Device(fmt::format("d{}", i)));
  return slice;
}

// Devices d0, d1, ... with a string attribute each.
Slice Valued(std::vector<std::string> values) {
  Slice slice("s");
  slice.OnNode("n1");
  for (std::size_t i = 0; i < values.size(); ++i) {
    slice.With(Device(fmt::format("d{}", i)).String("v", values[i]));
  }
  return slice;
}
constexpr const char* kValue = "gpu.example.com/v";

std::vector<OrderCase> Choosing() {
  return {
      {.name = "first_fit",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2))},
       .want = "r=d0 r=d1"},
      {.name = "each_request_starts_at_the_beginning",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c").Request(Named("r", "d1")).Request(Ask("s").Count(2))},
       .want = "r=d1 s=d0 s=d2"},
      {.name = "claims_in_their_order",
       .slices = {Plain(2)},
       .claims = {PendingClaim("c").Request(Ask("r")), PendingClaim("d").Request(Ask("r"))},
       .want = "r=d0 | r=d1"},
      {.name = "pools_by_name_and_those_with_binding_conditions_last",
       .slices = {Slice("a").Pool("a").OnNode("n1").With(Device("bound").BindingCondition("x")),
                  Slice("c").Pool("c").OnNode("n1").With(Device("c0")),
                  Slice("b").Pool("b").OnNode("n1").With(Device("b0"))},
       .claims = {PendingClaim("c").Request(Ask("r").Count(3))},
       .want = "r=b0 r=c0 r=bound"},
      {.name = "slices_of_a_pool_by_name",
       .slices = {Slice("z").Of(2).OnNode("n1").With(Device("z0")),
                  Slice("y").Of(2).OnNode("n1").With(Device("y0"))},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2))},
       .want = "r=y0 r=z0"},
      {.name = "goes_back_when_a_later_request_fails",
       .slices = {Plain(2)},
       .claims = {PendingClaim("c").Request(Ask("r")).Request(Named("s", "d0"))},
       .want = "r=d1 s=d0"},
      {.name = "goes_back_over_claims",
       .slices = {Plain(2)},
       .claims = {PendingClaim("c").Request(Ask("r")), PendingClaim("d").Request(Named("s", "d0"))},
       .want = "r=d1 | s=d0"},
      {.name = "all_or_nothing",
       .slices = {Plain(2)},
       .claims = {PendingClaim("c").Request(Ask("r")),
                  PendingClaim("d").Request(Ask("s").Count(2))},
       .want = "refused"},
      // One request never gets a device twice, though it could be shared.
      {.name = "combinations_of_shared_devices",
       .slices = {Slice("s").OnNode("n1").With(Device("d0").Shared())},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2))},
       .want = "refused"},
      {.name = "another_request_may_share_it",
       .slices = {Slice("s").OnNode("n1").With(Device("d0").Shared())},
       .claims = {PendingClaim("c").Request(Ask("r")).Request(Ask("s")),
                  PendingClaim("d").Request(Ask("t"))},
       .want = "r=d0 s=d0 | t=d0"},
      {.name = "match_takes_the_first_value_that_has_enough",
       .slices = {Valued({"a", "b", "b", "a", "a"})},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2)).Match(kValue)},
       .want = "r=d0 r=d3"},
      {.name = "match_goes_on_to_another_value",
       .slices = {Valued({"a", "b", "b"})},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2)).Match(kValue)},
       .want = "r=d1 r=d2"},
      {.name = "distinct_skips_equal_values",
       .slices = {Valued({"a", "a", "b"})},
       .claims = {PendingClaim("c").Request(Ask("r").Count(2)).Distinct(kValue)},
       .want = "r=d0 r=d2"},
      {.name = "constraints_are_the_claims_own",
       .slices = {Valued({"a", "b"})},
       .claims = {PendingClaim("c").Request(Ask("r")).Match(kValue),
                  PendingClaim("d").Request(Ask("r")).Match(kValue)},
       .want = "r=d0 | r=d1"},
      {.name = "who_lacks_the_attribute_is_skipped",
       .slices = {Slice("s").OnNode("n1").With(Device("d0")).With(Device("d1").String("v", "a"))},
       .claims = {PendingClaim("c").Request(Ask("r")).Match(kValue)},
       .want = "r=d1"},
  };
}

std::vector<OrderCase> Alternatives() {
  return {
      {.name = "the_first_alternative_that_fits",
       .slices = {Plain(2)},
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("big").Count(3), Ask("small")})},
       .want = "r/small=d0"},
      // Other devices for the first alternative are tried before the second.
      {.name = "other_devices_before_other_alternatives",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c")
                      .FirstAvailable("r", {Ask("two").Count(2), Ask("one")})
                      .Request(Named("s", "d0"))},
       .want = "r/two=d1 r/two=d2 s=d0"},
      {.name = "a_later_request_forces_the_next_alternative",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c")
                      .FirstAvailable("r", {Ask("two").Count(2), Ask("one")})
                      .Request(Ask("s").Count(2))},
       .want = "r/one=d0 s=d1 s=d2"},
      {.name = "a_later_claim_too",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("two").Count(2), Ask("one")}),
                  PendingClaim("d").Request(Ask("s").Count(2))},
       .want = "r/one=d0 | s=d1 s=d2"},
      {.name = "the_last_list_changes_first",
       .slices = {Plain(3)},
       .claims = {PendingClaim("c")
                      .FirstAvailable("r", {Ask("two").Count(2), Ask("one")})
                      .FirstAvailable("s", {Ask("two").Count(2), Ask("one")})},
       .want = "r/two=d0 r/two=d1 s/one=d2"},
      // 31 and 2 are too many for one claim: the closest list takes its next alternative.
      {.name = "too_many_for_one_claim_abandons_the_alternative",
       .slices = {Plain(40)},
       .claims = {PendingClaim("c")
                      .FirstAvailable("r", {Ask("many").Count(31), Ask("one")})
                      .Request(Ask("s").Count(2))},
       .want = "r/one=d0 s=d1 s=d2"},
      {.name = "the_limit_is_per_claim",
       .slices = {Plain(34)},
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("many").Count(32), Ask("none")}),
                  PendingClaim("d").Request(Ask("s").Count(2))},
       .want = "r/many=d0 r/many=d1 r/many=d2 r/many=d3 r/many=d4 r/many=d5 r/many=d6 r/many=d7 "
               "r/many=d8 r/many=d9 r/many=d10 r/many=d11 r/many=d12 r/many=d13 r/many=d14 "
               "r/many=d15 r/many=d16 r/many=d17 r/many=d18 r/many=d19 r/many=d20 r/many=d21 "
               "r/many=d22 r/many=d23 r/many=d24 r/many=d25 r/many=d26 r/many=d27 r/many=d28 "
               "r/many=d29 r/many=d30 r/many=d31 | s=d32 s=d33"},
      {.name = "all_as_an_alternative",
       .slices = {Plain(2)},
       .taken = {AllocatedClaim("t").Exclusive("d1")},
       .claims = {PendingClaim("c").FirstAvailable("r", {Ask("all").All(), Ask("one")})},
       .want = "r/one=d0"},
  };
}

std::vector<OrderCase> InUse() {
  return {
      {.name = "a_device_for_one_request_only",
       .slices = {Plain(1)},
       .claims = {PendingClaim("c").Request(Ask("r")).Request(Ask("s"))},
       .want = "refused"},
      {.name = "admin_access_beside_another_claims_device",
       .slices = {Plain(1)},
       .claims = {PendingClaim("c").Request(Ask("r")), PendingClaim("d").Request(Ask("s").Admin())},
       .want = "r=d0 | s=d0"},
      {.name = "admin_access_not_beside_the_same_claims_device",
       .slices = {Plain(1)},
       .claims = {PendingClaim("c").Request(Ask("r")).Request(Ask("s").Admin())},
       .want = "refused"},
      {.name = "a_device_with_admin_access_is_marked",
       .slices = {Plain(1)},
       .claims = {PendingClaim("c").Request(Ask("r").Admin()), PendingClaim("d").Request(Ask("s"))},
       .want = "refused"},
      {.name = "admin_access_needs_its_counters",
       .slices = {Slice("s").OnNode("n1").Of(2).With(Device("d0").Consumes("set", {{"m", "1"}})),
                  Slice("t").OnNode("n1").Of(2).Counters("set", {{"m", "1"}})},
       .taken = {AllocatedClaim("t").Exclusive("d0")},
       .claims = {PendingClaim("c").Request(Ask("r").Admin())},
       .want = "refused"},
      // docs/decisions.md: Kubernetes gives up on the attempt.
      {.name = "a_violated_constraint_in_mode_all_is_no_error",
       .slices = {Valued({"a", "b", "b"})},
       .claims = {PendingClaim("c")
                      .Request(Ask("r"))
                      .Request(Ask("s").All().Where("device.name == 'd2'"))
                      .Match(kValue)},
       .want = "r=d1 s=d2"},
      {.name = "a_violated_constraint_in_mode_all_leads_to_the_next_alternative",
       .slices = {Valued({"a", "b"})},
       .claims =
           {PendingClaim("c").FirstAvailable("r", {Ask("all").All(), Ask("one")}).Match(kValue)},
       .want = "r/one=d0"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<OrderCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Choosing, SearchOrderTest, ::testing::ValuesIn(Choosing()), NameOf);
INSTANTIATE_TEST_SUITE_P(Alternatives, SearchOrderTest, ::testing::ValuesIn(Alternatives()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(InUse, SearchOrderTest, ::testing::ValuesIn(InUse()), NameOf);

// What constraints make of values: set mode and scalar mode, match and distinct.
struct ValueCase {
  std::string name;
  std::vector<api::Device> devices;
  int count = 2;
  bool distinct = false;
  bool lists = true;
  bool fits = false;
  friend void PrintTo(const ValueCase& c, std::ostream* os) { *os << c.name; }
};
class ConstraintValueTest : public ::testing::TestWithParam<ValueCase> {};

TEST_P(ConstraintValueTest, FitTogetherOrNot) {
  const ValueCase& c = GetParam();
  WorldForTest world;
  world.Devices(c.devices);
  world.features.list_type_attributes = c.lists;
  PendingClaim claim = PendingClaim("c").Request(Ask("r").Count(c.count));
  c.distinct ? claim.Distinct(kValue) : claim.Match(kValue);
  const auto wanted = c.fits ? Decision::Kind::kFits : Decision::Kind::kRefused;
  EXPECT_EQ(world.Decide({claim}).kind, wanted);
  EXPECT_EQ(world.Decide({claim}, {.look_ahead = false}).kind, wanted);
}

std::vector<ValueCase> Values() {
  const auto a = [](std::vector<std::string> values) {
    return Device("a").Strings("v", std::move(values));
  };
  const auto b = [](std::vector<std::string> values) {
    return Device("b").Strings("v", std::move(values));
  };
  return {
      {.name = "lists_that_intersect", .devices = {a({"x", "y"}), b({"y", "z"})}, .fits = true},
      {.name = "lists_that_do_not", .devices = {a({"x"}), b({"y", "z"})}},
      {.name = "a_scalar_is_one_element",
       .devices = {a({"x", "y"}), Device("b").String("v", "y")},
       .fits = true},
      {.name = "types_do_not_intersect",
       .devices = {Device("a").String("v", "1.0.0"), Device("b").Version("v", "1.0.0")}},
      {.name = "an_empty_list_never_matches", .devices = {a({})}, .count = 1},
      {.name = "no_value_never_matches", .devices = {Device("a").NoValue("v")}, .count = 1},
      {.name = "three_pairwise_but_not_together",
       .devices = {a({"x", "y"}), b({"y", "z"}), Device("c").Strings("v", {"x", "z"})},
       .count = 3},
      {.name = "distinct_lists_are_disjoint",
       .devices = {a({"x"}), b({"y", "z"})},
       .distinct = true,
       .fits = true},
      {.name = "distinct_lists_that_meet",
       .devices = {a({"x", "y"}), b({"y", "z"})},
       .distinct = true},
      {.name = "distinct_types_are_disjoint",
       .devices = {Device("a").String("v", "1.0.0"), Device("b").Version("v", "1.0.0")},
       .distinct = true,
       .fits = true},
      {.name = "distinct_empty_list", .devices = {a({})}, .count = 1, .distinct = true},
      {.name = "scalar_mode_first_device_may_have_a_list",
       .devices = {a({"x"})},
       .count = 1,
       .lists = false,
       .fits = true},
      {.name = "scalar_mode_first_device_may_have_no_value",
       .devices = {Device("a").NoValue("v")},
       .count = 1,
       .lists = false,
       .fits = true},
      {.name = "scalar_mode_equal_lists_do_not_match",
       .devices = {a({"x"}), b({"x"})},
       .lists = false},
      {.name = "scalar_mode_scalar_after_a_list",
       .devices = {a({"x"}), Device("b").String("v", "x")},
       .lists = false},
      {.name = "scalar_mode_equal_scalars",
       .devices = {Device("a").Int("v", 1), Device("b").Int("v", 1)},
       .lists = false,
       .fits = true},
      {.name = "scalar_mode_types_differ",
       .devices = {Device("a").String("v", "1.0.0"), Device("b").Version("v", "1.0.0")},
       .lists = false},
      {.name = "scalar_mode_distinct_types",
       .devices = {Device("a").String("v", "1.0.0"), Device("b").Version("v", "1.0.0")},
       .distinct = true,
       .lists = false,
       .fits = true},
      {.name = "scalar_mode_distinct_first_list",
       .devices = {a({"x"}), Device("b").String("v", "x")},
       .distinct = true,
       .lists = false,
       .fits = true},
      // The list must come first, and it does not.
      {.name = "scalar_mode_distinct_second_list",
       .devices = {Device("a").String("v", "x"), b({"y"})},
       .distinct = true,
       .lists = false},
  };
}
INSTANTIATE_TEST_SUITE_P(Chapter7, ConstraintValueTest, ::testing::ValuesIn(Values()),
                         [](const auto& info) { return info.param.name; });

TEST(Search, RunningOutOfWorkIsSaid) {
  WorldForTest world;
  world.Put(Plain(2));
  const Ask ask = Ask("r").Count(2);
  const Decision decision = world.Decide({PendingClaim("c").Request(ask)});
  EXPECT_GE(decision.steps, 3) << "one for each device at least, and one to see that it is done";
  EXPECT_GE(decision.work, decision.steps);
  EXPECT_EQ(world.Solve(ask, {.work_budget = decision.work}), "r=d0 r=d1");
  EXPECT_EQ(world.Solve(ask, {.work_budget = decision.work - 1}), "out of budget");
  EXPECT_EQ(world.Solve(ask, {.work_budget = 0}), "out of budget");
}

// Runs `body` on a stack of 256 KiB, an eighth of what a thread of a musl system has and a
// thirty-second of the main thread's: what needs stack for each device or claim does not fit.
void OnASmallStack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Search, ThousandsOfClaimsAndDevicesNeedNoStack) {
  // 400 claims with 32 requests each for shares of one device.
  WorldForTest shared;
  shared.Devices({Device("d").Shared()});
  PendingClaim claim("c");
  for (int i = 0; i < 32; ++i) claim.Request(Ask(fmt::format("r{}", i)));
  const std::vector<api::ResourceClaim> claims(400, claim);

  // 256 claims with 32 of 8,192 devices each; and one device too few, which is seen at the last.
  WorldForTest dedicated;
  std::vector<api::Device> devices;
  for (int i = 0; i < 8'192; ++i) devices.push_back(Device(fmt::format("d{}", i)));
  dedicated.Devices(devices);
  std::vector<api::ResourceClaim> all(256, PendingClaim("c").Request(Ask("r").Count(32)));

  const auto usage = [](WorldForTest& world, const std::vector<api::ResourceClaim>& asked) {
    return std::pair(world.PlanOf(asked), &world.Usage());
  };
  const auto many = usage(shared, claims);
  const auto each = usage(dedicated, all);
  all.push_back(PendingClaim("one too many").Request(Ask("r")));
  const auto more = usage(dedicated, all);
  OnASmallStack([&] {
    for (const bool look_ahead : {true, false}) {
      const SearchOptions options{.work_budget = 40'000'000, .look_ahead = look_ahead};
      Allocator of_shared;  // an allocator is for the plans of one dictionary
      EXPECT_EQ(of_shared.Decide(*many.first, *many.second, options).kind, Decision::Kind::kFits);
      EXPECT_EQ(of_shared.search().placed().size(), 400 * 32);
      Allocator allocator;
      EXPECT_EQ(allocator.Decide(*each.first, *each.second, options).kind, Decision::Kind::kFits);
      EXPECT_EQ(allocator.search().placed().size(), 8'192);
      EXPECT_NE(allocator.Decide(*more.first, *more.second, options).kind, Decision::Kind::kFits);
    }
  });
}

// Sixteen devices of four values, five of one value wanted: 4,368 combinations for the plain
// search.
TEST(Search, LookingAheadSavesSteps) {
  std::vector<std::string> values;
  for (int i = 0; i < 16; ++i) values.push_back(std::string(1, static_cast<char>('a' + i / 4)));
  WorldForTest world;
  world.Put(Valued(values));
  const PendingClaim claim =
      PendingClaim("c").Request(Ask("r").Count(3)).Request(Ask("s").Count(2)).Match(kValue);
  const std::uint64_t plain = world.Decide({claim}, {.look_ahead = false}).steps;
  const Decision ahead = world.Decide({claim});
  EXPECT_EQ(ahead.kind, Decision::Kind::kRefused);
  EXPECT_LT(ahead.steps * 4, plain);
}

// Seven devices have a half left and one more than that: no search is needed to see that two do not
// have what is asked for, and one does.
TEST(Search, ThatTooFewDevicesHaveRoomIsSeenAtOnce) {
  WorldForTest world;
  std::vector<api::Device> devices;
  AllocatedClaim taken("t");
  for (int i = 0; i < 8; ++i) {
    const std::string name = fmt::format("d{}", i);
    devices.push_back(Device(name).Shared().Capacity("m", "8"));
    taken.Share(name, {{"m", i == 6 ? "2" : "4"}});
  }
  world.Devices(devices).Taken(taken);
  const auto decide = [&](int count, std::string_view amount) {
    return world.Decide(
        {PendingClaim("c").Request(Ask("r").Count(count).Capacity({{"m", std::string(amount)}}))});
  };
  const Decision refused = decide(2, "5");
  EXPECT_EQ(refused.kind, Decision::Kind::kRefused);
  EXPECT_EQ(refused.steps, 0u);
  EXPECT_EQ(decide(1, "5").kind, Decision::Kind::kFits);
  EXPECT_EQ(decide(8, "4").kind, Decision::Kind::kFits);
  EXPECT_EQ(decide(1, "7").steps, 0u);
}

TEST(Search, AnAllocatorKeepsNothingFromOneAttemptToTheNext) {
  WorldForTest world;
  world.Put(Valued({"a", "b", "b"}));
  const PendingClaim two = PendingClaim("c").Request(Ask("r").Count(2)).Match(kValue);
  const PendingClaim three = PendingClaim("c").Request(Ask("r").Count(3)).Match(kValue);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.Solve(two), "r=d1 r=d2");
    EXPECT_EQ(world.Solve(three), "refused");
    EXPECT_EQ(world.Solve(Ask("r")), "r=d0");
  }
}

}  // namespace
}  // namespace dray::allocator

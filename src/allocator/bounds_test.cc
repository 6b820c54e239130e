// SPDX-License-Identifier: Apache-2.0
//
// What each bound sees, at the start of the search. That none of them sees too much is the property
// LookAhead.NothingThatCanBeCompletedIsCalledHopeless.
#include "allocator/bounds.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using testing::Ask;
using testing::Device;
using testing::PendingClaim;
using testing::Slice;

constexpr const char* kValue = "gpu.example.com/v";

struct BoundCase {
  std::string name;
  std::vector<api::ResourceSlice> slices;
  std::vector<api::ResourceClaim> claims;
  bool hopeless = true;
  friend void PrintTo(const BoundCase& c, std::ostream* os) { *os << c.name; }
};
class BoundsTest : public ::testing::TestWithParam<BoundCase> {};

TEST_P(BoundsTest, SeesWhatCannotBe) {
  WorldForTest world;
  for (const api::ResourceSlice& slice : GetParam().slices) world.Put(slice);
  const auto plan = world.PlanOf(GetParam().claims);
  VerdictCache cache;
  Attempt attempt;
  ASSERT_TRUE(attempt.Prepare(*plan, world.Usage(), cache).status.ok());
  State state;
  state.Reset(attempt);
  state.EnterClaim(0);
  WorkMeter work;
  const base::BitSet open(plan->requests().size(), true);
  Bounds bounds;
  bounds.Reset(attempt, work);
  EXPECT_EQ(bounds.Hopeless(state, {.open = &open}), GetParam().hopeless);
}

Slice Valued(std::vector<std::string> values) {
  Slice slice("s");
  slice.OnNode("n1");
  for (std::size_t i = 0; i < values.size(); ++i) {
    slice.With(Device(fmt::format("d{}", i)).String("v", values[i]));
  }
  return slice;
}

// Partitions of one counter set: so much each, so much in all.
std::vector<api::ResourceSlice> Partitions(std::vector<std::string> each, std::string_view all) {
  Slice slice("s");
  slice.OnNode("n1").Of(2);
  for (std::size_t i = 0; i < each.size(); ++i) {
    slice.With(Device(fmt::format("d{}", i)).Consumes("set", {{"m", each[i]}}));
  }
  return {slice, Slice("t").OnNode("n1").Of(2).Counters("set", {{"m", all}})};
}

PendingClaim Pair(std::string_view name) {
  return PendingClaim(name).Request(Ask("r").Count(2)).Match(kValue);
}

INSTANTIATE_TEST_SUITE_P(
    Relaxed, BoundsTest,
    ::testing::Values(
        BoundCase{.name = "counting",
                  .slices = {Valued({"a", "a"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3))}},
        BoundCase{.name = "counting_enough",
                  .slices = {Valued({"a", "a"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(2))},
                  .hopeless = false},
        BoundCase{.name = "values",
                  .slices = {Valued({"a", "a", "b", "b"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3)).Match(kValue)}},
        BoundCase{.name = "values_enough",
                  .slices = {Valued({"a", "b", "b", "b"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3)).Match(kValue)},
                  .hopeless = false},
        BoundCase{.name = "distinctness",
                  .slices = {Valued({"a", "a", "b", "b"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3)).Distinct(kValue)}},
        BoundCase{.name = "distinctness_enough",
                  .slices = {Valued({"a", "a", "b", "c"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3)).Distinct(kValue)},
                  .hopeless = false},
        // Five devices for two pairs, but only one value has two.
        BoundCase{.name = "equal_claims",
                  .slices = {Valued({"a", "a", "a", "b", "c"})},
                  .claims = {PendingClaim("x").Request(Ask("r").Count(0)), Pair("c"), Pair("d")}},
        BoundCase{.name = "equal_claims_enough",
                  .slices = {Valued({"a", "a", "a", "a", "c"})},
                  .claims = {PendingClaim("x").Request(Ask("r").Count(0)), Pair("c"), Pair("d")},
                  .hopeless = false},
        BoundCase{.name = "sums",
                  .slices = Partitions({"2", "2", "3"}, "5"),
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3))}},
        BoundCase{.name = "sums_enough",
                  .slices = Partitions({"2", "2", "3"}, "7"),
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3))},
                  .hopeless = false},
        // Each request alone has enough; together they want four of three.
        BoundCase{.name = "flow",
                  .slices = {Valued({"a", "a", "a"})},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(2)),
                             PendingClaim("d").Request(Ask("r").Count(2))}},
        BoundCase{.name = "flow_of_shares",
                  .slices = {Slice("s").OnNode("n1").With(Device("a").Shared().Capacity("m", "5"))},
                  .claims = {PendingClaim("c")
                                 .Request(Ask("r").Capacity({{"m", "2"}}))
                                 .Request(Ask("s").Capacity({{"m", "2"}}))
                                 .Request(Ask("t").Capacity({{"m", "2"}}))}},
        BoundCase{.name = "flow_of_shares_enough",
                  .slices = {Slice("s").OnNode("n1").With(Device("a").Shared().Capacity("m", "6"))},
                  .claims = {PendingClaim("c")
                                 .Request(Ask("r").Capacity({{"m", "2"}}))
                                 .Request(Ask("s").Capacity({{"m", "2"}}))
                                 .Request(Ask("t").Capacity({{"m", "2"}}))},
                  .hopeless = false},
        BoundCase{.name = "another_alternative_leaves_hope",
                  .slices = {Valued({"a", "a"})},
                  .claims = {PendingClaim("c").FirstAvailable("r", {Ask("x").Count(3), Ask("y")})},
                  .hopeless = false},
        // Admin access takes what others have; counting it out would be wrong.
        BoundCase{.name = "admin_access_leaves_hope",
                  .slices = {Valued({"a"})},
                  .claims = {PendingClaim("c").Request(Ask("r")),
                             PendingClaim("d").Request(Ask("r").Admin())},
                  .hopeless = false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::allocator

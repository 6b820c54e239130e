// SPDX-License-Identifier: Apache-2.0
#include "allocator/best_fit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator/world_for_test.h"

namespace dray::allocator {
namespace {

using testing::AllocatedClaim;
using testing::Ask;
using testing::Device;
using testing::PendingClaim;
using testing::Slice;

struct TightCase {
  std::string name;
  std::vector<api::ResourceSlice> slices;
  std::vector<api::ResourceClaim> taken;
  std::vector<api::ResourceClaim> claims;
  std::string first_fit;
  std::string best_fit;
  friend void PrintTo(const TightCase& c, std::ostream* os) { *os << c.name; }
};
class BestFitTest : public ::testing::TestWithParam<TightCase> {};

TEST_P(BestFitTest, TakesTheTightPlaceFirst) {
  WorldForTest world;
  for (const api::ResourceSlice& slice : GetParam().slices) world.Put(slice);
  for (const api::ResourceClaim& claim : GetParam().taken) world.Taken(claim);
  EXPECT_EQ(world.Solve(GetParam().claims), GetParam().first_fit);
  EXPECT_EQ(world.Solve(GetParam().claims, {.policy = Policy::kBestFit}), GetParam().best_fit);
}

Slice Shared() {
  return Slice("s")
      .OnNode("n1")
      .With(Device("d0").Shared().Capacity("m", "8"))
      .With(Device("d1").Shared().Capacity("m", "8"))
      .With(Device("d2").Shared().Capacity("m", "4"));
}

// Two equal devices that can be had whole or in halves.
std::vector<api::ResourceSlice> Halves() {
  return {Slice("s")
              .OnNode("n1")
              .Of(2)
              .With(Device("a-whole").Consumes("a", {{"m", "2"}}))
              .With(Device("a-0").Consumes("a", {{"m", "1"}}))
              .With(Device("a-1").Consumes("a", {{"m", "1"}}))
              .With(Device("b-whole").Consumes("b", {{"m", "2"}}))
              .With(Device("b-0").Consumes("b", {{"m", "1"}}))
              .With(Device("b-1").Consumes("b", {{"m", "1"}})),
          Slice("t").OnNode("n1").Of(2).Counters("a", {{"m", "2"}}).Counters("b", {{"m", "2"}})};
}
Ask Half() { return Ask("r").Where("!device.name.contains('whole')"); }

INSTANTIATE_TEST_SUITE_P(
    Tight, BestFitTest,
    ::testing::Values(
        TightCase{.name = "equal_devices_in_search_order",
                  .slices = {Slice("s").OnNode("n1").With(Device("d0")).With(Device("d1"))},
                  .claims = {PendingClaim("c").Request(Ask("r"))},
                  .first_fit = "r=d0",
                  .best_fit = "r=d0"},
        TightCase{.name = "what_is_shared_already",
                  .slices = {Shared()},
                  .taken = {AllocatedClaim("t").Share("d1", {{"m", "2"}})},
                  .claims = {PendingClaim("c").Request(Ask("r").Capacity({{"m", "2"}}))},
                  .first_fit = "r=d0",
                  .best_fit = "r=d1"},
        TightCase{.name = "the_least_left_over",
                  .slices = {Shared()},
                  .claims = {PendingClaim("c").Request(Ask("r").Capacity({{"m", "4"}}))},
                  .first_fit = "r=d0",
                  .best_fit = "r=d2"},
        TightCase{.name = "what_this_attempt_has_begun",
                  .slices = {Shared()},
                  .claims = {PendingClaim("c")
                                 .Request(Ask("r").Capacity({{"m", "3"}}))
                                 .Request(Ask("s").Capacity({{"m", "1"}}))},
                  .first_fit = "r=d0 s=d0",
                  .best_fit = "r=d2 s=d2"},
        TightCase{.name = "a_counter_set_that_is_broken_open",
                  .slices = Halves(),
                  .taken = {AllocatedClaim("t").Exclusive("b-1")},
                  .claims = {PendingClaim("c").Request(Half())},
                  .first_fit = "r=a-0",
                  .best_fit = "r=b-0"},
        // So that the whole one stays for the next claim.
        TightCase{
            .name = "the_whole_stays_whole",
            .slices = Halves(),
            .taken = {AllocatedClaim("t").Exclusive("b-1")},
            .claims = {PendingClaim("c").Request(Half()),
                       PendingClaim("d").Request(Ask("w").Where("device.name.contains('whole')"))},
            .first_fit = "r=b-0 | w=a-whole",
            .best_fit = "r=b-0 | w=a-whole"},
        TightCase{
            .name = "goes_back_too",
            .slices = {Shared()},
            .claims = {PendingClaim("c")
                           .Request(Ask("r").Capacity({{"m", "4"}}))
                           .Request(Ask("s").Where("device.name == 'd2'").Capacity({{"m", "4"}}))},
            .first_fit = "r=d0 s=d2",
            .best_fit = "r=d0 s=d2"},
        TightCase{.name = "what_does_not_fit_does_not_fit",
                  .slices = {Shared()},
                  .claims = {PendingClaim("c").Request(Ask("r").Count(3).Capacity({{"m", "8"}}))},
                  .first_fit = "refused",
                  .best_fit = "refused"}),
    [](const auto& info) { return info.param.name; });

TEST(BestFit, AnErrorOfADeviceThatIsReachedIsAnErrorInAnyOrder) {
  WorldForTest world;
  world.Devices({Device("d0")});
  const Ask broken = Ask("r").Where("device.attributes['gpu.example.com'].gone == 1");
  EXPECT_EQ(world.Solve(broken, {.policy = Policy::kBestFit}), world.Solve(broken));
}

}  // namespace
}  // namespace dray::allocator

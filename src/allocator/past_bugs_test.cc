// SPDX-License-Identifier: Apache-2.0
//
// Bugs that Kubernetes had in this area, each with the case that showed it. Those of the ledger are
// here too as far as an allocation shows them: what is given twice is given by an allocation.
#include <gmock/gmock.h>
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

constexpr const char* kValue = "gpu.example.com/v";

// Each case with and without looking ahead: both take devices back, in different places.
std::string SolveBothWays(WorldForTest& world, const std::vector<api::ResourceClaim>& claims) {
  const std::string plain = world.Solve(claims, {.look_ahead = false});
  const std::string ahead = world.Solve(claims);
  EXPECT_EQ(plain, ahead);
  return ahead;
}

// A claim is released and allocated again while the first allocation is still on its way to the
// store; the late end of the first must not make the second's device free.
TEST(PastBugs, ADeviceReallocatedWhileInFlightIsNotGivenTwice) {
  WorldForTest world;
  world.Devices({Device("a")});
  const AllocatedClaim claim = AllocatedClaim("t").Exclusive("a");
  {
    auto first = world.ledger().Reserve(claim.Pending(), claim.allocation());
    ASSERT_TRUE(first.ok());
    world.Taken(claim);            // the first allocation is stored,
    world.Taken(claim.Pending());  // released again,
    EXPECT_EQ(world.Solve(Ask("r")), "r=a");
    auto second = world.ledger().Reserve(claim.Pending(), claim.allocation());
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(world.Solve(Ask("r")), "refused");
    first->Release();  // and only now does the first attempt hear of its end.
    EXPECT_EQ(world.Solve(Ask("r")), "refused") << "the second attempt has it";
    second->Commit();
  }
  EXPECT_EQ(world.Solve(Ask("r")), "refused");
}

// After a restart only claims are known. A share of a partition draws on the counters as an
// exclusive one does.
TEST(PastBugs, SharesDrawOnCountersAfterARestart) {
  WorldForTest world;
  world
      .Partitions(
          Slice("t").Counters("set", {{"m", "2"}}),
          {Device("shared").Shared().Consumes("set", {{"m", "1"}}),
           Device("a").Consumes("set", {{"m", "1"}}), Device("b").Consumes("set", {{"m", "1"}})})
      .Taken(AllocatedClaim("t").Share("shared"));
  const Ask partition = Ask("r").Where("!device.allowMultipleAllocations");
  EXPECT_EQ(world.Solve(partition), "r=a");
  EXPECT_EQ(world.Solve(Ask(partition).Count(2)), "refused");
}

// The first try takes the large partition and has to give all of it back.
TEST(PastBugs, CountersComeBackOnBacktracking) {
  WorldForTest world;
  world.Partitions(
      Slice("t").Counters("set", {{"m", "4"}}).Counters("other", {{"m", "1"}}),
      {Device("large").Consumes("set", {{"m", "3"}}).Consumes("other", {{"m", "1"}}),
       Device("a").Consumes("set", {{"m", "2"}}), Device("b").Consumes("set", {{"m", "2"}})});
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r")).Request(
                                     Ask("s").Where("device.name != 'large'"))}),
            "r=a s=b");
}

// A later share that is taken back leaves the charge of the first.
TEST(PastBugs, TakingBackALaterShareKeepsTheFirstOnesCharge) {
  WorldForTest world;
  world.Partitions(
      Slice("t").Counters("set", {{"m", "2"}}),
      {Device("shared").Shared().Consumes("set", {{"m", "1"}}),
       Device("a").Consumes("set", {{"m", "1"}}), Device("b").Consumes("set", {{"m", "1"}})});
  const Ask named_shared = Ask("r").Where("device.name == 'shared'");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(named_shared),
                                  PendingClaim("d").FirstAvailable(
                                      "s", {Ask("no").Count(3), Ask("two").Count(2)}),
                                  PendingClaim("e").Request(Ask("t").Where("device.name == 'b'"))}),
            "refused")
      << "shared and b leave no room for a";
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(named_shared),
                                  PendingClaim("e").Request(Ask("t").Where("device.name == 'b'"))}),
            "r=shared | t=b");
}

// [1,2] and [1] leave [1]; giving [1] back must bring [1,2] back, which [2] and [2] go with.
TEST(PastBugs, TheIntersectionOfListsIsRestoredOnBacktracking) {
  WorldForTest world;
  world.Devices({Device("a").Ints("v", {1, 2}), Device("b").Ints("v", {1}),
                 Device("c").Ints("v", {2}), Device("d").Ints("v", {2})});
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(3)).Match(kValue)}),
            "r=a r=c r=d");
}

// Compared with the last device only, the third would pass.
TEST(PastBugs, DistinctAttributeComparesWithEveryEarlierDevice) {
  WorldForTest world;
  world.Devices({Device("a").Int("v", 1), Device("b").Int("v", 2), Device("c").Int("v", 1),
                 Device("d").Int("v", 2), Device("e").Int("v", 3)});
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(3)).Distinct(kValue)}),
            "r=a r=b r=e");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(4)).Distinct(kValue)}),
            "refused");
  world.features.list_type_attributes = false;
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(3)).Distinct(kValue)}),
            "r=a r=b r=e");
}

// Two pools that both call their counter set "set".
TEST(PastBugs, CountersBelongToTheirPool) {
  WorldForTest world;
  for (const char* pool : {"p", "q"}) {
    const std::string name(pool);
    world.Put(Slice(name + "-devices")
                  .Pool(pool)
                  .OnNode("n1")
                  .Of(2)
                  .With(Device(name + "0").Consumes("set", {{"m", "1"}}))
                  .With(Device(name + "1").Consumes("set", {{"m", "1"}})));
    world.Put(
        Slice(name + "-counters").Pool(pool).OnNode("n1").Of(2).Counters("set", {{"m", "1"}}));
  }
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(2))}), "r=p0 r=q0");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").Count(3))}), "refused");
  world.Taken(AllocatedClaim("t").In("p").Exclusive("p1"));
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r"))}), "r=q0");
}

// Rounding up for one device changed the request itself, and the next device saw more asked.
TEST(PastBugs, RoundingDoesNotChangeTheRequest) {
  WorldForTest world;
  const api::CapacityRequestPolicy fives{
      .valid_range = api::CapacityRequestPolicyRange{.min = testing::ToQuantity("5"),
                                                     .step = testing::ToQuantity("5")}};
  const auto consumed = [&] {
    std::vector<std::string> amounts;
    for (const auto& device : world.results().front().devices.results) {
      amounts.push_back(device.consumed_capacity.begin()->second.ToString());
    }
    return amounts;
  };
  world.Devices(
      {Device("a").Shared().Capacity("m", "10", fives), Device("b").Shared().Capacity("m", "7")});
  const PendingClaim claim = PendingClaim("c").Request(Ask("r").Count(2).Capacity({{"m", "6"}}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(SolveBothWays(world, {claim}), "r=a r=b");
    EXPECT_THAT(consumed(), ::testing::ElementsAre("10", "6"));
  }
}

// All of two partitions that only fit one at a time; and all of those that do fit, with what is
// chosen before and after charged too.
TEST(PastBugs, ModeAllChargesCounters) {
  WorldForTest world;
  world.Partitions(Slice("t").Counters("set", {{"m", "3"}}),
                   {Device("a").Consumes("set", {{"m", "1"}}).Int("v", 1),
                    Device("b").Consumes("set", {{"m", "1"}}).Int("v", 1),
                    Device("c").Consumes("set", {{"m", "2"}}).Int("v", 2)});
  const Ask ones = Ask("all").All().Where("device.attributes['gpu.example.com'].v == 1");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r").All())}), "refused");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(ones)}), "all=a all=b");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(ones).Request(Ask("r"))}), "refused");
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c").Request(Ask("r")).Request(ones)}), "refused");
  // The first alternative takes a and b and fails behind them; they must be free again.
  EXPECT_EQ(SolveBothWays(world, {PendingClaim("c")
                                      .FirstAvailable("r", {Ask(ones), Ask("one")})
                                      .Request(Ask("s").Where("device.name == 'c'"))}),
            "r/one=a s=c");
}

}  // namespace
}  // namespace dray::allocator

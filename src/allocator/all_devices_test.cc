// SPDX-License-Identifier: Apache-2.0
//
// Mode All: docs/spec/allocator.md chapter 5.
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
using ::testing::Not;
using testing::PendingClaim;
using testing::Slice;
using ::testing::StartsWith;

constexpr const char* kBroken = "device.attributes['gpu.example.com'].gone == 1";

// Mode All: the set is everything that passes selectors and node, also what cannot be had.
TEST(AllDevices, IncludesWhatCannotBeHadAndThenFails) {
  const auto solve = [](WorldForTest& world) { return world.Solve(Ask("r").All()); };
  WorldForTest fine;
  fine.Devices({Device("a"), Device("b")});
  EXPECT_EQ(solve(fine), "r=a r=b");
  WorldForTest taken;
  taken.Devices({Device("a"), Device("b")}).Taken(AllocatedClaim("t").Exclusive("b"));
  EXPECT_EQ(solve(taken), "refused");
  EXPECT_EQ(taken.Solve(Ask("r").All().Admin()), "r=a r=b");
  WorldForTest tainted;
  tainted.Devices({Device("a"), Device("b").Taint("t")});
  EXPECT_EQ(solve(tainted), "refused");
  WorldForTest skipping;
  skipping.Devices({Device("a")})
      .Put(Slice("t").Pool("q").OnNode("n1").SkipsNodeOperations().With(Device("b")));
  EXPECT_EQ(solve(skipping), "refused");
}

TEST(AllDevices, LeavesOutDevicesOfOtherNodesAndWithoutTheCapacity) {
  WorldForTest world;
  world.Put(Slice("s")
                .PerDevice()
                .With(Device("a").OnNode("n1").Capacity("m", "8"))
                .With(Device("b").OnNode("n2").Capacity("m", "8"))
                .With(Device("c").OnNode("n1").Capacity("m", "2"))
                .With(Device("d").OnNode("n1")));
  EXPECT_EQ(world.Solve(Ask("r").All().Capacity({{"m", "3"}})), "r=a");
  EXPECT_EQ(world.Solve(Ask("r").All()), "r=a r=c r=d");
}

// KEP-5075: All fails if a device that matches and has the capacity, with a value as large as is
// asked for, cannot be allocated. To leave it out would give a part of what "all" means.
TEST(AllDevices, ADeviceWhosePolicyHasNoSuchAmountMakesItFail) {
  const auto with_policy = [](std::string_view name, std::string_view max) {
    api::Device device = Device(name).Capacity("m", "8");
    api::CapacityRequestPolicy policy;
    policy.default_value = testing::ToQuantity("1");
    policy.valid_range.emplace();
    policy.valid_range->min = testing::ToQuantity("1");
    policy.valid_range->max = testing::ToQuantity(max);
    device.capacity["m"].request_policy = policy;
    return device;
  };
  WorldForTest world;
  world.Devices({with_policy("a", "8"), with_policy("b", "4")});
  EXPECT_EQ(world.Solve(Ask("r").All().Capacity({{"m", "4"}})), "r=a r=b");
  EXPECT_EQ(world.Solve(Ask("r").All().Capacity({{"m", "5"}})), "refused");
  EXPECT_EQ(world.Solve(Ask("r").Capacity({{"m", "5"}})), "r=a");
  EXPECT_EQ(world.Solve(Ask("r").All().Capacity({{"m", "9"}})), "refused") << "none has as much";
}

TEST(AllDevices, OfNoneIsARefusal) {
  WorldForTest world;
  world.Devices({Device("a")});
  EXPECT_EQ(world.Solve(Ask("r").All().Where("false")), "refused");
}

TEST(AllDevices, ASelectorErrorOnAnyOfThemIsAnErrorEvenInUse) {
  WorldForTest world;
  world.Devices({Device("a").Int("gone", 1), Device("b")})
      .Taken(AllocatedClaim("t").Exclusive("b"));
  EXPECT_THAT(world.Solve(Ask("r").All().Where(kBroken)),
              AllOf(StartsWith("error: claim ns/c: request r"), HasSubstr("pool/b")));
}

TEST(AllDevices, MoreThanThirtyTwoAreTooManyUnlessAnAlternativeHasFewer) {
  WorldForTest world;
  std::vector<api::Device> devices;
  for (int i = 0; i < 33; ++i) devices.push_back(Device("d" + std::to_string(i)));
  world.Devices(devices);
  EXPECT_EQ(world.Solve(Ask("r").All()),
            "error: claim ns/c: it asks for 33 devices; one claim can have at most 32");
  EXPECT_EQ(world.Solve(PendingClaim("c").FirstAvailable("r", {Ask("all").All(), Ask("one")})),
            "r/one=d0");
}

// docs/decisions.md: Kubernetes stops the pod on every node.
TEST(AllDevices, AnIncompleteOrInvalidPoolIsAnErrorOfThisNode) {
  WorldForTest incomplete;
  incomplete.Devices({Device("a")})
      .Put(Slice("t").Pool("other").Of(2).OnNode("n1").With(Device("b")));
  EXPECT_THAT(incomplete.Solve(Ask("r").All()),
              AllOf(StartsWith("error on this node: claim ns/c: request r: all devices are asked "
                               "for, but pool gpu.example.com/other is incomplete"),
                    Not(HasSubstr("invalid"))));
  EXPECT_THAT(
      incomplete.Solve(PendingClaim("c").FirstAvailable("r", {Ask("one"), Ask("all").All()})),
      StartsWith("error on this node"))
      << "even as a later alternative";
  EXPECT_EQ(incomplete.Solve(Ask("r")), "r=a");
  WorldForTest invalid;
  invalid.Devices({Device("a"), Device("a")});
  EXPECT_THAT(invalid.Solve(Ask("r").All()),
              AllOf(StartsWith("error on this node"), HasSubstr("is invalid")));
}

}  // namespace
}  // namespace dray::allocator

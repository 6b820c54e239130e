// SPDX-License-Identifier: Apache-2.0
#include "allocator/residual.h"

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

// The fingerprint of what a choice of devices for the first request leaves to the rest.
class ResidualTest : public ::testing::Test {
 protected:
  void Prepare(const std::vector<api::ResourceClaim>& claims) {
    plan_ = world_.PlanOf(claims);
    ASSERT_TRUE(attempt_.Prepare(*plan_, world_.Usage(), cache_).status.ok());
    state_.Reset(attempt_);
    values_.Reset(attempt_, work_);
    residual_.Reset(attempt_, state_, values_, work_);
    state_.EnterClaim(0);
  }
  std::uint32_t Index(std::string_view name) {
    const auto devices = world_.usage().devices().devices();
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      if (world_.dictionary().View(devices[d].row->name) == name) return d;
    }
    ADD_FAILURE() << "no device " << name;
    return 0;
  }
  Fingerprint After(const std::vector<std::string>& devices) {
    for (const std::string& device : devices) EXPECT_TRUE(state_.TryPlace(0, Index(device)));
    base::BitSet open(plan_->requests().size(), true);
    open.Reset(0);
    const Fingerprint f = residual_.Of(state_, {.open = &open});
    for (std::size_t i = 0; i < devices.size(); ++i) state_.TakeBack();
    return f;
  }

  WorldForTest world_;
  std::shared_ptr<const Plan> plan_;
  VerdictCache cache_;
  Attempt attempt_;
  State state_;
  ConstraintValues values_;
  WorkMeter work_;
  Residual residual_;
};

// Three devices that match are asked for: a value that fewer than three have is never common.
TEST_F(ResidualTest, ValuesThatTooFewDevicesHaveAreNotKept) {
  std::vector<api::Device> devices;
  for (const std::string name : {"a", "b", "c", "d"}) {
    devices.push_back(Device(name).Strings("v", {name, name + name, "shared"}));
  }
  devices.push_back(Device("e").Strings("v", {"a", "aa"}));
  world_.Devices(std::move(devices));
  Prepare({PendingClaim("c").Request(Ask("r")).Request(Ask("s").Count(2)).Match(kValue)});
  EXPECT_EQ(values_[0].elements.size(), 1U);
}

TEST_F(ResidualTest, EqualDevicesStandForEachOther) {
  world_.Devices({Device("a"), Device("b"), Device("c").Capacity("m", "1").Shared()});
  Prepare({PendingClaim("c").Request(Ask("r").Count(2)).Request(Ask("s"))});
  EXPECT_EQ(residual_.symmetry().class_of(Index("a")), residual_.symmetry().class_of(Index("b")));
  EXPECT_NE(residual_.symmetry().class_of(Index("a")), residual_.symmetry().class_of(Index("c")));
  EXPECT_EQ(After({"a"}), After({"b"}));
  EXPECT_NE(After({"a"}), After({"c"}));
  EXPECT_NE(After({"a"}), After({"a", "b"}));
}

TEST_F(ResidualTest, DevicesThatARequestTellsApartDoNot) {
  world_.Devices({Device("a"), Device("b")});
  Prepare({PendingClaim("c").Request(Ask("r")).Request(Ask("s").Where("device.name == 'a'"))});
  EXPECT_NE(After({"a"}), After({"b"}));
}

// Two NUMA nodes with the same content: which of them is begun does not matter, how far does.
TEST_F(ResidualTest, EqualComponentsStandForEachOther) {
  std::vector<api::Device> devices;
  for (const char* name : {"a0", "a1", "b0", "b1"}) {
    devices.push_back(Device(name).String("v", std::string(1, name[0])));
  }
  devices.push_back(Device("c0").String("v", "c"));
  world_.Devices(devices);
  Prepare({PendingClaim("c").Request(Ask("r").Count(2)).Request(Ask("s")).Match(kValue, {"s"}),
           PendingClaim("d").Request(Ask("t")).Match(kValue)});
  EXPECT_EQ(After({"a0"}), After({"b1"}));
  EXPECT_EQ(After({"a0", "a1"}), After({"b0", "b1"}));
  EXPECT_NE(After({"a0", "a1"}), After({"a0", "b0"}));
  EXPECT_NE(After({"a0"}), After({"c0"})) << "another content";
}

TEST_F(ResidualTest, AValueThatIsMetIsRemembered) {
  std::vector<api::Device> devices;
  for (const char* name : {"a0", "a1", "b0", "b1"}) {
    devices.push_back(Device(name).String("v", std::string(1, name[0])));
  }
  world_.Devices(devices);
  Prepare({PendingClaim("c").Request(Ask("r")).Request(Ask("s")).Match(kValue)});
  EXPECT_EQ(After({"a0"}), After({"a1"}));
  EXPECT_EQ(After({"a0"}), After({"b0"})) << "one of two, and the value is that of its own devices";
}

TEST_F(ResidualTest, WhatIsLeftOfCountersCounts) {
  world_.Partitions(
      Slice("t").Counters("x", {{"m", "3"}}).Counters("y", {{"m", "3"}}),
      {Device("x1").Consumes("x", {{"m", "1"}}), Device("x2").Consumes("x", {{"m", "2"}}),
       Device("y1").Consumes("y", {{"m", "1"}}), Device("y2").Consumes("y", {{"m", "2"}})});
  Prepare({PendingClaim("c").Request(Ask("r").Count(2)).Request(Ask("s"))});
  EXPECT_EQ(After({"x1"}), After({"y1"}));
  EXPECT_NE(After({"x1"}), After({"x2"}));
  EXPECT_EQ(After({"x1", "y2"}), After({"x2", "y1"}));
}

// The same partitions, but one set began with more.
TEST_F(ResidualTest, SetsThatHaveDifferentAmountsDoNotStandForEachOther) {
  world_.Partitions(
      Slice("t").Counters("x", {{"m", "1"}}).Counters("y", {{"m", "2"}}),
      {Device("x0").Consumes("x", {{"m", "1"}}), Device("x1").Consumes("x", {{"m", "1"}}),
       Device("y0").Consumes("y", {{"m", "1"}}), Device("y1").Consumes("y", {{"m", "1"}})});
  Prepare({PendingClaim("c").Request(Ask("r")).Request(Ask("s").Count(2))});
  EXPECT_EQ(After({"x0"}), After({"x1"}));
  EXPECT_NE(After({"x0"}), After({"y0"})) << "x is used up, y is not";
}

TEST_F(ResidualTest, SharesCountByWhatTheyLeave) {
  world_.Devices(
      {Device("a").Shared().Capacity("m", "8"), Device("b").Shared().Capacity("m", "8")});
  Prepare({PendingClaim("c")
               .Request(Ask("r").Capacity({{"m", "3"}}))
               .Request(Ask("s").Capacity({{"m", "5"}}))});
  EXPECT_EQ(After({"a"}), After({"b"}));
  EXPECT_NE(After({"a"}), After({"a", "b"}));
}

// The limit of devices is one for the whole claim, whatever its requests have in common besides.
TEST_F(ResidualTest, RequestsThatMayPassTheLimitTogetherAreNotSearchedApart) {
  std::vector<api::Device> devices;
  for (int i = 0; i < 20; ++i) {
    devices.push_back(Device("a" + std::to_string(i)));
    devices.push_back(Device("b" + std::to_string(i)));
  }
  world_.Devices(devices);
  const auto claim = [](std::int64_t much, std::int64_t less) {
    const std::string a = "device.name.startsWith('a')";
    const std::string b = "device.name.startsWith('b')";
    return PendingClaim("c")
        .FirstAvailable("r", {Ask("m").Where(a).Count(much), Ask("l").Where(a).Count(less)})
        .FirstAvailable("s", {Ask("m").Where(b).Count(much), Ask("l").Where(b).Count(less)});
  };
  Prepare({claim(20, 10)});
  EXPECT_EQ(
      IndependentRequests(attempt_, residual_.symmetry(), residual_.components(), work_).size(),
      1u);
  Prepare({claim(16, 10)});
  EXPECT_EQ(
      IndependentRequests(attempt_, residual_.symmetry(), residual_.components(), work_).size(),
      2u);
}

// Lists where lists do not count: only the first device may have one, and no fingerprint says so.
TEST_F(ResidualTest, IsNotUsableForListsInScalarMode) {
  world_.features.list_type_attributes = false;
  world_.Devices({Device("a").Strings("v", {"x"}), Device("b").String("v", "x")});
  Prepare({PendingClaim("c").Request(Ask("r").Count(2)).Match(kValue)});
  EXPECT_FALSE(residual_.usable());
  Prepare({PendingClaim("c").Request(Ask("r").Count(2))});
  EXPECT_TRUE(residual_.usable()) << "no constraint asks";
}

}  // namespace
}  // namespace dray::allocator

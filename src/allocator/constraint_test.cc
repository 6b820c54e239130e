// SPDX-License-Identifier: Apache-2.0
#include "allocator/constraint.h"

#include <gtest/gtest.h>

#include "allocator/world_for_test.h"
#include "testing/request_builder.h"
#include "testing/slice_builder.h"

namespace dray::allocator {
namespace {

using testing::Ask;
using testing::Device;
using testing::PendingClaim;

// KEP-5075 wants exactly one. Somebody may have stored both before that was refused.
TEST(Constraint, OneWithMatchAndDistinctHoldsBoth) {
  const auto solve = [](const char* left, const char* right) {
    WorldForTest world;
    world.Devices({Device("a").String("numa", "0").String("side", "l"),
                   Device("b").String("numa", left).String("side", right)});
    api::ResourceClaim claim = PendingClaim("c").Request(Ask("r").Count(2));
    api::DeviceConstraint& constraint = claim.spec.devices.constraints.emplace_back();
    constraint.match_attribute = "gpu.example.com/numa";
    constraint.distinct_attribute = "gpu.example.com/side";
    return world.Solve(std::vector<api::ResourceClaim>{claim});
  };
  EXPECT_EQ(solve("0", "r"), "r=a r=b");
  EXPECT_EQ(solve("0", "l"), "refused") << "distinct";
  EXPECT_EQ(solve("1", "r"), "refused") << "match";
}

TEST(Constraint, EveryTypeHasAFieldOfItsOwn) {
  api::DeviceConstraint none;
  for (const ConstraintType* type : ConstraintTypes()) {
    EXPECT_FALSE(type->AttributeOf(none).has_value()) << type->field();
    for (const ConstraintType* other : ConstraintTypes()) {
      EXPECT_EQ(type == other, type->field() == other->field());
    }
  }
}

}  // namespace
}  // namespace dray::allocator

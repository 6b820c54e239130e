// SPDX-License-Identifier: Apache-2.0
#include "allocator/policy.h"

#include <gtest/gtest.h>

#include "allocator/search.h"

namespace dray::allocator {
namespace {

TEST(Policies, EachIsFoundByItsNameAndNothingElseIs) {
  for (const PolicyRow& row : Policies()) {
    EXPECT_EQ(FindPolicy(row.name), row.policy);
    EXPECT_EQ(RowOf(row.policy).name, row.name);
  }
  EXPECT_EQ(FindPolicy("worst-fit"), std::nullopt);
  EXPECT_EQ(FindPolicy(""), std::nullopt);
}

TEST(Policies, TheFirstIsTheOneThatIsMeantWhenNobodySays) {
  EXPECT_EQ(Policies().front().policy, SearchOptions().policy);
  EXPECT_EQ(PolicyNames(" or "), "first-fit or best-fit or fragmentation");
}

}  // namespace
}  // namespace dray::allocator

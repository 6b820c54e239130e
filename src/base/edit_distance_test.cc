// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dray::base {
namespace {

TEST(EditDistance, CountsSingleChanges) {
  EXPECT_EQ(EditDistance("", "", 5), 0u);
  EXPECT_EQ(EditDistance("abc", "abc", 5), 0u);
  EXPECT_EQ(EditDistance("abc", "abd", 5), 1u);
  EXPECT_EQ(EditDistance("abc", "ab", 5), 1u);
  EXPECT_EQ(EditDistance("abc", "xabc", 5), 1u);
  EXPECT_EQ(EditDistance("abc", "acb", 5), 1u);  // neighbours swapped
  EXPECT_EQ(EditDistance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(EditDistance("", "abc", 5), 3u);
}

TEST(EditDistance, StopsAtTheLimit) {
  EXPECT_EQ(EditDistance("kitten", "sitting", 2), 3u);
  EXPECT_EQ(EditDistance("aaaaaaaa", "bbbbbbbb", 2), 3u);
  EXPECT_EQ(EditDistance("a", std::string(1000, 'b'), 2), 3u);
}

TEST(ClosestMatch, FindsTheMeantWord) {
  const std::vector<std::string_view> fields = {"allocationMode", "count", "deviceClassName",
                                                "selectors", "adminAccess"};
  EXPECT_EQ(ClosestMatch("deviceClasName", fields), "deviceClassName");
  EXPECT_EQ(ClosestMatch("selector", fields), "selectors");
  EXPECT_EQ(ClosestMatch("conut", fields), "count");
  EXPECT_EQ(ClosestMatch("count", fields), "count");
  EXPECT_EQ(ClosestMatch("DEVICECLASSNAME", fields), "deviceClassName");
}

TEST(ClosestMatch, OfEquallyNearOnesTakesTheOneThatDiffersLeastInLettersThenTheFirst) {
  const std::vector<std::string_view> words = {"bbc", "ABC", "abd"};
  EXPECT_EQ(ClosestMatch("abc", words), "ABC");
  const std::vector<std::string_view> twins = {"abd", "abe"};
  EXPECT_EQ(ClosestMatch("abc", twins), "abd");
}

TEST(ClosestMatch, NonsenseGivesNothing) {
  const std::vector<std::string_view> fields = {"allocationMode", "count", "x"};
  EXPECT_EQ(ClosestMatch("banana", fields), std::nullopt);
  EXPECT_EQ(ClosestMatch("", fields), std::nullopt);
  EXPECT_EQ(ClosestMatch("q", fields), std::nullopt);
  EXPECT_EQ(ClosestMatch(std::string(100000, 'c'), fields), std::nullopt);
  EXPECT_EQ(ClosestMatch("count", {}), std::nullopt);
}

}  // namespace
}  // namespace dray::base

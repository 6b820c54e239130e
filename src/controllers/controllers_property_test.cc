// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "controllers/history_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAreArray;

using Texts = std::vector<std::string>;

// What only one of the two has, so that a failure shows no more than that. Both are sorted.
std::pair<Texts, Texts> Differences(const Texts& a, const Texts& b) {
  Texts only_a;
  Texts only_b;
  std::ranges::set_difference(a, b, std::back_inserter(only_a));
  std::ranges::set_difference(b, a, std::back_inserter(only_b));
  return {only_a, only_b};
}

class ControllersProperty : public ::testing::TestWithParam<std::uint64_t> {};

// Whatever fails on the way, and whenever controllers are replaced by new ones: what is stored in
// the end is the same, after every single deed; and then there is nothing left to do.
TEST_P(ControllersProperty, DisturbancesChangeNothingInTheEnd) {
  const std::vector<Deed> deeds = RandomDeeds(GetParam(), 40);
  Life peaceful(GetParam(), 0);
  Life disturbed(GetParam(), 25);
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    SCOPED_TRACE("deed " + std::to_string(i) + " of kind " +
                 std::to_string(static_cast<int>(deeds[i].kind)));
    peaceful.Do(deeds[i]);
    disturbed.Do(deeds[i]);
    const auto [here, there] = Differences(disturbed.Rest(), peaceful.Rest());
    ASSERT_THAT(here, ElementsAreArray(there));
    ASSERT_EQ(disturbed.WritesOfNewcomers(), 0u);
  }
}

// Otherwise the test above would say nothing.
TEST(Life, IsDisturbedWhenAskedTo) {
  Life life(1, 25);
  for (const Deed& deed : RandomDeeds(1, 40)) life.Do(deed);
  EXPECT_GT(life.disturbed(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ControllersProperty, ::testing::Range<std::uint64_t>(0, 60));

}  // namespace
}  // namespace dray::controllers

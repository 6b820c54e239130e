// SPDX-License-Identifier: Apache-2.0
#include "allocator/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace dray::allocator {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Packing, WhatOnePlaceTakesOfOneKindItDoesNotTakeOfTheOther) {
  Packing packing;
  ASSERT_TRUE(packing.Reset(Numbers{2, 2}, 100));
  const Numbers either = {2, 0, 0, 1};
  ASSERT_TRUE(packing.Add(either, 1'000));
  ASSERT_TRUE(packing.Add(either, 1'000));
  EXPECT_FALSE(packing.Fits());
  ASSERT_TRUE(packing.Add(either, 1'000));
  EXPECT_TRUE(packing.Fits());
}

TEST(Packing, SaysWhenThereIsTooMuchToLookAt) {
  Packing packing;
  EXPECT_FALSE(packing.Reset(Numbers{9, 9, 9}, 99));
  ASSERT_TRUE(packing.Reset(Numbers{9, 9, 9}, 100));
  EXPECT_FALSE(packing.Add(Numbers{1, 1, 1}, 0));
}

TEST(Packing, AgreesWithTryingEverything) {
  std::mt19937 random(20251115);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t kinds = 1 + random() % 3;
    Numbers needs;
    for (std::size_t k = 0; k < kinds; ++k) needs.push_back(random() % 5);
    std::vector<Numbers> places(1 + random() % 4);
    for (Numbers& options : places) {
      for (std::size_t i = 0; i < kinds * (1 + random() % 3); ++i) options.push_back(random() % 3);
    }
    std::function<bool(std::size_t, Numbers)> fits = [&](std::size_t place, Numbers left) {
      if (place == places.size()) {
        return std::ranges::all_of(left, [](std::uint32_t n) { return n == 0; });
      }
      for (std::size_t first = 0; first < places[place].size(); first += kinds) {
        Numbers after = left;
        for (std::size_t k = 0; k < kinds; ++k) {
          after[k] -= std::min(after[k], places[place][first + k]);
        }
        if (fits(place + 1, after)) return true;
      }
      return false;
    };
    Packing packing;
    ASSERT_TRUE(packing.Reset(needs, 1'000));
    for (const Numbers& options : places) ASSERT_TRUE(packing.Add(options, 1'000'000));
    ASSERT_EQ(packing.Fits(), fits(0, needs)) << "round " << round;
  }
}

}  // namespace
}  // namespace dray::allocator

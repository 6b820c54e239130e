// SPDX-License-Identifier: Apache-2.0
#include "logs/limiter.h"

#include <gtest/gtest.h>

#include <string>

namespace dray::logs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Limiter, TheFirstAtOnceThenOneNowAndThen) {
  Limiter limiter({.burst = 3, .every = seconds(1)});
  const std::chrono::nanoseconds start = seconds(100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Allow("a", start), 0u);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(limiter.Allow("a", start + milliseconds(999)), std::nullopt);
  EXPECT_EQ(limiter.Allow("a", start + milliseconds(1000)), 5u);
  EXPECT_EQ(limiter.Allow("a", start + milliseconds(1999)), std::nullopt);
  EXPECT_EQ(limiter.Allow("a", start + milliseconds(2001)), 1u);
}

TEST(Limiter, ARestGivesTheWholeBurstAgain) {
  Limiter limiter({.burst = 2, .every = seconds(1)});
  EXPECT_EQ(limiter.Allow("a", seconds(0)), 0u);
  EXPECT_EQ(limiter.Allow("a", seconds(0)), 0u);
  EXPECT_EQ(limiter.Allow("a", seconds(0)), std::nullopt);
  EXPECT_EQ(limiter.Allow("a", seconds(1'000'000)), 1u);
  EXPECT_EQ(limiter.Allow("a", seconds(1'000'000)), 0u);
  EXPECT_EQ(limiter.Allow("a", seconds(1'000'000)), std::nullopt);
}

TEST(Limiter, NamesDoNotDisturbEachOtherAndAreFew) {
  Limiter limiter({.burst = 1, .every = seconds(1), .names = 3});
  EXPECT_EQ(limiter.Allow("a", seconds(0)), 0u);
  EXPECT_EQ(limiter.Allow("b", seconds(0)), 0u);
  EXPECT_EQ(limiter.Allow("c", seconds(0)), 0u);
  // From here on all share a place.
  int told = 0;
  for (int i = 0; i < 100; ++i) told += limiter.Allow(std::to_string(i), seconds(0)) ? 1 : 0;
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(limiter.Allow("a", seconds(1)));
}

}  // namespace
}  // namespace dray::logs

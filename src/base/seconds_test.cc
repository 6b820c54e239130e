// SPDX-License-Identifier: Apache-2.0
#include "base/seconds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/time.h"

namespace dray::base {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Seconds, AreWhatIsWrittenUpToAHundredYears) {
  EXPECT_EQ(BoundedSeconds(0).count(), 0);
  EXPECT_EQ(BoundedSeconds(30).count(), 30);
  EXPECT_EQ(BoundedSeconds(-30).count(), -30);
  EXPECT_EQ(BoundedSeconds(kMost), kLongestTime);
  EXPECT_EQ(BoundedSeconds(kLeast), -kLongestTime);
  EXPECT_EQ(Bounded(std::chrono::nanoseconds::max()), kLongestTime);
  EXPECT_EQ(Bounded(std::chrono::nanoseconds::min()), -kLongestTime);
  EXPECT_EQ(Bounded(std::chrono::nanoseconds(7)), std::chrono::nanoseconds(7));
}

// 2^63 ns are 292 years: a hundred of them leave room for any clock of this century.
TEST(Seconds, CanBeAddedToAnyClock) {
  const std::chrono::nanoseconds most = BoundedSeconds(kMost);
  EXPECT_GT(most, std::chrono::nanoseconds(0));
  EXPECT_GT(std::chrono::system_clock::now() + most, std::chrono::system_clock::now());
  EXPECT_GT(std::chrono::steady_clock::now() + most, std::chrono::steady_clock::now());
  const Time now = Time::FromUnix(1'900'000'000);
  EXPECT_GT(now + most, now);
  EXPECT_LT(now - most, now);
  EXPECT_LT((now + most).ToRfc3339(), "2200");
}

}  // namespace
}  // namespace dray::base

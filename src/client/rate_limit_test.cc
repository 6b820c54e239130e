// SPDX-License-Identifier: Apache-2.0
#include "client/internal/rate_limit.h"

#include <gtest/gtest.h>

namespace dray::client::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(RateLimit, WithoutALimitNobodyWaits) {
  RateLimit limit(0, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.Take(RateLimit::Time(seconds(1))), nanoseconds(0));
}

TEST(RateLimit, ABurstGoesAtOnceAndThenSoManyASecond) {
  RateLimit limit(10, 3);
  const RateLimit::Time begin(seconds(100));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take(begin), nanoseconds(0));
  // Whoever comes now waits behind those that wait already.
  EXPECT_EQ(limit.Take(begin), milliseconds(100));
  EXPECT_EQ(limit.Take(begin), milliseconds(200));
  // After a while the two have gone, and there is one more.
  EXPECT_EQ(limit.Take(begin + milliseconds(300)), nanoseconds(0));
  EXPECT_EQ(limit.Take(begin + milliseconds(300)), milliseconds(100));
  // Who does not ask for long saves a burst, not more.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take(begin + seconds(60)), nanoseconds(0));
  EXPECT_GT(limit.Take(begin + seconds(60)), nanoseconds(0));
}

}  // namespace
}  // namespace dray::client::internal

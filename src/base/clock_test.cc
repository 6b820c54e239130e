// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dray::base {
namespace {

using std::chrono::seconds;

TEST(ManualClock, StandsStillUntilMoved) {
  ManualClock clock(Time::FromUnix(100));
  EXPECT_EQ(clock.Now(), Time::FromUnix(100));
  EXPECT_EQ(clock.Now(), Time::FromUnix(100));
  clock.Advance(seconds(5));
  EXPECT_EQ(clock.Now(), Time::FromUnix(105));
  EXPECT_EQ(clock.Monotonic(), seconds(5));
}

TEST(ManualClock, SettingTheWallClockBackLeavesTheMonotonicOneAlone) {
  ManualClock clock(Time::FromUnix(100));
  clock.Advance(seconds(1));
  clock.SetNow(Time());
  EXPECT_EQ(clock.Now(), Time());
  EXPECT_EQ(clock.Monotonic(), seconds(1));
}

TEST(ManualClock, IsMovedBySeveralThreadsAtOnce) {
  ManualClock clock;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&clock] {
        for (int j = 0; j < 1000; ++j) clock.Advance(std::chrono::milliseconds(1));
      });
    }
  }
  EXPECT_EQ(clock.Now(), Time::FromUnix(4));
}

TEST(SystemClock, IsAfterThisWasWrittenAndDoesNotGoBack) {
  const SystemClock clock;
  EXPECT_GT(clock.Now(), Time::FromUnix(1'700'000'000));
  const auto before = clock.Monotonic();
  EXPECT_GE(clock.Monotonic(), before);
}

}  // namespace
}  // namespace dray::base

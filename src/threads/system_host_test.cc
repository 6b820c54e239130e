// SPDX-License-Identifier: Apache-2.0
#include "threads/system_host.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace dray::threads {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(SystemHostTest, WhoHasRungBeforeDoesNotLetTheNextOneSleep) {
  const auto alarm = TheSystemHost().MakeAlarm();
  alarm->Ring();
  alarm->Sleep();
  const auto began = std::chrono::steady_clock::now();
  alarm->Sleep(milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(20));
}

TEST(SystemHostTest, WhoSleepsIsWokenFromElsewhere) {
  const auto alarm = TheSystemHost().MakeAlarm();
  std::atomic<bool> awake = false;
  {
    const auto running = TheSystemHost().Start([&] {
      alarm->Sleep(hours(1));
      awake = true;
    });
    EXPECT_FALSE(awake);
    alarm->Ring();
  }
  // Its end was waited for.
  EXPECT_TRUE(awake);
}

}  // namespace
}  // namespace dray::threads

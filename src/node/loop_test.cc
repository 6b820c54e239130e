// SPDX-License-Identifier: Apache-2.0
#include "node/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace dray::node {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;

TEST(Loop, DoesThingsInTheirOrder) {
  base::ManualClock clock;
  Loop loop(clock);
  std::vector<std::string> done;
  const Loop::Timer b = loop.After(2s, [&] { done.push_back("b"); });
  const Loop::Timer c = loop.After(2s, [&] { done.push_back("c"); });
  const Loop::Timer a = loop.After(1s, [&] {
    done.push_back("a");
    loop.Post([&] { done.push_back("posted by a"); });
  });
  loop.Post([&] { done.push_back("first"); });
  loop.RunDue();
  EXPECT_THAT(done, ElementsAre("first"));
  RunFor(loop, clock, 2s);
  EXPECT_THAT(done, ElementsAre("first", "a", "posted by a", "b", "c"));
}

// Not a time so far away that it has come round.
TEST(Loop, TheLongestTimeThereIsIsNotOver) {
  base::ManualClock clock;
  clock.Advance(1h);
  Loop loop(clock);
  int rung = 0;
  const Loop::Timer timer = loop.After(std::chrono::nanoseconds::max(), [&] { ++rung; });
  RunFor(loop, clock, 24h);
  EXPECT_EQ(rung, 0);
  EXPECT_TRUE(timer.pending());
}

TEST(Loop, ATimerThatGoesDoesNothing) {
  base::ManualClock clock;
  Loop loop(clock);
  int rung = 0;
  {
    const Loop::Timer gone = loop.After(1s, [&] { ++rung; });
    EXPECT_TRUE(gone.pending());
  }
  Loop::Timer moved = loop.After(1s, [&] { rung += 10; });
  moved = loop.After(2s, [&] { rung += 100; });
  RunFor(loop, clock, 3s);
  EXPECT_EQ(rung, 100);
  EXPECT_FALSE(moved.pending());
  EXPECT_EQ(loop.NextDue(), std::nullopt);
}

TEST(Loop, ATimerMaySetItselfAgain) {
  base::ManualClock clock;
  Loop loop(clock);
  int rung = 0;
  Loop::Timer timer;
  std::function<void()> ring = [&] {
    ++rung;
    timer = loop.After(1s, ring);
  };
  ring();
  RunFor(loop, clock, 10s);
  EXPECT_EQ(rung, 11);
}

TEST(Loop, RunsUntilItIsStopped) {
  const base::SystemClock clock;
  Loop loop(clock);
  int done = 0;
  Loop::Timer timer = loop.After(5ms, [&] { ++done; });
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) loop.Post([&] { ++done; });
    std::this_thread::sleep_for(50ms);
    loop.Stop();
  });
  loop.Run();
  other.join();
  EXPECT_EQ(done, 101);
}

}  // namespace
}  // namespace dray::node

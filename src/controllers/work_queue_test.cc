// SPDX-License-Identifier: Apache-2.0
#include "controllers/work_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "api/pod.h"

namespace dray::controllers {
namespace {

using namespace std::chrono_literals;

ObjectKey Key(std::string_view name) { return ObjectKey::Of<api::Pod>("ns", name); }

class WorkQueueTest : public ::testing::Test {
 protected:
  std::vector<std::string> PopAll() {
    std::vector<std::string> names;
    while (const auto key = queue_.Pop()) names.push_back(key->name);
    return names;
  }
  base::ManualClock clock_;
  WorkQueue queue_{clock_};
};

using Names = std::vector<std::string>;

TEST_F(WorkQueueTest, AKeyComesOnceHoweverOftenItWasAdded) {
  queue_.Add(Key("b"));
  queue_.Add(Key("a"));
  queue_.Add(Key("b"));
  EXPECT_EQ(PopAll(), (Names{"b", "a"}));
  queue_.Add(Key("b"));
  EXPECT_EQ(PopAll(), Names{"b"});
}

TEST_F(WorkQueueTest, NamespacesTakeTurns) {
  for (const std::string_view name : {"1", "2", "3"}) queue_.Add(Key(name));
  queue_.Add(ObjectKey::Of<api::Pod>("other", "4"));
  queue_.Add(ObjectKey::Of<api::Pod>("third", "5"));
  EXPECT_EQ(queue_.Ready(), 5u);
  EXPECT_EQ(PopAll(), (Names{"1", "4", "5", "2", "3"}));
  EXPECT_EQ(queue_.Ready(), 0u);
}

TEST_F(WorkQueueTest, SaysHowMuchThereIsToDoAndHowLongItWaited) {
  queue_.Add(Key("a"));
  clock_.Advance(2s);
  queue_.Add(Key("b"));
  queue_.Add(Key("b"));
  EXPECT_EQ(queue_.statistics().depth, 2u);
  EXPECT_EQ(queue_.statistics().adds, 2u);
  clock_.Advance(1s);
  ASSERT_TRUE(queue_.Pop());
  EXPECT_EQ(queue_.waited(), 3s);
  ASSERT_TRUE(queue_.Pop());
  EXPECT_EQ(queue_.waited(), 1s);
  queue_.Retry(Key("b"));
  EXPECT_EQ(queue_.statistics().depth, 0u);
  EXPECT_EQ(queue_.statistics().retries, 1u);
}

// A key that is due later waits from then on.
TEST_F(WorkQueueTest, TimeBeforeAKeyIsDueIsNoWaiting) {
  queue_.AddAfter(Key("a"), 5s);
  clock_.Advance(5s);
  ASSERT_TRUE(queue_.Pop());
  EXPECT_EQ(queue_.waited(), 0s);
}

TEST_F(WorkQueueTest, OfSeveralTimesTheEarliestCounts) {
  queue_.AddAfter(Key("a"), 3s);
  queue_.AddAfter(Key("a"), 1s);
  queue_.AddAfter(Key("a"), 2s);
  EXPECT_EQ(queue_.NextDue(), 1s);
  clock_.Advance(999ms);
  EXPECT_EQ(PopAll(), Names{});
  clock_.Advance(1ms);
  EXPECT_EQ(PopAll(), Names{"a"});
  EXPECT_EQ(queue_.NextDue(), std::nullopt);
}

TEST_F(WorkQueueTest, WhatHasNoDelayIsThereNow) {
  queue_.AddAfter(Key("a"), -1s);
  EXPECT_EQ(queue_.NextDue(), 0s);
  EXPECT_EQ(PopAll(), Names{"a"});
}

// Not a time so far away that it has come round.
TEST_F(WorkQueueTest, WhatIsDueInTheLongestTimeThereIsIsNotDueNow) {
  clock_.Advance(1h);
  queue_.AddAfter(Key("a"), std::chrono::nanoseconds::max());
  EXPECT_EQ(PopAll(), Names{});
  ASSERT_TRUE(queue_.NextDue().has_value());
  EXPECT_GT(*queue_.NextDue() - clock_.Monotonic(), 24h * 365);
}

TEST_F(WorkQueueTest, DelaysDoubleUntilOneGoesWell) {
  const auto delay = [&] {
    queue_.Retry(Key("a"));
    const auto waits = *queue_.NextDue() - clock_.Monotonic();
    clock_.Advance(waits);
    EXPECT_EQ(PopAll(), Names{"a"});
    return waits;
  };
  EXPECT_EQ(delay(), 5ms);
  EXPECT_EQ(delay(), 10ms);
  EXPECT_EQ(delay(), 20ms);
  for (int i = 0; i < 40; ++i) delay();
  EXPECT_EQ(delay(), 1000s);
  queue_.Forget(Key("a"));
  EXPECT_EQ(delay(), 5ms);
}

// Each pod that comes or goes brings its replica set back, and a full quota refuses it each time. Once there is
// room, it is not to wait for as long as if it had been tried as often by itself.
TEST_F(WorkQueueTest, FailuresThatChangesBringMakeNobodyWaitLonger) {
  for (int i = 0; i < 100; ++i) {
    queue_.Add(Key("a"));
    EXPECT_EQ(PopAll(), Names{"a"});
    queue_.Retry(Key("a"));
    clock_.Advance(1ms);
  }
  // In a tenth of a second it was retried after 5, 10, 20 and 40 ms.
  EXPECT_LE(*queue_.NextDue() - clock_.Monotonic(), 160ms);
}

TEST_F(WorkQueueTest, AChangeNeedNotWaitForTheRetry) {
  queue_.Retry(Key("a"));
  queue_.Add(Key("a"));
  EXPECT_EQ(PopAll(), Names{"a"});
}

}  // namespace
}  // namespace dray::controllers

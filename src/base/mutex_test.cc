// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace dray::base {
namespace {

// One thread counts while it holds the lock, the other waits for the count.
struct Counter {
  Mutex mutex;
  CondVar changed;
  int count ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, WhoWaitsGivesTheLockUpAndHasItAgainAfterwards) {
  Counter counter;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      const MutexLock lock(counter.mutex);
      ++counter.count;
      counter.changed.NotifyOne();
    }
  });
  {
    const MutexLock lock(counter.mutex);
    while (counter.count < 1000) counter.changed.Wait(counter.mutex);
    EXPECT_EQ(counter.count, 1000);
  }
  other.join();
}

TEST(Mutex, WaitingEndsWhenTheTimeComes) {
  Counter counter;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  const MutexLock lock(counter.mutex);
  while (counter.count == 0 && counter.changed.WaitUntil(counter.mutex, until)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), until);
}

TEST(Mutex, AScopeThatHasGivenItsLockUpDoesNotGiveItUpAgain) {
  Counter counter;
  {
    MutexLock lock(counter.mutex);
    lock.Unlock();
    const MutexLock again(counter.mutex);
  }
  MutexLock lock(counter.mutex);
  lock.Unlock();
  lock.Lock();
  ++counter.count;
}

TEST(SharedMutex, ReadersAreThereTogetherAndAWriterAlone) {
  struct {
    SharedMutex mutex;
    int value ABSL_GUARDED_BY(mutex) = 0;
  } shared;
  const auto read = [&] {
    const ReaderLock lock(shared.mutex);
    return shared.value;
  };
  {
    const ReaderLock lock(shared.mutex);
    int seen = -1;
    std::thread([&] { seen = read(); }).join();
    EXPECT_EQ(seen, 0);
  }
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      const WriterLock lock(shared.mutex);
      ++shared.value;
    }
  });
  int last = 0;
  while (last < 1000) {
    const int now = read();
    EXPECT_GE(now, last);
    last = now;
  }
  writer.join();
}

}  // namespace
}  // namespace dray::base

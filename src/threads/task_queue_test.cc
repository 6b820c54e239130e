// SPDX-License-Identifier: Apache-2.0
#include "threads/task_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace dray::threads {
namespace {

TEST(TaskQueue, OneThreadKeepsTheOrder) {
  std::vector<int> done;
  TaskQueue queue(1);
  for (int i = 0; i < 100; ++i) queue.Post([&done, i] { done.push_back(i); });
  queue.Stop();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done.at(static_cast<std::size_t>(i)), i);
}

TEST(TaskQueue, ATaskDoesNotHoldUpTheNextWhereThereIsAnotherThread) {
  TaskQueue queue(2);
  std::promise<void> second;
  queue.Post([&] { second.get_future().wait(); });
  queue.Post([&] { second.set_value(); });
  queue.Stop();
}

TEST(TaskQueue, TasksOfTasksAreDoneBeforeTheEnd) {
  std::atomic<int> done = 0;
  {
    TaskQueue queue(2);
    for (int i = 0; i < 50; ++i) {
      queue.Post([&] {
        ++done;
        queue.Post([&] { ++done; });
      });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST(TaskQueue, KnowsHowLongTheOldestTaskHasWaited) {
  TaskQueue queue(1);
  EXPECT_EQ(queue.Oldest().count(), 0);
  std::promise<void> begun;
  std::promise<void> go;
  queue.Post([&] {
    begun.set_value();
    go.get_future().wait();
  });
  begun.get_future().wait();
  // One that is being done waits no more.
  EXPECT_EQ(queue.Waiting(), 0u);
  EXPECT_EQ(queue.Oldest().count(), 0);
  queue.Post([] {});
  EXPECT_EQ(queue.Waiting(), 1u);
  const auto before = queue.Oldest();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(queue.Oldest(), before + std::chrono::milliseconds(2));
  go.set_value();
  queue.Stop();
  EXPECT_EQ(queue.Oldest().count(), 0);
}

TEST(TaskQueue, OnceStoppedTheGiverDoesIt) {
  TaskQueue queue(1);
  queue.Stop();
  std::thread::id by;
  queue.Post([&] { by = std::this_thread::get_id(); });
  EXPECT_EQ(by, std::this_thread::get_id());
}

}  // namespace
}  // namespace dray::threads

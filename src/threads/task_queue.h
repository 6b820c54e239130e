// SPDX-License-Identifier: Apache-2.0
//
// TaskQueue: threads that do what they are given, first come, first served.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace dray::threads {

// For work that the giver does not wait for. Thread-safe.
class TaskQueue {
 public:
  explicit TaskQueue(std::size_t threads);
  // As Stop.
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Done by one of the threads; once the queue is stopped, at once by the caller, so that nothing that
  // was begun is left without an end.
  void Post(std::function<void()> task);
  // Returns when everything that was given is done. Not from a task.
  void Stop();

  // How long the task that has waited longest has; zero: none waits.
  std::chrono::nanoseconds Oldest() const;
  std::size_t Waiting() const;

 private:
  struct Task {
    std::function<void()> work;
    std::chrono::steady_clock::time_point given;
  };
  void Serve();

  mutable base::Mutex mutex_;
  base::CondVar given_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dray::threads

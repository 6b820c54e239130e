// SPDX-License-Identifier: Apache-2.0
//
// TaskQueue: threads that do what they are given, first come, first served.
#pragma once

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

 private:
  void Serve();

  base::Mutex mutex_;
  base::CondVar given_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace dray::threads

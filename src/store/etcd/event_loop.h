// SPDX-License-Identifier: Apache-2.0
//
// EventLoop: one thread on which everything of a store on etcd happens, so that nothing of it needs a
// lock: answers are posted to it, and what has to be looked at later is looked at by it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"

namespace dray::store::internal {

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  EventLoop() : thread_([this] { Run(); }) {}
  ~EventLoop() { Stop(); }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs it soon, in order with what was posted before. Any thread. After Stop: never.
  void Post(std::function<void()> task);
  // Runs it at that time or soon after.
  void At(Clock::time_point when, std::function<void()> task);
  void After(std::chrono::nanoseconds pause, std::function<void()> task) {
    At(Clock::now() + pause, std::move(task));
  }
  // What was posted before is run; then there is no thread. Not from a task.
  void Stop();

 private:
  void Run();

  base::Mutex mutex_;
  base::CondVar work_;
  std::vector<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::multimap<Clock::time_point, std::function<void()>> later_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace dray::store::internal

// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/event_loop.h"

#include <utility>

namespace dray::store::internal {

void EventLoop::Post(std::function<void()> task) {
  const base::MutexLock lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  work_.NotifyOne();
}

void EventLoop::At(Clock::time_point when, std::function<void()> task) {
  const base::MutexLock lock(mutex_);
  if (stopping_) return;
  later_.emplace(when, std::move(task));
  work_.NotifyOne();
}

void EventLoop::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

void EventLoop::Run() {
  std::vector<std::function<void()>> tasks;
  for (;;) {
    {
      const base::MutexLock lock(mutex_);
      for (;;) {
        const auto now = Clock::now();
        while (!later_.empty() && later_.begin()->first <= now) {
          tasks_.push_back(std::move(later_.begin()->second));
          later_.erase(later_.begin());
        }
        if (!tasks_.empty()) break;
        if (stopping_) return;
        if (later_.empty()) {
          work_.Wait(mutex_);
        } else {
          work_.WaitUntil(mutex_, later_.begin()->first);
        }
      }
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
    tasks.clear();
  }
}

}  // namespace dray::store::internal

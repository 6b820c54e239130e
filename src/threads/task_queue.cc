// SPDX-License-Identifier: Apache-2.0
#include "threads/task_queue.h"

#include <utility>

namespace dray::threads {

TaskQueue::TaskQueue(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

TaskQueue::~TaskQueue() { Stop(); }

void TaskQueue::Post(std::function<void()> task) {
  {
    const base::MutexLock lock(mutex_);
    if (!stopping_) {
      tasks_.push_back({std::move(task), std::chrono::steady_clock::now()});
      given_.NotifyOne();
      return;
    }
  }
  task();
}

void TaskQueue::Stop() {
  {
    const base::MutexLock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    given_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::chrono::nanoseconds TaskQueue::Oldest() const {
  const base::MutexLock lock(mutex_);
  if (tasks_.empty()) return {};
  return std::chrono::steady_clock::now() - tasks_.front().given;
}

std::size_t TaskQueue::Waiting() const {
  const base::MutexLock lock(mutex_);
  return tasks_.size();
}

void TaskQueue::Serve() {
  base::MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && tasks_.empty()) given_.Wait(mutex_);
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front().work);
    tasks_.pop_front();
    lock.Unlock();
    task();
    task = nullptr;  // what it holds goes without the lock
    lock.Lock();
  }
}

}  // namespace dray::threads

// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/workers.h"

#include <utility>

namespace dray::rpc::internal {

Workers::~Workers() {
  std::vector<std::thread> threads;
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    given_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

void Workers::Do(std::function<void()> task) {
  const base::MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  // Those that were woken and have not come yet still count as idle, hence the comparison.
  if (tasks_.size() > idle_ && threads_.size() < kMost) {
    threads_.emplace_back([this] { Serve(); });
  } else {
    given_.NotifyOne();
  }
}

void Workers::Serve() {
  base::MutexLock lock(mutex_);
  while (true) {
    while (tasks_.empty()) {
      if (stopping_) return;
      ++idle_;
      given_.Wait(mutex_);
      --idle_;
    }
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.Unlock();
    task();
    lock.Lock();
  }
}

}  // namespace dray::rpc::internal

// SPDX-License-Identifier: Apache-2.0
#include "threads/thread_pool.h"

#include <algorithm>

namespace dray::threads {
namespace {

// Kubernetes's default of `parallelism`.
constexpr std::size_t kMost = 16;

}  // namespace

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(const std::function<void(std::size_t)>& work) {
  if (workers_ == 1) return work(0);
  for (std::size_t worker = threads_.size() + 1; worker < workers_; ++worker) {
    threads_.emplace_back([this, worker] { Serve(worker); });
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    ++number_;
  }
  begun_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  work_ = nullptr;
  ended_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::Serve(std::size_t worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return stopping_ || (work_ != nullptr && number_ != seen); });
    if (stopping_) return;
    seen = number_;
    const auto* work = work_;
    ++busy_;
    lock.unlock();
    (*work)(worker);
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

std::size_t WorkersFor(std::int32_t parallelism) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return std::min(cores, parallelism > 0 ? static_cast<std::size_t>(parallelism) : kMost);
}

}  // namespace dray::threads

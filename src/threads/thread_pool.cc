// SPDX-License-Identifier: Apache-2.0
#include "threads/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace dray::threads {
namespace {

// Kubernetes's default of `parallelism`.
constexpr std::size_t kMost = 16;

// Tells the processor that this is a loop that waits.
void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long somebody looks out for something before it sleeps: about as long as it takes to be woken.
constexpr auto kLookOut = std::chrono::microseconds(50);

// Whether `there` came true in that time.
template <typename Condition>
bool LookOut(const Condition& there) {
  const auto until = std::chrono::steady_clock::now() + kLookOut;
  while (!there()) {
    for (int i = 0; i < 16; ++i) Pause();
    if (std::chrono::steady_clock::now() > until) return there();
  }
  return true;
}

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
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    ++number_;
    wake = asleep_ > 0;
  }
  if (wake) begun_.notify_all();
  work(0);
  {
    const std::lock_guard lock(mutex_);
    work_ = nullptr;
  }
  // Nobody begins any more.
  const auto over = [this] { return busy_.load(std::memory_order_acquire) == 0; };
  if (LookOut(over)) return;
  std::unique_lock lock(mutex_);
  ended_.wait(lock, over);
}

void ThreadPool::Serve(std::size_t worker) {
  std::uint64_t seen = 0;
  while (true) {
    LookOut([&] { return stopping_.load() || number_.load() != seen; });
    std::unique_lock lock(mutex_);
    ++asleep_;
    begun_.wait(lock, [&] { return stopping_ || (work_ != nullptr && number_ != seen); });
    --asleep_;
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

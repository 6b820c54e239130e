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
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  begun_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(const std::function<void(std::size_t)>& work) {
  if (workers_ == 1) return work(0);
  for (std::size_t worker = threads_.size() + 1; worker < workers_; ++worker) {
    threads_.emplace_back([this, worker] { Serve(worker); });
  }
  bool wake = false;
  {
    const base::MutexLock lock(mutex_);
    work_ = &work;
    ++number_;
    wake = asleep_ > 0;
  }
  if (wake) begun_.NotifyAll();
  work(0);
  {
    const base::MutexLock lock(mutex_);
    work_ = nullptr;
  }
  // Nobody begins any more.
  const auto over = [this] { return busy_.load(std::memory_order_acquire) == 0; };
  if (LookOut(over)) return;
  const base::MutexLock lock(mutex_);
  while (!over()) ended_.Wait(mutex_);
}

void ThreadPool::Serve(std::size_t worker) {
  std::uint64_t seen = 0;
  while (true) {
    LookOut([&] { return stopping_.load() || number_.load() != seen; });
    base::MutexLock lock(mutex_);
    ++asleep_;
    while (!stopping_ && (work_ == nullptr || number_ == seen)) begun_.Wait(mutex_);
    --asleep_;
    if (stopping_) return;
    seen = number_;
    const auto* work = work_;
    ++busy_;
    lock.Unlock();
    (*work)(worker);
    lock.Lock();
    if (--busy_ == 0) ended_.NotifyOne();
  }
}

std::size_t WorkersFor(std::int32_t parallelism) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return std::min(cores, parallelism > 0 ? static_cast<std::size_t>(parallelism) : kMost);
}

}  // namespace dray::threads

// SPDX-License-Identifier: Apache-2.0
//
// Loop: a thread that lets somebody work whenever something is stored, and when time brings work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "store/store.h"

namespace dray::plane::internal {

// What a loop drives. Called from its thread only.
class Worker {
 public:
  virtual ~Worker() = default;
  // Does a moderate amount of work. Returns whether there may be more that can be done now.
  virtual bool Work() = 0;
  // When there is work although nothing changes, on the monotonic clock.
  virtual std::optional<std::chrono::nanoseconds> NextDue() const = 0;
};

// Runs from its construction until it is destroyed, which waits for the piece of work under way.
class Loop {
 public:
  // Made on the loop's thread, so that one that begins with reading everything keeps nobody
  // waiting. `ring` lets the loop work again soon although nothing was stored; thread-safe, while there
  // is a loop.
  using Factory = std::function<std::unique_ptr<Worker>(const std::function<void()>& ring)>;

  // Store and clock outlive it. `may_begin` is waited for first, and says false when it shall not
  // begin any more; null: at once.
  Loop(store::Store& store, const base::Clock& clock, Factory factory,
       std::function<bool()> may_begin = nullptr);
  ~Loop();

  // Whether the worker is there and has seen everything once. Thread-safe.
  bool Started() const { return started_.load(); }
  // How long the piece of work under way has taken; zero: it waits for some. Thread-safe.
  std::chrono::nanoseconds TurnAge() const;

 private:
  void Run(const Factory& factory, const std::function<bool()>& may_begin);
  void Ring();
  // Whether something was stored since the last call; arms the wake-up.
  bool Changed();
  void Wait(std::optional<std::chrono::nanoseconds> due);

  store::Store& store_;
  const base::Clock& clock_;
  std::atomic<bool> started_ = false;
  // Of the piece of work under way, by the monotonic clock; negative: there is none.
  std::atomic<std::int64_t> turn_began_ = -1;
  base::Mutex mutex_;
  base::CondVar wake_;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<store::Watch> watch_;  // the loop's thread
  std::thread thread_;
};

}  // namespace dray::plane::internal

// SPDX-License-Identifier: Apache-2.0
//
// Patience: whoever waits for others is told in time that they do not come.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "store/store.h"

namespace dray::store::internal {

// Its thread begins with the first who has to wait. Thread-safe.
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds limit) : limit_(limit) {}
  // Who still waits is told nothing more by it.
  ~Patience();
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // One who waits: told once, by Tell or, when the time is over, with kDeadlineExceeded.
  class Waiter {
   public:
    explicit Waiter(ReadyFn ready) : ready_(std::move(ready)) {}
    void Tell(const Status& status);
    bool Told() const;

   private:
    mutable base::Mutex mutex_;
    ReadyFn ready_ ABSL_GUARDED_BY(mutex_);  // null: told
  };
  // From now on the time counts.
  void Watch(std::shared_ptr<Waiter> waiter);

 private:
  struct Entry {
    std::chrono::steady_clock::time_point until;
    std::shared_ptr<Waiter> waiter;
  };
  void Run();

  const std::chrono::milliseconds limit_;
  base::Mutex mutex_;
  base::CondVar news_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Entry> waiting_ ABSL_GUARDED_BY(mutex_);  // in order of time: all have the same
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::store::internal

// SPDX-License-Identifier: Apache-2.0
//
// Clock: where the time comes from. Handed to whoever needs it, so that tests and simulations own
// it.
#pragma once

#include <chrono>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/time.h"

namespace dray::base {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // The wall clock: what objects carry. May jump when the machine's clock is set.
  virtual Time Now() const = 0;
  // Never goes back; only differences mean something. For timeouts and durations.
  virtual std::chrono::nanoseconds Monotonic() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  Time Now() const override;
  std::chrono::nanoseconds Monotonic() const override;
};

// A clock that stands still until it is moved. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = Time()) : now_(start) {}

  Time Now() const override ABSL_LOCKS_EXCLUDED(mutex_);
  std::chrono::nanoseconds Monotonic() const override ABSL_LOCKS_EXCLUDED(mutex_);
  // Both clocks move on. `by` must not be negative.
  void Advance(std::chrono::nanoseconds by) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets the wall clock, back too; the monotonic one stays.
  void SetNow(Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable Mutex mutex_;
  Time now_ ABSL_GUARDED_BY(mutex_);
  std::chrono::nanoseconds monotonic_ ABSL_GUARDED_BY(mutex_){0};
};

}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include "base/check.h"

namespace dray::base {

Time SystemClock::Now() const {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return Time() + std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch);
}

std::chrono::nanoseconds SystemClock::Monotonic() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

Time ManualClock::Now() const {
  const MutexLock lock(mutex_);
  return now_;
}

std::chrono::nanoseconds ManualClock::Monotonic() const {
  const MutexLock lock(mutex_);
  return monotonic_;
}

void ManualClock::Advance(std::chrono::nanoseconds by) {
  DRAY_CHECK(by.count() >= 0, "a clock does not go back");
  const MutexLock lock(mutex_);
  now_ = now_ + by;
  monotonic_ += by;
}

void ManualClock::SetNow(Time now) {
  const MutexLock lock(mutex_);
  now_ = now;
}

}  // namespace dray::base

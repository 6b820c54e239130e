// SPDX-License-Identifier: Apache-2.0
//
// RateLimit: so many per second, and so many at once after a pause.
#pragma once

#include <algorithm>
#include <chrono>

#include "absl/base/thread_annotations.h"
#include "base/clock.h"
#include "base/mutex.h"

namespace dray::rpc::internal {

// Thread-safe.
class RateLimit {
 public:
  // The clock outlives it.
  RateLimit(const base::Clock& clock, double per_second, double burst)
      : clock_(clock),
        per_second_(per_second),
        burst_(burst),
        left_(burst),
        seen_(clock.Monotonic()) {}

  // False: too many.
  bool Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    const base::MutexLock lock(mutex_);
    const std::chrono::nanoseconds now = clock_.Monotonic();
    const double passed = std::chrono::duration<double>(now - seen_).count();
    seen_ = now;
    left_ = std::min(burst_, left_ + passed * per_second_);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  const base::Clock& clock_;
  const double per_second_;
  const double burst_;
  base::Mutex mutex_;
  double left_ ABSL_GUARDED_BY(mutex_);
  std::chrono::nanoseconds seen_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::rpc::internal

// SPDX-License-Identifier: Apache-2.0
//
// RateLimit: how long to wait so that there are no more than so many requests a second.
#pragma once

#include <algorithm>
#include <chrono>

namespace dray::client::internal {

// A bucket of `burst` requests that fills at `qps` a second, as client-go's. One thread.
class RateLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // No limit when `qps` is not above 0. A burst below 1 is 1.
  RateLimit(double qps, int burst) : qps_(qps), burst_(std::max(burst, 1)), left_(burst_) {}

  // Takes one, and says how long to wait before it is used.
  std::chrono::nanoseconds Take(Time now) {
    if (qps_ <= 0) return std::chrono::nanoseconds(0);
    if (last_ != Time()) {
      const std::chrono::duration<double> passed = now - last_;
      left_ = std::min<double>(burst_, left_ + std::max(passed.count(), 0.0) * qps_);
    }
    last_ = now;
    left_ -= 1;
    if (left_ >= 0) return std::chrono::nanoseconds(0);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(-left_ / qps_));
  }

 private:
  const double qps_;
  const int burst_;
  double left_;  // negative: so many are waited for
  Time last_;
};

}  // namespace dray::client::internal

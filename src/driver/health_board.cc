// SPDX-License-Identifier: Apache-2.0
#include "driver/health_board.h"

#include <algorithm>
#include <utility>

namespace dray::driver {

void HealthBoard::Report(std::vector<rpc::DeviceHealth> devices) {
  const std::int64_t now = clock_.Now().seconds();
  for (rpc::DeviceHealth& device : devices) device.last_updated_seconds = now;
  const base::MutexLock lock(mutex_);
  last_ = std::move(devices);
  at_ = clock_.Monotonic();
  // Who has gone is not among them any more.
  std::vector<std::shared_ptr<rpc::HealthReports>> listening;
  for (auto& listener : listeners_) {
    if (listener->Send(last_)) listening.push_back(std::move(listener));
  }
  listeners_ = std::move(listening);
}

void HealthBoard::Listen(std::shared_ptr<rpc::HealthReports> reports) {
  const base::MutexLock lock(mutex_);
  if (at_ && clock_.Monotonic() - *at_ < Patience() && !reports->Send(last_)) return;
  listeners_.push_back(std::move(reports));
}

void HealthBoard::Close() {
  std::vector<std::shared_ptr<rpc::HealthReports>> listeners;
  const base::MutexLock lock(mutex_);
  listeners.swap(listeners_);
}

std::optional<std::chrono::nanoseconds> HealthBoard::Overdue() const {
  const base::MutexLock lock(mutex_);
  if (!at_ || last_.empty()) return std::nullopt;
  const std::chrono::nanoseconds age = clock_.Monotonic() - *at_;
  if (age <= Patience()) return std::nullopt;
  return age - Patience();
}

std::chrono::nanoseconds HealthBoard::Patience() const {
  std::chrono::nanoseconds least = std::chrono::nanoseconds::max();
  for (const rpc::DeviceHealth& device : last_) {
    least = std::min<std::chrono::nanoseconds>(
        least, device.timeout.count() > 0 ? device.timeout : kHealthTimeout);
  }
  return last_.empty() ? std::chrono::nanoseconds(kHealthTimeout) : least;
}

}  // namespace dray::driver

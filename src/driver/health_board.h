// SPDX-License-Identifier: Apache-2.0
//
// HealthBoard: what a driver last said about the health of its devices, for all agents that listen.
//
// It never repeats a report by itself: a monitor that hangs must be noticed, so that its devices
// become Unknown at the agent when their time is over.
//
// Spec: KEP-4680; docs/spec/node.md chapters 8 and 17.1.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

// What an agent waits for by itself.
inline constexpr std::chrono::seconds kHealthTimeout{30};

// Thread-safe.
class HealthBoard {
 public:
  // The clock outlives it.
  explicit HealthBoard(const base::Clock& clock) : clock_(clock) {}

  // Everything that is known of the driver's devices now. Fills in when.
  void Report(std::vector<rpc::DeviceHealth> devices);
  // Somebody listens from now on; told the last report unless its time is over.
  void Listen(std::shared_ptr<rpc::HealthReports> reports);
  // Nobody is told any more; streams end.
  void Close();
  // For how long the last report has been too old, if it is: longer than the smallest timeout in it.
  std::optional<std::chrono::nanoseconds> Overdue() const;

 private:
  std::chrono::nanoseconds Patience() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::vector<std::shared_ptr<rpc::HealthReports>> listeners_ ABSL_GUARDED_BY(mutex_);
  std::vector<rpc::DeviceHealth> last_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::driver

// SPDX-License-Identifier: Apache-2.0
//
// RemoteScheduler: the scheduler alone, for an API server somewhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/uuid.h"
#include "plane/remote_process.h"
#include "scheduler/config.h"
#include "scheduler/scheduler.h"

namespace dray::plane {

// Stands between a scheduler and its cluster, and tries pods in its place: for a simulation that holds what is decided
// against the truth. Used as the scheduler is.
class Between {
 public:
  virtual ~Between() = default;
  virtual api::Cluster& cluster() = 0;
  virtual std::optional<scheduler::Outcome> ScheduleOne(scheduler::Scheduler& scheduler) = 0;
};

// A lease without a name has that of the first profile, so that two who do not schedule the same pods
// do not keep each other from it.
struct RemoteSchedulerOptions : ProcessOptions {
  scheduler::Config config;
  // Gates of which the server knows no field go off, and that is told in the log.
  bool fit_gates = false;
  std::size_t writers = 32;  // pods that are being bound at the same time
  // A decision that takes longer is logged; 0: none is.
  std::chrono::nanoseconds slow_decision = std::chrono::milliseconds(100);
  // Where uids come from, for a simulation; null: the system. Outlives it.
  base::RandomSource* random = nullptr;
  std::function<std::unique_ptr<Between>(api::Cluster&)> between = nullptr;
};

// Runs from Start until it is destroyed: bindings under way are finished then, and the lease is
// given back. Thread-safe.
class RemoteScheduler : public RemoteProcess {
 public:
  // The clock outlives it. An error: the server cannot be reached, or does not want to talk to us.
  static StatusOr<std::unique_ptr<RemoteScheduler>> Start(RemoteSchedulerOptions options,
                                                          const base::Clock& clock);

  virtual scheduler::Statistics statistics() const = 0;
};

}  // namespace dray::plane

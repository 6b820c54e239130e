// SPDX-License-Identifier: Apache-2.0
//
// Simulate: runs a scenario. The real scheduler and the real controllers work on a cluster in
// memory; time is a clock that is moved from one event to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "base/executor.h"
#include "base/status.h"
#include "scheduler/config.h"
#include "simulator/result.h"
#include "simulator/scenario.h"

namespace dray::simulator {

struct Progress {
  Duration now{0};
  std::optional<Duration> end;  // none: when nothing is left to do
  std::int64_t created = 0;     // pods
  std::int64_t settled = 0;     // of these placed, or told why not
  std::int64_t expected = 0;    // pods that will come; 0: not known
};

struct SimulationOptions {
  // Instead of the scenario's.
  std::optional<std::uint64_t> seed;
  std::optional<allocator::Policy> policy;
  std::optional<Duration> duration;
  api::FeatureGates gates;  // the scenario's are not looked at
  scheduler::Config config;
  // See scheduler::SchedulerOptions; the result is the same with any. Outlives the call.
  base::Executor* executor = nullptr;
  // Processor time so far, that of the executor's threads included. Null: nothing is measured.
  std::function<Duration()> processor_time;
  // Called now and then.
  std::function<void(const Progress&)> progress;
  // Asked as often; true: it ends, and Cancelled is returned.
  std::function<bool()> cancelled;
  // Called with the cluster whenever a sample is taken, the last time at the end.
  std::function<void(const api::MemoryCluster&)> inspect;
};

// `dump`: objects that are there besides the scenario's. InvalidArgument when they cannot all be.
StatusOr<Result> Simulate(const Scenario& scenario, std::vector<api::Object> dump,
                          const SimulationOptions& options);

}  // namespace dray::simulator

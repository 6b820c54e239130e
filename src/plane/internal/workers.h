// SPDX-License-Identifier: Apache-2.0
//
// The deciders as workers of loops.
#pragma once

#include <memory>

#include "api/cluster.h"
#include "api/gates.h"
#include "base/clock.h"
#include "plane/internal/controller_metrics.h"
#include "plane/internal/loop.h"
#include "plane/internal/scheduler_metrics.h"
#include "scheduler/config.h"

namespace dray::plane::internal {

// Cluster, clock and metrics outlive them.
std::unique_ptr<Worker> MakeSchedulerWorker(api::Cluster& cluster, const base::Clock& clock,
                                            const api::FeatureGates& gates,
                                            const scheduler::Config& config,
                                            SchedulerMetrics& metrics);
// Controllers and hollow nodes.
std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates,
                                             ControllerMetrics& metrics);

}  // namespace dray::plane::internal

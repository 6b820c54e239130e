// SPDX-License-Identifier: Apache-2.0
//
// The deciders as workers of loops.
#pragma once

#include <memory>

#include "api/cluster.h"
#include "api/gates.h"
#include "base/clock.h"
#include "plane/internal/loop.h"
#include "scheduler/config.h"

namespace dray::plane::internal {

// Cluster and clock outlive them.
std::unique_ptr<Worker> MakeSchedulerWorker(api::Cluster& cluster, const base::Clock& clock,
                                            const api::FeatureGates& gates,
                                            const scheduler::Config& config);
// Controllers and hollow nodes.
std::unique_ptr<Worker> MakeControllerWorker(api::Cluster& cluster, const base::Clock& clock,
                                             const api::FeatureGates& gates);

}  // namespace dray::plane::internal

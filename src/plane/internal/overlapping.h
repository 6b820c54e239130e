// SPDX-License-Identifier: Apache-2.0
//
// A worker whose writes overlap, where each is waited for: at the other end of a connection, and on a store
// that several servers share, as nothing can be built there on what others may forestall.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "api/cluster.h"
#include "api/gates.h"
#include "base/clock.h"
#include "base/host.h"
#include "plane/internal/loop.h"
#include "plane/internal/turns.h"
#include "plane/internal/workers.h"
#include "threads/system_host.h"

namespace dray::plane::internal {

// So many are waited for at a time: enough that those of a burst share requests to the store.
inline constexpr std::size_t kOverlappingWrites = 64;

// `make` is called at once; what it makes writes through the cluster of the turns. `ring` is called from
// any thread when there is more to do. Cluster and host outlive the worker.
std::unique_ptr<Worker> MakeOverlapping(
    api::Cluster& cluster, std::function<void()> ring,
    const std::function<std::unique_ptr<Worker>(Turns& turns)>& make,
    base::Host& host = threads::TheSystemHost());
// Controllers, likewise.
std::unique_ptr<Worker> MakeOverlappingControllers(
    api::Cluster& cluster, std::function<void()> ring, const base::Clock& clock,
    const api::FeatureGates& gates, ControllerMetrics& metrics, ControllerParts parts,
    base::Host& host = threads::TheSystemHost());

}  // namespace dray::plane::internal

// SPDX-License-Identifier: Apache-2.0
//
// A worker whose writes overlap, where each is waited for: on a store that several servers share nothing
// can be built on what others may forestall, and a sync of its log takes longer than what is decided.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "api/cluster.h"
#include "plane/internal/loop.h"
#include "plane/internal/turns.h"

namespace dray::plane::internal {

// So many are waited for at a time: enough that those of a burst share requests to the store.
inline constexpr std::size_t kOverlappingWrites = 64;

// `make` is called at once; what it makes writes through the cluster of the turns. `ring` is called from
// any thread when there is more to do. The cluster outlives the worker.
std::unique_ptr<Worker> MakeOverlapping(
    api::Cluster& cluster, std::function<void()> ring,
    const std::function<std::unique_ptr<Worker>(Turns& turns)>& make);

}  // namespace dray::plane::internal

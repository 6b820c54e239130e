// SPDX-License-Identifier: Apache-2.0
//
// Sweep: something that is done for each of many nodes, by several workers where that pays.
//
// A node belongs to a shard by its index. A shard is one worker's at a time, and shards are the
// same however many workers there are: what is kept per shard needs no locks, and comes out the
// same. Workers take shards until none is left, each its own first and then those of others, so
// that a slow one keeps nobody waiting.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/executor.h"
#include "scheduler/framework.h"
#include "scheduler/node_info.h"

namespace dray::scheduler {

struct Sweep {
  base::Executor* executor = nullptr;  // null: everything is done by the caller
  std::size_t from = 0;                // fewer nodes than this: by the caller, too

  bool Parallel(std::size_t nodes) const {
    return executor != nullptr && executor->workers() > 1 && nodes >= from;
  }

  // Visits `nodes`, which are in the order of their ranks, on all workers; only with Parallel().
  // `visit` gets a worker's view of `state` and the node's place in `nodes`, and may write what
  // belongs to that place, to the worker or to the node's shard. When it says false, nodes further
  // back may be left out, those before are not: so who then looks through the answers from the
  // front meets what one worker alone would have met, up to the first false.
  void Run(const CycleState& state, std::span<const NodeInfo* const> nodes,
           const std::function<bool(CycleState& state, std::size_t place)>& visit) const;
};

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// PoolSlices: the slices of one pool as one node sees them, and whether the pool can be used.
//
// Spec: docs/spec/allocator.md 2.3 to 2.6.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inventory/features.h"
#include "inventory/inventory.h"
#include "inventory/node_devices.h"
#include "inventory/pool_counters.h"
#include "inventory/slice_table.h"

namespace dray::inventory::internal {

using SharedSlice = std::shared_ptr<const SliceTable>;

struct PoolSlices {
  PoolId id = PoolId::kNone;
  PoolState state = PoolState::kComplete;
  std::string why;  // unless complete
  // Of a complete pool. Those that share counters have no devices, whatever they say.
  std::vector<const SharedSlice*> devices;   // for the node, by object name
  std::vector<const SharedSlice*> counters;  // for the node, by object name
  // With slices for other nodes that have to do with counters: what all of them have. Else null.
  const PoolCounters* shared = nullptr;
  bool obsolete = false;  // a newer generation exists: the pool is not there

  // Whether searching it is put off (2.7).
  bool WaitsForBinding() const;
};

// Each check says what makes the pool invalid, or nothing.
using SetsByName = std::vector<const CounterSetRow*>;
std::string CheckSets(const SetsByName& sets, const Dictionary& dictionary);
std::string CheckSlice(const SliceTable& slice, const SetsByName& sets,
                       const Dictionary& dictionary);

// `relevant`: the pool's slices that are for the node, in first-pass order, of any generation.
PoolSlices Assess(const Snapshot& snapshot, PoolId id, std::span<const SharedSlice* const> relevant,
                  const Features& features);

}  // namespace dray::inventory::internal

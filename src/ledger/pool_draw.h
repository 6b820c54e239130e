// SPDX-License-Identifier: Apache-2.0
//
// PoolDraw: what is left of the counters of a pool that spans nodes, and the compatibility groups
// on its counter sets. Every device in use counts once, on whichever node it is, so all nodes see
// the same.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "inventory/pool_counters.h"
#include "ledger/group_state.h"
#include "ledger/ledger.h"

namespace dray::ledger {

// Immutable; thread-safe.
struct PoolDraw {
  std::shared_ptr<const inventory::Slices> slices;  // keeps what `counters` points into
  const inventory::PoolCounters* counters = nullptr;
  std::vector<Amount> left;  // by the numbers of `counters`
  bool overdrawn = false;    // some of them is below zero
  struct Set {
    GroupState state;       // with compatibility groups on
    bool recorded = false;  // a claim recorded groups that are not empty
  };
  // By the numbers of sets of `counters`.
  std::vector<Set> sets;
};

// `counters` are those of `slices`.
std::shared_ptr<const PoolDraw> DrawOf(const PoolUsage& usage,
                                       const std::shared_ptr<const inventory::Slices>& slices,
                                       const inventory::PoolCounters& counters,
                                       const inventory::Dictionary& dictionary);

}  // namespace dray::ledger

// SPDX-License-Identifier: Apache-2.0
//
// What one allocation holds, in numbers, and the arithmetic that adds it to what is in use.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "api/resource_claim.h"
#include "base/persistent_array.h"
#include "inventory/dictionary.h"
#include "ledger/ledger.h"

namespace dray::ledger::internal {

// One result that counts. `consumed` and `groups` are ranges of the Holding's.
struct Held {
  PoolId pool = PoolId::kNone;
  NameId device;
  bool share = false;
  std::uint16_t consumed = 0;
  std::uint16_t groups = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

// All results of an allocation that count, in its order. Invariant: the ranges of the results lie
// one after the other.
struct Holding {
  std::vector<Held> results;
  std::vector<ConsumedCapacity> consumed;
  std::vector<GroupSnapshot> groups;  // count is 1
  friend bool operator==(const Holding&, const Holding&) = default;

  std::size_t MemoryBytes() const;
};

// Spec: docs/spec/allocator.md chapter 1. Results with admin access do not count; a share id makes
// a share, and only shares consume capacity.
Holding HoldingOf(const api::AllocationResult& allocation, inventory::Dictionary& dictionary);

using Pools = base::PersistentArray<std::shared_ptr<const PoolUsage>>;

// Takes `before` away and adds `after`, each held by `holder`. Every pool that either has anything
// of becomes another PoolUsage; the answer names them.
std::vector<PoolId> Replace(Pools& pools, Holder holder, const Holding& before,
                            const Holding& after);

// The same for many holdings at once: each pool is copied once. A device may come to be held twice.
struct Step {
  Holder holder{};
  const Holding* holding = nullptr;
  bool add = false;  // otherwise it is taken away
};
void Apply(Pools& pools, std::span<const Step> steps);

}  // namespace dray::ledger::internal

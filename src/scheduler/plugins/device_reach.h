// SPDX-License-Identifier: Apache-2.0
//
// DeviceReach: from which nodes devices can be used, and which sets of nodes that makes.
//
// A claim that pods on several nodes share can only have devices that all of these nodes reach; its
// allocation carries a node selector that says so. So the pods are in a set of nodes which is what
// some devices reach in common, and it suffices to look at those sets: a claim that is allocated for
// pods in D has devices that reach all of D, and whatever they reach in common is one of the sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/bit_set.h"
#include "base/status.h"
#include "inventory/slice_table.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// Of the world as it is; nodes are by their rank in World::nodes(). One thread.
class DeviceReach {
 public:
  // Outlives this, and does not change meanwhile.
  explicit DeviceReach(World& world);

  // The nodes that can use the device. InvalidArgument: its node selector cannot be read.
  StatusOr<base::BitSet> Of(const inventory::SliceTable& slice, const inventory::DeviceRow& row);

  // Sets of nodes that devices reach in common: all nodes, then larger sets first, then single nodes
  // that have devices of their own. Each once, none empty. `complete`: none was left out, of which
  // there may be very many.
  struct Domains {
    std::vector<base::BitSet> sets;
    bool complete = true;
  };
  // Of `nodes` alone.
  StatusOr<Domains> FindDomains(const base::BitSet& nodes);

 private:
  StatusOr<base::BitSet> OfChoice(const inventory::NodeChoice& choice);

  World& world_;
  base::BitSet optional_;  // nodes that can do without node operations
  absl::flat_hash_map<std::string_view, std::size_t> ranks_;
  absl::flat_hash_map<inventory::SelectionId, base::BitSet> selected_;
};

}  // namespace dray::scheduler

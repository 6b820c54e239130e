// SPDX-License-Identifier: Apache-2.0
//
// The slices of a cluster as pools of one node.
// Spec: docs/spec/allocator.md 2. As decided for dray, a slice stays usable when compatibility
// groups are off; it is its devices with groups that are left out (search.cc).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/resource_slice.h"
#include "model/instance.h"

namespace dray::model {

struct Pool {
  std::string driver;
  std::string name;
  bool incomplete = false;
  bool invalid = false;
  // Of a complete and valid pool. Slices with devices that the node may use, by object name, and
  // the others, which only matter for what is taken of the counters.
  std::vector<const api::ResourceSlice*> device_slices;
  std::vector<const api::ResourceSlice*> other_slices;
  std::map<std::string, const api::CounterSet*> counter_sets;

  bool usable() const { return !incomplete && !invalid; }
};

// In search order; points into the instance. Throws Abort for a node selector that cannot be
// understood.
std::vector<Pool> GatherPools(const Instance& instance);

}  // namespace dray::model

// SPDX-License-Identifier: Apache-2.0
//
// What a driver wants to be seen of its devices: pools of slices, without the names, generations
// and counts that publishing adds.
//
// Spec: docs/spec/node.md section 18.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/node_selector.h"
#include "api/resource_slice.h"
#include "base/status.h"

namespace dray::driver {

// Devices or shared counters, not both; a slice with neither has no devices. The order of devices is
// the order of preference.
struct WantedSlice {
  std::vector<api::Device> devices;
  std::vector<api::CounterSet> shared_counters;
  bool per_device_node_selection = false;
  std::optional<std::string> partition_type_attribute;
  std::vector<std::string> skip_node_operations;
  friend bool operator==(const WantedSlice&, const WantedSlice&) = default;
};

struct WantedPool {
  std::int64_t generation = 0;  // at least this one; normally left to publishing
  // Of a pool that belongs to no node; at most one of the two.
  api::Box<api::NodeSelector> node_selector;
  bool all_nodes = false;
  std::vector<WantedSlice> slices;  // none: one without devices, which says "there are none"
  friend bool operator==(const WantedPool&, const WantedPool&) = default;
};

using WantedPools = std::map<std::string, WantedPool, std::less<>>;

// What no server could make sense of and no retry would help: a device or counter set twice in a
// pool, counters that nobody declares. `on_node`: its driver publishes for one node, so nothing in it
// may choose nodes. InvalidArgument with all faults.
Status CheckPool(std::string_view name, const WantedPool& pool, bool on_node);

// One pool of any number of devices and counter sets, cut into slices of the size that the API
// allows.
WantedPool PoolOf(std::vector<api::Device> devices, std::vector<api::CounterSet> counters = {});

}  // namespace dray::driver

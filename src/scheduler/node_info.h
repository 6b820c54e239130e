// SPDX-License-Identifier: Apache-2.0
//
// A node as scheduling sees it: its object, the pods on it or about to be, what they use, and its
// devices.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/node.h"
#include "inventory/node_devices.h"
#include "ledger/node_usage.h"
#include "scheduler/pod_info.h"
#include "scheduler/resources.h"

namespace dray::scheduler {

using NodeIndex = std::uint32_t;

// Belongs to World, which alone changes it. Of several workers one at a time looks at it (sweep.h).
struct NodeInfo {
  NodeIndex index = 0;     // stays while the node exists
  std::uint32_t rank = 0;  // of World::nodes(); changes when nodes come and go
  // Changes whenever anything here changes but the rank, and when the devices or what is in use of
  // them would be others if they were refreshed. No two nodes ever have the same.
  std::uint64_t version = 0;
  // The version of the last change that was more than somebody taking something: whoever did not fit
  // for want of room since then does not fit now.
  std::uint64_t eased = 0;
  std::shared_ptr<const api::Node> node;  // null: only pods are known of it
  Resources allocatable;
  ResourceNames::Pins names;  // of those
  Resources requested;        // by pods, assumed ones included
  Resources non_zero;
  std::vector<std::shared_ptr<const PodInfo>> pods;
  std::vector<HostPort> ports;
  // How many of `pods` have required anti-affinity, or any affinity: most nodes have none.
  std::uint32_t pods_with_anti_affinity = 0;
  std::uint32_t pods_with_affinity = 0;
  // Of `pods`, the lowest priority; the highest there is without any. Mostly nobody on a node is of
  // lower priority than a pod that waits, and preemption sees that without looking at them.
  std::int32_t lowest_priority = std::numeric_limits<std::int32_t>::max();

  std::shared_ptr<const inventory::NodeDevices> devices;  // see World::RefreshDevices
  ledger::NodeUsage usage;

  const std::string& name() const { return node->metadata.name; }
};

}  // namespace dray::scheduler

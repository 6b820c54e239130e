// SPDX-License-Identifier: Apache-2.0
//
// How many devices of a class a node has, and how many of them are in use: for scoring extended
// resources that devices serve.
//
// Spec: KEP-5004 "Scoring".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/device_class.h"
#include "base/bit_set.h"
#include "scheduler/framework.h"
#include "scheduler/node_info.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct DeviceCount {
  std::int64_t total = 0;
  std::int64_t in_use = 0;
};

// Which devices are of the class is remembered per node as long as neither changes. One thread per
// shard of nodes.
class DeviceCounts {
 public:
  // Outlives this.
  explicit DeviceCounts(World& world) : world_(world), known_(kNodeShards) {}

  // Nothing of either when no class serves the resource on this node.
  DeviceCount Of(std::string_view resource_name, const NodeInfo& node);

 private:
  struct Known {
    std::shared_ptr<const inventory::NodeDevices> devices;
    std::shared_ptr<const api::DeviceClass> device_class;
    base::BitSet matching;
  };
  base::BitSet Match(const inventory::NodeDevices& devices, const api::DeviceClass& device_class);

  World& world_;
  // A pod asks for few such resources, so one class per node is remembered.
  std::vector<absl::flat_hash_map<NodeIndex, Known>> known_;  // by shard
};

}  // namespace dray::scheduler

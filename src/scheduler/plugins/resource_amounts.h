// SPDX-License-Identifier: Apache-2.0
//
// What pods ask for and nodes have of the resources that a scoring plugin is configured with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "scheduler/config.h"
#include "scheduler/node_info.h"
#include "scheduler/plugins/device_counts.h"
#include "scheduler/plugins/resource_scoring.h"
#include "scheduler/pod_info.h"
#include "scheduler/world.h"

namespace dray::scheduler {

using ResourceLoads = absl::InlinedVector<ResourceLoad, 4>;

// One thread per shard of nodes.
class ResourceAmounts {
 public:
  enum class Missing : std::uint8_t {
    kAsZero,
    kAsDefault,  // containers that ask for no cpu or memory count 100m and 200Mi
  };
  // `world` outlives this.
  ResourceAmounts(std::span<const ResourceWeight> resources, Missing missing, World& world);

  // Whether the pod asks for any of the resources.
  bool AsksAny(const PodInfo& pod) const;
  ResourceLoads LoadsOf(const PodInfo& pod, const NodeInfo& node);

 private:
  enum class Kind : std::uint8_t { kCpu, kMemory, kEphemeralStorage, kScalar };
  struct Entry {
    Kind kind = Kind::kScalar;
    base::Symbol name;  // of a kScalar
    std::int64_t weight = 1;
  };
  std::int64_t WantedBy(const PodInfo& pod, const Entry& entry) const;

  std::vector<Entry> entries_;
  std::vector<ResourceNames::Pins> names_;
  Missing missing_;
  World& world_;
  bool devices_serve_;  // the feature is on
  DeviceCounts device_counts_;
};

}  // namespace dray::scheduler

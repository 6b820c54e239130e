// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/resource_amounts.h"

#include <algorithm>

#include "api/gates.h"
#include "api/node.h"

namespace dray::scheduler {

ResourceAmounts::ResourceAmounts(std::span<const ResourceWeight> resources, Missing missing,
                                 World& world)
    : missing_(missing),
      world_(world),
      devices_serve_(world.gates().Enabled(api::Gate::kDRAExtendedResource)),
      device_counts_(world) {
  for (const ResourceWeight& resource : resources) {
    Entry entry{.weight = resource.weight};
    if (resource.name == api::kResourceCpu) {
      entry.kind = Kind::kCpu;
    } else if (resource.name == api::kResourceMemory) {
      entry.kind = Kind::kMemory;
    } else if (resource.name == api::kResourceEphemeralStorage) {
      entry.kind = Kind::kEphemeralStorage;
    } else {
      entry.name = world.resource_names().Intern(resource.name);
      names_.push_back(world.resource_names().Pin(entry.name));
    }
    entries_.push_back(entry);
  }
}

std::int64_t ResourceAmounts::WantedBy(const PodInfo& pod, const Entry& entry) const {
  const Resources& basic = missing_ == Missing::kAsDefault ? pod.non_zero : pod.requests;
  switch (entry.kind) {
    case Kind::kCpu:
      return basic.milli_cpu;
    case Kind::kMemory:
      return basic.memory;
    case Kind::kEphemeralStorage:
      return pod.requests.ephemeral_storage;
    case Kind::kScalar:
      return pod.requests.At(entry.name);
  }
  return 0;
}

bool ResourceAmounts::AsksAny(const PodInfo& pod) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return WantedBy(pod, e) != 0; });
}

ResourceLoads ResourceAmounts::LoadsOf(const PodInfo& pod, const NodeInfo& node) {
  const Resources& basic = missing_ == Missing::kAsDefault ? node.non_zero : node.requested;
  ResourceLoads loads;
  for (const Entry& entry : entries_) {
    ResourceLoad load{.weight = entry.weight, .wanted = WantedBy(pod, entry)};
    switch (entry.kind) {
      case Kind::kCpu:
        load.allocatable = node.allocatable.milli_cpu;
        load.used = basic.milli_cpu;
        break;
      case Kind::kMemory:
        load.allocatable = node.allocatable.memory;
        load.used = basic.memory;
        break;
      case Kind::kEphemeralStorage:
        load.allocatable = node.allocatable.ephemeral_storage;
        load.used = node.requested.ephemeral_storage;
        break;
      case Kind::kScalar:
        if (load.wanted == 0) break;  // what the pod does not ask for does not count
        load.allocatable = node.allocatable.At(entry.name);
        load.used = node.requested.At(entry.name);
        if (load.allocatable == 0 && devices_serve_) {
          const DeviceCount count =
              device_counts_.Of(world_.resource_names().View(entry.name), node);
          load.allocatable = count.total;
          load.used = count.in_use;
        }
        break;
    }
    loads.push_back(load);
  }
  return loads;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "model/pools.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "model/node_match.h"

namespace dray::model {
namespace {

using Slices = std::vector<const api::ResourceSlice*>;

bool HasCounters(const api::ResourceSlice& slice) {
  return slice.spec.shared_counters && !slice.spec.shared_counters->empty();
}

std::vector<api::Device> const& DevicesOf(const api::ResourceSlice& slice) {
  static const std::vector<api::Device> kNone;
  return slice.spec.devices ? *slice.spec.devices : kNone;
}

// Those of the node, then those without a node's name.
Slices FirstPass(const Instance& instance) {
  Slices ordered;
  for (const bool named : {true, false}) {
    for (const api::ResourceSlice& slice : instance.slices) {
      const std::string node_name = slice.spec.node_name.value_or("");
      if (named ? node_name == instance.node.metadata.name && !node_name.empty()
                : node_name.empty()) {
        ordered.push_back(&slice);
      }
    }
  }
  Slices relevant;
  for (const api::ResourceSlice* slice : ordered) {
    if (!instance.features.partitionable_devices &&
        (slice->spec.per_device_node_selection || HasCounters(*slice))) {
      continue;
    }
    if (SliceMatchesNode(instance.node, *slice)) relevant.push_back(slice);
  }
  return relevant;
}

bool DeviceNamesRepeat(const Slices& slices) {
  std::set<std::string> names;
  for (const api::ResourceSlice* slice : slices) {
    for (const api::Device& device : DevicesOf(*slice)) {
      if (!names.insert(device.name).second) return true;
    }
  }
  return false;
}

bool ConsumesUnknownCounters(const Pool& pool, const Slices& slices) {
  for (const api::ResourceSlice* slice : slices) {
    for (const api::Device& device : DevicesOf(*slice)) {
      for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
        const auto set = pool.counter_sets.find(use.counter_set);
        if (set == pool.counter_sets.end()) return true;
        for (const auto& [name, counter] : use.counters) {
          if (!set->second->counters.contains(name)) return true;
        }
      }
    }
  }
  return false;
}

// `known`: all slices of the generation, when it was necessary to look for them.
void Fill(Pool& pool, Slices relevant, const Slices& known, const Features& features) {
  std::ranges::stable_sort(relevant, {}, [](const auto* slice) { return slice->metadata.name; });
  Slices counters;
  std::set<std::string> names;
  for (const api::ResourceSlice* slice : relevant) {
    names.insert(slice->metadata.name);
    (features.partitionable_devices && HasCounters(*slice) ? counters : pool.device_slices)
        .push_back(slice);
  }
  for (const api::ResourceSlice* slice : known) {
    if (names.contains(slice->metadata.name)) continue;
    (features.partitionable_devices && HasCounters(*slice) ? counters : pool.other_slices)
        .push_back(slice);
  }
  pool.invalid = DeviceNamesRepeat(pool.device_slices);
  if (!features.partitionable_devices) return;
  for (const api::ResourceSlice* slice : counters) {
    for (const api::CounterSet& set : *slice->spec.shared_counters) {
      if (!pool.counter_sets.emplace(set.name, &set).second) pool.invalid = true;
    }
  }
  if (ConsumesUnknownCounters(pool, pool.device_slices) ||
      ConsumesUnknownCounters(pool, pool.other_slices)) {
    pool.invalid = true;
  }
}

bool HasBindingConditions(const Pool& pool) {
  if (!pool.usable()) return false;
  for (const api::ResourceSlice* slice : pool.device_slices) {
    for (const api::Device& device : DevicesOf(*slice)) {
      if (!device.binding_conditions.empty()) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Pool> GatherPools(const Instance& instance) {
  std::map<std::pair<std::string, std::string>, Slices> kept;
  for (const api::ResourceSlice* slice : FirstPass(instance)) {
    Slices& slices = kept[{slice->spec.driver, slice->spec.pool.name}];
    if (!slices.empty()) {
      const auto newest = slices.front()->spec.pool.generation;
      if (slice->spec.pool.generation < newest) continue;
      if (slice->spec.pool.generation > newest) slices.clear();
    }
    slices.push_back(slice);
  }
  std::vector<Pool> pools;
  for (auto& [id, slices] : kept) {
    const api::ResourcePool& first = slices.front()->spec.pool;
    Pool pool{.driver = id.first, .name = id.second};
    Slices all;
    if (static_cast<std::int64_t>(slices.size()) != first.resource_slice_count) {
      bool obsolete = false;
      for (const api::ResourceSlice& slice : instance.slices) {
        if (slice.spec.driver != pool.driver || slice.spec.pool.name != pool.name) continue;
        if (slice.spec.pool.generation > first.generation) obsolete = true;
        if (slice.spec.pool.generation == first.generation) all.push_back(&slice);
      }
      if (obsolete) continue;
      pool.incomplete = static_cast<std::int64_t>(all.size()) != first.resource_slice_count;
    }
    if (!pool.incomplete) Fill(pool, slices, all, instance.features);
    pools.push_back(std::move(pool));
  }
  // Pools come out of the map by driver and name.
  std::ranges::stable_partition(pools,
                                [](const Pool& pool) { return !HasBindingConditions(pool); });
  return pools;
}

}  // namespace dray::model

// SPDX-License-Identifier: Apache-2.0
#include "driver/wanted_pools.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace dray::driver {
namespace {

using Counters = std::map<std::string_view, const api::CounterSet*>;

void CheckConsumption(const api::Device& device, const Counters& sets,
                      std::vector<std::string>& faults) {
  for (const api::DeviceCounterConsumption& consumption : device.consumes_counters) {
    const auto set = sets.find(consumption.counter_set);
    if (set == sets.end()) {
      faults.push_back(
          fmt::format("device \"{}\" consumes counters of \"{}\", which no slice of "
                      "the pool declares",
                      device.name, consumption.counter_set));
      continue;
    }
    for (const auto& [counter, amount] : consumption.counters) {
      if (set->second->counters.contains(counter)) continue;
      faults.push_back(
          fmt::format("device \"{}\" consumes counter \"{}\", which counter set "
                      "\"{}\" does not have",
                      device.name, counter, consumption.counter_set));
    }
  }
}

bool IsAdvanced(const api::Device& device) {
  return !device.taints.empty() || !device.consumes_counters.empty();
}

}  // namespace

Status CheckPool(std::string_view name, const WantedPool& pool, bool on_node) {
  std::vector<std::string> faults;
  Counters sets;
  for (const WantedSlice& slice : pool.slices) {
    for (const api::CounterSet& set : slice.shared_counters) {
      if (!sets.emplace(set.name, &set).second) {
        faults.push_back(fmt::format("counter set \"{}\" is declared twice", set.name));
      }
    }
  }
  std::set<std::string_view> devices;
  for (const WantedSlice& slice : pool.slices) {
    for (const api::Device& device : slice.devices) {
      if (!devices.insert(device.name).second) {
        faults.push_back(fmt::format("device \"{}\" appears twice", device.name));
      }
      CheckConsumption(device, sets, faults);
    }
  }
  const bool chooses = pool.node_selector.has_value() || pool.all_nodes ||
                       std::ranges::any_of(pool.slices, &WantedSlice::per_device_node_selection);
  if (on_node && chooses) {
    faults.emplace_back("it chooses nodes, but its driver publishes for one node alone");
  }
  if (pool.node_selector.has_value() && pool.all_nodes) {
    faults.emplace_back("it is for all nodes and has a node selector");
  }
  if (faults.empty()) return {};
  return base::InvalidArgument(fmt::format("pool \"{}\": {}", name, fmt::join(faults, "; ")));
}

WantedPool PoolOf(std::vector<api::Device> devices, std::vector<api::CounterSet> counters) {
  WantedPool pool;
  for (std::size_t at = 0; at < counters.size(); at += api::kResourceSliceMaxCounterSets) {
    const std::size_t n = std::min(api::kResourceSliceMaxCounterSets, counters.size() - at);
    const auto from = counters.begin() + static_cast<std::ptrdiff_t>(at);
    pool.slices.push_back(
        {.shared_counters = {std::make_move_iterator(from),
                             std::make_move_iterator(from + static_cast<std::ptrdiff_t>(n))}});
  }
  // A slice is small as soon as one of its devices has taints or counters. The cut depends on all
  // devices, not on those before it, so that a taint that comes moves no device to another slice
  // but where it must.
  const std::size_t limit = std::ranges::any_of(devices, IsAdvanced)
                                ? api::kResourceSliceMaxDevicesWithAdvancedFeatures
                                : api::kResourceSliceMaxDevices;
  for (std::size_t at = 0; at < devices.size(); at += limit) {
    const std::size_t n = std::min(limit, devices.size() - at);
    const auto from = devices.begin() + static_cast<std::ptrdiff_t>(at);
    pool.slices.push_back(
        {.devices = {std::make_move_iterator(from),
                     std::make_move_iterator(from + static_cast<std::ptrdiff_t>(n))}});
  }
  return pool;
}

}  // namespace dray::driver

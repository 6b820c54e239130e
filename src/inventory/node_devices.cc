// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_devices.h"

#include <algorithm>

namespace dray::inventory {
namespace {

template <typename T>
std::size_t HeapBytes(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

template <typename NameOf>
std::optional<std::uint32_t> FindByName(std::span<const std::uint32_t> by_name, NameId name,
                                        NameOf name_of) {
  const auto it = std::ranges::lower_bound(by_name, name, {}, name_of);
  if (it == by_name.end() || name_of(*it) != name) return std::nullopt;
  return *it;
}

}  // namespace

std::optional<std::uint32_t> NodeDevices::FindDevice(std::uint32_t pool, NameId device) const {
  const PoolOnNode& in = pools_[pool];
  const auto name = [this](std::uint32_t i) { return devices_[i].row->name; };
  return FindByName(std::span(devices_by_name_).subspan(in.first_device, in.devices), device, name);
}

const DeviceRow* NodeDevices::FindElsewhere(std::uint32_t pool, NameId device) const {
  const PoolCounters* const shared = shared_[pool].counters;
  return shared == nullptr || FindDevice(pool, device) ? nullptr : shared->Find(device);
}

std::optional<std::uint32_t> NodeDevices::FindSet(std::uint32_t pool, NameId counter_set) const {
  const PoolOnNode& in = pools_[pool];
  const auto name = [this](std::uint32_t i) { return counter_sets_[i].name; };
  return FindByName(std::span(sets_by_name_).subspan(in.first_set, in.sets), counter_set, name);
}

std::optional<std::uint32_t> NodeDevices::FindCounter(std::uint32_t set, NameId counter) const {
  const CounterSetOnNode& in = counter_sets_[set];
  const std::span<const CounterOnNode> counters =
      std::span(counters_).subspan(in.first_counter, in.counters);
  const auto it = std::ranges::lower_bound(counters, counter, {}, &CounterOnNode::name);
  if (it == counters.end() || it->name != counter) return std::nullopt;
  return in.first_counter + static_cast<std::uint32_t>(it - counters.begin());
}

void NodeDevices::Mark(Marker& marker) const {
  for (const NodeDevice& device : devices_) marker.Mark(device.taints);
}

std::size_t NodeDevices::MemoryBytes() const {
  return sizeof(*this) + node_name_.capacity() + HeapBytes(keep_) + HeapBytes(pools_) +
         HeapBytes(devices_) + HeapBytes(counter_sets_) + HeapBytes(counters_) +
         HeapBytes(counter_uses_) + HeapBytes(set_uses_) + HeapBytes(slices_) + HeapBytes(shared_) +
         HeapBytes(devices_by_name_) + HeapBytes(sets_by_name_) + notable_.HeapBytes() +
         shareable_.HeapBytes();
}

}  // namespace dray::inventory

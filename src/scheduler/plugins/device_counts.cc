// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/device_counts.h"

#include <algorithm>

namespace dray::scheduler {

// A device on which a selector fails is not of the class: a score is no place to report that.
base::BitSet DeviceCounts::Match(const inventory::NodeDevices& devices,
                                 const api::DeviceClass& device_class) {
  base::BitSet matching(devices.devices().size());
  for (std::size_t i = 0; i < devices.devices().size(); ++i) {
    const inventory::NodeDevice& device = devices.devices()[i];
    if (!device.on_node) continue;
    const bool all =
        std::ranges::all_of(device_class.spec.selectors, [&](const api::DeviceSelector& selector) {
          if (!selector.cel.has_value()) return true;
          const auto expression = world_.expressions().Selector(selector.cel->expression);
          return expression->program != nullptr &&
                 expression->program->Match(*device.slice, *device.row, nullptr) ==
                     inventory::Verdict::kYes;
        });
    if (all) matching.Set(i);
  }
  return matching;
}

DeviceCount DeviceCounts::Of(std::string_view resource_name, const NodeInfo& node) {
  const std::string* class_name = world_.extended_resources().FindClass(resource_name);
  if (class_name == nullptr) return {};
  auto device_class = world_.FindClass(*class_name);
  NodeInfo* current = world_.FindNode(node.name());
  if (device_class == nullptr || current == nullptr || !world_.RefreshDevices(*current).ok() ||
      current->devices == nullptr) {
    return {};
  }
  Known& known = known_[ShardOf(*current)][current->index];
  if (known.devices != current->devices || known.device_class != device_class) {
    known = {current->devices, device_class, Match(*current->devices, *device_class)};
  }
  DeviceCount count;
  for (std::size_t i = 0; i < known.matching.size(); ++i) {
    if (!known.matching.Test(i)) continue;
    ++count.total;
    if (current->usage.taken().Test(i) || current->usage.shared().Test(i)) ++count.in_use;
  }
  return count;
}

}  // namespace dray::scheduler

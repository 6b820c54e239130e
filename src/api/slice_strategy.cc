// SPDX-License-Identifier: Apache-2.0
//
// ResourceSlice between decoding and validation.
#include <algorithm>
#include <array>

#include "api/internal/gated_features.h"
#include "api/internal/strategies.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

template <typename F>
bool AnyDevice(const ResourceSlice& slice, F f) {
  return slice.spec.devices && std::ranges::any_of(*slice.spec.devices, f);
}
template <typename F>
void ForEachDevice(ResourceSlice& slice, F f) {
  if (slice.spec.devices) std::ranges::for_each(*slice.spec.devices, f);
}

bool UsesTaints(const ResourceSlice& slice) {
  return AnyDevice(slice, [](const Device& device) { return !device.taints.empty(); });
}
void DropTaints(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) { device.taints.clear(); });
}

bool UsesPartitions(const ResourceSlice& slice) {
  const ResourceSliceSpec& spec = slice.spec;
  return (spec.shared_counters && !spec.shared_counters->empty()) ||
         spec.per_device_node_selection.has_value() || AnyDevice(slice, [](const Device& device) {
           return !device.consumes_counters.empty() || device.node_name || device.node_selector ||
                  device.all_nodes.has_value();
         });
}
void DropPartitions(ResourceSlice& slice) {
  slice.spec.shared_counters.reset();
  slice.spec.per_device_node_selection.reset();
  ForEachDevice(slice, [](Device& device) {
    device.consumes_counters.clear();
    device.node_name.reset();
    device.node_selector.reset();
    device.all_nodes.reset();
  });
}

bool UsesBindingConditions(const ResourceSlice& slice) {
  return AnyDevice(slice, [](const Device& device) {
    return !device.binding_conditions.empty() || !device.binding_failure_conditions.empty() ||
           device.binds_to_node.has_value();
  });
}
void DropBindingConditions(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) {
    device.binding_conditions.clear();
    device.binding_failure_conditions.clear();
    device.binds_to_node.reset();
  });
}

bool UsesConsumableCapacity(const ResourceSlice& slice) {
  return AnyDevice(slice, [](const Device& device) {
    return device.allow_multiple_allocations.has_value() ||
           std::ranges::any_of(device.capacity, [](const auto& entry) {
             return entry.second.request_policy.has_value();
           });
  });
}
void DropConsumableCapacity(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) {
    device.allow_multiple_allocations.reset();
    for (auto& entry : device.capacity) entry.second.request_policy.reset();
  });
}

bool UsesCompatibilityGroups(const ResourceSlice& slice) {
  return AnyDevice(slice, [](const Device& device) {
    return std::ranges::any_of(device.consumes_counters,
                               [](const DeviceCounterConsumption& consumption) {
                                 return !consumption.compatibility_groups.empty();
                               });
  });
}
void DropCompatibilityGroups(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) {
    for (auto& consumption : device.consumes_counters) consumption.compatibility_groups.clear();
  });
}

bool UsesNodeAllocatable(const ResourceSlice& slice) {
  return AnyDevice(slice,
                   [](const Device& device) { return !device.node_allocatable_resources.empty(); });
}
void DropNodeAllocatable(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) { device.node_allocatable_resources.clear(); });
}

// Both forms of a list: Kubernetes's and KEP-5491's own.
bool UsesLists(const ResourceSlice& slice) {
  return AnyDevice(slice, [](const Device& device) {
    return std::ranges::any_of(device.attributes, [](const auto& entry) {
      const AttributeLists& lists = entry.second.Lists();
      return lists.int_values || lists.bool_values || lists.string_values || lists.version_values ||
             lists.list_value;
    });
  });
}
// The attribute stays, without a value: validation then says which one is not supported.
void DropLists(ResourceSlice& slice) {
  ForEachDevice(slice, [](Device& device) {
    for (auto& entry : device.attributes) {
      Box<AttributeLists>& lists = entry.second.lists;
      if (lists.has_value()) *lists = {.unknown = std::move(lists->unknown)};
    }
  });
}

bool UsesPartitionType(const ResourceSlice& slice) {
  return slice.spec.partition_type_attribute.has_value();
}
void DropPartitionType(ResourceSlice& slice) { slice.spec.partition_type_attribute.reset(); }

bool UsesNodeOperations(const ResourceSlice& slice) {
  return !slice.spec.skip_node_operations.empty();
}
void DropNodeOperations(ResourceSlice& slice) { slice.spec.skip_node_operations.clear(); }

constexpr std::array<GatedFeature<ResourceSlice>, 9> kFeatures = {{
    {Gate::kDRADeviceTaints, UsesTaints, DropTaints},
    {Gate::kDRAPartitionableDevices, UsesPartitions, DropPartitions},
    {Gate::kDRADeviceBindingConditions, UsesBindingConditions, DropBindingConditions,
     Gate::kDRAResourceClaimDeviceStatus},
    {Gate::kDRAConsumableCapacity, UsesConsumableCapacity, DropConsumableCapacity},
    {Gate::kDRADeviceCompatibilityGroups, UsesCompatibilityGroups, DropCompatibilityGroups},
    {Gate::kDRANodeAllocatableResources, UsesNodeAllocatable, DropNodeAllocatable},
    {Gate::kDRAListTypeAttributes, UsesLists, DropLists},
    {Gate::kDRAPartitionableDevicesType, UsesPartitionType, DropPartitionType},
    {Gate::kDRAOptionalNodeOperations, UsesNodeOperations, DropNodeOperations},
}};

}  // namespace

void PrepareForCreate(ResourceSlice& slice, const StrategyOptions& options) {
  slice.metadata.generation = 1;
  DropDisabled<ResourceSlice>(kFeatures, options.gates, slice, nullptr);
}

// The comparison comes before the drops, so that a change that only adds dropped fields counts;
// for a DeviceClass it comes after them. Kubernetes does the same.
void PrepareForUpdate(ResourceSlice& slice, const ResourceSlice& old,
                      const StrategyOptions& options) {
  if (!SemanticEqual(slice.spec, old.spec)) slice.metadata.generation = old.metadata.generation + 1;
  DropDisabled<ResourceSlice>(kFeatures, options.gates, slice, &old);
}

std::vector<std::string> WarningsFor(const ResourceSlice& slice) {
  const std::string& driver = slice.spec.driver;
  if (std::ranges::none_of(driver, [](char c) { return c >= 'A' && c <= 'Z'; })) return {};
  return {
      fmt::format("spec.driver: driver names should be lowercase; \"{}\" contains uppercase "
                  "characters",
                  driver)};
}

}  // namespace dray::api::internal

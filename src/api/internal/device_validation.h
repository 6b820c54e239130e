// SPDX-License-Identifier: Apache-2.0
//
// The parts of a slice's device, a file each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/map.h"
#include "api/resource_slice.h"

namespace dray::api::internal {

struct DeviceContext {
  bool per_device_node_selection = false;
  // The slice's list of devices is new or differs from the stored one. Kubernetes's field-tag rules
  // look at every device of a changed list; its other rules leave alone what a device keeps.
  bool list_changed = true;
};

// `old` is the device of the same name in the stored slice, or null.
void ValidateDevice(Report& report, const Path& at, const Device& device, const Device* old,
                    const DeviceContext& context);

// attribute_validation.cc
void ValidateAttributes(Report& report, const Path& at, const Map<DeviceAttribute>& attributes,
                        bool list_changed);
// How many of a device's 48 values the attributes take: Kubernetes's lists count by their items,
// anything else is one.
std::size_t CountAttributeValues(const Map<DeviceAttribute>& attributes);
// In either of the two forms; empty ones too.
bool HasListAttribute(const Map<DeviceAttribute>& attributes, bool own_rules);

// capacity_policy_validation.cc: `at` is the requestPolicy.
void ValidateRequestPolicy(Report& report, const Path& at, const base::Quantity& capacity,
                           const CapacityRequestPolicy& policy);

// counter_validation.cc
void ValidateSharedCounters(Report& report, const Path& at, const std::vector<CounterSet>& sets);
void ValidateConsumesCounters(Report& report, const Path& at,
                              const std::vector<DeviceCounterConsumption>& consumptions,
                              bool list_changed);
void ValidateCompatibilityGroups(Report& report, const Path& at,
                                 const std::vector<std::string>& groups);

// node_allocatable_validation.cc: cpu, memory and huge pages.
bool IsNodeResource(std::string_view name);
void ValidateNodeAllocatable(Report& report, const Path& at, const Device& device,
                             bool list_changed);

// How an attribute's or a capacity's key is shown in paths: one that is too long to be valid by its
// beginning and its end, put together in `buffer`.
std::string_view ShownKey(std::string_view key, std::string& buffer);

}  // namespace dray::api::internal

// SPDX-License-Identifier: Apache-2.0
//
// Devices that stand for a node's cpu, memory and huge pages.
#include <string_view>

#include "api/internal/device_validation.h"

namespace dray::api::internal {

bool IsNodeResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

namespace {

void CheckPositive(Report& report, const Path& at, const std::optional<base::Quantity>& amount) {
  if (amount && amount->Sign() <= 0) {
    report.InvalidQuantity(at, *amount, "must be greater than zero");
  }
}

void CheckNotNegative(Report& report, const Path& at, const std::optional<base::Quantity>& amount) {
  if (amount && amount->Sign() < 0) report.InvalidQuantity(at, *amount, "must not be negative");
}

void CheckCapacityKey(Report& report, const Path& at, const NodeAllocatableMapping& mapping,
                      const Device& device) {
  const std::string& key = *mapping.capacity_key;
  if (key.empty()) {
    report.Invalid(at.Child("capacityKey"), key, "must not be empty");
  } else if (!device.capacity.contains(key)) {
    report.NotFound(at.Child("capacityKey"), key);
  }
  if (!mapping.capacity_multiplier) {
    report.Required(at.Child("capacityMultiplier"), "capacityKey needs it");
  } else {
    CheckPositive(report, at.Child("capacityMultiplier"), mapping.capacity_multiplier);
  }
}

void CheckMapping(Report& report, const Path& at, const NodeAllocatableMapping& mapping,
                  const Device& device, bool list_changed) {
  if (mapping.capacity_key) {
    CheckCapacityKey(report, at, mapping, device);
  } else if (mapping.capacity_multiplier) {
    report.Required(at.Child("capacityKey"), "capacityMultiplier needs it");
  }
  CheckPositive(report, at.Child("deviceMultiplier"), mapping.device_multiplier);
  if (list_changed && mapping.capacity_key.has_value() == mapping.device_multiplier.has_value()) {
    report.InvalidAsIs(at, "", "must have exactly one of capacityKey and deviceMultiplier");
  }
}

void CheckOverhead(Report& report, const Path& at, const NodeAllocatableOverhead& overhead) {
  if (!overhead.per_pod && !overhead.per_container) {
    report.InvalidAsIs(at, "", "must have perPod, perContainer or both");
  }
  CheckNotNegative(report, at.Child("perPod"), overhead.per_pod);
  CheckNotNegative(report, at.Child("perContainer"), overhead.per_container);
}

}  // namespace

void ValidateNodeAllocatable(Report& report, const Path& at, const Device& device,
                             bool list_changed) {
  for (const auto& [name, entry] : device.node_allocatable_resources) {
    const Path here = at.Key(name);
    if (!IsNodeResource(name)) {
      report.Invalid(here, name, "must be cpu, memory or hugepages-<size>");
    }
    if (!entry.mapping && !entry.overhead) {
      report.Required(here, "must have mapping, overhead or both");
    }
    if (entry.mapping) {
      CheckMapping(report, here.Child("mapping"), *entry.mapping, device, list_changed);
    }
    if (entry.overhead) CheckOverhead(report, here.Child("overhead"), *entry.overhead);
  }
}

}  // namespace dray::api::internal

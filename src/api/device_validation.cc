// SPDX-License-Identifier: Apache-2.0
#include "api/internal/device_validation.h"

#include <algorithm>
#include <string>

#include "api/field_table.h"
#include "api/internal/name_validation.h"
#include "api/internal/node_selector_validation.h"
#include "api/internal/taint_validation.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

void CheckCounts(Report& report, const Path& at, const Device& device) {
  const std::size_t keys = device.attributes.size() + device.capacity.size();
  if (keys > kResourceSliceMaxAttributesAndCapacitiesPerDevice) {
    report.InvalidNumber(at, static_cast<std::int64_t>(keys),
                         fmt::format("must have at most {} attributes and capacities together",
                                     kResourceSliceMaxAttributesAndCapacitiesPerDevice));
  }
  const std::size_t values = CountAttributeValues(device.attributes);
  if (values > kResourceSliceMaxAttributeValuesPerDevice) {
    report.InvalidNumber(at, static_cast<std::int64_t>(values),
                         fmt::format("must have at most {} attribute values, items of lists "
                                     "counted one by one",
                                     kResourceSliceMaxAttributeValuesPerDevice));
  }
}

void CheckCapacity(Report& report, const Path& at, const Device& device) {
  const bool shared = device.allow_multiple_allocations.value_or(false);
  for (const auto& [key, capacity] : device.capacity) {
    CheckQualifiedName(report, at, key);
    std::string buffer;
    const Path here = at.Key(ShownKey(key, buffer));
    if (report.OwnRules() && capacity.value.Sign() < 0) {
      report.InvalidQuantity(here.Child("value"), capacity.value, "must be at least 0");
      continue;
    }
    if (!capacity.request_policy) continue;
    const Path policy = here.Child("requestPolicy");
    if (shared) {
      ValidateRequestPolicy(report, policy, capacity.value, *capacity.request_policy);
    } else {
      report.Forbidden(policy, "needs allowMultipleAllocations to be true");
    }
  }
}

void CheckTaints(Report& report, const Path& at, const std::vector<DeviceTaint>& taints) {
  if (!CheckSize(report, at, taints.size(), kDeviceTaintsMaxLength)) return;
  for (std::size_t i = 0; i < taints.size(); ++i) ValidateTaint(report, at.Index(i), taints[i]);
}

void CheckTaintEffects(Report& report, const Path& at, const std::vector<DeviceTaint>& taints) {
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Path here = at.Index(i);
    CheckTaintEffect(report, here.Child("effect"), taints[i].effect);
  }
}

void CheckOwnNodes(Report& report, const Path& at, const Device& device) {
  int set = 0;
  if (device.node_name && device.node_name->empty()) {
    report.Invalid(at.Child("nodeName"), "", "must not be empty");
  } else if (device.node_name) {
    ++set;
    CheckForm(report, at.Child("nodeName"), *device.node_name, kDnsSubdomain);
  }
  if (device.node_selector) {
    ++set;
    ValidateNodeSelector(report, at.Child("nodeSelector"), *device.node_selector);
  }
  if (device.all_nodes && !*device.all_nodes) {
    report.InvalidAsIs(at.Child("allNodes"), "false", "must be true or not be there");
  } else if (device.all_nodes) {
    ++set;
  }
  constexpr std::string_view kRule =
      "must have one of nodeName, nodeSelector and allNodes, because the slice says "
      "perDeviceNodeSelection";
  if (set == 0) report.Required(at, kRule);
  if (set > 1) report.InvalidAsIs(at, "", kRule);
}

void CheckNodes(Report& report, const Path& at, const Device& device, bool per_device) {
  if (per_device) return CheckOwnNodes(report, at, device);
  if (!device.node_name && !device.node_selector && !device.all_nodes) return;
  report.InvalidAsIs(at, "",
                     "nodeName, nodeSelector and allNodes of a device need perDeviceNodeSelection "
                     "to be true in the slice");
}

}  // namespace

std::string_view ShownKey(std::string_view key, std::string& buffer) {
  constexpr std::size_t kMax = kDeviceMaxDomainLength + 1 + kDeviceMaxIDLength;
  constexpr std::size_t kKept = kMax - 3;
  if (key.size() <= kMax) return key;
  buffer =
      fmt::format("{}...{}", key.substr(0, (kKept + 1) / 2), key.substr(key.size() - kKept / 2));
  return buffer;
}

void ValidateDevice(Report& report, const Path& at, const Device& device, const Device* old,
                    const DeviceContext& context) {
  CheckForm(report, at.Child("name"), device.name, kDnsLabel);
  CheckCounts(report, at, device);
  ValidateAttributes(report, at.Child("attributes"), device.attributes, context.list_changed);
  // Rules for capacity became stricter over time: what is stored stays as it is.
  if (old == nullptr || !SemanticEqual(old->capacity, device.capacity)) {
    CheckCapacity(report, at.Child("capacity"), device);
  }
  if (old == nullptr || !SemanticEqual(old->taints, device.taints)) {
    CheckTaints(report, at.Child("taints"), device.taints);
  } else if (context.list_changed) {
    CheckTaintEffects(report, at.Child("taints"), device.taints);
  }
  ValidateConsumesCounters(report, at.Child("consumesCounters"), device.consumes_counters,
                           context.list_changed);
  CheckNodes(report, at, device, context.per_device_node_selection);
  ValidateBindingConditions(report, at, device.binding_conditions,
                            device.binding_failure_conditions);
  ValidateNodeAllocatable(report, at.Child("nodeAllocatableResources"), device,
                          context.list_changed);
}

}  // namespace dray::api::internal

// SPDX-License-Identifier: Apache-2.0
//
// ResourceSlice. On update the pool, driver and node stay; everything else may change and is looked
// at again, but for what a device keeps (device_validation.cc).
#include <algorithm>
#include <string>
#include <string_view>

#include "api/field_table.h"
#include "api/internal/device_validation.h"
#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/node_selector_validation.h"
#include "api/internal/taint_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kImmutable = "must not change";

void CheckPool(Report& report, const Path& at, const ResourcePool& pool) {
  CheckPoolName(report, at.Child("name"), pool.name);
  if (pool.resource_slice_count <= 0) {
    report.InvalidNumber(at.Child("resourceSliceCount"), pool.resource_slice_count,
                         "must be greater than zero");
  }
  if (pool.generation < 0) {
    report.InvalidNumber(at.Child("generation"), pool.generation, "must not be negative");
  }
}

void CheckIdentityKept(Report& report, const Path& at, const ResourceSliceSpec& spec,
                       const ResourceSliceSpec& old) {
  if (spec.pool.name != old.pool.name) {
    const Path pool = at.Child("pool");
    report.Invalid(pool.Child("name"), spec.pool.name, kImmutable);
  }
  if (spec.driver != old.driver) report.Invalid(at.Child("driver"), spec.driver, kImmutable);
  if (spec.node_name != old.node_name) {
    report.Invalid(at.Child("nodeName"), spec.node_name.value_or(""), kImmutable);
  }
}

// Whether a flag is there and true. False means the same as absent, so it is refused.
bool IsOn(Report& report, const Path& at, const std::optional<bool>& flag) {
  if (!flag) return false;
  if (!*flag) report.InvalidAsIs(at, "false", "must be true or not be there");
  return *flag;
}

void CheckNodes(Report& report, const Path& at, const ResourceSliceSpec& spec) {
  int set = 0;
  if (spec.node_name && spec.node_name->empty()) {
    report.Invalid(at.Child("nodeName"), "", "must be a node's name or not be there");
  } else if (spec.node_name) {
    ++set;
    CheckForm(report, at.Child("nodeName"), *spec.node_name, kDnsSubdomain);
  }
  if (spec.node_selector) {
    ++set;
    const Path selector = at.Child("nodeSelector");
    ValidateNodeSelector(report, selector, *spec.node_selector);
    // An allocation ands the selectors of its devices, which several terms would not allow.
    if (spec.node_selector->node_selector_terms.size() != 1) {
      report.InvalidAsIs(selector.Child("nodeSelectorTerms"), "", "must have exactly one term");
    }
  }
  set += IsOn(report, at.Child("allNodes"), spec.all_nodes) ? 1 : 0;
  set += IsOn(report, at.Child("perDeviceNodeSelection"), spec.per_device_node_selection) ? 1 : 0;

  constexpr std::string_view kRule =
      "must have exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection";
  if (set == 0) report.Required(at, kRule);
  if (set > 1) report.InvalidAsIs(at, "", kRule);
}

bool AnyDevice(const std::vector<Device>& devices, bool (*is)(const Device&)) {
  return std::ranges::any_of(devices, is);
}
bool ConsumesCounters(const Device& device) { return !device.consumes_counters.empty(); }

std::size_t MaxDevices(const std::vector<Device>& devices, bool own_rules) {
  const bool advanced = AnyDevice(devices, [](const Device& d) { return !d.taints.empty(); }) ||
                        AnyDevice(devices, ConsumesCounters) ||
                        std::ranges::any_of(devices, [own_rules](const Device& d) {
                          return HasListAttribute(d.attributes, own_rules);
                        });
  return advanced ? kResourceSliceMaxDevicesWithAdvancedFeatures : kResourceSliceMaxDevices;
}

using DevicesByName =
    absl::flat_hash_map<std::string_view, const Device*, base::StringHash, base::StringEq>;

DevicesByName ByName(const std::vector<Device>& devices) {
  DevicesByName by_name;
  for (const Device& device : devices) by_name.emplace(device.name, &device);
  return by_name;
}

void CheckDevices(Report& report, const Path& at, const ResourceSliceSpec& spec,
                  const ResourceSliceSpec* old) {
  if (!spec.devices) return;
  const std::vector<Device>& devices = *spec.devices;
  if (!CheckSize(report, at, devices.size(), MaxDevices(devices, report.OwnRules()))) return;
  const DeviceContext context{
      .per_device_node_selection = spec.per_device_node_selection.value_or(false),
      .list_changed = old == nullptr || !SemanticEqual(spec.devices, old->devices)};
  const DevicesByName stored =
      old != nullptr && old->devices ? ByName(*old->devices) : DevicesByName();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto before = stored.find(devices[i].name);
    ValidateDevice(report, at.Index(i), devices[i],
                   before == stored.end() ? nullptr : before->second, context);
  }
  CheckUnique(report, at, devices, [](const Device& d) -> std::string_view { return d.name; });
}

// By its full name, or without the domain when that is the driver's.
const DeviceAttribute* FindAttribute(const Device& device, std::string_view name,
                                     std::string_view driver) {
  if (const DeviceAttribute* attribute = device.attributes.Find(name)) return attribute;
  const std::string prefix = fmt::format("{}/", driver);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return device.attributes.Find(name);
}

void CheckPartitionTypes(Report& report, const Path& at, const ResourceSliceSpec& spec) {
  const std::string& name = *spec.partition_type_attribute;
  const bool counting = spec.devices && AnyDevice(*spec.devices, ConsumesCounters);
  if (!counting) {
    report.Invalid(at.Child("partitionTypeAttribute"), name,
                   "needs devices in the slice that consume counters");
    return;
  }
  // No device can have an attribute of a malformed name; one error is enough.
  if (!IsFullyQualifiedName(name)) return;
  const Path devices = at.Child("devices");
  for (std::size_t i = 0; i < spec.devices->size(); ++i) {
    const Device& device = (*spec.devices)[i];
    if (!ConsumesCounters(device)) continue;
    const Path here = devices.Index(i);
    const Path attributes = here.Child("attributes");
    const DeviceAttribute* attribute = FindAttribute(device, name, spec.driver);
    if (attribute == nullptr) {
      report.Required(attributes.Key(name),
                      "the device consumes counters, so it must say its partition's type");
    } else if (!attribute->string_value) {
      report.InvalidAsIs(attributes.Key(name), "",
                         "must be a string, because it is the partition's type");
    }
  }
}

void CheckPartitionType(Report& report, const Path& at, const ResourceSliceSpec& spec,
                        const ResourceSliceSpec* old) {
  if (!spec.partition_type_attribute) return;
  CheckPartitionTypes(report, at, spec);
  if (old != nullptr && old->partition_type_attribute == spec.partition_type_attribute) return;
  const Path here = at.Child("partitionTypeAttribute");
  if (!report.Enabled(Gate::kDRAPartitionableDevicesType)) {
    report.Forbidden(here, "needs the feature gate DRAPartitionableDevicesType");
    return;
  }
  CheckFullyQualifiedName(report, here, *spec.partition_type_attribute);
}

}  // namespace

void ValidateSlice(Report& report, const ResourceSlice& slice, const ResourceSlice* old) {
  const Path at("spec");
  const ResourceSliceSpec& spec = slice.spec;
  const ResourceSliceSpec* old_spec = old == nullptr ? nullptr : &old->spec;
  CheckDriverName(report, at.Child("driver"), spec.driver);
  CheckPool(report, at.Child("pool"), spec.pool);
  if (old_spec != nullptr) CheckIdentityKept(report, at, spec, *old_spec);
  CheckNodes(report, at, spec);
  if (spec.shared_counters && spec.devices) {
    report.InvalidAsIs(at, "", "must have devices or sharedCounters, not both, even if empty");
  }
  CheckDevices(report, at.Child("devices"), spec, old_spec);
  if (spec.shared_counters) {
    ValidateSharedCounters(report, at.Child("sharedCounters"), *spec.shared_counters);
  }
  CheckPartitionType(report, at, spec, old_spec);
  ValidateSkipNodeOperations(report, at.Child("skipNodeOperations"), spec.skip_node_operations,
                             old_spec == nullptr ? nullptr : &old_spec->skip_node_operations);
}

}  // namespace dray::api::internal

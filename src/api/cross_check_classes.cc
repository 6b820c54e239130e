// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of what administrators write: classes and taint rules.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/internal/cross_world.h"
#include "base/names.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// KEP-5004 "Device Class API": the class created later is picked, of equally old ones the one whose
// name sorts first. A class without a time has yet to be created, which makes it the newest.
bool Wins(const DeviceClass& a, const DeviceClass& b) {
  const auto& time_a = a.metadata.creation_timestamp;
  const auto& time_b = b.metadata.creation_timestamp;
  if (time_a != time_b) return !time_a || (time_b && *time_a > *time_b);
  return a.metadata.name < b.metadata.name;
}

bool Selects(const std::optional<std::string>& wanted, const std::string& have) {
  return !wanted || wanted->empty() || *wanted == have;
}

bool HasDevice(const GivenPool& pool, const std::optional<std::string>& name) {
  return std::ranges::any_of(pool.current, [&](const Given<ResourceSlice>& slice) {
    const auto& devices = slice.object->spec.devices;
    return devices && std::ranges::any_of(*devices, [&](const Device& device) {
             return Selects(name, device.name);
           });
  });
}

bool SelectsSomething(const World& world, const DeviceTaintSelector& selector) {
  return std::ranges::any_of(world.pools, [&](const GivenPool& pool) {
    return Selects(selector.driver, pool.driver) && Selects(selector.pool, pool.name) &&
           HasDevice(pool, selector.device);
  });
}

// The outermost part of the selector that nothing has, and what there is instead.
std::string WhyNothing(const World& world, const DeviceTaintSelector& selector) {
  std::vector<std::string_view> drivers;
  std::vector<std::string_view> pools;
  std::vector<std::string_view> devices;
  for (const GivenPool& pool : world.pools) {
    drivers.push_back(pool.driver);
    if (!Selects(selector.driver, pool.driver)) continue;
    pools.push_back(pool.name);
    if (!Selects(selector.pool, pool.name)) continue;
    for (const Given<ResourceSlice>& slice : pool.current) {
      if (!slice.object->spec.devices) continue;
      for (const Device& device : *slice.object->spec.devices) devices.push_back(device.name);
    }
  }
  if (pools.empty()) {
    return HintAmong(selector.driver.value_or(""), std::move(drivers), "given drivers");
  }
  if (devices.empty() && selector.pool) {
    return HintAmong(*selector.pool, std::move(pools), "given pools");
  }
  return HintAmong(selector.device.value_or(""), std::move(devices), "given devices");
}

}  // namespace

void CheckExtendedResourceNames(const World& world, Findings& findings) {
  base::StringMap<const Given<DeviceClass>*> winner;
  const auto name_of = [](const Given<DeviceClass>& c) -> const std::optional<std::string>& {
    return c.object->spec.extended_resource_name;
  };
  for (const Given<DeviceClass>& given : world.classes) {
    if (!name_of(given) || name_of(given)->empty()) continue;
    const auto [it, added] = winner.try_emplace(*name_of(given), &given);
    if (!added && Wins(*given.object, *it->second->object)) it->second = &given;
  }
  for (const Given<DeviceClass>& given : world.classes) {
    if (!name_of(given) || name_of(given)->empty()) continue;
    const Given<DeviceClass>& wins = *winner.find(*name_of(given))->second;
    if (wins.object->metadata.name == given.object->metadata.name) continue;
    findings.push_back(
        {.object = given.index,
         .path = base::FieldPath("spec") / "extendedResourceName",
         .severity = Severity::kWarning,
         .reason = "SharedExtendedResourceName",
         .message = fmt::format("\"{}\" is also the name of DeviceClass \"{}\", which is the one "
                                "that counts",
                                *name_of(given), wins.object->metadata.name),
         .hint = "the newest class wins, of equally old ones the one whose name sorts first; clear "
                 "the field here once the move is done",
         .related = wins.index});
  }
}

void CheckImplicitResourceNames(const World& world, Findings& findings) {
  for (const Given<DeviceClass>& given : world.classes) {
    const std::string& name = given.object->metadata.name;
    if (name.size() <= base::kQualifiedNameMaxLength || given.object->spec.extended_resource_name) {
      continue;
    }
    findings.push_back(
        {.object = given.index,
         .path = base::FieldPath("metadata") / "name",
         .severity = Severity::kWarning,
         .reason = "NoImplicitResourceName",
         .message = fmt::format("the name has {} characters, so pods cannot ask for the class as "
                                "the extended resource deviceclass.resource.kubernetes.io/<name>",
                                name.size()),
         .hint = fmt::format("at most {} characters, or set spec.extendedResourceName",
                             base::kQualifiedNameMaxLength)});
  }
}

void CheckTaintRulesSelect(const World& world, Findings& findings) {
  if (!world.has_devices) return;
  for (const Given<DeviceTaintRule>& rule : world.taint_rules) {
    const auto& selector = rule.object->spec.device_selector;
    if (!selector || SelectsSomething(world, *selector)) continue;
    findings.push_back({.object = rule.index,
                        .path = base::FieldPath("spec") / "deviceSelector",
                        .severity = Severity::kWarning,
                        .reason = "SelectsNothing",
                        .message = "selects none of the given devices",
                        .hint = WhyNothing(world, *selector)});
  }
}

}  // namespace dray::api::internal

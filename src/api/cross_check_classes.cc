// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks of what administrators write: classes and taint rules.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/extended_resources.h"
#include "api/internal/cross_world.h"
#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// A class without a time has yet to be created, which makes it newer than any that has one.
base::Time NotYet() { return base::Time::FromUnix(std::numeric_limits<std::int64_t>::max()); }

// The name that counts as set: an empty one is validation's.
const std::string* ExplicitName(const DeviceClass& given) {
  const auto& name = given.spec.extended_resource_name;
  return name && !name->empty() ? &*name : nullptr;
}

bool Selects(const std::optional<std::string>& wanted, const std::string& have) {
  return !wanted || wanted->empty() || *wanted == have;
}

// What taint rules select: for each combination of fields that a rule sets, what all devices have
// there. So the devices are walked through at most eight times, however many rules there are.
class Selectable {
 public:
  explicit Selectable(const World& world) : world_(world) {}

  bool Has(const DeviceTaintSelector& selector) {
    const Fields set = {IsSet(selector.driver), IsSet(selector.pool), IsSet(selector.device)};
    return ValuesOf(set).contains(Key(selector.driver.value_or(""), selector.pool.value_or(""),
                                      selector.device.value_or(""), set));
  }

 private:
  struct Fields {
    bool driver, pool, device;
    auto operator<=>(const Fields&) const = default;
  };

  static bool IsSet(const std::optional<std::string>& field) { return field && !field->empty(); }
  // No name has a line break.
  static std::string Key(std::string_view driver, std::string_view pool, std::string_view device,
                         const Fields& set) {
    return fmt::format("{}\n{}\n{}", set.driver ? driver : "", set.pool ? pool : "",
                       set.device ? device : "");
  }

  const base::StringSet& ValuesOf(const Fields& set) {
    const auto [it, added] = values_.try_emplace(set);
    if (!added) return it->second;
    for (const GivenPool& pool : world_.pools) {
      for (const Given<ResourceSlice>& slice : pool.current) {
        if (!slice.object->spec.devices) continue;
        for (const Device& device : *slice.object->spec.devices) {
          it->second.insert(Key(pool.driver, pool.name, device.name, set));
          if (!set.device) break;
        }
      }
    }
    return it->second;
  }

  const World& world_;
  std::map<Fields, base::StringSet> values_;
};

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
    return HintAmong(world, selector.driver.value_or(""), std::move(drivers),
                     "drivers in the input");
  }
  if (devices.empty() && selector.pool) {
    return HintAmong(world, *selector.pool, std::move(pools), "pools in the input");
  }
  return HintAmong(world, selector.device.value_or(""), std::move(devices), "devices in the input");
}

}  // namespace

void CheckExtendedResourceNames(const World& world, Findings& findings) {
  ExtendedResourceIndex index;
  base::StringMap<std::size_t> index_of;
  for (const Given<DeviceClass>& given : world.classes) {
    DeviceClass known;
    known.metadata.name = given.object->metadata.name;
    known.metadata.creation_timestamp =
        given.object->metadata.creation_timestamp.value_or(NotYet());
    known.spec.extended_resource_name = given.object->spec.extended_resource_name;
    index.OnAdd(known);
    index_of.emplace(known.metadata.name, given.index);
  }
  for (const Given<DeviceClass>& given : world.classes) {
    const std::string* name = ExplicitName(*given.object);
    const std::string* winner = name == nullptr ? nullptr : index.FindClass(*name);
    if (winner == nullptr || *winner == given.object->metadata.name) continue;
    findings.push_back(
        {.object = given.index,
         .path = base::FieldPath("spec") / "extendedResourceName",
         .severity = Severity::kWarning,
         .reason = "SharedExtendedResourceName",
         .message = fmt::format("\"{}\" is also the name of DeviceClass \"{}\", which is the one "
                                "that counts",
                                *name, *winner),
         .hint = "the newest class wins, of equally old ones the one whose name sorts first; clear "
                 "the field here once the move is done",
         .related = index_of.find(*winner)->second});
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
  Selectable selectable(world);
  int compared = 0;
  for (const Given<DeviceTaintRule>& rule : world.taint_rules) {
    const auto& selector = rule.object->spec.device_selector;
    if (!selector || selectable.Has(*selector)) continue;
    findings.push_back({.object = rule.index,
                        .path = base::FieldPath("spec") / "deviceSelector",
                        .severity = Severity::kWarning,
                        .reason = "SelectsNothing",
                        .message = "selects none of the devices in the input",
                        // For people, who read the first few.
                        .hint = ++compared > 20 ? "" : WhyNothing(world, *selector)});
  }
}

}  // namespace dray::api::internal

// SPDX-License-Identifier: Apache-2.0
//
// Counter sets and what devices consume of them (KEP-4815), with compatibility groups (KEP-5963).
#include <string_view>

#include "api/internal/device_validation.h"
#include "api/internal/name_validation.h"

namespace dray::api::internal {
namespace {

// Amounts are free: a driver may count below zero.
void CheckCounters(Report& report, const Path& at, const Map<Counter>& counters, std::size_t max) {
  if (counters.empty()) return report.Required(at);
  CheckSize(report, at, counters.size(), max);
  for (const auto& [name, counter] : counters) CheckForm(report, at, name, kDnsLabel);
}

}  // namespace

void ValidateSharedCounters(Report& report, const Path& at, const std::vector<CounterSet>& sets) {
  if (!CheckSize(report, at, sets.size(), kResourceSliceMaxCounterSets)) return;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const Path here = at.Index(i);
    CheckRequiredForm(report, here.Child("name"), sets[i].name, kDnsLabel);
    CheckCounters(report, here.Child("counters"), sets[i].counters,
                  kResourceSliceMaxCountersPerCounterSet);
  }
  CheckUnique(report, at, sets, [](const CounterSet& s) -> std::string_view { return s.name; });
}

void ValidateCompatibilityGroups(Report& report, const Path& at,
                                 const std::vector<std::string>& groups) {
  if (!CheckSize(report, at, groups.size(), kDeviceCompatibilityGroupsMaxSize)) return;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    CheckForm(report, at.Index(i), groups[i], kDnsLabel);
  }
  CheckUnique(report, at, groups);
}

void ValidateConsumesCounters(Report& report, const Path& at,
                              const std::vector<DeviceCounterConsumption>& consumptions,
                              bool list_changed) {
  if (!CheckSize(report, at, consumptions.size(),
                 kResourceSliceMaxDeviceCounterConsumptionsPerDevice)) {
    return;
  }
  for (std::size_t i = 0; i < consumptions.size(); ++i) {
    const DeviceCounterConsumption& consumption = consumptions[i];
    const Path here = at.Index(i);
    CheckRequiredForm(report, here.Child("counterSet"), consumption.counter_set, kDnsLabel);
    CheckCounters(report, here.Child("counters"), consumption.counters,
                  kResourceSliceMaxCountersPerDeviceCounterConsumption);
    if (!list_changed) continue;
    ValidateCompatibilityGroups(report, here.Child("compatibilityGroups"),
                                consumption.compatibility_groups);
  }
  CheckUnique(report, at, consumptions,
              [](const DeviceCounterConsumption& c) -> std::string_view { return c.counter_set; });
}

}  // namespace dray::api::internal

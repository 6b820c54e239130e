// SPDX-License-Identifier: Apache-2.0
//
// Properties: reading a scenario never crashes and says why it refuses; one that is small enough
// and has no faults runs to its end, twice in the same way.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "simulator/cluster_builder.h"
#include "simulator/simulation.h"

namespace {

using namespace dray::simulator;  // NOLINT: a fuzz target is about one room

// So that an input takes a moment, not a day.
bool IsSmall(const Scenario& scenario) {
  std::int64_t size = 0;
  for (const NodeGroup& group : scenario.node_groups) {
    std::int64_t devices = 1;
    for (const DriverDevices& driver : group.drivers) {
      for (const Copies& copies : driver.devices) devices += copies.count;
      for (const Copies& copies : driver.counter_sets) devices += copies.count;
    }
    if (group.count > 20 || devices > 50) return false;
    size += group.count * devices;
  }
  for (const Copies& copies : scenario.objects) size += copies.count;
  const double seconds =
      scenario.duration ? std::chrono::duration<double>(*scenario.duration).count() : 0;
  if (seconds > 600) return false;
  const auto often = [&](const Interval& interval) {
    return seconds > 60 * std::chrono::duration<double>(interval.mean).count();
  };
  for (const Workload& workload : scenario.workloads) {
    size += workload.count.value_or(0);
    if (workload.arrival && !workload.count && often(*workload.arrival)) return false;
    if (workload.warm_up && size > 100) return false;
  }
  for (const Churn& churn : scenario.churn) {
    if (often(churn.every)) return false;
  }
  for (const NodeFailure& failure : scenario.node_failures) {
    if (often(failure.every)) return false;
  }
  return size < 300 && scenario.failing_writes < 0.5;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Fault> faults;
  const auto scenario =
      ReadScenario(std::string_view(reinterpret_cast<const char*>(data), size), faults);
  DRAY_CHECK(scenario.has_value() == faults.empty());
  if (!scenario || !IsSmall(*scenario)) return 0;
  if (!ClusterBuilder(*scenario).Check({}).empty()) return 0;
  const auto once = Simulate(*scenario, {}, {});
  const auto again = Simulate(*scenario, {}, {});
  DRAY_CHECK(once.ok() == again.ok());
  if (once.ok()) DRAY_CHECK(ToJson(*once) == ToJson(*again));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins.h"

#include <algorithm>
#include <utility>

#include "scheduler/plugins/default_plugins.h"
#include "scheduler/plugins/device_fragmentation.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/topology_placement.h"

namespace dray::scheduler {

std::vector<std::unique_ptr<Plugin>> DefaultPlugins(const Profile& profile,
                                                    const PluginHost& host) {
  std::vector<std::unique_ptr<Plugin>> plugins = MakeNodePlugins(
      profile,
      {.world = host.world, .cluster = host.cluster, .clock = host.clock, .what_if = host.what_if});
  if (host.options.gates.Enabled(api::Gate::kTopologyAwareWorkloadScheduling)) {
    plugins.insert(plugins.begin(), std::make_unique<TopologyPlacement>());
  }
  auto devices = std::make_unique<DynamicResources>(
      host.world, host.cluster, host.clock, host.ids,
      DynamicResourcesOptions{
          .args = profile.dynamic_resources,
          .search = {.policy = profile.policy.value_or(host.options.policy),
                     .work_budget = host.options.work_budget},
          .workers = host.options.executor == nullptr ? 1 : host.options.executor->workers(),
          .component = profile.scheduler_name,
          .preempt = profile.preemption.devices && !IsDisabled(profile, "DefaultPreemption"),
          .observer = host.options.observer});
  if (IsDisabled(profile, devices->name())) return plugins;
  // An idle claim is given back before pods are sent away.
  const auto preemption = std::ranges::find_if(
      plugins, [](const auto& plugin) { return plugin->name() == "DefaultPreemption"; });
  const auto at = plugins.insert(preemption, std::move(devices));
  if (profile.policy == allocator::Policy::kFragmentation &&
      !IsDisabled(profile, "DeviceFragmentation")) {
    // After DynamicResources, whose PreFilter says what the claims ask for.
    plugins.insert(at + 1,
                   std::make_unique<DeviceFragmentation>(host.world, profile.fragmentation));
  }
  return plugins;
}

}  // namespace dray::scheduler

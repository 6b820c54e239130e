// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/default_plugins.h"

#include <algorithm>
#include <array>
#include <utility>

#include "scheduler/plugins/default_preemption.h"
#include "scheduler/plugins/inter_pod_affinity.h"
#include "scheduler/plugins/node_affinity.h"
#include "scheduler/plugins/node_declared_features.h"
#include "scheduler/plugins/node_name.h"
#include "scheduler/plugins/node_ports.h"
#include "scheduler/plugins/node_resources_balanced_allocation.h"
#include "scheduler/plugins/node_resources_fit.h"
#include "scheduler/plugins/node_unschedulable.h"
#include "scheduler/plugins/pod_topology_spread.h"
#include "scheduler/plugins/scheduling_gates.h"
#include "scheduler/plugins/taint_toleration.h"
#include "scheduler/plugins/unsupported_fields.h"
#include "scheduler/plugins/volume_binding.h"
#include "scheduler/plugins/volume_limits.h"

namespace dray::scheduler {
namespace {

// Kubernetes's.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kWeights = {{
    {"TaintToleration", 3},
    {"NodeAffinity", 2},
    {"NodeResourcesFit", 1},
    {"PodTopologySpread", 2},
    {"InterPodAffinity", 2},
    {"DynamicResources", 2},
    {"NodeResourcesBalancedAllocation", 1},
}};

}  // namespace

bool IsDisabled(const Profile& profile, std::string_view plugin) {
  return std::ranges::find(profile.disabled, plugin) != profile.disabled.end();
}

std::int64_t DefaultScoreWeight(std::string_view plugin) {
  for (const auto& [name, weight] : kWeights) {
    if (name == plugin) return weight;
  }
  return 0;
}

std::vector<std::unique_ptr<Plugin>> MakeNodePlugins(const Profile& profile,
                                                     const PluginContext& context) {
  static const std::vector<ResourceWeight> kBalanced = {{"cpu", 1}, {"memory", 1}};
  World& world = context.world;
  std::vector<std::unique_ptr<Plugin>> plugins;
  plugins.push_back(std::make_unique<SchedulingGates>());
  plugins.push_back(std::make_unique<UnsupportedFields>());
  plugins.push_back(std::make_unique<NodeName>());
  plugins.push_back(std::make_unique<NodeUnschedulable>());
  plugins.push_back(std::make_unique<TaintToleration>());
  plugins.push_back(std::make_unique<NodeAffinity>(profile.node_affinity));
  plugins.push_back(std::make_unique<NodePorts>());
  if (world.gates().Enabled(api::Gate::kNodeDeclaredFeatures)) {
    plugins.push_back(std::make_unique<NodeDeclaredFeatures>());
  }
  plugins.push_back(std::make_unique<NodeResourcesFit>(profile.fit, world));
  plugins.push_back(std::make_unique<VolumeRestrictions>());
  plugins.push_back(std::make_unique<NodeVolumeLimits>(world));
  plugins.push_back(std::make_unique<VolumeBinding>(world, context.cluster, context.clock,
                                                    profile.volume_binding.timeout));
  plugins.push_back(std::make_unique<PodTopologySpread>());
  plugins.push_back(std::make_unique<InterPodAffinity>(world));
  plugins.push_back(std::make_unique<DefaultPreemption>(
      context.cluster, context.clock, context.what_if,
      PreemptionArgs{profile.preemption.min_candidate_nodes_percentage,
                     profile.preemption.min_candidate_nodes_absolute}));
  plugins.push_back(std::make_unique<NodeResourcesBalancedAllocation>(kBalanced, world));
  std::erase_if(plugins, [&](const auto& plugin) { return IsDisabled(profile, plugin->name()); });
  return plugins;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// The plugins that look at nodes and pods, in Kubernetes's order, with their weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "scheduler/config.h"
#include "scheduler/framework.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// A score plugin's weight unless the configuration says otherwise; 0: none.
std::int64_t DefaultScoreWeight(std::string_view plugin);

bool IsDisabled(const Profile& profile, std::string_view plugin);

// What MakeNodePlugins hands to the plugins. All outlive them.
struct PluginContext {
  World& world;
  api::Cluster& cluster;
  const base::Clock& clock;
  WhatIf& what_if;
};

// All but DynamicResources, which goes before DefaultPreemption: first an idle claim is given back,
// then pods are removed. Those that the profile disables are left out. ImageLocality is not there:
// nobody pulls images here.
std::vector<std::unique_ptr<Plugin>> MakeNodePlugins(const Profile& profile,
                                                     const PluginContext& context);

}  // namespace dray::scheduler

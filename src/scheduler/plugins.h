// SPDX-License-Identifier: Apache-2.0
//
// The plugins that a profile has unless it says otherwise.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/framework.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {

// In Kubernetes's order: that of filters, and of what is tried when no node is left.
std::vector<std::unique_ptr<Plugin>> DefaultPlugins(const Profile& profile, const PluginHost& host);

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// Sending pods away for others that are more important, and saying so: to the victims, and to who waits.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "scheduler/device_holds.h"
#include "scheduler/pod_info.h"
#include "scheduler/reason.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// For whom, as events name him.
struct Preemptor {
  std::string who;    // "pod UID", "podgroup UID"
  std::string where;  // a node's name; "cluster" for a group
  std::string scheduler;
};

// Marks the victims and deletes them, those that are not ending already. `leaving`: claims that will be given
// back; who uses one is told so. The first failure ends it: some may have been sent away by then.
Status Evict(api::Cluster& cluster, const base::Clock& clock, const World& world,
             const Preemptor& preemptor, std::span<const std::shared_ptr<const PodInfo>> victims,
             std::span<const DeviceHold::Leaving> leaving);

// Whether the pod is ending because somebody was more important.
bool TerminatingByPreemption(const api::Pod& pod);

// "a, b, c and 2 more".
std::string Named(std::span<const std::string> names);
// "waiting for 2 pods of lower priority to leave node n: a, b; device d is kept for it." `where`: "node n";
// empty: wherever they are.
std::string WaitingFor(std::span<const std::string> victims, std::string_view where,
                       std::span<const std::string> devices);

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// How objects come into the cluster of a plan: those of a dump as they are, those that somebody has
// written as if they were created now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "base/status.h"
#include "planner/internal/write_guard.h"

namespace dray::planner::internal {

// By kind and name, so that nothing depends on the order in which objects were given; those without
// a namespace are in "default". Events are left out: they tell of what was.
void Arrange(std::vector<api::Object>& objects);

// A number for objects: equal for equal ones, so that what is made up in a plan (uids, names) is
// the same every time, and another one in a plan of that plan.
std::uint64_t SeedOf(const std::vector<api::Object>& objects);

// A pod or claim that somebody has written and a quota leaves no room for.
struct TurnedAway {
  api::Object object;
  std::string reason;
};

// An object with a uid or a resourceVersion is one of a dump. AlreadyExists, or what else a server
// has against one, with its name; but what quotas have against pods and claims goes into `away`.
// The guard watches the cluster from here on.
Status Admit(std::vector<api::Object> objects, api::MemoryCluster& cluster, WriteGuard& guard,
             std::vector<TurnedAway>& away);

// Workloads that controllers are not to act on: their status tells of pods that were not given, so
// that a second set would be made. Takes them out of `objects`; says so in `notes`.
std::vector<api::Object> TakeHalfGiven(std::vector<api::Object>& objects,
                                       std::vector<std::string>& notes);

// How many pods workloads ask for beyond those that they have. InvalidArgument when that is more
// than `limit`, with the one that goes beyond it.
StatusOr<std::size_t> CheckPodCount(const std::vector<api::Object>& objects, std::size_t limit);

// InvalidArgument for a workload that would make pods for ever, as a server says it: it does not
// select those that it makes.
Status CheckSelectors(const std::vector<api::Object>& objects);

}  // namespace dray::planner::internal

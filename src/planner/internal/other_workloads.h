// SPDX-License-Identifier: Apache-2.0
//
// DaemonSets, StatefulSets and CronJobs in plans. Their controllers are not run: these wait for pods
// to become ready, and replace those of older templates, while nothing runs in a plan and what is
// there stays. So what is missing is made at once: a pod for every node that a DaemonSet fits, every
// number of a StatefulSet, and the job of a CronJob once, as if it were due.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "api/node.h"
#include "base/status.h"
#include "base/time.h"

namespace dray::planner::internal {

// Into the cluster. What a quota refuses is left out: the cluster's guard knows of it.
Status MakeOtherPods(api::MemoryCluster& cluster, base::Time now);

// Says in `notes` that the jobs of CronJobs are planned once.
void NoteCronJobs(const std::vector<api::Object>& objects, std::vector<std::string>& notes);

// How many pods the DaemonSet should have on these nodes.
std::int64_t DaemonsWanted(const api::Object& set, const std::vector<api::Object>& nodes);

}  // namespace dray::planner::internal

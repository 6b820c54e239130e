// SPDX-License-Identifier: Apache-2.0
//
// Who has what a refused pod lacks, as people call them: pods that are there, and pods that would
// only get it in the plan. The allocator knows claims alone, and cannot tell these apart.
#pragma once

#include "api/memory_cluster.h"
#include "planner/internal/outcomes.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// Names the holders in all explanations of the plan. Summaries change with them.
void NameHolders(const Before& before, const api::MemoryCluster& cluster, base::Time now,
                 Plan& plan);

}  // namespace dray::planner::internal

// SPDX-License-Identifier: Apache-2.0
//
// Nodes that manifests do not have: examples and drivers' manifests have slices, and somebody else
// runs the nodes.
#pragma once

#include <string>
#include <vector>

#include "api/kinds.h"
#include "planner/plan.h"

namespace dray::planner::internal {

// Adds the nodes that are assumed, and gives room to nodes that do not say how much they have. Says
// so in `notes`.
void CompleteNodes(AssumeNodes assume, std::vector<api::Object>& objects,
                   std::vector<std::string>& notes);

}  // namespace dray::planner::internal

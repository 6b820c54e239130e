// SPDX-License-Identifier: Apache-2.0
//
// A cure as something to plan: what the console's POST plan takes (docs/console-api.md), and what a
// person would apply.
#pragma once

#include <vector>

#include "api/document.h"
#include "api/kinds.h"
#include "planner/cures.h"

namespace dray::planner {

// {"delete":[],"manifests":"","nodes":[]}, each only where there is something. `objects` are those of
// the plan that the cure is for: what is there already with another spec is deleted and put anew.
api::DocumentNode PlanOf(const Cure& cure, const std::vector<api::Object>& objects);

}  // namespace dray::planner

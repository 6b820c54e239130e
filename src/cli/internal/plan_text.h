// SPDX-License-Identifier: Apache-2.0
//
// A plan for people: tables as kubectl prints them, trees of reasons; and its outcomes as JSON.
#pragma once

#include <string>
#include <string_view>

#include "api/document.h"
#include "cli/internal/paint.h"
#include "planner/plan.h"

namespace dray::cli::internal {

// "Placed", "Refused", ...
std::string_view NameOf(planner::State state);

struct TableOptions {
  bool wide = false;  // a row per device with all that is known of it, and what there was before
  bool headers = true;
};
// Empty when there is nothing to show.
std::string PlanTable(const planner::Plan& plan, const TableOptions& options, const Painter& paint);
// "5 pods: 4 placed, 1 refused; 1 claim without a pod: 1 allocated"
std::string PlanSummary(const planner::Plan& plan);

// Where it is and with which devices, or the tree of reasons and what would help.
std::string ExplainText(const planner::PodOutcome& pod, const Painter& paint);
std::string ExplainText(const planner::ClaimOutcome& claim, const Painter& paint);
api::DocumentNode ExplainJson(const planner::PodOutcome& pod);
api::DocumentNode ExplainJson(const planner::ClaimOutcome& claim);

}  // namespace dray::cli::internal

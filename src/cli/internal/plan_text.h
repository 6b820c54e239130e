// SPDX-License-Identifier: Apache-2.0
//
// A plan for people: tables as kubectl prints them, trees of reasons; and its outcomes as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/document.h"
#include "cli/internal/paint.h"
#include "planner/cures.h"
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
// "5 pods: 4 newly placed, 1 unschedulable; 1 claim without a pod: 1 allocated"
std::string PlanSummary(const planner::Plan& plan);

struct TextStyle {
  Painter paint;
  std::size_t columns = 0;  // lines are broken there; 0: never
  bool unicode = true;      // else trees are drawn in ASCII
};

// Where it is and with which devices, or the tree of reasons and, if it was looked for, what would
// help.
std::string ExplainText(const planner::PodOutcome& pod, const planner::Help* help,
                        const TextStyle& style);
std::string ExplainText(const planner::ClaimOutcome& claim, const planner::Help* help,
                        const TextStyle& style);
std::string ExplainText(const planner::MissingPods& missing, const TextStyle& style);

// What became of it; with `help`, or where it says so, the whole explanation.
struct JsonOptions {
  bool explain = false;
  const planner::Help* help = nullptr;
};
api::DocumentNode ToJson(const planner::PodOutcome& pod, const JsonOptions& options);
api::DocumentNode ToJson(const planner::ClaimOutcome& claim, const JsonOptions& options);
api::DocumentNode ToJson(const planner::MissingPods& missing);
// How many pods and claims are in which state.
api::DocumentNode SummaryJson(const planner::Plan& plan);

// Tree lines and others that are wider than so many columns go on below, where they began.
std::string Wrapped(std::string_view line, std::size_t columns);

}  // namespace dray::cli::internal

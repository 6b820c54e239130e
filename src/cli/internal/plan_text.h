// SPDX-License-Identifier: Apache-2.0
//
// A plan for people: tables as kubectl prints them, reasons in sentences and trees.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/internal/paint.h"
#include "planner/answer.h"
#include "planner/cures.h"
#include "planner/plan.h"

namespace dray::cli::internal {

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
  bool details = false;     // every node, request and device
};

// Where it is and with which devices; or why not in one sentence, what would help if it was looked
// for, and what the nodes say. With `details` all of that.
std::string ExplainText(const planner::PodOutcome& pod, const planner::Help* help,
                        const TextStyle& style);
std::string ExplainText(const planner::ClaimOutcome& claim, const planner::Help* help,
                        const TextStyle& style);
std::string ExplainText(const planner::MissingPods& missing, const TextStyle& style);

// What is pending for one cause; `help` and the details are those of the first.
std::string CauseText(const planner::Cause& cause, const planner::Help* help,
                      const TextStyle& style, base::Time now);

}  // namespace dray::cli::internal

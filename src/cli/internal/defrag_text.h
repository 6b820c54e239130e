// SPDX-License-Identifier: Apache-2.0
//
// Lists of moves for people and programs.
#pragma once

#include <string>

#include "api/document.h"
#include "cli/internal/paint.h"
#include "cli/internal/plan_text.h"
#include "planner/carry_out.h"
#include "planner/defrag.h"

namespace dray::cli::internal {

// A row per move, then one for each pod that has a place and each node or devices that are free in
// the end. Empty when there is nothing to show.
std::string DefragTable(const planner::Defrag& found, const TableOptions& options,
                        const Painter& paint);
// Who stays where they are, and why.
std::string KeptTable(const planner::Defrag& found, const TableOptions& options,
                      const Painter& paint);
// "2 moves; no shorter list does it", or why there is none: lines.
std::string DefragSummary(const planner::Defrag& found);

// docs/defrag.md describes it. `carried` is null unless moves were made.
api::DocumentNode ToJson(const planner::Defrag& found, const planner::CarriedOut* carried);

}  // namespace dray::cli::internal

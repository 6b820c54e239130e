// SPDX-License-Identifier: Apache-2.0
//
// Plans and explanations as JSON: what `-o json` of the commands prints and what the console's
// endpoints answer. docs/plan.md describes the fields; names stay, fields may be added.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "planner/answer.h"
#include "planner/asked.h"
#include "planner/comparison.h"
#include "planner/cures.h"
#include "planner/plan.h"

namespace dray::planner {

// "Placed", "Refused", ...
std::string_view NameOf(State state);

// What became of it; of what was refused the answer, with `explain` the whole explanation, and with
// `help` the cures.
struct JsonOptions {
  bool explain = false;
  const Help* help = nullptr;
  const std::vector<api::Object>* objects = nullptr;  // of the plan: what cures change is compared
};
api::DocumentNode ToJson(const PodOutcome& pod, const JsonOptions& options);
api::DocumentNode ToJson(const ClaimOutcome& claim, const JsonOptions& options);
api::DocumentNode ToJson(const MissingPods& missing);
api::DocumentNode ToJson(const ClaimUse& claim);
api::DocumentNode ToJson(const Cure& cure, const std::vector<api::Object>& objects);
api::DocumentNode ToJson(const std::vector<Cause>& causes);

// Whose outcomes are told, and what is known of them.
struct PlanJsonOptions {
  bool explain = false;          // the first `most_explained` of what was refused
  CureFinder* finder = nullptr;  // null: no cures
  std::size_t most_helped = 32;  // each takes some dozens of attempts to schedule it
  std::size_t most_explained = std::numeric_limits<std::size_t>::max();
  // Of plans, not null: only what is news is told, with how it was before ("before"), and what of
  // nodes that were added is in use ("newNodes").
  const Comparison* comparison = nullptr;
  // Of explanations: the first of each cause, which has waited longest, stands for the others.
  bool one_of_each_cause = false;
};
// {"assumptions":[],"summary":{},"outcomes":[],"podsNotCreated":[],"skipped":[]}
api::DocumentNode ToJson(const Plan& plan, const PlanJsonOptions& options);
// {"causes":[],"outcomes":[],"podsNotCreated":[]}: of what is asked about.
api::DocumentNode ExplainJson(const Plan& plan, const Asked& asked, const PlanJsonOptions& options);

}  // namespace dray::planner

// SPDX-License-Identifier: Apache-2.0
//
// Plans and explanations as JSON: what `-o json` of the commands prints and what the console's
// endpoints answer. docs/plan.md describes the fields; names stay, fields may be added.
#pragma once

#include <string_view>
#include <vector>

#include "api/document.h"
#include "planner/answer.h"
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
  bool explain = false;
  CureFinder* finder = nullptr;  // null: no cures
  std::size_t most_helped = 32;  // each takes some dozens of attempts to schedule it
  const std::vector<api::Object>* objects = nullptr;  // of the plan
};
// {"assumptions":[],"summary":{},"outcomes":[],"podsNotCreated":[],"skipped":[]}
api::DocumentNode ToJson(const Plan& plan, const PlanJsonOptions& options);
// {"causes":[],"outcomes":[],"podsNotCreated":[]}: of these, all with their explanations.
api::DocumentNode ExplainJson(const std::vector<const PodOutcome*>& pods,
                              const std::vector<const ClaimOutcome*>& claims,
                              const std::vector<const MissingPods*>& missing,
                              const PlanJsonOptions& options);

}  // namespace dray::planner

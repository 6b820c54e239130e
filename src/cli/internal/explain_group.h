// SPDX-License-Identifier: Apache-2.0
//
// What a plan has of a PodGroup: its pods, and in a sentence whether they run.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan.h"

namespace dray::cli::internal {

struct ExplainedGroup {
  std::string namespace_;
  std::string name;
  std::string text;            // a line
  bool satisfied = false;      // as many of its pods have nodes as it needs at once
  std::set<std::string> pods;  // "namespace/name"
};
// Those of that name, by namespace.
std::vector<ExplainedGroup> GroupsNamed(const planner::Plan& plan, std::string_view name);

// "3 more pods wait for the group: default/b, default/c, ..." of pods that are told nothing of their own.
std::string WaitingWithGroup(const std::vector<const planner::PodOutcome*>& pods);

}  // namespace dray::cli::internal

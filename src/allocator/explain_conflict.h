// SPDX-License-Identifier: Apache-2.0
//
// The smallest conflict: requests and constraints that cannot hold together, none of which could be
// left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/explain_subset.h"
#include "allocator/explanation.h"
#include "allocator/plan.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

struct Conflict {
  Kept kept;
  std::vector<ConflictMember> members;  // claims in order, requests before constraints
  bool exact = true;
  std::optional<std::int64_t> at_most;
  bool groups_exclude = false;
};

// Of a plan that the search has refused. A request for which no devices are enough by itself, if
// there is one; otherwise items are left out, constraints first, for as long as the rest is still
// refused. That is done from either end, and the smaller of the two answers taken. No conflict of
// all is promised to be smaller: to look for that would take the time that there is not.
Conflict FindConflict(const Plan& plan, const ledger::NodeUsage& usage, std::uint64_t work);

}  // namespace dray::allocator

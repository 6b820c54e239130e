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
#include "allocator/work.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

struct Conflict {
  Kept kept;
  std::vector<ConflictMember> members;  // claims in order, requests before constraints
  bool exact = true;                    // every member is known to be needed
  std::optional<std::int64_t> at_most;
  bool groups_exclude = false;
};

// Of a plan that the search has refused. A request for which no devices are enough by itself, if
// there is one; otherwise items are left out, constraints first, for as long as the rest is still
// refused. That is done from either end, and the smaller of the two answers taken: a minimal
// conflict, of which no part can be spared; to look for a minimum one would take exponential time.
// All questions together spend from `work`, none of them more than `per_question`. Where that is
// not enough, the conflict is one, but not `exact`: it may have parts that are not needed.
Conflict FindConflict(const Plan& plan, const ledger::NodeUsage& usage, WorkMeter& work,
                      std::uint64_t per_question);

}  // namespace dray::allocator

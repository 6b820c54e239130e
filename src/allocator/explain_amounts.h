// SPDX-License-Identifier: Apache-2.0
//
// What the requests of a conflict need of counters and capacities together, against what is left;
// and what values the devices have that a constraint covers.
#pragma once

#include <cstddef>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/explanation.h"
#include "base/bit_set.h"

namespace dray::allocator {

// `usable` by Plan::alternatives(); `requests` of Plan::requests(). Only what is certain: each
// request is counted with the cheapest devices that it could have.
std::vector<Shortage> FindShortages(const Attempt& attempt, const std::vector<base::BitSet>& usable,
                                    const base::BitSet& requests);

// `index` of the claim's constraints; `requests` as above: only these are counted.
ConstraintReport ReportConstraint(const Attempt& attempt, const ClaimPlan& claim, std::size_t index,
                                  const std::vector<base::BitSet>& usable,
                                  const base::BitSet& requests, std::size_t most_values);

}  // namespace dray::allocator

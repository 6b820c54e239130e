// SPDX-License-Identifier: Apache-2.0
//
// What the requests of a conflict need of counters and capacities together, against what is left;
// and what values the devices have that a constraint covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/explanation.h"
#include "base/bit_set.h"

namespace dray::allocator {

// `usable` by Plan::alternatives(); `requests` of Plan::requests(). Only what is certain: each
// request is counted with the cheapest devices that it could have.
std::vector<Shortage> FindShortages(const Attempt& attempt, const std::vector<base::BitSet>& usable,
                                    const base::BitSet& requests);

// For how many devices of these requests there is room at most; nothing where admin access lets two
// requests have one device.
std::optional<std::int64_t> FindRoom(const Attempt& attempt,
                                     const std::vector<base::BitSet>& usable,
                                     const base::BitSet& requests);

// The groups of devices that are usable, in the order in which devices have them.
std::vector<GroupReport> ReportGroups(const inventory::NodeDevices& devices,
                                      const base::BitSet& usable);

// `index` of the claim's constraints; `requests` as above: only these are counted.
ConstraintReport ReportConstraint(const Attempt& attempt, const ClaimPlan& claim, std::size_t index,
                                  const std::vector<base::BitSet>& usable,
                                  const base::BitSet& requests, std::size_t most_values);

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// The order of the policy best-fit: where a request leaves the least behind comes first.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/state.h"

namespace dray::allocator {

// The candidates (faulty ones included) of an alternative, in this order of preference: devices
// that are shared already, counter sets and partitions that are broken open already, the least
// capacity and the least of the counters left over; then search order.
std::vector<std::uint32_t> TightestFirst(const Attempt& attempt, const State& state,
                                         const Candidates& candidates);

}  // namespace dray::allocator

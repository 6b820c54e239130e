// SPDX-License-Identifier: Apache-2.0
//
// How many devices, and how much of what they share, a refusal by the allocator is about.
#pragma once

#include <vector>

#include "allocator/explanation.h"
#include "scheduler/reason.h"

namespace dray::scheduler {

// Empty when no amount would help: a constraint, a taint, an error.
std::vector<Reason::Shortage> ShortagesOf(const allocator::Explanation& explanation);

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// Whether an allocation breaks a rule, whoever made it. Looks at the finished answer alone: sums,
// sets and pairs instead of one step after the other, and no code of the search or its checks. That
// another allocation would have come first is not its business.
#pragma once

#include <string>
#include <vector>

#include "api/resource_claim.h"
#include "model/instance.h"

namespace dray::model {

// A sentence for each rule that is broken; none: the allocation is right. `results` are one per
// claim of the instance, in their order.
std::vector<std::string> CheckAllocation(const Instance& instance,
                                         const std::vector<api::AllocationResult>& results);

}  // namespace dray::model

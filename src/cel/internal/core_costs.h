// SPDX-License-Identifier: Apache-2.0
//
// What calls of the language's own functions cost.
// Spec: kubernetes-cel.md chapter 7, "Own cost", lists 3 and 4, and the operators.
#pragma once

#include <span>
#include <string_view>

#include "cel/internal/call_costs.h"

namespace dray::cel::internal {

// With the arguments' costs, whose sum is `arguments`: logic does not pay for all of them.
CallCost CoreCallCost(std::string_view overload, const CostNode* receiver,
                      std::span<const CostNode> args, std::span<const CostRange> arg_costs,
                      const CostRange& arguments);

}  // namespace dray::cel::internal

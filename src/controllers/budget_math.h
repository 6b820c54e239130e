// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of disruption budgets: of so many pods, how many must be healthy.
#pragma once

#include <cstdint>

#include "api/disruption_budget.h"

namespace dray::controllers {

struct BudgetSizes {
  std::int32_t expected = 0;  // pods that the budget is for
  std::int32_t desired = 0;   // of them healthy
};

// `selected`: pods that there are; `wanted`: pods that their owners want. Percentages and
// maxUnavailable are of what is wanted, a number that must be available needs no owner.
BudgetSizes SizesOf(const api::PodDisruptionBudgetSpec& spec, std::int32_t selected,
                    std::int32_t wanted);

// How many may go now.
std::int32_t DisruptionsAllowed(const BudgetSizes& sizes, std::int32_t healthy);

}  // namespace dray::controllers

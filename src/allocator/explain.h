// SPDX-License-Identifier: Apache-2.0
//
// Explain: the reasons of a refusal. Asked for after the fact and worked out from the start, so
// that an allocation that succeeds pays nothing for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocator/explanation.h"
#include "allocator/plan.h"
#include "allocator/work.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

// What the minimal conflict may cost: so many times what the decision cost, and at least so much,
// since a decision that is proved at once may lead to a few questions that are not. With the
// decision itself, explaining costs at most ten times deciding, or some hundredths of a second.
inline constexpr std::uint64_t kConflictTimes = 8;
inline constexpr std::uint64_t kLeastConflictWork = 8'000'000;

struct ExplainOptions {
  SearchOptions search;  // of the decision that is to be explained
  // The decision, if it is known: kRefused or kBudget. It is not made again then, and what it cost
  // is taken to be little.
  std::optional<Decision::Kind> decided;
  // Shared by explanations that together may cost so much; null: each is on its own.
  WorkMeter* allowance = nullptr;
  std::size_t examples = 8;  // devices that are named per reason
  std::size_t values = 16;   // values that are listed per constraint
};

// Decides again, unless the decision is given, and says why. Of claims that fit it says that. Pure;
// thread-safe for the same arguments that Allocator::Decide is.
Explanation Explain(const Plan& plan, const ledger::NodeUsage& usage,
                    const ExplainOptions& options = {});

}  // namespace dray::allocator

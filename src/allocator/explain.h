// SPDX-License-Identifier: Apache-2.0
//
// Explain: the reasons of a refusal. Asked for after the fact and worked out from the start, so
// that an allocation that succeeds pays nothing for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/explanation.h"
#include "allocator/plan.h"
#include "ledger/node_usage.h"

namespace dray::allocator {

struct ExplainOptions {
  SearchOptions search;  // of the decision that is to be explained
  // For all questions together that the smallest conflict takes.
  std::uint64_t conflict_work = kDefaultWork;
  std::size_t examples = 8;  // devices that are named per reason
  std::size_t values = 16;   // values that are listed per constraint
};

// Decides again and says why. Of claims that fit it says that. Pure; thread-safe for the same
// arguments that Allocator::Decide is.
Explanation Explain(const Plan& plan, const ledger::NodeUsage& usage,
                    const ExplainOptions& options = {});

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// What calls of library functions cost by themselves, without their arguments.
// Spec: kubernetes-cel.md chapter 7, "Own cost", lists 1 and 2.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cel/cost_estimate.h"
#include "cel/type.h"

namespace dray::cel::internal {

// What the estimator knows about a receiver or an argument.
struct CostNode {
  Type type;
  std::optional<CostRange> known_size;
  // By path alone: what a list's elements have at most. Of receivers.
  CostRange element_size = CostRange::Unknown();
  std::optional<std::int64_t> constant;  // an int literal

  CostRange size() const { return known_size.value_or(CostRange::Unknown()); }
};

struct CallCost {
  CostRange cost;
  std::optional<CostRange> result_size;
};

// The libraries' rules by overload, then Kubernetes' by function. Nothing: the core's rules apply.
std::optional<CallCost> LibraryCallCost(std::string_view function, std::string_view overload,
                                        const CostNode* receiver, std::span<const CostNode> args);

// The size of what replace() returns. Only for its own test visible.
CostRange ReplacedSize(const CostRange& text, const CostRange& searched,
                       const CostRange& replacement);

}  // namespace dray::cel::internal

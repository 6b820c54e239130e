// SPDX-License-Identifier: Apache-2.0
//
// What the evaluator does itself: logic that need not look at all its arguments, choices, paths.
#include <array>

#include "cel/library.h"
#include "cel/operators.h"

namespace dray::cel {

Library library::Logic() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {op::kAnd, "logical_and (bool, bool) -> bool", Implementation::Evaluator(), kByEvaluator,
       estimate::Logic},
      {op::kConditional, "conditional (bool, A, A) -> A", Implementation::Evaluator(), kByEvaluator,
       estimate::Conditional},
      {op::kIndex, "index_list (list(A), int) -> A", Implementation::Evaluator(), kByEvaluator,
       estimate::Unit},
      {op::kIndex, "index_map (map(A, B), A) -> B", Implementation::Evaluator(), kByEvaluator,
       estimate::Unit},
      {"__not_strictly_false__", "__not_strictly_false__ (bool) -> bool",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kOr, "logical_or (bool, bool) -> bool", Implementation::Evaluator(), kByEvaluator,
       estimate::Logic},
      {op::kNotStrictlyFalse, "not_strictly_false (bool) -> bool", Implementation::Evaluator(),
       kByEvaluator, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel

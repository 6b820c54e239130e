// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a tree although its types are right. Spec: docs/spec/cel.md chapter 6.
#pragma once

#include <vector>

#include "cel/checker.h"
#include "cel/source.h"

namespace dray::cel::internal {

// Those that the tree's environment asks for, in their order.
std::vector<Issue> Validate(const CheckedExpr& expr);

}  // namespace dray::cel::internal

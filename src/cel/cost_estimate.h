// SPDX-License-Identifier: Apache-2.0
//
// The estimated cost of an expression: between which bounds the work of one evaluation lies, from
// the tree alone. Spec: docs/spec/cel.md chapter 7. Kubernetes refuses expressions by these
// numbers, so every rule, odd ones included, is part of the interface.
#pragma once

#include "cel/checker.h"
#include "cel/cost_range.h"

namespace dray::cel {

CostRange EstimateCost(const CheckedExpr& expr);

}  // namespace dray::cel

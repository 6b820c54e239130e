// SPDX-License-Identifier: Apache-2.0
//
// Whether the arguments of "...".format([...]) fit its clauses.
#pragma once

#include <optional>

#include "cel/checker.h"
#include "cel/source.h"

namespace dray::cel::internal {

// `call` is a call of string.format whose receiver is a constant and whose argument is a list
// literal.
std::optional<Issue> CheckFormat(const CheckedExpr& expr, ExprId call);

}  // namespace dray::cel::internal

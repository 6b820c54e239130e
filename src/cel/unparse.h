// SPDX-License-Identifier: Apache-2.0
//
// Syntax tree back to text.
#pragma once

#include <string>

#include "cel/ast.h"

namespace dray::cel {

// An expression that parses to the same tree, with no more parentheses than needed, on one line.
// Macros are printed as they were called. Only for trees that the parser made.
std::string Unparse(const Ast& ast);

// The part at `id`.
std::string Unparse(const Ast& ast, ExprId id);

}  // namespace dray::cel

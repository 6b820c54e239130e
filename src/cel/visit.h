// SPDX-License-Identifier: Apache-2.0
//
// Walking over a checked tree: only what is evaluated, so neither the operands of a qualified name
// nor a target that is part of a function's name.
#pragma once

#include "cel/checker.h"

namespace dray::cel {

// Calls visit(ExprId) for each, in the order of evaluation of a call (target, arguments) and of a
// loop (range, initial value, condition, step, result).
template <typename Visit>
void ForEachChild(const CheckedExpr& expr, ExprId id, Visit visit) {
  const Ast& ast = expr.ast();
  switch (ast.kind(id)) {
    case ExprKind::kSelect:
      if (expr.FindReference(id) == nullptr) visit(ast.select(id).operand);
      break;
    case ExprKind::kCall: {
      const CallExpr call = ast.call(id);
      if (call.target && expr.has_receiver(id)) visit(*call.target);
      for (const ExprId arg : call.args) visit(arg);
      break;
    }
    case ExprKind::kList:
      for (const ExprId element : ast.list(id).elements) visit(element);
      break;
    case ExprKind::kMap:
      for (const MapEntry& entry : ast.map(id)) {
        visit(entry.key);
        visit(entry.value);
      }
      break;
    case ExprKind::kStruct:
      for (const StructField& field : ast.struct_literal(id).fields) visit(field.value);
      break;
    case ExprKind::kComprehension: {
      const Comprehension& loop = ast.comprehension(id);
      for (const ExprId part : {loop.range, loop.init, loop.condition, loop.step, loop.result}) {
        visit(part);
      }
      break;
    }
    default:
      break;
  }
}

// `id` and everything below it, parents first.
template <typename Visit>
void ForEachBelow(const CheckedExpr& expr, ExprId id, const Visit& visit) {
  visit(id);
  ForEachChild(expr, id, [&](ExprId child) { ForEachBelow(expr, child, visit); });
}

}  // namespace dray::cel

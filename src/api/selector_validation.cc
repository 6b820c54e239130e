// SPDX-License-Identifier: Apache-2.0
#include "api/internal/claim_validation.h"
#include "fmt/format.h"

namespace dray::api::internal {

std::uint64_t ValidateExpression(Report& report, const Path& at, std::string_view expression,
                                 ExpressionChecker::Purpose purpose) {
  if (!CheckLength(report, at, expression, kCELSelectorExpressionMaxLength)) return 0;
  if (expression.empty()) {
    report.Invalid(at, expression, "must be a CEL expression");
    return 0;
  }
  const ExpressionChecker* checker = report.options().expressions;
  if (checker == nullptr) return 0;
  const ExpressionChecker::Result result =
      checker->Check(expression, purpose, report.options().gates);
  if (result.error && result.internal) {
    report.Add(InternalError(at.ToFieldPath(), *result.error));
  } else if (result.error) {
    report.Invalid(at, expression, *result.error);
  }
  if (result.error) return 0;
  if (result.max_cost > kCELSelectorExpressionMaxCost) {
    report.Forbidden(at, fmt::format("the expression may cost {}, more than the limit of {}",
                                     result.max_cost, kCELSelectorExpressionMaxCost));
  }
  return result.max_cost;
}

void ValidateSelectors(Report& report, const Path& at, const std::vector<DeviceSelector>& selectors,
                       bool stored) {
  if (!CheckSize(report, at, selectors.size(), kDeviceSelectorsMaxSize)) return;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const Path here = at.Index(i);
    const Path cel = here.Child("cel");
    if (!selectors[i].cel) {
      report.Required(cel, "a selector needs an expression");
    } else if (!stored) {
      ValidateExpression(report, cel.Child("expression"), selectors[i].cel->expression,
                         ExpressionChecker::Purpose::kSelector);
    }
  }
}

}  // namespace dray::api::internal

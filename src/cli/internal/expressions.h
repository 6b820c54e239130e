// SPDX-License-Identifier: Apache-2.0
//
// What is to be said about the expressions of an object, each word with its place in the
// expression.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gates.h"
#include "api/kinds.h"
#include "base/field_path.h"
#include "cel/compile.h"
#include "cel/device_hints.h"

namespace dray::cli::internal {

// The field of one expression.
struct ExpressionField {
  base::FieldPath path;
  std::string_view text;  // lives in the object
  cel::Purpose purpose = cel::Purpose::kSelector;
};

// Of classes, claims and templates, in the order of their fields.
std::vector<ExpressionField> ExpressionsOf(const api::Object& object);

struct ExpressionFindings {
  std::vector<cel::Advice> errors;    // why it does not compile
  std::vector<cel::Advice> warnings;  // it compiles, and is probably not what was meant
  // What makes it cost more than the API server allows.
  std::optional<cel::Advice> cost;
};

// As the API server compiles new objects; `kubernetes_only`: as one of Kubernetes does. Too long
// ones are not looked at: they are refused.
ExpressionFindings CheckExpression(const ExpressionField& field, const api::FeatureGates& gates,
                                   bool kubernetes_only);

// The message with the line of the expression and a caret below the place.
std::string WithSnippet(const cel::Advice& advice, std::string_view expression);

}  // namespace dray::cli::internal

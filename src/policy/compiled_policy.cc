// SPDX-License-Identifier: Apache-2.0
#include "policy/compiled_policy.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "cel/compile.h"
#include "fmt/format.h"
#include "policy/environment.h"

namespace dray::policy {
namespace {

using cel::TypeKind;

bool Fits(cel::Type type, Purpose purpose) {
  switch (purpose) {
    case Purpose::kCondition:
      return type.is(TypeKind::kBool);
    case Purpose::kText:
      return type.is(TypeKind::kString);
    case Purpose::kTextOrNull:
      return type.is(TypeKind::kString) || type.is(TypeKind::kNull);
    case Purpose::kAnything:
      return true;
  }
  return true;
}

std::string_view Wanted(Purpose purpose) {
  switch (purpose) {
    case Purpose::kCondition:
      return "bool";
    case Purpose::kText:
      return "string";
    default:
      return "one of [string null_type]";
  }
}

bool IsBlank(std::string_view text) {
  return absl::StripAsciiWhitespace(base::ToAbsl(text)).empty();
}

}  // namespace

Expression CompileExpression(std::string_view text, Purpose purpose,
                             const std::shared_ptr<const cel::Environment>& environment,
                             std::shared_ptr<const cel::CheckedExpr>* keep) {
  Expression expression{.text = std::string(text)};
  const cel::CompileResult compiled = cel::Compile(text, environment, {.estimate_cost = false});
  if (!compiled.ok()) {
    expression.error = compiled.error;
    expression.internal = compiled.internal;
    return expression;
  }
  if (keep != nullptr) *keep = compiled.checked;
  const cel::Type type = compiled.checked->result_type();
  if (!Fits(type, purpose)) {
    expression.error =
        fmt::format("must evaluate to {} but got {}", Wanted(purpose), type.ToString());
    return expression;
  }
  auto program = cel::Program::Compile(*compiled.checked);
  if (!program.ok()) {
    expression.error = base::Message(program.status());
    expression.internal = true;
    return expression;
  }
  expression.program = *std::move(program);
  return expression;
}

std::shared_ptr<const cel::Environment> EnvironmentOf(
    const std::vector<NamedExpression>& variables,
    const std::shared_ptr<const cel::Environment>& base, std::vector<Expression>* compiled) {
  // Types lie in the trees.
  std::vector<std::shared_ptr<const cel::CheckedExpr>> trees;
  std::vector<cel::Variable> known;
  std::shared_ptr<const cel::Environment> environment = WithVariables(base, known);
  for (const NamedExpression& variable : variables) {
    if (known.size() == kMaxVariables) {
      if (compiled == nullptr) break;
      compiled->push_back(
          {.text = variable.expression,
           .error = fmt::format("a policy has at most {} variables", kMaxVariables)});
      continue;
    }
    std::shared_ptr<const cel::CheckedExpr> tree;
    Expression expression =
        CompileExpression(variable.expression, Purpose::kAnything, environment, &tree);
    known.push_back({variable.name, tree == nullptr ? cel::Type::Dyn() : tree->result_type()});
    trees.push_back(std::move(tree));
    environment = WithVariables(base, known);
    if (compiled != nullptr) compiled->push_back(std::move(expression));
  }
  return environment;
}

CompiledPolicy::CompiledPolicy(PolicySpec spec) : spec_(std::move(spec)) {
  const bool params = spec_.params.has_value();
  const auto plain = PolicyEnvironment({.params = params, .authorizer = true});
  for (const NamedExpression& condition : spec_.conditions) {
    conditions_.push_back(CompileExpression(condition.expression, Purpose::kCondition, plain));
  }
  const auto environment = EnvironmentOf(spec_.variables, plain, &variables_);
  // Messages do not ask for rights: they are made whether somebody may or not.
  std::shared_ptr<const cel::Environment> for_messages;
  for (const Validation& validation : spec_.validations) {
    validations_.push_back(
        CompileExpression(validation.expression, Purpose::kCondition, environment));
    if (validation.message_expression.empty()) {
      messages_.push_back({});
      continue;
    }
    if (for_messages == nullptr) {
      for_messages = EnvironmentOf(
          spec_.variables, PolicyEnvironment({.params = params, .authorizer = false}), nullptr);
    }
    messages_.push_back(
        CompileExpression(validation.message_expression, Purpose::kText, for_messages));
  }
  for (const NamedExpression& annotation : spec_.annotations) {
    annotations_.push_back(
        CompileExpression(annotation.expression, Purpose::kTextOrNull, environment));
  }
}

api::ErrorList CompiledPolicy::Errors() const {
  api::ErrorList errors;
  const base::FieldPath spec("spec");
  const auto check = [&](const std::vector<Expression>& list, std::string_view field,
                         std::string_view name) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Expression& one = list[i];
      // What is not there is told as such.
      if (!one.there() || one.error.empty() || IsBlank(one.text)) continue;
      const base::FieldPath at = (spec / field).Index(i) / name;
      errors.push_back(one.internal ? api::InternalError(at, one.error)
                                    : api::Invalid(at, one.text, one.error));
    }
  };
  check(conditions_, "matchConditions", "expression");
  check(variables_, "variables", "expression");
  check(validations_, "validations", "expression");
  check(messages_, "validations", "messageExpression");
  check(annotations_, "auditAnnotations", "valueExpression");
  return errors;
}

}  // namespace dray::policy

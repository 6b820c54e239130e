// SPDX-License-Identifier: Apache-2.0
#include "cel/compile.h"

#include <utility>

#include "cel/parser.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// The type of an attribute's value: Any, or dyn where attributes may be lists.
std::optional<Type> AttributeType(const Environment& environment) {
  const Variable* device = environment.FindVariable("device");
  if (device == nullptr) return std::nullopt;
  const ObjectType* object = environment.FindObject(device->type.name());
  const Variable* attributes = object == nullptr ? nullptr : object->FindField("attributes");
  if (attributes == nullptr) return std::nullopt;
  return attributes->type.param(1).param(1);
}

bool IsAttributeScalar(Type type) {
  switch (type.kind()) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kString:
    case TypeKind::kAny:
    case TypeKind::kDyn:
      return true;
    default:
      return type.is(TypeKind::kObject) && type.name() == "kubernetes.Semver";
  }
}

// What is wrong with the type of the result.
std::optional<std::string> CheckResultType(const CheckedExpr& expr, Purpose purpose) {
  const Type type = expr.result_type();
  const std::optional<Type> attribute = AttributeType(expr.environment());
  if (purpose == Purpose::kSelector) {
    if (type.is(TypeKind::kBool) || type == attribute) return std::nullopt;
    return fmt::format("must evaluate to bool or the unknown type, not {}", type.ToString());
  }
  if (purpose == Purpose::kDerivedAttribute) {
    const bool lists = attribute == Type::Dyn();
    if (IsAttributeScalar(type)) return std::nullopt;
    if (lists && type.is(TypeKind::kList) && IsAttributeScalar(type.param(0))) return std::nullopt;
    return fmt::format(
        "must evaluate to a primitive scalar (string, integer, boolean, semver){}, not {}",
        lists ? " or a list of these scalars" : "", type.ToString());
  }
  return std::nullopt;
}

CompileResult Failed(std::string error) {
  CompileResult result;
  result.error = std::move(error);
  return result;
}

CompileResult Failed(const Source& source, std::vector<Issue> issues) {
  CompileResult result = Failed("compilation failed: " + Render(source, issues));
  result.issues = std::move(issues);
  return result;
}

}  // namespace

CompileResult Compile(std::string_view expression, std::shared_ptr<const Environment> environment,
                      const CompileOptions& options) {
  const Source source(expression);
  ParseResult parsed = Parse(source, environment->parse_options());
  if (!parsed.ok()) return Failed(source, std::move(parsed.issues));
  CheckResult checked =
      Check(std::make_shared<const Ast>(*std::move(parsed.ast)), std::move(environment));
  if (!checked.ok()) return Failed(source, std::move(checked.issues));
  if (auto error = CheckResultType(*checked.checked, options.purpose)) {
    return Failed(*std::move(error));
  }
  if (options.program_check) {
    if (const auto reason = options.program_check(*checked.checked)) {
      CompileResult result = Failed("program instantiation failed: " + *reason);
      result.internal = true;
      return result;
    }
  }
  CompileResult result;
  result.checked = std::move(checked.checked);
  if (options.estimate_cost) result.cost = EstimateCost(*result.checked);
  return result;
}

}  // namespace dray::cel

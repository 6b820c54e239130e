// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/validators.h"

#include <re2/re2.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "cel/internal/format_check.h"
#include "cel/internal/regex.h"
#include "cel/visit.h"
#include "fmt/format.h"

namespace dray::cel::internal {
namespace {

// The years 1 to 9999, in seconds since 1970.
constexpr std::int64_t kFirstSecond = -62135596800;
constexpr std::int64_t kLastSecond = 253402300799;

bool IsTimestampSecond(std::int64_t seconds) {
  return seconds >= kFirstSecond && seconds <= kLastSecond;
}

bool IsDuration(const Ast& ast, ExprId constant) {
  return ast.kind(constant) != ExprKind::kString ||
         base::ParseGoDuration(ast.string_value(constant)).ok();
}

bool IsTimestamp(const Ast& ast, ExprId constant) {
  if (ast.kind(constant) == ExprKind::kInt) return IsTimestampSecond(ast.int_value(constant));
  if (ast.kind(constant) != ExprKind::kString) return true;
  const auto time = base::Time::ParseRfc3339(ast.string_value(constant));
  return time.ok() && IsTimestampSecond(time->seconds());
}

bool IsRegex(const Ast& ast, ExprId constant) {
  if (ast.kind(constant) != ExprKind::kString) return true;
  RE2::Options options;
  options.set_log_errors(false);
  return RE2(GoPattern(ast.string_value(constant)), options).ok();
}

class Validator {
 public:
  explicit Validator(const CheckedExpr& expr) : expr_(expr), ast_(expr.ast()) {}

  std::vector<Issue> Run() {
    const Validators& wanted = expr_.environment().validators();
    if (wanted.homogeneous_literals) {
      // Lists before maps.
      VisitLiterals(ast_.root(), ExprKind::kList);
      VisitLiterals(ast_.root(), ExprKind::kMap);
    }
    if (wanted.constant_times) {
      CheckArguments("duration", IsDuration);
      CheckArguments("timestamp", IsTimestamp);
    }
    // The first argument also of the global form, where it is not the pattern: so does upstream.
    if (wanted.constant_regexes) CheckArguments("matches", IsRegex);
    if (wanted.constant_formats) CheckFormats();
    return std::move(issues_);
  }

 private:
  void Mismatch(ExprId at, Type expected, Type found) {
    issues_.push_back({ast_.offset(at), fmt::format("expected type '{}' but found '{}'",
                                                    expected.ToMessage(), found.ToMessage())});
  }

  // Skips what lies below a call of format.
  void VisitLiterals(ExprId id, ExprKind kind) {
    if (ast_.kind(id) == kind) kind == ExprKind::kList ? CheckList(id) : CheckMap(id);
    if (ast_.kind(id) == ExprKind::kCall && ast_.text(ast_.call(id).function) == "format") return;
    ForEachChild(expr_, id, [&](ExprId child) { VisitLiterals(child, kind); });
  }

  Type ValueType(ExprId id, bool optional) const {
    const Type type = expr_.type(id);
    return optional && type.IsOptional() ? type.param(0) : type;
  }

  void CheckList(ExprId id) {
    const ListExpr list = ast_.list(id);
    for (std::size_t i = 1; i < list.elements.size(); ++i) {
      const Type first = ValueType(list.elements[0], list.IsOptional(0));
      const Type type = ValueType(list.elements[i], list.IsOptional(i));
      if (first == type) continue;
      Mismatch(list.elements[i], first, type);
      return;
    }
  }

  void CheckMap(ExprId id) {
    const auto entries = ast_.map(id);
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const Type key = expr_.type(entries[0].key);
      const Type value = ValueType(entries[0].value, entries[0].optional);
      if (const Type type = expr_.type(entries[i].key); type != key) {
        Mismatch(entries[i].key, key, type);
      }
      if (const Type type = ValueType(entries[i].value, entries[i].optional); type != value) {
        Mismatch(entries[i].value, value, type);
      }
    }
  }

  void CheckArguments(std::string_view function, bool (*valid)(const Ast&, ExprId)) {
    ForEachBelow(expr_, ast_.root(), [&](ExprId id) {
      if (ast_.kind(id) != ExprKind::kCall || expr_.function(id).name != function) return;
      const auto args = ast_.call(id).args;
      if (args.empty() || valid(ast_, args[0])) return;
      issues_.push_back({ast_.offset(args[0]), fmt::format("invalid {} argument", function)});
    });
  }

  void CheckFormats() {
    ForEachBelow(expr_, ast_.root(), [&](ExprId id) {
      if (ast_.kind(id) != ExprKind::kCall || expr_.overloads(id)[0]->id != "string_format") return;
      const CallExpr call = ast_.call(id);
      if (ast_.kind(*call.target) != ExprKind::kString ||
          ast_.kind(call.args[0]) != ExprKind::kList) {
        return;
      }
      if (auto issue = CheckFormat(expr_, id)) issues_.push_back(*std::move(issue));
    });
  }

  const CheckedExpr& expr_;
  const Ast& ast_;
  std::vector<Issue> issues_;
};

}  // namespace

std::vector<Issue> Validate(const CheckedExpr& expr) { return Validator(expr).Run(); }

}  // namespace dray::cel::internal

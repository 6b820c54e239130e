// SPDX-License-Identifier: Apache-2.0
//
// Hints for operators and functions whose arguments do not fit. The types are in the message, the
// arguments in the tree.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "cel/internal/hint_rules.h"
#include "cel/operators.h"
#include "cel/unparse.h"
#include "fmt/format.h"

namespace dray::cel::internal {
namespace {

constexpr std::string_view kQuantity = "kubernetes.Quantity";
constexpr std::string_view kSemver = "kubernetes.Semver";

// "_>=_" as it is written, if it is between two values.
std::string_view Sign(std::string_view function) {
  if (function == op::kIn) return "in";
  if (function.size() < 3 || !function.starts_with('_') || !function.ends_with('_')) return {};
  return function.substr(1, function.size() - 2);
}

bool IsComparison(std::string_view sign) {
  constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", "<", "<=", ">", ">="};
  return std::ranges::find(kSigns, sign) != kSigns.end();
}

// The operator that did not fit, with its two sides and what the message says of their types.
struct Binary {
  const Ast& ast;
  std::string_view sign;
  ExprId left;
  ExprId right;
  std::string_view left_type;
  std::string_view right_type;

  bool Has(std::string_view type) const { return left_type == type || right_type == type; }
};

// "(A, B)": no type that matters here has a comma, but maps do; the cut is outside of parentheses.
bool Split(std::string_view types, std::string_view& left, std::string_view& right) {
  if (types.size() < 2 || types.front() != '(' || types.back() != ')') return false;
  types = types.substr(1, types.size() - 2);
  int depth = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    depth += types[i] == '(' ? 1 : types[i] == ')' ? -1 : 0;
    if (depth == 0 && types.substr(i).starts_with(", ")) {
      left = types.substr(0, i);
      right = types.substr(i + 2);
      return true;
    }
  }
  return false;
}

std::optional<ExprId> CallAt(const Ast& ast, Offset offset, std::string_view function) {
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    const ExprId id{i};
    if (ast.kind(id) == ExprKind::kCall && ast.offset(id) == offset &&
        ast.text(ast.call(id).function) == function) {
      return id;
    }
  }
  return std::nullopt;
}

// So that a method can be called on it.
std::string AsReceiver(const Ast& ast, ExprId id) {
  std::string text = Unparse(ast, id);
  const bool operation = ast.kind(id) == ExprKind::kCall &&
                         !Sign(ast.text(ast.call(id).function)).empty() &&
                         ast.text(ast.call(id).function) != op::kIndex;
  return operation ? fmt::format("({})", text) : text;
}

// A side as a quantity or version.
std::string Made(const Binary& binary, bool left, std::string_view maker) {
  const ExprId id = left ? binary.left : binary.right;
  const std::string_view type = left ? binary.left_type : binary.right_type;
  if (type == "string") return fmt::format("{}({})", maker, Unparse(binary.ast, id));
  if (binary.ast.kind(id) == ExprKind::kInt || binary.ast.kind(id) == ExprKind::kDouble) {
    return fmt::format("{}(\"{}\")", maker, Unparse(binary.ast, id));
  }
  if (type == "int") return fmt::format("{}(string({}))", maker, Unparse(binary.ast, id));
  return left ? AsReceiver(binary.ast, id) : Unparse(binary.ast, id);
}

std::string HintForCompared(const Binary& binary, std::string_view maker) {
  const std::string left = Made(binary, true, maker);
  const std::string right = Made(binary, false, maker);
  if (IsComparison(binary.sign)) {
    return fmt::format("did you mean {}.compareTo({}) {} 0?", left, right, binary.sign);
  }
  if (maker != "quantity" || (binary.sign != "+" && binary.sign != "-")) return "";
  return fmt::format("did you mean {}.{}({})?", left, binary.sign == "+" ? "add" : "sub", right);
}

std::string HintForText(const Binary& binary) {
  const bool left_is_text = binary.left_type == "string";
  const std::string_view other = left_is_text ? binary.right_type : binary.left_type;
  const ExprId text = left_is_text ? binary.left : binary.right;
  const ExprId number = left_is_text ? binary.right : binary.left;
  if (binary.sign == "+") {
    return fmt::format("did you mean string({})?", Unparse(binary.ast, number));
  }
  if (!IsComparison(binary.sign)) return "";
  if (binary.ast.kind(text) == ExprKind::kString) {
    const std::string_view value = binary.ast.string_value(text);
    const bool digits = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    const bool fits =
        (other == "int" && digits) || (other == "bool" && (value == "true" || value == "false"));
    return fits ? fmt::format("a {} is written without quotes: {}", other, value) : "";
  }
  const ExprKind kind = binary.ast.kind(number);
  if (kind != ExprKind::kInt && kind != ExprKind::kBool) return "";
  return fmt::format("a text is written in quotes: \"{}\"", Unparse(binary.ast, number));
}

std::string HintForBinary(const Binary& binary) {
  if (binary.Has(kQuantity)) return HintForCompared(binary, "quantity");
  if (binary.Has(kSemver)) return HintForCompared(binary, "semver");
  for (const ExprId side : {binary.left, binary.right}) {
    if (const auto access = AsDomainAccess(binary.ast, side)) return HintForDomain(*access);
  }
  if (binary.sign == "in" && binary.left_type == "string" && binary.right_type == "string") {
    return fmt::format("did you mean {}.contains({})?", AsReceiver(binary.ast, binary.right),
                       Unparse(binary.ast, binary.left));
  }
  if (binary.Has("string") && (binary.Has("int") || binary.Has("bool"))) {
    return HintForText(binary);
  }
  return "";
}

// `x.f(y)` on something that has no f.
std::string HintForMethod(const Ast& ast, const CallExpr& call, std::string_view types) {
  if (!call.target) return "";
  if (const auto access = AsDomainAccess(ast, *call.target)) return HintForDomain(*access);
  const std::string_view function = ast.text(call.function);
  if (function == "contains" && types.starts_with("list(") && call.args.size() == 1) {
    return fmt::format("did you mean {} in {}?", Unparse(ast, call.args[0]),
                       Unparse(ast, *call.target));
  }
  return "";
}

// `&&`, `||` and the condition of `?:`.
std::string HintForBool(std::string_view message) {
  const auto found = QuotedAfter(message, "expected type 'bool' but found '");
  if (!found) return "";
  return fmt::format("this is a {}, not yes or no: compare it with something", *found);
}

}  // namespace

std::string HintForOverload(const Slip& slip) {
  if (std::string hint = HintForBool(slip.issue.message); !hint.empty()) return hint;
  const auto function = QuotedAfter(slip.issue.message, "found no matching overload for '");
  const auto applied = slip.issue.message.find("applied to '");
  if (!function || applied == std::string::npos || slip.ast == nullptr) return "";
  const auto types =
      QuotedAfter(std::string_view(slip.issue.message).substr(applied), "applied to '");
  const auto id = CallAt(*slip.ast, slip.issue.offset, *function);
  if (!types || !id) return "";
  const CallExpr call = slip.ast->call(*id);
  const std::string_view sign = Sign(*function);
  if (*function == op::kNot || *function == op::kConditional) {
    return "a condition is yes or no: compare with something";
  }
  std::string_view left;
  std::string_view right;
  if (sign.empty() || call.args.size() != 2 || !Split(*types, left, right)) {
    return HintForMethod(*slip.ast, call, *types);
  }
  return HintForBinary({*slip.ast, sign, call.args[0], call.args[1], left, right});
}

}  // namespace dray::cel::internal

// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/format_check.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "fmt/format.h"

namespace dray::cel::internal {
namespace {

// What a clause takes and what is said otherwise.
struct Clause {
  char verb;
  std::initializer_list<TypeKind> kinds;
  std::string_view complaint;
};

using enum TypeKind;
constexpr std::initializer_list<TypeKind> kPrintable = {
    kList, kMap, kInt, kUint, kDouble, kBool, kString, kTimestamp, kBytes, kDuration, kType, kNull};
constexpr std::initializer_list<TypeKind> kIntegers = {kInt, kUint};
// Strings: "NaN", "Infinity" and "-Infinity" are numbers too.
constexpr std::initializer_list<TypeKind> kDoubles = {kDouble, kString};
constexpr std::initializer_list<TypeKind> kBinary = {kInt, kUint, kBool};
constexpr std::initializer_list<TypeKind> kHex = {kInt, kUint, kString, kBytes};
constexpr std::string_view kHexComplaint =
    "only integers, byte buffers, and strings can be formatted as hex";
constexpr Clause kClauses[] = {
    {'s', kPrintable,
     "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
     "durations, and timestamps"},
    {'d', kIntegers, "decimal clause can only be used on integers"},
    {'f', kDoubles, "fixed-point clause can only be used on doubles"},
    {'e', kDoubles, "scientific clause can only be used on doubles"},
    {'b', kBinary, "only integers and bools can be formatted as binary"},
    {'x', kHex, kHexComplaint},
    {'X', kHex, kHexComplaint},
    {'o', kIntegers, "octal clause can only be used on integers"},
};

class FormatChecker {
 public:
  FormatChecker(const CheckedExpr& expr, ExprId call)
      : expr_(expr),
        call_(call),
        rest_(expr.ast().string_value(*expr.ast().call(call).target)),
        args_(expr.ast().list(expr.ast().call(call).args[0]).elements) {}

  std::optional<Issue> Run() {
    std::size_t used = 0;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c != '%') continue;
      if (rest_.starts_with('%')) {
        rest_.remove_prefix(1);
        continue;
      }
      if (rest_.empty()) return AtCall("unexpected end of string");
      if (used >= args_.size()) return AtCall(fmt::format("index {} out of range", used));
      if (auto issue = CheckClause(args_[used])) return issue;
      ++used;
    }
    if (args_.size() <= used) return std::nullopt;
    return AtCall(fmt::format("too many arguments supplied to string.format (expected {}, got {})",
                              used, args_.size()));
  }

 private:
  std::optional<Issue> AtCall(std::string message) const {
    return Issue{expr_.ast().offset(call_), std::move(message)};
  }
  std::optional<Issue> BadClause(std::string_view reason) const {
    return AtCall(fmt::format("could not parse formatting clause: {}", reason));
  }

  std::optional<Issue> CheckClause(ExprId arg) {
    if (auto issue = SkipPrecision()) return issue;
    const char verb = rest_.front();
    const auto clause = std::ranges::find(kClauses, verb, &Clause::verb);
    if (clause == std::end(kClauses)) {
      // Upstream takes the byte for a code point.
      std::string shown;
      base::AppendUtf8(shown, static_cast<unsigned char>(verb));
      return BadClause(fmt::format("unrecognized formatting clause \"{}\"", shown));
    }
    rest_.remove_prefix(1);
    const std::optional<ExprId> wrong = FindWrong(*clause, arg);
    if (!wrong) return std::nullopt;
    return Issue{expr_.ast().offset(*wrong),
                 fmt::format("error during formatting: {}, was given {}", clause->complaint,
                             expr_.type(*wrong).name())};
  }

  std::optional<Issue> SkipPrecision() {
    if (!rest_.starts_with('.')) return std::nullopt;
    rest_.remove_prefix(1);
    const std::size_t end = rest_.find_first_not_of("0123456789");
    if (end == std::string_view::npos) {
      return BadClause("error while parsing precision: could not find end of precision specifier");
    }
    const std::string_view digits = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (const std::string_view fault = IntegerFault(digits); !fault.empty()) {
      return BadClause(
          fmt::format("error while parsing precision: error while converting precision to integer: "
                      "strconv.Atoi: parsing \"{}\": {}",
                      digits, fault));
    }
    return std::nullopt;
  }

  static std::string_view IntegerFault(std::string_view digits) {
    if (digits.empty()) return "invalid syntax";
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    constexpr std::string_view kLargest = "9223372036854775807";
    const bool fits =
        digits.size() < kLargest.size() || (digits.size() == kLargest.size() && digits <= kLargest);
    return fits ? std::string_view() : "value out of range";
  }

  // `arg`, or for %s the part of a literal, that the clause does not take.
  std::optional<ExprId> FindWrong(const Clause& clause, ExprId arg) const {
    const TypeKind kind = expr_.type(arg).kind();
    if (kind != kDyn && std::ranges::find(clause.kinds, kind) == clause.kinds.end()) return arg;
    if (clause.verb != 's') return std::nullopt;
    if (expr_.ast().kind(arg) == ExprKind::kList) {
      for (const ExprId element : expr_.ast().list(arg).elements) {
        if (auto wrong = FindWrong(clause, element)) return wrong;
      }
    }
    if (expr_.ast().kind(arg) == ExprKind::kMap) {
      for (const MapEntry& entry : expr_.ast().map(arg)) {
        if (auto wrong = FindWrong(clause, entry.key)) return wrong;
        if (auto wrong = FindWrong(clause, entry.value)) return wrong;
      }
    }
    return std::nullopt;
  }

  const CheckedExpr& expr_;
  const ExprId call_;
  std::string_view rest_;
  std::span<const ExprId> args_;
};

}  // namespace

std::optional<Issue> CheckFormat(const CheckedExpr& expr, ExprId call) {
  return FormatChecker(expr, call).Run();
}

}  // namespace dray::cel::internal

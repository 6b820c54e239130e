// SPDX-License-Identifier: Apache-2.0
#include "cel/device_hints.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "cel/internal/hint_rules.h"
#include "cel/parser.h"
#include "cel/visit.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using internal::DomainAccess;
using internal::EntryAccess;
using internal::Slip;

constexpr std::array kRules = {&internal::HintForSyntax, &internal::HintForName,
                               &internal::HintForField, &internal::HintForOverload};

// Hints repeat parts of the expression; a page of it helps nobody.
constexpr std::size_t kMaxHint = 300;

std::string HintFor(const Slip& slip) {
  for (const auto rule : kRules) {
    if (std::string hint = rule(slip); !hint.empty()) return hint.size() > kMaxHint ? "" : hint;
  }
  return "";
}

// The type is only in the message: "must evaluate to ..., not list(string)".
std::string_view RefusedType(std::string_view message) {
  const auto at = message.rfind(", not ");
  return at == std::string_view::npos ? std::string_view() : message.substr(at + 6);
}

struct TypeHint {
  std::string_view type;  // its beginning
  std::string_view hint;
};
constexpr std::array kSelectorHints = {
    TypeHint{"kubernetes.Quantity",
             "a selector says yes or no: compare, as in .compareTo(quantity(\"40Gi\")) >= 0"},
    TypeHint{"kubernetes.Semver",
             "a selector says yes or no: compare, as in .compareTo(semver(\"1.0.0\")) >= 0"},
    TypeHint{"list", "a selector says yes or no: ask the list, as in .exists(x, x == \"a\")"},
    TypeHint{"optional_type",
             "a selector says yes or no: ask the optional, as in .orValue(\"\") == \"a\""},
    TypeHint{"kubernetes.DRADevice",
             "a selector says yes or no about a device: compare one of its "
             "fields, as in device.driver == \"gpu.example.com\""},
    TypeHint{"", "a selector has to be true or false: compare the value, for example with == or <"},
};
constexpr std::array kDerivedHints = {
    TypeHint{"kubernetes.Quantity",
             "an attribute cannot be a quantity: use a number, .asInteger()"},
    TypeHint{"double", "an attribute cannot be a fraction: round with int(...) or use string(...)"},
    TypeHint{"uint", "an attribute is a signed number: int(...)"},
    TypeHint{"google.protobuf.Timestamp", "an attribute cannot be a time: use string(...)"},
    TypeHint{"google.protobuf.Duration", "an attribute cannot be a time: use string(...)"},
    TypeHint{"bytes", "an attribute cannot be bytes: use string(...)"},
    TypeHint{"optional_type", "an attribute has a value: say which, .orValue(...)"},
    TypeHint{"kubernetes.DRADevice", "an attribute is one value: take one, as in device.name"},
};

std::string HintForResult(std::string_view message, const Ast* ast, Purpose purpose) {
  const std::string_view type = RefusedType(message);
  if (type.empty()) return "";
  if (ast != nullptr) {
    if (const auto access = internal::AsDomainAccess(*ast, ast->root())) {
      return internal::HintForDomain(*access);
    }
  }
  const std::span<const TypeHint> hints =
      purpose == Purpose::kSelector ? std::span<const TypeHint>(kSelectorHints) : kDerivedHints;
  const auto it = std::ranges::find_if(
      hints, [&](const TypeHint& hint) { return type.starts_with(hint.type); });
  return it == hints.end() ? "" : std::string(it->hint);
}

// The message without what Compile puts before it.
std::string_view Reason(const std::string& error) {
  constexpr std::string_view kFailed = "compilation failed: ";
  std::string_view reason = error;
  if (reason.starts_with(kFailed)) reason.remove_prefix(kFailed.size());
  return reason;
}

constexpr std::array<std::string_view, 4> kAttributeFields = {"string", "int", "bool", "version"};

class Suspicion {
 public:
  explicit Suspicion(const CheckedExpr& expr) : expr_(expr), ast_(expr.ast()) {}

  std::vector<Advice> Run() {
    Visit(ast_.root());
    std::ranges::stable_sort(found_, {}, &Advice::offset);
    // A macro may have copied what was written once.
    const auto same = [](const Advice& a, const Advice& b) {
      return a.offset == b.offset && a.message == b.message;
    };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    return std::move(found_);
  }

 private:
  void Visit(ExprId id) {
    if (const auto access = internal::AsDomainAccess(ast_, id)) Domain(id, *access);
    if (const auto access = internal::AsEntryAccess(ast_, id)) Entry(id, *access);
    if (ast_.kind(id) == ExprKind::kSelect) Field(id);
    ForEachChild(expr_, id, [this](ExprId child) { Visit(child); });
  }

  void Domain(ExprId id, const DomainAccess& access) {
    const auto slash = access.domain.rfind('/');
    if (slash == std::string_view::npos) return;
    Add(id, fmt::format("['{}'] looks for a domain of that name", access.domain),
        fmt::format("did you mean {}?",
                    internal::Written(access.map, access.domain.substr(0, slash),
                                      access.domain.substr(slash + 1))));
  }

  // device.attributes["model"].string
  void Entry(ExprId id, const EntryAccess& access) {
    const bool is_field =
        std::ranges::find(kAttributeFields, access.name) != kAttributeFields.end();
    if (!is_field || access.domain.map != "attributes" ||
        access.domain.domain.find('.') != std::string_view::npos) {
      return;
    }
    Add(id,
        fmt::format("looks for an attribute \"{}\" in a domain \"{}\"", access.name,
                    access.domain.domain),
        fmt::format("did you mean {}, with the driver's domain? Its value is the {} itself",
                    internal::Written("attributes", "gpu.example.com", access.domain.domain),
                    access.name));
  }

  // device.attributes["d"].model.string, as slices and some texts have it
  void Field(ExprId id) {
    const SelectExpr select = ast_.select(id);
    const std::string_view field = ast_.text(select.field);
    const auto access = internal::AsEntryAccess(ast_, select.operand);
    if (!access || access->domain.map != "attributes" ||
        std::ranges::find(kAttributeFields, field) == kAttributeFields.end()) {
      return;
    }
    Add(id, fmt::format("an attribute's value has no field \"{}\"", field),
        fmt::format("in an expression an attribute is its value: {}",
                    internal::Written("attributes", access->domain.domain, access->name)));
  }

  void Add(ExprId id, std::string message, std::string hint) {
    found_.push_back({ast_.offset(id), std::move(message), std::move(hint)});
  }

  const CheckedExpr& expr_;
  const Ast& ast_;
  std::vector<Advice> found_;
};

// The innermost of the most loops inside each other.
struct Nest {
  std::size_t depth = 0;
  Offset offset = kNowhere;
};

void DeepestNest(const CheckedExpr& expr, ExprId id, std::size_t depth, Nest& nest) {
  const Ast& ast = expr.ast();
  const bool loop = ast.kind(id) == ExprKind::kComprehension;
  // cel.bind and its like are loops over nothing.
  const bool runs = loop && !(ast.kind(ast.comprehension(id).range) == ExprKind::kList &&
                              ast.list(ast.comprehension(id).range).elements.empty());
  if (runs && depth + 1 > nest.depth) nest = {depth + 1, ast.offset(id)};
  ForEachChild(expr, id, [&](ExprId child) {
    const bool inside = runs && child != ast.comprehension(id).range;
    DeepestNest(expr, child, depth + (inside ? 1 : 0), nest);
  });
}

}  // namespace

std::vector<Advice> Explain(std::string_view expression, const CompileResult& compiled,
                            const Environment& environment, Purpose purpose) {
  const Source source(expression);
  const ParseResult parsed = Parse(source, environment.parse_options());
  const Ast* ast = parsed.ok() ? &*parsed.ast : nullptr;
  if (compiled.issues.empty()) {
    const std::string_view reason = Reason(compiled.error);
    return {{kNowhere, std::string(reason), HintForResult(reason, ast, purpose)}};
  }
  std::vector<Advice> advice;
  for (const Issue& issue : compiled.issues) {
    std::string hint = HintFor({source.text(), ast, environment, issue});
    // What the last one said about the same place is not said again.
    const bool repeated = !advice.empty() && advice.back().hint == hint;
    advice.push_back({issue.offset, issue.message, repeated ? "" : std::move(hint)});
    if (advice.size() == kMaxIssues) break;
  }
  std::ranges::stable_sort(advice, {}, [](const Advice& a) { return a.offset + 1; });
  return advice;
}

std::vector<Advice> FindSuspicious(const CheckedExpr& expr) { return Suspicion(expr).Run(); }

std::optional<Advice> ExplainCost(const CheckedExpr& expr) {
  Nest nest;
  DeepestNest(expr, expr.ast().root(), 0, nest);
  if (nest.depth == 0) return std::nullopt;
  if (nest.depth == 1) {
    return Advice{nest.offset, "this loop is done for each entry",
                  "a list or text whose size is not known counts as the largest there can be"};
  }
  return Advice{
      nest.offset, fmt::format("this is the innermost of {} loops inside each other", nest.depth),
      "each loop multiplies the cost by the entries it may have, 32 for attributes and domains: "
      "name the domain, or put loops side by side"};
}

}  // namespace dray::cel

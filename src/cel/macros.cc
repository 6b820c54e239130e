// SPDX-License-Identifier: Apache-2.0
#include "cel/macros.h"

#include <array>
#include <initializer_list>

#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// What a user could have named like the accumulator in older versions of the language.
constexpr std::string_view kOldAccumulator = "__result__";
constexpr std::string_view kSortInput = "@__sortBy_input__";

// One expansion under way. Every node it adds lies at the macro's opening parenthesis.
class Expander {
 public:
  Expander(AstBuilder& builder, Offset offset, const CallExpr& call, std::size_t max_nodes)
      : builder_(builder), offset_(offset), call_(call), max_nodes_(max_nodes) {}

  Expansion Has() {
    const ExprId arg = call_.args[0];
    if (ast().kind(arg) != ExprKind::kSelect) return Wrong(arg, "invalid argument to has() macro");
    SelectExpr select = ast().select(arg);
    select.test_only = true;
    return Done(builder_.Select(offset_, select));
  }

  Expansion All() {
    return Quantifier([this](ExprId predicate) {
      return Fold{.init = Bool(true),
                  .condition = Call(op::kNotStrictlyFalse, {Accu()}),
                  .step = Call(op::kAnd, {Accu(), predicate}),
                  .result = Accu()};
    });
  }

  Expansion Exists() {
    return Quantifier([this](ExprId predicate) {
      return Fold{.init = Bool(false),
                  .condition = Call(op::kNotStrictlyFalse, {Call(op::kNot, {Accu()})}),
                  .step = Call(op::kOr, {Accu(), predicate}),
                  .result = Accu()};
    });
  }

  Expansion ExistsOne() {
    return Quantifier([this](ExprId predicate) {
      const ExprId more = Call(op::kAdd, {Accu(), Int(1)});
      return Fold{.init = Int(0),
                  .condition = Bool(true),
                  .step = Call(op::kConditional, {predicate, more, Accu()}),
                  .result = Call(op::kEqual, {Accu(), Int(1)})};
    });
  }

  // map(x, t), map(x, p, t) and filter(x, p).
  Expansion Map() {
    if (auto wrong = CheckVariable(call_.args[0], "argument is not an identifier")) return *wrong;
    return Done(MapOver(*call_.target));
  }

  Expansion Filter() {
    const ExprId variable = call_.args[0];
    if (auto wrong = CheckVariable(variable, "argument is not an identifier")) return *wrong;
    Fold fold = Collect(Call(op::kAdd, {Accu(), List({variable})}), call_.args[1]);
    return Done(Loop(*call_.target, ast().ident(variable), std::nullopt, fold));
  }

  Expansion TransformList() {
    return Transform(
        [this](ExprId value) {
          return Call(op::kAdd, {Accu(), List({value})});
        },
        [this] { return List({}); });
  }

  Expansion TransformMap() {
    return Transform(
        [this](ExprId value) {
          const ExprId key = builder_.Ident(offset_, ast().ident(call_.args[0]));
          return Call(op::kMapInsert, {Accu(), key, value});
        },
        [this] { return builder_.Map(offset_, {}); });
  }

  Expansion TransformMapEntry() {
    return Transform(
        [this](ExprId entry) {
          return Call(op::kMapInsert, {Accu(), entry});
        },
        [this] { return builder_.Map(offset_, {}); });
  }

  // Another receiver's `bind` is an ordinary call.
  Expansion Bind() {
    const ExprId target = *call_.target;
    if (ast().kind(target) != ExprKind::kIdent || ast().text(ast().ident(target)) != "cel") {
      return {};
    }
    const ExprId variable = call_.args[0];
    if (ast().kind(variable) != ExprKind::kIdent) {
      return Wrong(variable, "cel.bind() variable names must be simple identifiers");
    }
    return Done(BindTo(ast().ident(variable), call_.args[1], call_.args[2]));
  }

  Expansion OptMap() {
    return OptionalMap("optMap", [this](ExprId bound) { return Call("optional.of", {bound}); });
  }
  Expansion OptFlatMap() {
    return OptionalMap("optFlatMap", [](ExprId bound) { return bound; });
  }

  Expansion Greatest() { return Extreme("math.@max"); }
  Expansion Least() { return Extreme("math.@min"); }

  Expansion SortBy() {
    const ExprId target = *call_.target;
    switch (ast().kind(target)) {
      case ExprKind::kList:
      case ExprKind::kSelect:
      case ExprKind::kIdent:
      case ExprKind::kComprehension:
      case ExprKind::kCall:
        break;
      default:
        return Wrong(target,
                     "sortBy can only be applied to a list, identifier, comprehension, call or "
                     "select expression");
    }
    if (auto wrong = CheckVariable(call_.args[0], "argument is not an identifier")) return *wrong;
    const StringId input = builder_.Intern(kSortInput);
    const ExprId keys = MapOver(builder_.Ident(offset_, input));
    const ExprId sorted =
        builder_.Call(offset_, {.function = builder_.Intern(op::kSortByAssociatedKeys),
                                .target = builder_.Ident(offset_, input),
                                .args = std::span(&keys, 1)});
    return Done(BindTo(input, target, sorted));
  }

 private:
  // The parts of a loop besides its range and variables.
  struct Fold {
    ExprId init, condition, step, result;
  };

  const Ast& ast() const { return builder_.ast(); }

  Expansion Done(ExprId expr) { return {.expr = expr}; }
  Expansion Wrong(ExprId at, std::string_view message) {
    return {.issue = Issue{ast().offset(at), std::string(message)}};
  }

  ExprId Accu() { return builder_.Ident(offset_, builder_.Intern(kAccumulator)); }
  ExprId Bool(bool value) { return builder_.Bool(offset_, value); }
  ExprId Int(std::int64_t value) { return builder_.Int(offset_, value); }
  ExprId List(std::initializer_list<ExprId> elements) {
    return builder_.List(offset_, std::span(elements.begin(), elements.size()));
  }
  ExprId Call(std::string_view function, std::initializer_list<ExprId> args) {
    return builder_.Call(offset_, {.function = builder_.Intern(function),
                                   .args = std::span(args.begin(), args.size())});
  }
  ExprId MemberCall(std::string_view function, ExprId target) {
    return builder_.Call(offset_, {.function = builder_.Intern(function), .target = target});
  }
  ExprId Loop(ExprId range, StringId var, std::optional<StringId> var2, const Fold& fold) {
    return builder_.Loop(offset_, {.iter_var = var,
                                   .iter_var2 = var2,
                                   .range = range,
                                   .accu_var = builder_.Intern(kAccumulator),
                                   .init = fold.init,
                                   .condition = fold.condition,
                                   .step = fold.step,
                                   .result = fold.result});
  }
  // A loop over nothing: `result` with `variable` bound to `value`.
  ExprId BindTo(StringId variable, ExprId value, ExprId result) {
    const ExprId range = List({});
    const ExprId condition = Bool(false);
    return builder_.Loop(offset_, {.iter_var = builder_.Intern(kUnusedVariable),
                                   .range = range,
                                   .accu_var = variable,
                                   .init = value,
                                   .condition = condition,
                                   .step = builder_.Ident(offset_, variable),
                                   .result = result});
  }

  std::optional<Expansion> CheckVariable(ExprId arg, std::string_view not_a_name) {
    if (ast().kind(arg) != ExprKind::kIdent) return Wrong(arg, not_a_name);
    return CheckNotAccumulator(arg);
  }
  std::optional<Expansion> CheckNotAccumulator(ExprId arg) {
    const std::string_view name = ast().text(ast().ident(arg));
    if (name != kAccumulator && name != kOldAccumulator) return std::nullopt;
    return Wrong(arg, "iteration variable overwrites accumulator variable");
  }
  std::optional<Expansion> CheckTwoVariables() {
    constexpr std::string_view kNotAName = "argument must be a simple name";
    const ExprId first = call_.args[0], second = call_.args[1];
    for (const ExprId arg : {first, second}) {
      if (ast().kind(arg) != ExprKind::kIdent) return Wrong(arg, kNotAName);
    }
    if (ast().ident(first) == ast().ident(second)) {
      return Wrong(second,
                   fmt::format("duplicate variable name: {}", ast().text(ast().ident(first))));
    }
    if (auto wrong = CheckNotAccumulator(first)) return wrong;
    return CheckNotAccumulator(second);
  }

  // range.q(x, p) or range.q(i, x, p).
  template <typename MakeFold>
  Expansion Quantifier(MakeFold make) {
    const bool two = call_.args.size() == 3;
    if (auto wrong = two ? CheckTwoVariables()
                         : CheckVariable(call_.args[0], "argument must be a simple name")) {
      return *wrong;
    }
    const Fold fold = make(call_.args.back());
    return Done(Loop(*call_.target, ast().ident(call_.args[0]),
                     two ? std::optional(ast().ident(call_.args[1])) : std::nullopt, fold));
  }

  // A fold that gathers into a list: step, or filter ? step : accu.
  Fold Collect(ExprId step, std::optional<ExprId> filter) {
    if (filter) step = Call(op::kConditional, {*filter, step, Accu()});
    return {.init = List({}), .condition = Bool(true), .step = step, .result = Accu()};
  }

  // map's loop over `range`; the arguments are the call's, and checked.
  ExprId MapOver(ExprId range) {
    const ExprId step = Call(op::kAdd, {Accu(), List({call_.args.back()})});
    const auto filter = call_.args.size() == 3 ? std::optional(call_.args[1]) : std::nullopt;
    return Loop(range, ast().ident(call_.args[0]), std::nullopt, Collect(step, filter));
  }

  // range.transformX(i, x, t) or range.transformX(i, x, p, t).
  template <typename MakeStep, typename MakeInit>
  Expansion Transform(MakeStep make_step, MakeInit make_init) {
    if (auto wrong = CheckTwoVariables()) return *wrong;
    ExprId step = make_step(call_.args.back());
    if (call_.args.size() == 4) step = Call(op::kConditional, {call_.args[2], step, Accu()});
    const Fold fold{.init = make_init(), .condition = Bool(true), .step = step, .result = Accu()};
    return Done(Loop(*call_.target, ast().ident(call_.args[0]), ast().ident(call_.args[1]), fold));
  }

  // One or two arguments are the function's, more are its list. Another receiver's is an ordinary
  // call.
  Expansion Extreme(std::string_view function) {
    const ExprId target = *call_.target;
    if (ast().kind(target) != ExprKind::kIdent || ast().text(ast().ident(target)) != "math") {
      return {};
    }
    if (call_.args.empty()) {
      return {.issue = Issue{offset_, fmt::format("math.{}() requires at least one argument",
                                                  ast().text(call_.function))}};
    }
    if (call_.args.size() > 2) return Done(Call(function, {builder_.List(offset_, call_.args)}));
    return Done(
        builder_.Call(offset_, {.function = builder_.Intern(function), .args = call_.args}));
  }

  // target.hasValue() ? wrap(bind x = target.value() in t) : optional.none()
  template <typename Wrap>
  Expansion OptionalMap(std::string_view name, Wrap wrap) {
    const ExprId variable = call_.args[0];
    if (ast().kind(variable) != ExprKind::kIdent) {
      return Wrong(variable, fmt::format("{}() variable name must be a simple identifier", name));
    }
    // A copy is at most as large as what there is.
    if (ast().size() > max_nodes_ / 2) {
      return {.issue = Issue{offset_, fmt::format("expression is too large once {} is expanded: "
                                                  "more than {} nodes",
                                                  name, max_nodes_)}};
    }
    const ExprId has_value = MemberCall("hasValue", *call_.target);
    const ExprId value = MemberCall("value", builder_.Copy(*call_.target));
    const ExprId bound = wrap(BindTo(ast().ident(variable), value, call_.args[1]));
    const ExprId none = Call("optional.none", {});
    return Done(Call(op::kConditional, {has_value, bound, none}));
  }

  AstBuilder& builder_;
  const Offset offset_;
  const CallExpr& call_;
  const std::size_t max_nodes_;
};

constexpr std::uint8_t kAnyNumber = 255;

struct Macro {
  std::string_view name;
  std::uint8_t args = 0;
  bool receiver = true;
  MacroSet library;
  Expansion (Expander::*expand)() = nullptr;
};

constexpr std::array<Macro, 24> kMacros = {{
    {"has", 1, false, MacroSet::Standard(), &Expander::Has},
    {"all", 2, true, MacroSet::Standard(), &Expander::All},
    {"exists", 2, true, MacroSet::Standard(), &Expander::Exists},
    {"exists_one", 2, true, MacroSet::Standard(), &Expander::ExistsOne},
    {"map", 2, true, MacroSet::Standard(), &Expander::Map},
    {"map", 3, true, MacroSet::Standard(), &Expander::Map},
    {"filter", 2, true, MacroSet::Standard(), &Expander::Filter},
    {"existsOne", 2, true, MacroSet::ExistsOne(), &Expander::ExistsOne},
    {"all", 3, true, MacroSet::TwoVariables(), &Expander::All},
    {"exists", 3, true, MacroSet::TwoVariables(), &Expander::Exists},
    {"exists_one", 3, true, MacroSet::TwoVariables(), &Expander::ExistsOne},
    {"existsOne", 3, true, MacroSet::TwoVariables(), &Expander::ExistsOne},
    {"transformList", 3, true, MacroSet::TwoVariables(), &Expander::TransformList},
    {"transformList", 4, true, MacroSet::TwoVariables(), &Expander::TransformList},
    {"transformMap", 3, true, MacroSet::TwoVariables(), &Expander::TransformMap},
    {"transformMap", 4, true, MacroSet::TwoVariables(), &Expander::TransformMap},
    {"transformMapEntry", 3, true, MacroSet::TwoVariables(), &Expander::TransformMapEntry},
    {"transformMapEntry", 4, true, MacroSet::TwoVariables(), &Expander::TransformMapEntry},
    {"bind", 3, true, MacroSet::Bindings(), &Expander::Bind},
    {"optMap", 2, true, MacroSet::Optionals(), &Expander::OptMap},
    {"optFlatMap", 2, true, MacroSet::Optionals(), &Expander::OptFlatMap},
    {"sortBy", 2, true, MacroSet::Lists(), &Expander::SortBy},
    {"greatest", kAnyNumber, true, MacroSet::Math(), &Expander::Greatest},
    {"least", kAnyNumber, true, MacroSet::Math(), &Expander::Least},
}};

}  // namespace

Expansion ExpandMacro(MacroSet macros, AstBuilder& builder, Offset offset, const CallExpr& call,
                      std::size_t max_nodes) {
  const std::string_view function = builder.ast().text(call.function);
  for (const Macro& macro : kMacros) {
    const bool fits = macro.args == kAnyNumber || macro.args == call.args.size();
    if (!fits || macro.receiver != call.target.has_value() || macro.name != function ||
        !macros.Contains(macro.library)) {
      continue;
    }
    Expansion expansion = (Expander(builder, offset, call, max_nodes).*macro.expand)();
    if (expansion.expr) builder.RememberMacro(*expansion.expr, offset, call);
    return expansion;
  }
  return {};
}

}  // namespace dray::cel

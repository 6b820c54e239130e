// SPDX-License-Identifier: Apache-2.0
//
// Calls, and what of them is done when the program is built.
#include <algorithm>

#include "cel/internal/pattern.h"
#include "cel/internal/program_compiler.h"
#include "cel/internal/regex.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

bool IsPrimitive(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kBytes || kind == Kind::kDouble ||
         kind == Kind::kInt || kind == Kind::kString || kind == Kind::kUint;
}

}  // namespace

// For which orders of its arguments a comparison holds; 0 when it is none.
std::uint8_t Compiler::OrdersOf(std::string_view function) {
  if (function == op::kLess) return Program::kIsLess;
  if (function == op::kLessEqual) return Program::kIsLess | Program::kIsEqual;
  if (function == op::kGreater) return Program::kIsGreater;
  if (function == op::kGreaterEqual) return Program::kIsGreater | Program::kIsEqual;
  return 0;
}

Compiler::Callee Compiler::CalleeOf(const FunctionRow& row, bool known) const {
  return {.name = row.function,
          .impl = row.implementation.In(dialect_),
          .rule = known ? row.cost.known : row.cost.otherwise,
          .of_constants = row.of_constants};
}

// Without an implementation when there is none for so many arguments.
Compiler::Callee Compiler::FindCallee(ExprId id, std::string_view function,
                                      std::size_t args) const {
  if (checked_ == nullptr) {
    const NamedFunction* named = FindFunctionByName(function);
    const bool found = named != nullptr && args >= named->min_args && args <= named->max_args;
    return found ? CalleeOf(*named->row, false) : Callee{.name = function};
  }
  const auto candidates = checked_->overloads(id);
  const bool known = candidates.size() == 1;
  const Overload& overload = known ? *candidates[0] : checked_->function(id).overloads[0];
  Callee callee = overload.row == nullptr ? Callee{} : CalleeOf(*overload.row, known);
  if (known) callee.overload = overload.id;
  return callee;
}

// Without a checker, the full name of a global function whose name begins with the target's.
std::optional<std::string> Compiler::NamespacedFunction(const CallExpr& call) const {
  if (!call.target) {
    std::string name(ast_.text(call.function));
    if (name.starts_with('.')) name.erase(0, 1);
    return name;
  }
  std::string prefix = QualifiedText(*call.target);
  if (prefix.empty()) return std::nullopt;
  if (prefix.starts_with('.')) prefix.erase(0, 1);
  std::string name = prefix + "." + std::string(ast_.text(call.function));
  if (FindFunctionByName(name) == nullptr) return std::nullopt;
  return name;
}

std::uint32_t Compiler::CompileCall(ExprId id) {
  const CallExpr call = ast_.call(id);
  std::string function(ast_.text(call.function));
  if (IsPath(id)) return CompilePath(id);
  bool receiver = call.target.has_value();
  if (checked_ != nullptr) {
    function = checked_->function(id).name;
    receiver = receiver && checked_->has_receiver(id);
  } else if (const auto name = NamespacedFunction(call)) {
    function = *name;
    receiver = false;
  }
  std::vector<std::uint32_t> args;
  if (receiver) args.push_back(Compile(*call.target));
  for (const ExprId arg : call.args) args.push_back(Compile(arg));

  if (function == op::kAnd) return Add({.op = Op::kAnd, .a = args[0], .b = args[1]});
  if (function == op::kOr) return Add({.op = Op::kOr, .a = args[0], .b = args[1]});
  if (function == op::kNotStrictlyFalse || function == "__not_strictly_false__") {
    return Add({.op = Op::kNotStrictlyFalse, .a = args[0]});
  }
  if (function == "or" && args.size() == 2) {
    return Add({.op = Op::kOptionalOr, .a = args[0], .b = args[1]});
  }
  if (function == "orValue" && args.size() == 2) {
    return Add({.op = Op::kOrValue, .a = args[0], .b = args[1]});
  }

  const Callee callee = FindCallee(id, function, args.size());
  if (function == op::kEqual || function == op::kNotEqual) {
    return Add({.op = function == op::kEqual ? Op::kEqual : Op::kNotEqual,
                .rule = callee.rule,
                .a = args[0],
                .b = args[1]});
  }
  if (callee.impl == nullptr) return Failing(fmt::format("no such overload: {}", function));
  if (callee.overload == "in_list" && IsConstant(args[1])) {
    if (const auto folded = FoldMembership(args[0], args[1])) return *folded;
  }
  if (callee.of_constants == OfConstants::kFold && args.size() == 1 && IsConstant(args[0])) {
    return FoldCall(callee, args[0]);
  }
  Node node{.op = Op::kCall,
            .rule = callee.rule,
            .a = AddArgs(args),
            .b = static_cast<std::uint32_t>(args.size())};
  if (const auto pattern = ConstantPattern(function, args)) {
    node.op = Op::kRegex;
    node.target = *pattern;
    if (options_.optimize) return Add(node);
    // Compiled again by every call, which stays one of a constant pattern.
    node.flag = 1;
  }
  if (options_.optimize) {
    if (const auto made = MakeOnce(callee, args)) return *made;
  }
  if (const std::uint8_t orders = OrdersOf(function); orders != 0 && options_.optimize) {
    node.op = Op::kOrder;
    node.flag = orders;
  }
  node.target = static_cast<std::uint32_t>(program_->functions_.size());
  program_->functions_.push_back({callee.name, callee.impl});
  return Add(node);
}

// quantity("1Mi") and its like are made once, but paid for every time: Kubernetes makes them in
// every evaluation. One that fails stays a call, since its error may be absorbed.
std::optional<std::uint32_t> Compiler::MakeOnce(const Callee& callee,
                                                std::span<const std::uint32_t> args) {
  if (callee.of_constants != OfConstants::kMakeOnce ||
      !std::ranges::all_of(args, [&](auto arg) { return IsConstant(arg); })) {
    return std::nullopt;
  }
  std::vector<Value> values;
  for (const std::uint32_t arg : args) {
    values.push_back(ConstantOf(arg));
    if (values.back().is_error()) return std::nullopt;
  }
  const Value value = callee.impl(arena(), values);
  if (value.is_error()) return std::nullopt;
  program_->constants_.push_back(value);
  return Add(
      {.op = Op::kPaid,
       .a = static_cast<std::uint32_t>(program_->constants_.size() - 1),
       .b = static_cast<std::uint32_t>(CallCost(arena().work(), callee.rule, values, value))});
}

std::uint32_t Compiler::FoldCall(const Callee& callee, std::uint32_t arg) {
  const Value value = ConstantOf(arg);
  if (value.is_error()) return arg;
  const Value result = callee.impl(arena(), std::span(&value, 1));
  if (result.is_error()) {
    Fail(IsUnmatchedCall(result)
             ? fmt::format("no such overload: {}({})", callee.name, TypeName(value))
             : std::string(ErrorMessage(result)));
  }
  return Constant(result);
}

// x in [constants]: nothing when the list has more than primitive values.
std::optional<std::uint32_t> Compiler::FoldMembership(std::uint32_t x, std::uint32_t constant) {
  const Value list = ConstantOf(constant);
  if (!list.is(Kind::kList)) return std::nullopt;
  const List& values = list.as<List>();
  if (values.size() == 0) return Constant(Value::Bool(false));
  auto* set = arena().New<GrowingMap>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value value = values.At(i);
    if (!IsPrimitive(value.kind()) || value.is(Kind::kBytes)) return std::nullopt;
    set->Insert(arena(), value, Value::Bool(true));
  }
  program_->constants_.push_back(
      options_.optimize ? Value::Pointer(Kind::kMap, static_cast<const Map*>(set)) : list);
  return Add({.op = Op::kInSet,
              .a = x,
              .target = static_cast<std::uint32_t>(program_->constants_.size() - 1)});
}

std::optional<std::uint32_t> Compiler::ConstantPattern(std::string_view function,
                                                       std::span<const std::uint32_t> args) {
  RegexImpl impl = nullptr;
  if (function == "matches") impl = RegexMatches;
  if (function == "find") impl = RegexFind;
  if (function == "findAll") impl = RegexFindAll;
  if (impl == nullptr || !IsConstant(args[1]) || !ConstantOf(args[1]).is(Kind::kString)) {
    return std::nullopt;
  }
  const std::string_view text = ConstantOf(args[1]).as_text();
  auto pattern = std::make_shared<Program::Pattern>();
  if (impl == RegexMatches) pattern->simple = SimplePattern::Parse(text);
  if (!pattern->simple) {
    pattern->impl = impl;
    pattern->regex.emplace(GoPattern(text), RegexOptions());
    if (!pattern->regex->ok()) {
      Fail(RegexError(*pattern->regex, text));
      return std::nullopt;
    }
  }
  program_->patterns_.push_back(std::move(pattern));
  return static_cast<std::uint32_t>(program_->patterns_.size() - 1);
}

}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
#include "cel/evaluator.h"

#include <array>
#include <string>

#include "cel/internal/evaluation.h"
#include "cel/internal/pattern.h"
#include "fmt/format.h"

namespace dray::cel {

EvaluationResult Evaluation::Run() {
  Value value = Eval(program_.root_);
  if (value.is_error() && IsUnmatchedCall(value)) value = NoSuchOverload();
  CancelIfUsedUp();
  if (cancelled_ != nullptr) value = StaticError(*cancelled_);
  return {value, cost_};
}

Value Evaluation::Eval(std::uint32_t index) {
  if (cancelled_ != nullptr) return StaticError(*cancelled_);
  const Node& node = program_.nodes_[index];
  switch (node.op) {
    case Op::kConstant:
      return program_.constants_[node.a];
    case Op::kPaid:
      Charge(node.b);
      return program_.constants_[node.a];
    case Op::kChain:
      return EvalChain(program_.chains_[node.a]);
    case Op::kRead:
      return EvalRead(node);
    case Op::kAnd:
      return EvalLogic(node, false);
    case Op::kOr:
      return EvalLogic(node, true);
    case Op::kNotStrictlyFalse: {
      const Value value = Eval(node.a);
      Charge(1);
      return Value::Bool(!value.is_false());
    }
    case Op::kEqual:
    case Op::kNotEqual:
      return EvalEquality(node);
    case Op::kCall:
    case Op::kRegex:
      return EvalCall(node);
    case Op::kOrder:
      return EvalOrder(node);
    case Op::kInSet:
      return EvalInSet(node);
    case Op::kOptionalOr:
    case Op::kOrValue:
      return EvalOr(node);
    case Op::kList:
      return EvalList(node);
    case Op::kMap:
      return EvalMap(node);
    case Op::kLoop:
      return EvalLoop(program_.loops_[node.a]);
    case Op::kMessage:
      return EvalMessage(node);
    case Op::kAppend:
      return EvalAppend(node);
    case Op::kInsert:
      return EvalInsert(node);
  }
  return NoSuchOverload();
}

// && and ||: `decisive` decides alone; otherwise the first error counts.
Value Evaluation::EvalLogic(const Node& node, bool decisive) {
  const Value left = Eval(node.a);
  if (left.is(Kind::kBool) && left.as_bool() == decisive) return left;
  const Value right = Eval(node.b);
  if (right.is(Kind::kBool) && right.as_bool() == decisive) return right;
  if (!left.is(Kind::kBool)) return left.is_error() ? left : NoSuchOverload();
  if (!right.is(Kind::kBool)) return right.is_error() ? right : NoSuchOverload();
  return Value::Bool(!decisive);
}

Value Evaluation::EvalEquality(const Node& node) {
  const std::array<Value, 2> args = {EvalOperand(node.a), EvalOperand(node.b)};
  const bool equal = node.op == Op::kEqual;
  Charge(CallCost(arena_.work(), node.rule, args, Value()));
  if (args[0].is_error()) return args[0];
  if (args[1].is_error()) return args[1];
  const Value result = Equal(arena_.work(), args[0], args[1]);
  return equal ? result : Value::Bool(!result.is_true());
}

Value Evaluation::EvalCall(const Node& node) {
  std::array<Value, 3> few;
  const std::uint32_t n = node.b;
  const std::span<Value> args =
      n <= few.size() ? std::span(few).first(n) : arena_.NewArray<Value>(n);
  // As in Kubernetes: with three or more arguments, and with a pattern made before, an error
  // ends the call at once, and the call is not paid for.
  const bool stops = n > 2 || node.op == Op::kRegex;
  const Value* error = nullptr;
  for (std::uint32_t i = 0; i < n; ++i) {
    args[i] = EvalOperand(program_.args_[node.a + i]);
    if (args[i].is_error()) {
      if (stops) return args[i];
      if (error == nullptr) error = &args[i];
    }
  }
  return Apply(node, args, error);
}

// < and its like: of numbers that are ints, which most are, there is nothing to find out.
Value Evaluation::EvalOrder(const Node& node) {
  const std::uint32_t* operands = &program_.args_[node.a];
  const std::array<Value, 2> args = {EvalOperand(operands[0]), EvalOperand(operands[1])};
  if (args[0].is(Kind::kInt) && args[1].is(Kind::kInt)) {
    const std::int64_t a = args[0].as_int();
    const std::int64_t b = args[1].as_int();
    Charge(node.rule == CostRule::kOne ? 1 : CallCost(arena_.work(), node.rule, args, Value()));
    const unsigned order = a < b    ? Program::kIsLess
                           : a == b ? Program::kIsEqual
                                    : Program::kIsGreater;
    return Value::Bool((node.flag & order) != 0);
  }
  const Value* error = args[0].is_error() ? &args[0] : args[1].is_error() ? &args[1] : nullptr;
  return Apply(node, args, error);
}

// The call with its arguments; with an error among them only what it costs.
Value Evaluation::Apply(const Node& node, std::span<const Value> args, const Value* error) {
  // An argument may have passed a limit and still be a value; nothing is made of it any more.
  if (cancelled_ != nullptr) return StaticError(*cancelled_);
  for (const Value& arg : args) SpendOn(arg);
  Value result;
  if (error != nullptr) {
    result = *error;
  } else if (node.op == Op::kRegex && node.flag == 0) {
    const Program::Pattern& pattern = *program_.patterns_[node.target];
    if (!pattern.simple) {
      result = pattern.impl(arena_, *pattern.regex, args);
      if (result.is_error() && IsUnmatchedCall(result)) result = NoSuchOverload();
    } else if (args[0].is(Kind::kString)) {
      result = Value::Bool(pattern.simple->Matches(args[0].as_text()));
    } else {
      result = NoSuchOverload();
    }
  } else {
    const Program::Callee& function = program_.functions_[node.target];
    result = function.impl(arena_, args);
    if (result.is_error() && IsUnmatchedCall(result)) {
      result = node.op == Op::kRegex ? NoSuchOverload() : Unmatched(function, args);
    }
  }
  Charge(node.rule == CostRule::kOne ? 1 : CallCost(arena_.work(), node.rule, args, result));
  if (arena_.bytes() > limits_.arena_bytes) cancelled_ = &kMemoryExceeded;
  CancelIfUsedUp();
  return result;
}

Value Evaluation::Unmatched(const Program::Callee& function, std::span<const Value> args) {
  std::string message = fmt::format("no such overload: {}(", function.name);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i != 0) message += ", ";
    message += TypeName(args[i]);
  }
  return Fail(message + ")");
}

Value Evaluation::EvalInSet(const Node& node) {
  const Value x = Eval(node.a);
  switch (x.kind()) {
    case Kind::kError:
      return x;
    case Kind::kList:
    case Kind::kMap:
    case Kind::kBytes:
    case Kind::kSemver:
      return Fail(fmt::format("internal error: runtime error: hash of unhashable type {}",
                              x.is(Kind::kList)  ? "*types.baseList"
                              : x.is(Kind::kMap) ? "*types.baseMap"
                                                 : GoTypeName(x)));
    default:
      break;
  }
  SpendOn(x);
  return Contains(arena_, program_.constants_[node.target], x);
}

Value Evaluation::EvalOr(const Node& node) {
  const Value left = Eval(node.a);
  if (left.is_error()) return left;
  if (!left.is(Kind::kOptional)) return NoSuchOverload();
  const Optional& optional = left.as<Optional>();
  if (optional.present) return node.op == Op::kOptionalOr ? left : optional.value;
  return Eval(node.b);
}

EvaluationResult Evaluate(const Program& program, std::span<const Value> variables, Arena& arena,
                          const EvaluationLimits& limits) {
  return Evaluation(program, variables, arena, limits).Run();
}

EvaluationResult Evaluate(const Program& program, const DeviceView& view, Arena& arena,
                          const EvaluationLimits& limits) {
  return Evaluation(program, view, arena, limits).Run();
}

}  // namespace dray::cel

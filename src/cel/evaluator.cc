// SPDX-License-Identifier: Apache-2.0
#include "cel/evaluator.h"

#include <array>
#include <cmath>
#include <string>

#include "cel/internal/pattern.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr Error kCostExceeded{"operation cancelled: actual cost limit exceeded"};
constexpr Error kMemoryExceeded{"operation cancelled: memory limit exceeded"};
constexpr Error kInterrupted{"operation interrupted"};
constexpr std::uint64_t kInterruptCheckFrequency = 100;
constexpr std::uint64_t kListCost = 10;
constexpr std::uint64_t kMapCost = 30;
constexpr std::uint64_t kMessageCost = 40;

}  // namespace

// One evaluation under way. On the stack.
class Evaluation {
 public:
  Evaluation(const Program& program, std::span<const Value> variables, Arena& arena,
             const EvaluationLimits& limits)
      : program_(program), variables_(variables), arena_(arena), limits_(limits) {
    if (program.locals_ > 0) locals_ = arena.NewArray<Local>(program.locals_);
  }

  EvaluationResult Run() {
    Value value = Eval(program_.root_);
    if (IsUnmatchedCall(value)) value = NoSuchOverload();
    if (cancelled_ != nullptr) value = StaticError(*cancelled_);
    return {value, cost_};
  }

 private:
  using Op = Program::Op;
  using Node = Program::Node;
  using Chain = Program::Chain;
  using Qualifier = Program::Qualifier;

  struct Local {
    Value value;
    const Program::Loop* pending = nullptr;  // its initial value was not asked for yet
  };

  void Charge(std::uint64_t cost) {
    if (cancelled_ != nullptr) return;
    cost_ += cost;
    if (cost_ > limits_.cost) cancelled_ = &kCostExceeded;
  }

  Value Fail(std::string_view message) { return MakeError(arena_, message); }

  Value Eval(std::uint32_t index) {
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
  Value EvalLogic(const Node& node, bool decisive) {
    const Value left = Eval(node.a);
    if (left.is(Kind::kBool) && left.as_bool() == decisive) return left;
    const Value right = Eval(node.b);
    if (right.is(Kind::kBool) && right.as_bool() == decisive) return right;
    if (!left.is(Kind::kBool)) return left.is_error() ? left : NoSuchOverload();
    if (!right.is(Kind::kBool)) return right.is_error() ? right : NoSuchOverload();
    return Value::Bool(!decisive);
  }

  Value EvalEquality(const Node& node) {
    const std::array<Value, 2> args = {Eval(node.a), Eval(node.b)};
    const bool equal = node.op == Op::kEqual;
    Charge(CallCost(equal ? CostRule::kEqual : CostRule::kSmaller, args, Value()));
    if (args[0].is_error()) return args[0];
    if (args[1].is_error()) return args[1];
    const Value result = Equal(args[0], args[1]);
    return equal ? result : Value::Bool(!result.is_true());
  }

  Value EvalCall(const Node& node) {
    std::array<Value, 3> few;
    const std::uint32_t n = node.b;
    const std::span<Value> args =
        n <= few.size() ? std::span(few).first(n) : arena_.NewArray<Value>(n);
    // As in Kubernetes: with three or more arguments, and with a pattern made before, an error
    // ends the call at once, and the call is not paid for.
    const bool stops = n > 2 || node.op == Op::kRegex;
    const Value* error = nullptr;
    for (std::uint32_t i = 0; i < n; ++i) {
      args[i] = Eval(program_.args_[node.a + i]);
      if (args[i].is_error()) {
        if (stops) return args[i];
        if (error == nullptr) error = &args[i];
      }
    }
    // An argument may have passed a limit and still be a value; nothing is made of it any more.
    if (cancelled_ != nullptr) return StaticError(*cancelled_);
    Value result;
    if (error != nullptr) {
      result = *error;
    } else if (node.op == Op::kRegex) {
      const Program::Pattern& pattern = *program_.patterns_[node.target];
      result = pattern.impl(arena_, pattern.regex, args);
      if (IsUnmatchedCall(result)) result = NoSuchOverload();
    } else {
      const Builtin& function = *program_.functions_[node.target];
      result = function.impl(arena_, args);
      if (IsUnmatchedCall(result)) result = Unmatched(function, args);
    }
    Charge(node.rule == CostRule::kOne ? 1 : CallCost(node.rule, args, result));
    if (arena_.bytes() > limits_.arena_bytes) cancelled_ = &kMemoryExceeded;
    return result;
  }

  Value Unmatched(const Builtin& function, std::span<const Value> args) {
    std::string message = fmt::format("no such overload: {}(", function.name);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (i != 0) message += ", ";
      message += TypeName(args[i]);
    }
    return Fail(message + ")");
  }

  Value EvalInSet(const Node& node) {
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
    Value ignored;
    return Value::Bool(program_.constants_[node.target].as<Map>().Find(x, &ignored));
  }

  Value EvalOr(const Node& node) {
    const Value left = Eval(node.a);
    if (left.is_error()) return left;
    if (!left.is(Kind::kOptional)) return NoSuchOverload();
    const Optional& optional = left.as<Optional>();
    if (optional.present) return node.op == Op::kOptionalOr ? left : optional.value;
    return Eval(node.b);
  }

  // --- literals ---

  Value EvalList(const Node& node) {
    const std::span<Value> values = arena_.NewArray<Value>(node.b);
    std::size_t n = 0;
    for (std::uint32_t i = 0; i < node.b; ++i) {
      Value value = Eval(program_.args_[node.a + i]);
      if (!value.is_error() && node.target != Program::kNone &&
          program_.optional_flags_[node.target][i]) {
        if (!value.is(Kind::kOptional)) {
          value =
              Fail(fmt::format("cannot initialize optional list element from non-optional value {}",
                               Printed(value)));
        } else if (!value.as<Optional>().present) {
          continue;
        } else {
          value = value.as<Optional>().value;
        }
      }
      if (value.is_error()) {
        Charge(kListCost);
        return value;
      }
      values[n++] = value;
    }
    Charge(kListCost);
    return WrapList(arena_, values.first(n));
  }

  Value EvalMap(const Node& node) {
    auto* map = arena_.New<GrowingMap>();
    Value error;
    for (std::uint32_t i = 0; i < node.b && !error.is_error(); i += 2) {
      error = EvalEntry(node, i, *map);
    }
    Charge(kMapCost);
    if (error.is_error()) return error;
    return Value::Pointer(Kind::kMap, static_cast<const Map*>(map));
  }

  Value EvalEntry(const Node& node, std::uint32_t i, GrowingMap& map) {
    const Value key = Eval(program_.args_[node.a + i]);
    if (key.is_error()) return key;
    Value value = Eval(program_.args_[node.a + i + 1]);
    if (value.is_error()) return value;
    if (!IsKeyKind(key.kind())) {
      return Fail(fmt::format("unsupported key type: {}", TypeName(key)));
    }
    if (node.target != Program::kNone && program_.optional_flags_[node.target][i / 2]) {
      if (!value.is(Kind::kOptional)) {
        return Fail(fmt::format("cannot initialize optional entry '{}' from non-optional value {}",
                                Printed(key), Printed(value)));
      }
      if (!value.as<Optional>().present) {
        map.Erase(key);
        return Value();
      }
      value = value.as<Optional>().value;
    }
    if (!map.PutSameKind(arena_, key, value)) return Fail("Failed with repeated key");
    return Value();
  }

  Value EvalMessage(const Node& node) {
    const Program::Message& message = program_.messages_[node.target];
    Value value;
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    for (std::uint32_t i = 0; i < node.b; ++i) {
      const Value field = Eval(program_.args_[node.a + i]);
      if (field.is_error()) {
        Charge(kMessageCost);
        return field;
      }
      if (message.fields[i] == "value") value = field;
      if (message.fields[i] == "seconds" && field.is(Kind::kInt)) seconds = field.as_int();
      if (message.fields[i] == "nanos" && field.is(Kind::kInt)) nanos = field.as_int();
    }
    Charge(kMessageCost);
    if (message.type == "Timestamp") {
      if (seconds < Instant::kMinSeconds || seconds > Instant::kMaxSeconds || nanos < 0 ||
          nanos > 999'999'999) {
        return Fail("timestamp overflow");
      }
      return MakeInstant(arena_, {seconds, static_cast<std::int32_t>(nanos)});
    }
    if (message.type == "Duration") {
      std::int64_t whole = 0;
      if (__builtin_mul_overflow(seconds, 1'000'000'000, &whole) ||
          __builtin_add_overflow(whole, nanos, &whole)) {
        return Fail("duration overflow");
      }
      return Value::Duration(whole);
    }
    if (node.b > 0) return value;
    // A wrapper without its field has the zero of its type.
    if (message.type == "BoolValue") return Value::Bool(false);
    if (message.type == "StringValue") return Value::String("");
    if (message.type == "BytesValue") return Value::Bytes("");
    if (message.type == "DoubleValue" || message.type == "FloatValue") return Value::Double(0);
    if (message.type.starts_with("UInt")) return Value::Uint(0);
    if (message.type.starts_with("Int")) return Value::Int(0);
    return Fail(fmt::format("unknown type: google.protobuf.{}", message.type));
  }

  // --- paths ---

  Value EvalChain(const Chain& chain) {
    const Value value = EvalPath(chain);
    // -1 for has() of a conditional: what the last step paid is given back.
    if (chain.start_cost < 0) {
      --cost_;
    } else {
      Charge(static_cast<std::uint64_t>(chain.start_cost));
    }
    return value;
  }

  Value EvalPath(const Chain& chain) {
    Value value;
    switch (chain.base) {
      case Chain::Base::kVariable:
        value = variables_[chain.start];
        break;
      case Chain::Base::kLocal:
        value = ReadLocal(chain.start);
        break;
      case Chain::Base::kNode:
        value = Eval(chain.start);
        break;
      case Chain::Base::kConditional: {
        const Value condition = Eval(chain.start);
        if (!condition.is(Kind::kBool)) {
          value = condition.is_error() ? condition : NoSuchOverload();
        } else {
          value = Eval(condition.as_bool() ? chain.yes : chain.no);
        }
        break;
      }
    }
    if (value.is_error() || chain.count == 0) return value;
    return Qualify(value, std::span(program_.qualifiers_).subspan(chain.first, chain.count));
  }

  Value ReadLocal(std::uint32_t slot) {
    Local& local = locals_[slot];
    if (local.pending != nullptr) {
      const Program::Loop& loop = *local.pending;
      local.pending = nullptr;
      if (loop.grows_list) {
        local.value =
            Value::Pointer(Kind::kList, static_cast<const List*>(arena_.New<GrowingList>()));
      } else if (loop.grows_map) {
        local.value = Value::Pointer(Kind::kMap, static_cast<const Map*>(arena_.New<GrowingMap>()));
      } else {
        local.value = Eval(loop.init);
      }
    }
    return local.value;
  }

  Value Qualify(Value value, std::span<const Qualifier> qualifiers) {
    bool optional = false;
    const Value missing = qualifiers.back().test_only ? Value::Bool(false) : NoneValue();
    for (const Qualifier& qualifier : qualifiers) {
      if (value.is(Kind::kOptional)) {
        if (!value.as<Optional>().present) {
          if (qualifier.test_only && &qualifier != &qualifiers.front()) Charge(1);
          return missing;
        }
        optional = true;
        value = value.as<Optional>().value;
      }
      optional = optional || qualifier.optional;
      Value key = qualifier.key;
      if (qualifier.node != Program::kNone) {
        key = Eval(qualifier.node);
        if (key.is_error()) {
          if (!optional) Charge(1);
          return key;
        }
      }
      const bool presence = optional || qualifier.test_only;
      Value next;
      const bool found = Step(value, key, presence, &next);
      if (next.is_error()) {
        if (!optional) Charge(1);
        return next;
      }
      if (qualifier.test_only) {
        if (!optional || found) Charge(1);
        return Value::Bool(found);
      }
      if (!found) return missing;
      Charge(1);
      value = next;
    }
    return optional ? MakeOptional(arena_, value) : value;
  }

  // One selection or index. False: not there, which without `presence` is an error in `next`.
  bool Step(const Value& value, const Value& key, bool presence, Value* next) {
    switch (value.kind()) {
      case Kind::kMap:
        if (value.as<Map>().FindOrDefault(key, next)) return true;
        if (!presence) *next = Fail(fmt::format("no such key: {}", Printed(key)));
        return false;
      case Kind::kList: {
        const List& list = value.as<List>();
        const auto index = IndexOf(key, next);
        if (!index) return false;
        if (*index >= 0 && *index < static_cast<std::int64_t>(list.size())) {
          *next = list.At(static_cast<std::size_t>(*index));
          return true;
        }
        if (!presence) *next = Fail(fmt::format("index out of bounds: {}", Printed(key)));
        return false;
      }
      case Kind::kHost:
        if (key.is(Kind::kString) && value.as<Host>().Select(key.as_text(), next)) return true;
        break;
      default:
        break;
    }
    if (!presence) *next = Fail(fmt::format("no such key: {}", Printed(key)));
    return false;
  }

  std::optional<std::int64_t> IndexOf(const Value& key, Value* error) {
    switch (key.kind()) {
      case Kind::kInt:
        return key.as_int();
      case Kind::kUint:
        if (key.as_int() >= 0) return key.as_int();
        break;
      case Kind::kDouble:
        if (const double d = key.as_double(); std::fabs(d) < 9e15 && d == std::trunc(d)) {
          return static_cast<std::int64_t>(d);
        }
        break;
      default:
        *error = Fail(fmt::format("unsupported index type '{}' in list", TypeName(key)));
        return std::nullopt;
    }
    *error = Fail(fmt::format("unsupported index value {} in list", Printed(key)));
    return std::nullopt;
  }

  // --- loops ---

  Value EvalLoop(const Program::Loop& loop) {
    const Value range = Eval(loop.range);
    if (range.is_error()) return range;
    locals_[loop.accu] = {Value(), &loop};
    const bool two = loop.var2 != Program::kNone;
    if (range.is(Kind::kList)) {
      const List& list = range.as<List>();
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (two) {
          locals_[loop.var1].value = Value::Int(static_cast<std::int64_t>(i));
          locals_[loop.var2].value = list.At(i);
        } else {
          locals_[loop.var1].value = list.At(i);
        }
        if (!Iterate(loop)) break;
      }
    } else if (range.is(Kind::kMap)) {
      const Map& map = range.as<Map>();
      for (std::size_t i = 0; i < map.size(); ++i) {
        locals_[loop.var1].value = map.KeyAt(i);
        if (two) locals_[loop.var2].value = map.ValueAt(i);
        if (!Iterate(loop)) break;
      }
    } else if (two) {
      return Fail(fmt::format("unsupported comprehension range type: {}", GoTypeName(range)));
    } else {
      return Fail(fmt::format("got '{}', expected iterable type", GoTypeName(range)));
    }
    if (cancelled_ != nullptr) return StaticError(*cancelled_);
    return Eval(loop.result);
  }

  // False when the loop is over.
  bool Iterate(const Program::Loop& loop) {
    const Value condition = Eval(loop.condition);
    if (condition.is_false()) return false;
    const Value next = Eval(loop.step);
    locals_[loop.accu] = {next, nullptr};
    if (++iterations_ % kInterruptCheckFrequency == 0) {
      if (limits_.interrupted != nullptr && limits_.interrupted->load(std::memory_order_relaxed)) {
        cancelled_ = &kInterrupted;
      }
      if (arena_.bytes() > limits_.arena_bytes) cancelled_ = &kMemoryExceeded;
    }
    return cancelled_ == nullptr;
  }

  Value EvalAppend(const Node& node) {
    Charge(1);
    const Value accu = ReadLocal(node.a);
    const Value element = Eval(node.b);
    Charge(node.flag != 0 ? 1 : kListCost + 1);
    if (accu.is_error()) return accu;
    if (element.is_error()) return element;
    // The list was made by ReadLocal.
    const_cast<GrowingList&>(static_cast<const GrowingList&>(accu.as<List>()))
        .Append(arena_, element);
    return accu;
  }

  Value EvalInsert(const Node& node) {
    Charge(1);
    const Value accu = ReadLocal(node.a);
    if (accu.is_error()) return accu;
    const Value key = Eval(node.b);
    if (key.is_error()) return key;
    const Value value = Eval(node.target);
    if (value.is_error()) return value;
    Charge(1);
    auto& map = const_cast<GrowingMap&>(static_cast<const GrowingMap&>(accu.as<Map>()));
    if (!map.Insert(arena_, key, value)) {
      return Fail(fmt::format("insert failed: key {} already exists", Printed(key)));
    }
    return accu;
  }

  const Program& program_;
  const std::span<const Value> variables_;
  Arena& arena_;
  const EvaluationLimits& limits_;
  std::span<Local> locals_;
  std::uint64_t cost_ = 0;
  std::uint64_t iterations_ = 0;
  const Error* cancelled_ = nullptr;
};

EvaluationResult Evaluate(const Program& program, std::span<const Value> variables, Arena& arena,
                          const EvaluationLimits& limits) {
  return Evaluation(program, variables, arena, limits).Run();
}

}  // namespace dray::cel

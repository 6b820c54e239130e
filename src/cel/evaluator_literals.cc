// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/evaluation.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

constexpr std::uint64_t kInterruptCheckFrequency = 100;
constexpr std::uint64_t kMapCost = 30;
constexpr std::uint64_t kMessageCost = 40;

}  // namespace

Value Evaluation::EvalList(const Node& node) {
  const std::span<Value> values = arena_.NewArray<Value>(node.b);
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < node.b; ++i) {
    Value value = Eval(program_.args_[node.a + i]);
    if (!value.is_error() && node.target != Program::kNone &&
        program_.optional_flags_[node.target][i]) {
      if (!value.is(Kind::kOptional)) {
        value = Fail(fmt::format(
            "cannot initialize optional list element from non-optional value {}", Printed(value)));
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

Value Evaluation::EvalMap(const Node& node) {
  auto* map = arena_.New<GrowingMap>();
  Value error;
  for (std::uint32_t i = 0; i < node.b && !error.is_error(); i += 2) {
    error = EvalEntry(node, i, *map);
  }
  Charge(kMapCost);
  if (error.is_error()) return error;
  return Value::Pointer(Kind::kMap, static_cast<const Map*>(map));
}

Value Evaluation::EvalEntry(const Node& node, std::uint32_t i, GrowingMap& map) {
  const Value key = Eval(program_.args_[node.a + i]);
  if (key.is_error()) return key;
  Value value = Eval(program_.args_[node.a + i + 1]);
  if (value.is_error()) return value;
  if (!IsKeyKind(key.kind())) {
    return Fail(fmt::format("unsupported key type: {}", TypeName(key)));
  }
  SpendOn(key);
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

Value Evaluation::EvalMessage(const Node& node) {
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

Value Evaluation::EvalLoop(const Program::Loop& loop) {
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
bool Evaluation::Iterate(const Program::Loop& loop) {
  const Value condition = Eval(loop.condition);
  if (condition.is_false()) return false;
  const Value next = Eval(loop.step);
  locals_[loop.accu] = {next, nullptr};
  // Not all that a round can evaluate is paid for.
  if (!arena_.work().Spend(loop.weight)) CancelIfUsedUp();
  if (++iterations_ % kInterruptCheckFrequency == 0) {
    if (limits_.interrupted != nullptr && limits_.interrupted->load(std::memory_order_relaxed)) {
      cancelled_ = &kInterrupted;
    }
    if (arena_.bytes() > limits_.arena_bytes) cancelled_ = &kMemoryExceeded;
  }
  return cancelled_ == nullptr;
}

Value Evaluation::EvalAppend(const Node& node) {
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

Value Evaluation::EvalInsert(const Node& node) {
  Charge(1);
  const Value accu = ReadLocal(node.a);
  if (accu.is_error()) return accu;
  const Value key = Eval(node.b);
  if (key.is_error()) return key;
  const Value value = Eval(node.target);
  if (value.is_error()) return value;
  Charge(1);
  SpendOn(key);
  auto& map = const_cast<GrowingMap&>(static_cast<const GrowingMap&>(accu.as<Map>()));
  if (!map.Insert(arena_, key, value)) {
    return Fail(fmt::format("insert failed: key {} already exists", Printed(key)));
  }
  return accu;
}

}  // namespace dray::cel

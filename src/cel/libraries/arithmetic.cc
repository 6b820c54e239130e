// SPDX-License-Identifier: Apache-2.0
//
// + - * / % and negation, checked for overflow.
#include <array>
#include <cmath>
#include <limits>

#include "cel/functions.h"
#include "cel/library.h"
#include "cel/operators.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

constexpr Error kIntOverflow{"integer overflow"};
constexpr Error kUintOverflow{"unsigned integer overflow"};
constexpr Error kDurationOverflow{"integer overflow"};
constexpr Error kTimestampOverflow{"timestamp overflow"};
constexpr Error kDivisionByZero{"division by zero"};
constexpr Error kModulusByZero{"modulus by zero"};

using Args = std::span<const Value>;

Value Shift(Arena& arena, const Instant& instant, std::int64_t nanos, bool back) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  std::int64_t seconds = nanos / kBillion;
  std::int64_t rest = nanos % kBillion;
  if (back) {
    seconds = -seconds;
    rest = -rest;
  }
  seconds += instant.seconds;
  rest += instant.nanos;
  if (rest < 0) {
    rest += kBillion;
    --seconds;
  } else if (rest >= kBillion) {
    rest -= kBillion;
    ++seconds;
  }
  if (seconds < Instant::kMinSeconds || seconds > Instant::kMaxSeconds) {
    return StaticError(kTimestampOverflow);
  }
  return MakeInstant(arena, {seconds, static_cast<std::int32_t>(rest), instant.offset});
}

Value AddInts(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? StaticError(kIntOverflow) : Value::Int(sum);
}

Value AddFunction(Arena& arena, Args args) { return Add(arena, args[0], args[1]); }

Value Subtract(Arena& arena, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.is(Kind::kTimestamp) && b.is(Kind::kDuration)) {
    return Shift(arena, a.as<Instant>(), b.as_int(), true);
  }
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t difference = 0;
      if (__builtin_sub_overflow(a.as_int(), b.as_int(), &difference)) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(difference);
    }
    case Kind::kUint:
      if (a.as_uint() < b.as_uint()) return StaticError(kUintOverflow);
      return Value::Uint(a.as_uint() - b.as_uint());
    case Kind::kDouble:
      return Value::Double(a.as_double() - b.as_double());
    case Kind::kDuration: {
      std::int64_t difference = 0;
      if (__builtin_sub_overflow(a.as_int(), b.as_int(), &difference)) {
        return StaticError(kDurationOverflow);
      }
      return Value::Duration(difference);
    }
    case Kind::kTimestamp: {
      const Instant& x = a.as<Instant>();
      const Instant& y = b.as<Instant>();
      const __int128 nanos =
          static_cast<__int128>(x.seconds - y.seconds) * 1'000'000'000 + (x.nanos - y.nanos);
      if (nanos > std::numeric_limits<std::int64_t>::max() ||
          nanos < std::numeric_limits<std::int64_t>::min()) {
        return StaticError(kDurationOverflow);
      }
      return Value::Duration(static_cast<std::int64_t>(nanos));
    }
    default:
      return NoSuchOverload();
  }
}

Value Multiply(Arena&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t product = 0;
      if (__builtin_mul_overflow(a.as_int(), b.as_int(), &product)) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(product);
    }
    case Kind::kUint: {
      std::uint64_t product = 0;
      if (__builtin_mul_overflow(a.as_uint(), b.as_uint(), &product)) {
        return StaticError(kUintOverflow);
      }
      return Value::Uint(product);
    }
    case Kind::kDouble:
      return Value::Double(a.as_double() * b.as_double());
    default:
      return NoSuchOverload();
  }
}

Value Divide(Arena&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt:
      if (b.as_int() == 0) return StaticError(kDivisionByZero);
      if (a.as_int() == std::numeric_limits<std::int64_t>::min() && b.as_int() == -1) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(a.as_int() / b.as_int());
    case Kind::kUint:
      if (b.as_uint() == 0) return StaticError(kDivisionByZero);
      return Value::Uint(a.as_uint() / b.as_uint());
    case Kind::kDouble:
      return Value::Double(a.as_double() / b.as_double());
    default:
      return NoSuchOverload();
  }
}

Value Modulo(Arena&, Args args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt:
      if (b.as_int() == 0) return StaticError(kModulusByZero);
      if (a.as_int() == std::numeric_limits<std::int64_t>::min() && b.as_int() == -1) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(a.as_int() % b.as_int());
    case Kind::kUint:
      if (b.as_uint() == 0) return StaticError(kModulusByZero);
      return Value::Uint(a.as_uint() % b.as_uint());
    default:
      return NoSuchOverload();
  }
}

Value Negate(Arena&, Args args) {
  switch (args[0].kind()) {
    case Kind::kInt:
      if (args[0].as_int() == std::numeric_limits<std::int64_t>::min()) {
        return StaticError(kIntOverflow);
      }
      return Value::Int(-args[0].as_int());
    case Kind::kDouble:
      return Value::Double(-args[0].as_double());
    default:
      return NoSuchOverload();
  }
}

}  // namespace

Value Add(Arena& arena, const Value& a, const Value& b) {
  if (a.is(Kind::kTimestamp) && b.is(Kind::kDuration)) {
    return Shift(arena, a.as<Instant>(), b.as_int(), false);
  }
  if (a.is(Kind::kDuration) && b.is(Kind::kTimestamp)) {
    return Shift(arena, b.as<Instant>(), a.as_int(), false);
  }
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kInt:
      return AddInts(a.as_int(), b.as_int());
    case Kind::kUint: {
      std::uint64_t sum = 0;
      if (__builtin_add_overflow(a.as_uint(), b.as_uint(), &sum)) {
        return StaticError(kUintOverflow);
      }
      return Value::Uint(sum);
    }
    case Kind::kDouble:
      return Value::Double(a.as_double() + b.as_double());
    case Kind::kDuration: {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(a.as_int(), b.as_int(), &sum)) {
        return StaticError(kDurationOverflow);
      }
      return Value::Duration(sum);
    }
    case Kind::kString:
    case Kind::kBytes: {
      const std::string_view x = a.as_text();
      const std::string_view y = b.as_text();
      char* text = static_cast<char*>(arena.Allocate(x.size() + y.size(), 1));
      if (!x.empty()) std::memcpy(text, x.data(), x.size());
      if (!y.empty()) std::memcpy(text + x.size(), y.data(), y.size());
      const std::string_view both(text, x.size() + y.size());
      return a.is(Kind::kString) ? Value::String(both) : Value::Bytes(both);
    }
    case Kind::kList: {
      const List& x = a.as<List>();
      const List& y = b.as<List>();
      if (x.size() == 0) return b;
      if (y.size() == 0) return a;
      const std::span<Value> values = arena.NewArray<Value>(x.size() + y.size());
      for (std::size_t i = 0; i < x.size(); ++i) values[i] = x.At(i);
      for (std::size_t i = 0; i < y.size(); ++i) values[x.size() + i] = y.At(i);
      return WrapList(arena, values);
    }
    default:
      return NoSuchOverload();
  }
}

Library library::Arithmetic() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {op::kNegate, "negate_double (double) -> double", Negate, kOne, estimate::Unit},
      {op::kNegate, "negate_int64 (int) -> int", Negate, kOne, estimate::Unit},
      {op::kModulo, "modulo_int64 (int, int) -> int", Modulo, kOne, estimate::Unit},
      {op::kModulo, "modulo_uint64 (uint, uint) -> uint", Modulo, kOne, estimate::Unit},
      {op::kMultiply, "multiply_double (double, double) -> double", Multiply, kOne, estimate::Unit},
      {op::kMultiply, "multiply_int64 (int, int) -> int", Multiply, kOne, estimate::Unit},
      {op::kMultiply, "multiply_uint64 (uint, uint) -> uint", Multiply, kOne, estimate::Unit},
      {op::kAdd, "add_bytes (bytes, bytes) -> bytes", AddFunction, RunTimeCost(kSum, kOne),
       estimate::Concatenate},
      {op::kAdd, "add_double (double, double) -> double", AddFunction, kOne, estimate::Unit},
      {op::kAdd, "add_duration_duration (duration, duration) -> duration", AddFunction, kOne,
       estimate::Unit},
      {op::kAdd, "add_duration_timestamp (duration, timestamp) -> timestamp", AddFunction, kOne,
       estimate::Unit},
      {op::kAdd, "add_timestamp_duration (timestamp, duration) -> timestamp", AddFunction, kOne,
       estimate::Unit},
      {op::kAdd, "add_int64 (int, int) -> int", AddFunction, kOne, estimate::Unit},
      {op::kAdd, "add_list (list(A), list(A)) -> list(A)", AddFunction, kOne, estimate::AddLists},
      {op::kAdd, "add_string (string, string) -> string", AddFunction, RunTimeCost(kSum, kOne),
       estimate::Concatenate},
      {op::kAdd, "add_uint64 (uint, uint) -> uint", AddFunction, kOne, estimate::Unit},
      {op::kSubtract, "subtract_double (double, double) -> double", Subtract, kOne, estimate::Unit},
      {op::kSubtract, "subtract_duration_duration (duration, duration) -> duration", Subtract, kOne,
       estimate::Unit},
      {op::kSubtract, "subtract_int64 (int, int) -> int", Subtract, kOne, estimate::Unit},
      {op::kSubtract, "subtract_timestamp_duration (timestamp, duration) -> timestamp", Subtract,
       kOne, estimate::Unit},
      {op::kSubtract, "subtract_timestamp_timestamp (timestamp, timestamp) -> duration", Subtract,
       kOne, estimate::Unit},
      {op::kSubtract, "subtract_uint64 (uint, uint) -> uint", Subtract, kOne, estimate::Unit},
      {op::kDivide, "divide_double (double, double) -> double", Divide, kOne, estimate::Unit},
      {op::kDivide, "divide_int64 (int, int) -> int", Divide, kOne, estimate::Unit},
      {op::kDivide, "divide_uint64 (uint, uint) -> uint", Divide, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel

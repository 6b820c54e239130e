// SPDX-License-Identifier: Apache-2.0
//
// Equality, order, membership, logic that is not short-circuited, size.
#include <array>
#include <cmath>

#include "cel/functions.h"
#include "cel/library.h"
#include "cel/operators.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

template <typename Holds>
Value Ordered(Args args, Holds holds) {
  static constexpr Error kNan{"NaN values cannot be ordered"};
  if (const auto order = Compare(args[0], args[1])) return Value::Bool(holds(*order));
  return IsNumber(args[0].kind()) && IsNumber(args[1].kind()) ? StaticError(kNan)
                                                              : NoSuchOverload();
}

Value Less(Arena&, Args args) {
  return Ordered(args, [](int order) { return order < 0; });
}
Value LessEqual(Arena&, Args args) {
  return Ordered(args, [](int order) { return order <= 0; });
}
Value Greater(Arena&, Args args) {
  return Ordered(args, [](int order) { return order > 0; });
}
Value GreaterEqual(Arena&, Args args) {
  return Ordered(args, [](int order) { return order >= 0; });
}

Value EqualFunction(Arena& arena, Args args) { return Equal(arena.work(), args[0], args[1]); }
Value NotEqual(Arena& arena, Args args) {
  return Value::Bool(!IsEqual(arena.work(), args[0], args[1]));
}
Value In(Arena& arena, Args args) { return Contains(arena, args[1], args[0]); }

Value Not(Arena&, Args args) {
  return args[0].is(Kind::kBool) ? Value::Bool(!args[0].as_bool()) : NoSuchOverload();
}

Value Size(Arena&, Args args) {
  switch (args[0].kind()) {
    case Kind::kString:
      return Value::Int(static_cast<std::int64_t>(CodePoints(args[0].as_text())));
    case Kind::kBytes:
      return Value::Int(static_cast<std::int64_t>(args[0].as_text().size()));
    case Kind::kList:
      return Value::Int(static_cast<std::int64_t>(args[0].as<List>().size()));
    case Kind::kMap:
      return Value::Int(static_cast<std::int64_t>(args[0].as<Map>().size()));
    default:
      return UnmatchedCall();
  }
}

}  // namespace

bool ListContains(Arena& arena, const List& list, const Value& x) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!arena.work().Spend(1)) return false;
    if (IsEqual(arena.work(), x, list.At(i))) return true;
  }
  return false;
}

Value Contains(Arena& arena, const Value& container, const Value& x) {
  if (container.is(Kind::kList)) return Value::Bool(ListContains(arena, container.as<List>(), x));
  if (container.is(Kind::kMap)) {
    Value ignored;
    return Value::Bool(container.as<Map>().Find(x, &ignored));
  }
  return NoSuchOverload();
}

Library library::Comparison() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {op::kEqual, "equals (A, A) -> bool", EqualFunction, kEqual, estimate::Equality},
      {op::kNotEqual, "not_equals (A, A) -> bool", NotEqual, kSmaller, estimate::Comparison},
      {op::kLess, "less_bool (bool, bool) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_int64 (int, int) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_int64_double (int, double) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_int64_uint64 (int, uint) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_uint64 (uint, uint) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_uint64_double (uint, double) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_uint64_int64 (uint, int) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_double (double, double) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_double_int64 (double, int) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_double_uint64 (double, uint) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_string (string, string) -> bool", Less, RunTimeCost(kSmaller, kOne),
       estimate::Comparison},
      {op::kLess, "less_bytes (bytes, bytes) -> bool", Less, RunTimeCost(kSmaller, kOne),
       estimate::Comparison},
      {op::kLess, "less_timestamp (timestamp, timestamp) -> bool", Less, kOne, estimate::Unit},
      {op::kLess, "less_duration (duration, duration) -> bool", Less, kOne, estimate::Unit},
      {op::kLessEqual, "less_equals_bool (bool, bool) -> bool", LessEqual, kOne, estimate::Unit},
      {op::kLessEqual, "less_equals_int64 (int, int) -> bool", LessEqual, kOne, estimate::Unit},
      {op::kLessEqual, "less_equals_int64_double (int, double) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_int64_uint64 (int, uint) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_uint64 (uint, uint) -> bool", LessEqual, kOne, estimate::Unit},
      {op::kLessEqual, "less_equals_uint64_double (uint, double) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_uint64_int64 (uint, int) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_double (double, double) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_double_int64 (double, int) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_double_uint64 (double, uint) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_string (string, string) -> bool", LessEqual,
       RunTimeCost(kSmaller, kOne), estimate::Comparison},
      {op::kLessEqual, "less_equals_bytes (bytes, bytes) -> bool", LessEqual,
       RunTimeCost(kSmaller, kOne), estimate::Comparison},
      {op::kLessEqual, "less_equals_timestamp (timestamp, timestamp) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kLessEqual, "less_equals_duration (duration, duration) -> bool", LessEqual, kOne,
       estimate::Unit},
      {op::kGreater, "greater_bool (bool, bool) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_int64 (int, int) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_int64_double (int, double) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_int64_uint64 (int, uint) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_uint64 (uint, uint) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_uint64_double (uint, double) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_uint64_int64 (uint, int) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_double (double, double) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_double_int64 (double, int) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_double_uint64 (double, uint) -> bool", Greater, kOne, estimate::Unit},
      {op::kGreater, "greater_string (string, string) -> bool", Greater,
       RunTimeCost(kSmaller, kOne), estimate::Comparison},
      {op::kGreater, "greater_bytes (bytes, bytes) -> bool", Greater, RunTimeCost(kSmaller, kOne),
       estimate::Comparison},
      {op::kGreater, "greater_timestamp (timestamp, timestamp) -> bool", Greater, kOne,
       estimate::Unit},
      {op::kGreater, "greater_duration (duration, duration) -> bool", Greater, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_bool (bool, bool) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_int64 (int, int) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_int64_double (int, double) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_int64_uint64 (int, uint) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_uint64 (uint, uint) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_uint64_double (uint, double) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_uint64_int64 (uint, int) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_double (double, double) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_double_int64 (double, int) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_double_uint64 (double, uint) -> bool", GreaterEqual, kOne,
       estimate::Unit},
      {op::kGreaterEqual, "greater_equals_string (string, string) -> bool", GreaterEqual,
       RunTimeCost(kSmaller, kOne), estimate::Comparison},
      {op::kGreaterEqual, "greater_equals_bytes (bytes, bytes) -> bool", GreaterEqual,
       RunTimeCost(kSmaller, kOne), estimate::Comparison},
      {op::kGreaterEqual, "greater_equals_timestamp (timestamp, timestamp) -> bool", GreaterEqual,
       kOne, estimate::Unit},
      {op::kGreaterEqual, "greater_equals_duration (duration, duration) -> bool", GreaterEqual,
       kOne, estimate::Unit},
      {op::kIn, "in_list (A, list(A)) -> bool", In, RunTimeCost(kSizeOfSecond, kOne),
       estimate::InList},
      {op::kIn, "in_map (A, map(A, B)) -> bool", In, kOne, estimate::Unit},
      {"_in_", "in_list (A, list(A)) -> bool", In, RunTimeCost(kSizeOfSecond, kOne),
       estimate::InList},
      {"_in_", "in_map (A, map(A, B)) -> bool", In, kOne, estimate::Unit},
      {"in", "in_list (A, list(A)) -> bool", In, RunTimeCost(kSizeOfSecond, kOne),
       estimate::InList},
      {"in", "in_map (A, map(A, B)) -> bool", In, kOne, estimate::Unit},
      {op::kNot, "logical_not (bool) -> bool", Not, kOne, estimate::Unit},
      {"size", "size_bytes (bytes) -> int", Size, kOne, estimate::Unit},
      {"size", "bytes_size bytes.() -> int", Size, kOne, estimate::Unit},
      {"size", "size_list (list(A)) -> int", Size, kOne, estimate::Unit},
      {"size", "list_size list(A).() -> int", Size, kOne, estimate::Unit},
      {"size", "size_map (map(A, B)) -> int", Size, kOne, estimate::Unit},
      {"size", "map_size map(A, B).() -> int", Size, kOne, estimate::Unit},
      {"size", "size_string (string) -> int", Size, kOne, estimate::Unit},
      {"size", "string_size string.() -> int", Size, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel

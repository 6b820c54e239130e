// SPDX-License-Identifier: Apache-2.0
//
// Equality, order, membership, logic that is not short-circuited, size.
#include <array>
#include <cmath>

#include "cel/functions.h"
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

Value EqualFunction(Arena&, Args args) { return Equal(args[0], args[1]); }
Value NotEqual(Arena&, Args args) { return Value::Bool(!Equal(args[0], args[1]).is_true()); }
Value In(Arena&, Args args) { return Contains(args[1], args[0]); }

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

bool ListContains(const List& list, const Value& x) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (IsEqual(x, list.At(i))) return true;
  }
  return false;
}

Value Contains(const Value& container, const Value& x) {
  if (container.is(Kind::kList)) return Value::Bool(ListContains(container.as<List>(), x));
  if (container.is(Kind::kMap)) {
    Value ignored;
    return Value::Bool(container.as<Map>().Find(x, &ignored));
  }
  return NoSuchOverload();
}

std::span<const Builtin> ComparisonFunctions() {
  static constexpr std::array<Builtin, 11> kFunctions = {{
      {op::kEqual, 2, 2, EqualFunction},
      {op::kNotEqual, 2, 2, NotEqual},
      {op::kLess, 2, 2, Less},
      {op::kLessEqual, 2, 2, LessEqual},
      {op::kGreater, 2, 2, Greater},
      {op::kGreaterEqual, 2, 2, GreaterEqual},
      {op::kIn, 2, 2, In},
      {"_in_", 2, 2, In},
      {"in", 2, 2, In},
      {op::kNot, 1, 1, Not},
      {"size", 1, 1, Size},
  }};
  return kFunctions;
}

}  // namespace dray::cel

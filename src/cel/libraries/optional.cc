// SPDX-License-Identifier: Apache-2.0
//
// Optional values. or() and orValue() evaluate their argument only when needed; that is done in
// evaluator.cc.
#include <array>
#include <vector>

#include "base/quantity.h"
#include "cel/functions.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

constexpr Error kNoneValue{"optional.none() dereference"};

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return !value.as_bool();
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDuration:
      return value.as_uint() == 0;
    case Kind::kDouble:
      return value.as_double() == 0;
    case Kind::kString:
    case Kind::kBytes:
      return value.as_text().empty();
    case Kind::kList:
      return value.as<List>().size() == 0;
    case Kind::kMap:
      return value.as<Map>().size() == 0;
    case Kind::kTimestamp:
      return value.as<Instant>() == Instant{Instant::kMinSeconds, 0};
    case Kind::kOptional:
      return !value.as<Optional>().present || IsZero(value.as<Optional>().value);
    default:
      return false;
  }
}

Value Of(Arena& arena, Args args) { return MakeOptional(arena, args[0]); }
Value OfNonZero(Arena& arena, Args args) {
  return IsZero(args[0]) ? NoneValue() : MakeOptional(arena, args[0]);
}
Value None(Arena&, Args) { return NoneValue(); }

Value HasValue(Arena&, Args args) {
  if (!args[0].is(Kind::kOptional)) return UnmatchedCall();
  return Value::Bool(args[0].as<Optional>().present);
}
Value ValueOf(Arena&, Args args) {
  if (!args[0].is(Kind::kOptional)) return UnmatchedCall();
  if (!args[0].as<Optional>().present) return StaticError(kNoneValue);
  return args[0].as<Optional>().value;
}

Value First(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  return list.size() == 0 ? NoneValue() : MakeOptional(arena, list.At(0));
}
Value Last(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  return list.size() == 0 ? NoneValue() : MakeOptional(arena, list.At(list.size() - 1));
}

Value Unwrap(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  std::vector<Value> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value value = list.At(i);
    if (!value.is(Kind::kOptional)) {
      return MakeError(arena, fmt::format("value {} is not optional", Printed(value)));
    }
    if (value.as<Optional>().present) out.push_back(value.as<Optional>().value);
  }
  return MakeList(arena, out);
}

}  // namespace

std::span<const Builtin> OptionalFunctions() {
  static constexpr std::array<Builtin, 9> kFunctions = {{
      {"optional.of", 1, 1, Of},
      {"optional.ofNonZeroValue", 1, 1, OfNonZero},
      {"optional.none", 0, 0, None},
      {"hasValue", 1, 1, HasValue},
      {"value", 1, 1, ValueOf},
      {"first", 1, 1, First},
      {"last", 1, 1, Last},
      {"optional.unwrap", 1, 1, Unwrap},
      {"unwrapOpt", 1, 1, Unwrap},
  }};
  return kFunctions;
}

}  // namespace dray::cel

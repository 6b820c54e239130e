// SPDX-License-Identifier: Apache-2.0
//
// Optional values. or() and orValue() evaluate their argument only when needed; that is done in
// evaluator.cc.
#include <array>
#include <vector>

#include "base/quantity.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/operators.h"
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

Library library::Optionals() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {op::kIndex, "optional_list_index_int (optional_type(list(V)), int) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kIndex, "optional_map_index_value (optional_type(map(K, V)), K) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {"optional.none", "optional_none () -> optional_type(V)", None, kOne, estimate::Unit},
      {"optional.of", "optional_of (V) -> optional_type(V)", Of, kOne, estimate::Unit},
      {"optional.ofNonZeroValue", "optional_ofNonZeroValue (V) -> optional_type(V)", OfNonZero,
       kOne, estimate::Unit},
      {"optional.unwrap", "optional_unwrap (list(optional_type(V))) -> list(V)", Unwrap, kOne,
       estimate::Unit},
      {"or", "optional_or_optional optional_type(V).(optional_type(V)) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {"orValue", "optional_orValue_value optional_type(V).(V) -> V", Implementation::Evaluator(),
       kByEvaluator, estimate::Unit},
      {"value", "optional_value optional_type(V).() -> V", ValueOf, kOne, estimate::Unit},
      {"hasValue", "optional_hasValue optional_type(V).() -> bool", HasValue, kOne, estimate::Unit},
      {"unwrapOpt", "optional_unwrapOpt list(optional_type(V)).() -> list(V)", Unwrap, kOne,
       estimate::Unit},
      {"first", "list_first list(V).() -> optional_type(V)", First, kOne, estimate::Unit},
      {"last", "list_last list(V).() -> optional_type(V)", Last, kOne, estimate::Unit},
      {op::kOptionalIndex, "list_optindex_optional_int (list(V), int) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kOptionalIndex,
       "optional_list_optindex_optional_int (optional_type(list(V)), int) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kOptionalIndex, "map_optindex_optional_value (map(K, V), K) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kOptionalIndex,
       "optional_map_optindex_optional_value (optional_type(map(K, V)), K) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
      {op::kOptionalSelect, "select_optional_field (dyn, string) -> optional_type(V)",
       Implementation::Evaluator(), kByEvaluator, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel

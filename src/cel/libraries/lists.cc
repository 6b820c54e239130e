// SPDX-License-Identifier: Apache-2.0
//
// Lists: the extension of version 3 and Kubernetes' functions. reverse, indexOf and lastIndexOf
// are with those of strings.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string>
#include <vector>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/operators.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

constexpr std::int64_t kMaxRange = 1'000'000;
constexpr Error kLevel{"level must be non-negative"};
constexpr Error kMixed{"list elements must have the same type"};
constexpr Error kNotComparable{"list elements must be comparable"};

Value FromVector(Arena& arena, const std::vector<Value>& values) { return MakeList(arena, values); }

Value Slice(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList) || !args[1].is(Kind::kInt) || !args[2].is(Kind::kInt)) {
    return UnmatchedCall();
  }
  const List& list = args[0].as<List>();
  const std::int64_t start = args[1].as_int();
  const std::int64_t end = args[2].as_int();
  const auto n = static_cast<std::int64_t>(list.size());
  if (start < 0 || end < 0) {
    return MakeError(
        arena, fmt::format("cannot slice({}, {}), negative indexes not supported", start, end));
  }
  if (start > end) {
    return MakeError(
        arena,
        fmt::format("cannot slice({}, {}), start index must be less than or equal to end index",
                    start, end));
  }
  if (n < end) {
    return MakeError(arena, fmt::format("cannot slice({}, {}), list is length {}", start, end, n));
  }
  const std::span<Value> values = arena.NewArray<Value>(static_cast<std::size_t>(end - start));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = list.At(static_cast<std::size_t>(start) + i);
  }
  return WrapList(arena, values);
}

// Spends every element: lists in lists may be shared, and empty ones make nothing.
void FlattenInto(Work& work, const List& list, std::int64_t depth, std::vector<Value>& out) {
  for (std::size_t i = 0; i < list.size() && out.size() <= kMaxMadeValues && work.Spend(1); ++i) {
    const Value value = list.At(i);
    if (value.is(Kind::kList) && depth > 0) {
      FlattenInto(work, value.as<List>(), depth - 1, out);
    } else {
      out.push_back(value);
    }
  }
}

Value Flatten(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList) || (args.size() == 2 && !args[1].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  const std::int64_t depth = args.size() == 2 ? args[1].as_int() : 1;
  if (depth < 0) return StaticError(kLevel);
  std::vector<Value> out;
  FlattenInto(arena.work(), args[0].as<List>(), depth, out);
  if (out.size() > kMaxMadeValues) return TooLarge();
  return FromVector(arena, out);
}

bool IsComparable(Kind kind) {
  switch (kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

// As many comparisons as sorting takes, each of them of whole texts.
std::uint64_t SortWork(const List& keys) {
  std::uint64_t each = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Value key = keys.At(i);
    each += 1 + (key.is(Kind::kString) || key.is(Kind::kBytes) ? key.as_text().size() / 16 : 0);
  }
  return each * static_cast<std::uint64_t>(std::bit_width(keys.size()));
}

Value SortBy(Arena& arena, const Value& list_value, const Value& keys_value) {
  const List& list = list_value.as<List>();
  const List& keys = keys_value.as<List>();
  if (list.size() != keys.size()) {
    return MakeError(arena,
                     fmt::format("@sortByAssociatedKeys() expected a list of the same size as the "
                                 "associated keys list, but got {} and {} elements respectively",
                                 list.size(), keys.size()));
  }
  if (list.size() == 0) return list_value;
  const Kind kind = keys.At(0).kind();
  if (!IsComparable(kind)) return StaticError(kNotComparable);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys.At(i).kind() != kind) return StaticError(kMixed);
  }
  if (!arena.work().Spend(SortWork(keys))) return StaticError(kWorkExceeded);
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return Compare(keys.At(a), keys.At(b)).value_or(0) < 0;
  });
  const std::span<Value> values = arena.NewArray<Value>(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) values[i] = list.At(order[i]);
  return WrapList(arena, values);
}

Value Sort(Arena& arena, Args args) {
  return args[0].is(Kind::kList) ? SortBy(arena, args[0], args[0]) : UnmatchedCall();
}
Value SortByKeys(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList) || !args[1].is(Kind::kList)) return UnmatchedCall();
  return SortBy(arena, args[0], args[1]);
}

Value Distinct(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  if (list.size() * list.size() > kMaxPairs) return TooLarge();
  std::vector<Value> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value value = list.At(i);
    if (std::ranges::none_of(
            out, [&](const Value& seen) { return IsEqual(arena.work(), value, seen); })) {
      out.push_back(value);
    }
  }
  return FromVector(arena, out);
}

Value Range(Arena& arena, Args args) {
  if (!args[0].is(Kind::kInt)) return UnmatchedCall();
  const std::int64_t n = args[0].as_int();
  if (n < 0) {
    return MakeError(arena, fmt::format("lists.range: size must be non-negative, got {}", n));
  }
  if (n > kMaxRange) {
    return MakeError(
        arena, fmt::format("lists.range: size {} exceeds maximum allowed ({})", n, kMaxRange));
  }
  const std::span<Value> values = arena.NewArray<Value>(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Value::Int(static_cast<std::int64_t>(i));
  }
  return WrapList(arena, values);
}

Value IsSorted(Arena&, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!IsComparable(list.At(i).kind())) return NoSuchOverload();
    if (i > 0 && Compare(list.At(i - 1), list.At(i)) == 1) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value SumFrom(Arena& arena, Args args, Value sum) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  for (std::size_t i = 0; i < list.size() && !sum.is_error(); ++i) {
    sum = Add(arena, sum, list.At(i));
  }
  return sum;
}

Value SumUints(Arena& arena, Args args) { return SumFrom(arena, args, Value::Uint(0)); }
Value SumDoubles(Arena& arena, Args args) { return SumFrom(arena, args, Value::Double(0)); }
Value SumDurations(Arena& arena, Args args) { return SumFrom(arena, args, Value::Duration(0)); }

// Elements of unknown kinds: the first one decides, and without any it is a sum of ints.
Value Sum(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  switch (list.size() == 0 ? Kind::kInt : list.At(0).kind()) {
    case Kind::kInt:
      return SumFrom(arena, args, Value::Int(0));
    case Kind::kUint:
      return SumUints(arena, args);
    case Kind::kDouble:
      return SumDoubles(arena, args);
    case Kind::kDuration:
      return SumDurations(arena, args);
    default:
      return UnmatchedCall();
  }
}

Value Extreme(Arena& arena, Args args, std::string_view name, int sign) {
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  if (list.size() == 0) return MakeError(arena, fmt::format("{} called on empty list", name));
  Value best = list.At(0);
  if (!IsComparable(best.kind())) return NoSuchOverload();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Value next = list.At(i);
    if (!IsComparable(next.kind())) return NoSuchOverload();
    // As in Kubernetes, what has no order with the best so far is passed over.
    if (Compare(best, next) == sign) best = next;
  }
  return best;
}
Value Min(Arena& arena, Args args) { return Extreme(arena, args, "min", 1); }
Value Max(Arena& arena, Args args) { return Extreme(arena, args, "max", -1); }

// KEP-5491: on a list whether an element equals, on anything else whether it equals itself.
Value IncludesElement(Arena& arena, Args args) {
  if (args[0].is(Kind::kList)) return Value::Bool(ListContains(arena, args[0].as<List>(), args[1]));
  return Value::Bool(IsEqual(arena.work(), args[0], args[1]));
}

Value MapInsert(Arena& arena, Args args) {
  if (!args[0].is(Kind::kMap)) return UnmatchedCall();
  const Map& map = args[0].as<Map>();
  auto* out = arena.New<GrowingMap>();
  for (std::size_t i = 0; i < map.size(); ++i) out->Insert(arena, map.KeyAt(i), map.ValueAt(i));
  const auto insert = [&](const Value& key, const Value& value) {
    if (out->Insert(arena, key, value)) return Value();
    return MakeError(arena, fmt::format("insert failed: key {} already exists", Printed(key)));
  };
  if (args.size() == 3) {
    if (const Value error = insert(args[1], args[2]); error.is_error()) return error;
  } else {
    if (!args[1].is(Kind::kMap)) return UnmatchedCall();
    const Map& more = args[1].as<Map>();
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (const Value error = insert(more.KeyAt(i), more.ValueAt(i)); error.is_error()) {
        return error;
      }
    }
  }
  return Value::Pointer(Kind::kMap, static_cast<const Map*>(out));
}

}  // namespace

Library library::Lists() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"slice", "list_slice list(T).(int, int) -> list(T)", Slice, RunTimeCost(kListResult, kOne),
       estimate::Slice},
      {"flatten", "list_flatten list(list(T)).() -> list(T)", Flatten, RunTimeCost(kFlatten, kOne),
       estimate::Flatten},
      {"flatten", "list_flatten_int list(dyn).(int) -> list(dyn)", Flatten,
       RunTimeCost(kFlatten, kOne), estimate::Flatten},
      {"sort", "list_int_sort list(int).() -> list(int)", Sort, RunTimeCost(kSelfCompare, kOne),
       estimate::Sort},
      {"sort", "list_uint_sort list(uint).() -> list(uint)", Sort, RunTimeCost(kSelfCompare, kOne),
       estimate::Sort},
      {"sort", "list_double_sort list(double).() -> list(double)", Sort,
       RunTimeCost(kSelfCompare, kOne), estimate::Sort},
      {"sort", "list_bool_sort list(bool).() -> list(bool)", Sort, RunTimeCost(kSelfCompare, kOne),
       estimate::Sort},
      {"sort", "list_google.protobuf.Duration_sort list(duration).() -> list(duration)", Sort,
       RunTimeCost(kSelfCompare, kOne), estimate::Sort},
      {"sort", "list_google.protobuf.Timestamp_sort list(timestamp).() -> list(timestamp)", Sort,
       RunTimeCost(kSelfCompare, kOne), estimate::Sort},
      {"sort", "list_string_sort list(string).() -> list(string)", Sort,
       RunTimeCost(kSelfCompare, kOne), estimate::SortTexts},
      {"sort", "list_bytes_sort list(bytes).() -> list(bytes)", Sort,
       RunTimeCost(kSelfCompare, kOne), estimate::SortTexts},
      {"distinct", "list_distinct list(T).() -> list(T)", Distinct, RunTimeCost(kSelfCompare, kOne),
       estimate::Distinct},
      {"reverse", "list_reverse list(T).() -> list(T)", Reverse, RunTimeCost(kListResult, kOne),
       estimate::CopyList},
      {"lists.range", "lists_range (int) -> list(int)", Range, RunTimeCost(kListResult, kOne),
       estimate::Range},
      {op::kSortByAssociatedKeys, "list_int_sortByAssociatedKeys list(T).(list(int)) -> list(T)",
       SortByKeys, RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys, "list_uint_sortByAssociatedKeys list(T).(list(uint)) -> list(T)",
       SortByKeys, RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys,
       "list_double_sortByAssociatedKeys list(T).(list(double)) -> list(T)", SortByKeys,
       RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys, "list_bool_sortByAssociatedKeys list(T).(list(bool)) -> list(T)",
       SortByKeys, RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys,
       "list_google.protobuf.Duration_sortByAssociatedKeys list(T).(list(duration)) -> list(T)",
       SortByKeys, RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys,
       "list_google.protobuf.Timestamp_sortByAssociatedKeys list(T).(list(timestamp)) -> list(T)",
       SortByKeys, RunTimeCost(kSelfCompareKeys, kOne), estimate::SortBy},
      {op::kSortByAssociatedKeys,
       "list_string_sortByAssociatedKeys list(T).(list(string)) -> list(T)", SortByKeys,
       RunTimeCost(kSelfCompareKeys, kOne), estimate::SortByTexts},
      {op::kSortByAssociatedKeys,
       "list_bytes_sortByAssociatedKeys list(T).(list(bytes)) -> list(T)", SortByKeys,
       RunTimeCost(kSelfCompareKeys, kOne), estimate::SortByTexts},
  });
  return kRows;
}

Library library::TwoVariables() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {op::kMapInsert, "@mapInsert_map_key_value (map(K, V), K, V) -> map(K, V)", MapInsert, kOne,
       estimate::Unit},
      {op::kMapInsert, "@mapInsert_map_map (map(K, V), map(K, V)) -> map(K, V)", MapInsert, kOne,
       estimate::Unit},
  });
  return kRows;
}

Library library::KubernetesLists() {
  using enum CostRule;
  using enum Dialect;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"isSorted", "list_int_is_sorted_bool list(int).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_uint_is_sorted_bool list(uint).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_double_is_sorted_bool list(double).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_bool_is_sorted_bool list(bool).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_duration_is_sorted_bool list(duration).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_timestamp_is_sorted_bool list(timestamp).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_string_is_sorted_bool list(string).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"isSorted", "list_bytes_is_sorted_bool list(bytes).() -> bool", IsSorted, kTraversal,
       estimate::Elements},
      {"sum", "list_int_sum_int list(int).() -> int", Sum, kTraversal, estimate::Elements},
      {"sum", "list_uint_sum_uint list(uint).() -> uint", SumUints, kTraversal, estimate::Elements},
      {"sum", "list_double_sum_double list(double).() -> double", SumDoubles, kTraversal,
       estimate::Elements},
      {"sum", "list_duration_sum_duration list(duration).() -> duration", SumDurations, kTraversal,
       estimate::Elements},
      {"max", "list_int_max_int list(int).() -> int", Max, kTraversal, estimate::Elements},
      {"max", "list_uint_max_uint list(uint).() -> uint", Max, kTraversal, estimate::Elements},
      {"max", "list_double_max_double list(double).() -> double", Max, kTraversal,
       estimate::Elements},
      {"max", "list_bool_max_bool list(bool).() -> bool", Max, kTraversal, estimate::Elements},
      {"max", "list_duration_max_duration list(duration).() -> duration", Max, kTraversal,
       estimate::Elements},
      {"max", "list_timestamp_max_timestamp list(timestamp).() -> timestamp", Max, kTraversal,
       estimate::Elements},
      {"max", "list_string_max_string list(string).() -> string", Max, kTraversal,
       estimate::Elements},
      {"max", "list_bytes_max_bytes list(bytes).() -> bytes", Max, kTraversal, estimate::Elements},
      {"min", "list_int_min_int list(int).() -> int", Min, kTraversal, estimate::Elements},
      {"min", "list_uint_min_uint list(uint).() -> uint", Min, kTraversal, estimate::Elements},
      {"min", "list_double_min_double list(double).() -> double", Min, kTraversal,
       estimate::Elements},
      {"min", "list_bool_min_bool list(bool).() -> bool", Min, kTraversal, estimate::Elements},
      {"min", "list_duration_min_duration list(duration).() -> duration", Min, kTraversal,
       estimate::Elements},
      {"min", "list_timestamp_min_timestamp list(timestamp).() -> timestamp", Min, kTraversal,
       estimate::Elements},
      {"min", "list_string_min_string list(string).() -> string", Min, kTraversal,
       estimate::Elements},
      {"min", "list_bytes_min_bytes list(bytes).() -> bytes", Min, kTraversal, estimate::Elements},
      {"indexOf", "list_a_index_of_int list(A).(A) -> int", IndexOf, kTraversal,
       estimate::Elements},
      {"lastIndexOf", "list_a_last_index_of_int list(A).(A) -> int",
       Implementation(LastIndexOf<kKubernetes>, LastIndexOf<kLanguage>), kTraversal,
       estimate::Elements},
  });
  return kRows;
}

Library library::Includes() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"includes", "list_includes_dyn_dyn dyn.(dyn) -> bool", IncludesElement, kTraversal,
       estimate::ElementsOrSelf},
  });
  return kRows;
}

Library library::Include() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"include", "list_include_dyn_dyn dyn.(dyn) -> bool", IncludesElement, kTraversal,
       estimate::ElementsOrSelf},
  });
  return kRows;
}

}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
//
// Lists: the extension of version 3 and Kubernetes' functions. reverse, indexOf and lastIndexOf
// are with those of strings.
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "cel/bounds.h"
#include "cel/functions.h"
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

void FlattenInto(const List& list, std::int64_t depth, std::vector<Value>& out) {
  for (std::size_t i = 0; i < list.size() && out.size() <= kMaxMadeValues; ++i) {
    const Value value = list.At(i);
    if (value.is(Kind::kList) && depth > 0) {
      FlattenInto(value.as<List>(), depth - 1, out);
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
  FlattenInto(args[0].as<List>(), depth, out);
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
    if (std::ranges::none_of(out, [&](const Value& seen) { return IsEqual(value, seen); })) {
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
Value Includes(Arena&, Args args) {
  if (args[0].is(Kind::kList)) return Value::Bool(ListContains(args[0].as<List>(), args[1]));
  return Value::Bool(IsEqual(args[0], args[1]));
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

std::span<const Builtin> ListFunctions() {
  static constexpr std::array<Builtin, 16> kFunctions = {{
      {"slice", 3, 3, Slice},
      {"flatten", 1, 2, Flatten},
      {"sort", 1, 1, Sort},
      {op::kSortByAssociatedKeys, 2, 2, SortByKeys},
      {"distinct", 1, 1, Distinct},
      {"lists.range", 1, 1, Range},
      {"isSorted", 1, 1, IsSorted},
      {"sum", 1, 1, Sum},
      {"list_uint_sum_uint", 1, 1, SumUints},
      {"list_double_sum_double", 1, 1, SumDoubles},
      {"list_duration_sum_duration", 1, 1, SumDurations},
      {"min", 1, 1, Min},
      {"max", 1, 1, Max},
      {"includes", 2, 2, Includes},
      {"include", 2, 2, Includes},
      {op::kMapInsert, 2, 3, MapInsert},
  }};
  return kFunctions;
}

}  // namespace dray::cel

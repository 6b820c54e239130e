// SPDX-License-Identifier: Apache-2.0
//
// Lists as sets.
#include <array>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

bool BothLists(Args args) { return args[0].is(Kind::kList) && args[1].is(Kind::kList); }

bool TooMany(Args args) {
  return args[0].as<List>().size() * args[1].as<List>().size() > kMaxPairs;
}

bool ContainsAll(Arena& arena, const List& list, const List& sub) {
  for (std::size_t i = 0; i < sub.size(); ++i) {
    if (!ListContains(arena, list, sub.At(i))) return false;
  }
  return true;
}

Value SetsContains(Arena& arena, Args args) {
  if (!BothLists(args)) return UnmatchedCall();
  if (TooMany(args)) return TooLarge();
  return Value::Bool(ContainsAll(arena, args[0].as<List>(), args[1].as<List>()));
}

Value Equivalent(Arena& arena, Args args) {
  if (!BothLists(args)) return UnmatchedCall();
  if (TooMany(args)) return TooLarge();
  return Value::Bool(ContainsAll(arena, args[0].as<List>(), args[1].as<List>()) &&
                     ContainsAll(arena, args[1].as<List>(), args[0].as<List>()));
}

Value Intersects(Arena& arena, Args args) {
  if (!BothLists(args)) return UnmatchedCall();
  if (TooMany(args)) return TooLarge();
  const List& a = args[0].as<List>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ListContains(arena, args[1].as<List>(), a.At(i))) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace

Library library::Sets() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"sets.contains", "list_sets_contains_list (list(T), list(T)) -> bool", SetsContains,
       RunTimeCost(kSets, kOne), estimate::Sets},
      {"sets.equivalent", "list_sets_equivalent_list (list(T), list(T)) -> bool", Equivalent,
       RunTimeCost(kSetsTwice, kOne), estimate::SetsTwice},
      {"sets.intersects", "list_sets_intersects_list (list(T), list(T)) -> bool", Intersects,
       RunTimeCost(kSets, kOne), estimate::Sets},
  });
  return kRows;
}

}  // namespace dray::cel

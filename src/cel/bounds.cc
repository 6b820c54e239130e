// SPDX-License-Identifier: Apache-2.0
#include "cel/bounds.h"

namespace dray::cel {
namespace {

bool SpendElements(const Value& value, std::size_t& left);

bool Spend(const Value& value, std::size_t& left) {
  if (left == 0) return false;
  --left;
  return SpendElements(value, left);
}

bool SpendElements(const Value& value, std::size_t& left) {
  if (value.is(Kind::kList)) {
    const List& list = value.as<List>();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!Spend(list.At(i), left)) return false;
    }
  } else if (value.is(Kind::kMap)) {
    const Map& map = value.as<Map>();
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!Spend(map.ValueAt(i), left)) return false;
    }
  } else if (value.is(Kind::kOptional) && value.as<Optional>().present) {
    return Spend(value.as<Optional>().value, left);
  }
  return true;
}

// What is in the elements, not the elements themselves: there are as many as were paid for.
bool SpendAllElements(const Value& value, std::size_t& left) {
  if (value.is(Kind::kList)) {
    const List& list = value.as<List>();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!SpendElements(list.At(i), left)) return false;
    }
  } else if (value.is(Kind::kMap)) {
    const Map& map = value.as<Map>();
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (!SpendElements(map.ValueAt(i), left)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsBounded(Work& work, const Value& value) {
  std::size_t left = kMaxNested;
  const bool bounded = SpendAllElements(value, left);
  const std::size_t entries = value.is(Kind::kList)  ? value.as<List>().size()
                              : value.is(Kind::kMap) ? value.as<Map>().size()
                                                     : 0;
  return work.Spend(kMaxNested - left + entries / 4) && bounded;
}

}  // namespace dray::cel

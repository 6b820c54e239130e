// SPDX-License-Identifier: Apache-2.0
#include "model/constraints.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace dray::model {
namespace {

// Elements as (type, text): values of different types never are the same element.
using Elements = std::set<std::pair<char, std::string>>;

template <typename Ints, typename Bools, typename Strings>
Elements FromLists(const Ints& ints, const Bools& bools, const Strings& strings,
                   const Strings& versions) {
  Elements set;
  if (ints && !ints->empty()) {
    for (const std::int64_t value : *ints) set.emplace('i', std::to_string(value));
  } else if (bools && !bools->empty()) {
    for (const api::BoolItem& item : *bools) set.emplace('b', item.value ? "true" : "false");
  } else if (strings && !strings->empty()) {
    for (const std::string& value : *strings) set.emplace('s', value);
  } else if (versions && !versions->empty()) {
    for (const std::string& value : *versions) set.emplace('v', value);
  }
  return set;
}

Elements Scalar(const api::DeviceAttribute& a) {
  if (a.string_value) return {{'s', a.string_value->str()}};
  if (a.int_value) return {{'i', std::to_string(*a.int_value)}};
  if (a.bool_value) return {{'b', *a.bool_value ? "true" : "false"}};
  if (a.version_value) return {{'v', a.version_value->str()}};
  return {};
}

Elements ElementsOf(const api::DeviceAttribute& a) {
  const api::AttributeLists& lists = a.Lists();
  Elements set =
      FromLists(lists.int_values, lists.bool_values, lists.string_values, lists.version_values);
  if (set.empty() && lists.list_value) {
    const api::ListAttribute& list = *lists.list_value;
    set = FromLists(list.int_value, list.bool_value, list.string_value, list.version_value);
  }
  return set.empty() ? Scalar(a) : set;
}

Elements Intersect(const Elements& a, const Elements& b) {
  Elements both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

}  // namespace

bool Covers(const api::DeviceConstraint& constraint, std::string_view request,
            std::string_view sub) {
  if (constraint.requests.empty()) return true;
  return std::ranges::any_of(constraint.requests, [&](const std::string& name) {
    return name == request || (!sub.empty() && name == fmt::format("{}/{}", request, sub));
  });
}

const api::DeviceAttribute* FindAttribute(const api::Device& device, std::string_view driver,
                                          std::string_view name) {
  if (const auto* exact = device.attributes.Find(name)) return exact;
  // A name without a domain has that of the driver, whoever leaves it out.
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return device.attributes.Find(fmt::format("{}/{}", driver, name));
  }
  return name.substr(0, slash) == driver ? device.attributes.Find(name.substr(slash + 1)) : nullptr;
}

bool Matches(const std::vector<api::DeviceAttribute>& earlier, const api::DeviceAttribute& value,
             bool lists) {
  if (!lists) {
    if (earlier.empty()) return true;
    const Elements scalar = Scalar(value);
    return !scalar.empty() && scalar == Scalar(earlier.front());
  }
  Elements common = ElementsOf(value);
  for (const api::DeviceAttribute& other : earlier) common = Intersect(common, ElementsOf(other));
  return !common.empty();
}

bool IsDistinct(const std::vector<api::DeviceAttribute>& earlier, const api::DeviceAttribute& value,
                bool lists) {
  const Elements mine = lists ? ElementsOf(value) : Scalar(value);
  if (mine.empty() && (lists || !earlier.empty())) return false;
  return std::ranges::all_of(earlier, [&](const api::DeviceAttribute& other) {
    return Intersect(mine, lists ? ElementsOf(other) : Scalar(other)).empty();
  });
}

}  // namespace dray::model

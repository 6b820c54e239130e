// SPDX-License-Identifier: Apache-2.0
#include "cel/runtime_cost.h"

#include <algorithm>
#include <string>

#include "base/string_map.h"
#include "cel/operators.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

// Rules that apply whatever the overload.
const base::StringMap<CostRule>& RulesByFunction() {
  using enum CostRule;
  static const auto* const kRules = new base::StringMap<CostRule>{
      {"isSorted", kTraversal},
      {"sum", kTraversal},
      {"max", kTraversal},
      {"min", kTraversal},
      {"indexOf", kTraversal},
      {"lastIndexOf", kTraversal},
      {"includes", kTraversal},
      {"include", kTraversal},
      {"url", kTenth},
      {"lowerAscii", kTenth},
      {"upperAscii", kTenth},
      {"substring", kTenth},
      {"trim", kTenth},
      {"replace", kFifth},
      {"split", kFifth},
      {"join", kJoin},
      {"find", kPattern},
      {"findAll", kPattern},
      {"cidr", kTenth},
      {"isIP", kTenth},
      {"isCIDR", kTenth},
      {"ip", kTenth},
      {"ip.isCanonical", kFifth},
      {"containsIP", kContainsIp},
      {"containsCIDR", kContainsCidr},
      {"quantity", kTenth},
      {"isQuantity", kTenth},
      {"semver", kTenth},
      {"isSemver", kTenth},
      {"validate", kValidate},
      {std::string(op::kEqual), kEqual},
      {std::string(op::kNotEqual), kSmaller},
  };
  return *kRules;
}

// Rules that apply only when the checker left one overload.
const base::StringMap<CostRule>& RulesByOverload() {
  using enum CostRule;
  static const auto* const kRules = [] {
    auto* rules = new base::StringMap<CostRule>{
        {"list_sets_contains_list", kSets},
        {"list_sets_intersects_list", kSets},
        {"list_sets_equivalent_list", kSetsTwice},
        {"list_slice", kListResult},
        {"lists_range", kListResult},
        {"list_reverse", kListResult},
        {"list_flatten", kFlatten},
        {"list_flatten_int", kFlatten},
        {"list_distinct", kSelfCompare},
        {"cidr_ip", kOne},
        {"cidr_contains_ip_string", kContainsIpText},
        {"cidr_contains_cidr_string", kContainsCidrText},
        {"starts_with_string", kTenthOfSecond},
        {"ends_with_string", kTenthOfSecond},
        {"string_to_bytes", kTenth},
        {"bytes_to_string", kTenth},
        {"strings_quote", kTenth},
        {"string_format", kTenth},
        {"in_list", kSizeOfSecond},
        {"add_string", kSum},
        {"add_bytes", kSum},
        {"matches", kPattern},
        {"matches_string", kPattern},
        {"contains_string", kContains},
    };
    for (const char* type : {"int", "uint", "double", "bool", "google.protobuf.Duration",
                             "google.protobuf.Timestamp", "string", "bytes"}) {
      rules->emplace(std::string("list_") + type + "_sort", kSelfCompare);
      rules->emplace(std::string("list_") + type + "_sortByAssociatedKeys", kSelfCompareKeys);
    }
    for (const char* order : {"less", "less_equals", "greater", "greater_equals"}) {
      rules->emplace(std::string(order) + "_string", kSmaller);
      rules->emplace(std::string(order) + "_bytes", kSmaller);
    }
    return rules;
  }();
  return *kRules;
}

// Rounded up; without std::ceil, which is a call.
std::uint64_t Scaled(std::uint64_t size, double factor) {
  const double exact = static_cast<double>(size) * factor;
  const auto whole = static_cast<std::int64_t>(exact);
  return static_cast<std::uint64_t>(whole + (static_cast<double>(whole) < exact ? 1 : 0));
}

std::uint64_t Traversal(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.as_text().size()) * 0.1);
    case Kind::kList: {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < value.as<List>().size(); ++i) {
        sum += Traversal(value.as<List>().At(i));
      }
      return sum;
    }
    case Kind::kMap: {
      const Map& map = value.as<Map>();
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < map.size(); ++i) {
        sum += Traversal(map.KeyAt(i)) + Traversal(map.ValueAt(i));
      }
      return sum;
    }
    default:
      return 1;
  }
}

std::uint64_t SelfCompare(const Value& list) {
  if (!list.is(Kind::kList)) return 1;
  const std::uint64_t n = list.as<List>().size();
  if (n == 0) return 11;
  const Kind kind = list.as<List>().At(0).kind();
  const double factor = kind == Kind::kString || kind == Kind::kBytes ? 2.1 : 2.0;
  return static_cast<std::uint64_t>(static_cast<double>(n * n) * factor) + 11;
}

std::uint64_t PatternCost(std::uint64_t text, std::uint64_t pattern) {
  return Scaled(text + 1, 0.1) * Scaled(pattern, 0.25);
}

std::uint64_t SmallerTenth(const Value& a, const Value& b) {
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    // Most texts that are compared are short: at most 10 bytes are at most 10 characters.
    const std::size_t bytes = std::min(a.as_text().size(), b.as_text().size());
    if (bytes <= 10) return bytes == 0 ? 0 : 1;
  }
  return Scaled(std::min(ActualSize(a), ActualSize(b)), 0.1);
}

bool IsKubernetesValue(Kind kind) {
  return kind == Kind::kQuantity || kind == Kind::kSemver || kind == Kind::kIp ||
         kind == Kind::kCidr || kind == Kind::kUrl || kind == Kind::kFormat;
}

}  // namespace

std::uint64_t ActualSize(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
      return CodePoints(value.as_text());
    case Kind::kBytes:
      return value.as_text().size();
    case Kind::kList:
      return value.as<List>().size();
    case Kind::kMap:
      return value.as<Map>().size();
    case Kind::kIp:
      return value.as<Ip>().size();
    case Kind::kCidr:
      return static_cast<std::uint64_t>((value.as<Cidr>().length + 7) / 8);
    case Kind::kOptional:
      return value.as<Optional>().present ? ActualSize(value.as<Optional>().value) : 1;
    default:
      return 1;
  }
}

CostRule CostRuleOf(std::string_view function, std::string_view overload) {
  if (!overload.empty()) {
    if (const auto it = RulesByOverload().find(overload); it != RulesByOverload().end()) {
      return it->second;
    }
  }
  const auto it = RulesByFunction().find(function);
  return it == RulesByFunction().end() ? CostRule::kOne : it->second;
}

std::uint64_t CallCost(CostRule rule, std::span<const Value> args, const Value& result) {
  switch (rule) {
    case CostRule::kOne:
      return 1;
    case CostRule::kFree:
      return 0;
    case CostRule::kSets:
      return 1 + ActualSize(args[0]) * ActualSize(args[1]);
    case CostRule::kSetsTwice:
      return 1 + 2 * ActualSize(args[0]) * ActualSize(args[1]);
    case CostRule::kListResult:
      return ActualSize(result) + 11;
    case CostRule::kFlatten: {
      // Depths that flatten refuses count as one.
      const double depth = args.size() == 2 && args[1].is(Kind::kInt) && args[1].as_int() >= 0
                               ? static_cast<double>(args[1].as_int())
                               : 1.0;
      return static_cast<std::uint64_t>(static_cast<double>(ActualSize(args[0])) * depth) + 11;
    }
    case CostRule::kSelfCompare:
      return SelfCompare(args[0]);
    case CostRule::kSelfCompareKeys:
      return SelfCompare(args[1]);
    case CostRule::kTraversal:
      return Traversal(args[0]);
    case CostRule::kTenth:
      return Scaled(ActualSize(args[0]), 0.1);
    case CostRule::kFifth:
      return Scaled(ActualSize(args[0]), 0.2);
    case CostRule::kJoin:
      return Scaled(ActualSize(result), 0.2);
    case CostRule::kPattern:
      return PatternCost(ActualSize(args[0]), ActualSize(args[1]));
    case CostRule::kContainsIp:
    case CostRule::kContainsIpText: {
      std::uint64_t cost = Scaled(2 * ActualSize(args[0]), 0.1);
      if (rule == CostRule::kContainsIpText) cost += Scaled(ActualSize(args[1]), 0.1);
      return cost;
    }
    case CostRule::kContainsCidr:
    case CostRule::kContainsCidrText: {
      const std::uint64_t size = ActualSize(args[0]);
      std::uint64_t cost = Scaled(2 * size, 0.1) + Scaled(size, 0.1) + 1;
      if (rule == CostRule::kContainsCidrText) cost += Scaled(ActualSize(args[1]), 0.1);
      return cost;
    }
    case CostRule::kValidate:
      if (!args[0].is(Kind::kFormat)) return 1;
      return PatternCost(ActualSize(args[1]),
                         static_cast<std::uint64_t>(args[0].as<Format>().regex_size));
    case CostRule::kTenthOfSecond:
      return Scaled(ActualSize(args[1]), 0.1);
    case CostRule::kSizeOfSecond:
      return ActualSize(args[1]);
    case CostRule::kSmaller:
      return SmallerTenth(args[0], args[1]);
    case CostRule::kEqual:
      return IsKubernetesValue(args[0].kind()) ? 1 : SmallerTenth(args[0], args[1]);
    case CostRule::kSum:
      return Scaled(ActualSize(args[0]) + ActualSize(args[1]), 0.1);
    case CostRule::kContains:
      return Scaled(ActualSize(args[0]), 0.1) * Scaled(ActualSize(args[1]), 0.1);
  }
  return 1;
}

}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/core_costs.h"

#include <algorithm>
#include <optional>

namespace dray::cel::internal {
namespace {

constexpr double kTraversal = 0.1;  // per character
constexpr double kRegex = 0.25;     // per character of a pattern
constexpr CostRange kUnit = CostRange::Exactly(1);

// Equality and the ordering of texts.
bool IsComparison(std::string_view overload) {
  if (overload == "equals" || overload == "not_equals") return true;
  const bool order = overload.starts_with("less_") || overload.starts_with("greater_");
  return order && (overload.ends_with("_string") || overload.ends_with("_bytes"));
}

CostRange ComparisonCost(const CostRange& a, const CostRange& b) {
  const std::uint64_t most = std::min(a.max, b.max);
  return CostRange{most > 0 ? 1u : 0u, most}.Times(kTraversal);
}

// Of a member with one argument.
std::optional<CostRange> MemberCost(std::string_view overload, const CostRange& receiver,
                                    std::span<const CostNode> args) {
  if (overload == "string_format") return receiver.Times(kTraversal);
  if (args.size() != 1) return std::nullopt;
  const CostRange arg = args[0].size();
  if (overload == "matches_string") {
    return (receiver + kUnit).Times(kTraversal) * arg.Times(kRegex);
  }
  if (overload == "contains_string") return receiver.Times(kTraversal) * arg.Times(kTraversal);
  return std::nullopt;
}

// Of a conversion of one text.
std::optional<CallCost> ConversionCost(std::string_view overload, const CostRange& size) {
  const CostRange cost = size.Times(kTraversal);
  // The maxima wrap around, as upstream's do.
  if (overload == "string_to_bytes") return CallCost{cost, CostRange{size.min, size.max * 4}};
  if (overload == "bytes_to_string") return CallCost{cost, CostRange{size.min / 4, size.max}};
  if (overload == "strings_quote") return CallCost{cost, CostRange{size.min + 2, size.max * 2 + 2}};
  if (overload == "starts_with_string" || overload == "ends_with_string") return CallCost{cost};
  return std::nullopt;
}

// Of a call with two arguments.
std::optional<CallCost> BinaryCost(std::string_view overload, const CostRange& a,
                                   const CostRange& b) {
  if (overload == "in_list") return CallCost{b.Times(1)};
  if (overload == "add_list") return CallCost{kUnit, a + b};
  if (overload == "add_string" || overload == "add_bytes") {
    return CallCost{(a + b).Times(kTraversal), a + b};
  }
  if (IsComparison(overload)) return CallCost{ComparisonCost(a, b)};
  return std::nullopt;
}

std::optional<CallCost> OwnCost(std::string_view overload, const CostNode* receiver,
                                std::span<const CostNode> args) {
  if (receiver != nullptr) {
    if (const auto cost = MemberCost(overload, receiver->size(), args)) return CallCost{*cost};
  }
  if (args.size() == 1) return ConversionCost(overload, args[0].size());
  if (args.size() == 2) return BinaryCost(overload, args[0].size(), args[1].size());
  return std::nullopt;
}

}  // namespace

CallCost CoreCallCost(std::string_view overload, const CostNode* receiver,
                      std::span<const CostNode> args, std::span<const CostRange> arg_costs,
                      const CostRange& arguments) {
  if (overload == "logical_and" || overload == "logical_or") {
    return {.cost = {arg_costs[0].min, (arg_costs[0] + arg_costs[1]).max}};
  }
  if (overload == "conditional") {
    return {.cost = arg_costs[0] + arg_costs[1].Union(arg_costs[2]),
            .result_size = args[1].size().Union(args[2].size())};
  }
  CallCost own = OwnCost(overload, receiver, args).value_or(CallCost{kUnit});
  own.cost = own.cost + arguments;
  return own;
}

}  // namespace dray::cel::internal

// SPDX-License-Identifier: Apache-2.0
#include "cel/runtime_cost.h"

#include <algorithm>

#include "cel/bounds.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

// Rounded up; without std::ceil, which is a call.
std::uint64_t Scaled(std::uint64_t size, double factor) {
  const double exact = static_cast<double>(size) * factor;
  const auto whole = static_cast<std::int64_t>(exact);
  return static_cast<std::uint64_t>(whole + (static_cast<double>(whole) < exact ? 1 : 0));
}

// More than any limit on cost, and small enough to add up.
constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;

std::uint64_t Traversal(const Value& value);

std::uint64_t BoundedTraversal(Work& work, const Value& value) {
  return IsBounded(work, value) ? Traversal(value) : kEndless;
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

std::uint64_t CallCost(Work& work, CostRule rule, std::span<const Value> args,
                       const Value& result) {
  switch (rule) {
    case CostRule::kOne:
      return 1;
    case CostRule::kByEvaluator:
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
      return BoundedTraversal(work, args[0]);
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
    case CostRule::kAuthorize:
      return 350'000;
  }
  return 1;
}

}  // namespace dray::cel

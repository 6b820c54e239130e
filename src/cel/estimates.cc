// SPDX-License-Identifier: Apache-2.0
#include "cel/estimates.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace dray::cel::estimate {
namespace {

constexpr double kTraversal = 0.1;   // per character
constexpr double kRegex = 0.25;      // per character of a pattern
constexpr double kFormatRegex = 32;  // the longest pattern of a named format, by kRegex
constexpr CostRange kUnit = CostRange::Exactly(1);
constexpr CostRange kAddressBytes = {4, 16};

CallEstimate Cost(const CostRange& cost) { return {.cost = cost}; }
CallEstimate Made(const CostRange& cost, const CostRange& size) {
  return {.cost = cost, .result_size = size};
}

// The cost of a call that makes a list of `size`, or that works `factor` times on each entry of it.
CallEstimate MakesList(const CostRange& size, double factor = 1) {
  return Made(size.Times(factor) + CostRange::Exactly(11), size);
}
CallEstimate Quadratic(const CostRange& size, double factor) {
  return MakesList(size * size, factor);
}

std::uint64_t ConstantOr(const CostNode& node, std::uint64_t otherwise) {
  if (!node.constant) return otherwise;
  return *node.constant < 0 ? 0 : static_cast<std::uint64_t>(*node.constant);
}

std::uint64_t Ceiling(double value) {
  const double up = std::ceil(value);
  return up >= 0x1p64 ? CostRange::kLargest : static_cast<std::uint64_t>(up);
}

std::uint64_t PlusOne(std::uint64_t n) { return n == CostRange::kLargest ? n : n + 1; }

// Of two library values of the same type. Nothing: they are compared as texts are.
std::optional<CostRange> LibraryEquality(const CallSite& call) {
  const Type type = call.args[0].type;
  if (type != call.args[1].type) return std::nullopt;
  if (type.is(TypeKind::kOpaque)) {
    if (type.name() != "net.IP" && type.name() != "net.CIDR") return std::nullopt;
    return kUnit;
  }
  if (!type.is(TypeKind::kObject)) return std::nullopt;
  const std::string_view name = type.name();
  if (name == "kubernetes.NamedFormat") return CostRange{1, 64}.Times(kTraversal);
  if (name == "kubernetes.URL") {
    // Looks at the right side only.
    const std::uint64_t most = call.args[1].known_size.value_or(kUnit).max;
    return CostRange{1, most}.Times(kTraversal);
  }
  if (name == "kubernetes.Quantity" || name == "kubernetes.Semver") return kUnit;
  return std::nullopt;
}

CostRange ElementsCost(const CallSite& call, const CostRange& of_no_list) {
  const CostRange size = call.receiver->size();
  if (call.receiver->type.params().empty()) return of_no_list;
  const Type element = call.receiver->type.param(0);
  CostRange each = kUnit;
  if (element.is(TypeKind::kString) || element.is(TypeKind::kBytes)) {
    each = each + call.receiver->element_size.Times(kTraversal);
  }
  return size * each;
}

CostRange IpCost() { return (kAddressBytes + kAddressBytes).Times(kTraversal); }
CostRange CidrCost() { return IpCost() + kAddressBytes.Times(kTraversal) + kUnit; }

}  // namespace

CallEstimate Unit(const CallSite&) { return Cost(kUnit); }
CallEstimate Authorize(const CallSite&) { return Cost(CostRange::Exactly(350'000)); }

CallEstimate Logic(const CallSite& call) {
  return {.cost = {call.arg_costs[0].min, (call.arg_costs[0] + call.arg_costs[1]).max},
          .with_arguments = true};
}
CallEstimate Conditional(const CallSite& call) {
  return {.cost = call.arg_costs[0] + call.arg_costs[1].Union(call.arg_costs[2]),
          .result_size = call.args[1].size().Union(call.args[2].size()),
          .with_arguments = true};
}
CallEstimate Equality(const CallSite& call) {
  const auto cost = LibraryEquality(call);
  return cost ? Cost(*cost) : Comparison(call);
}
CallEstimate Comparison(const CallSite& call) {
  const std::uint64_t most = std::min(call.args[0].size().max, call.args[1].size().max);
  return Cost(CostRange{most > 0 ? 1u : 0u, most}.Times(kTraversal));
}
CallEstimate InList(const CallSite& call) { return Cost(call.args[1].size().Times(1)); }
CallEstimate AddLists(const CallSite& call) {
  return Made(kUnit, call.args[0].size() + call.args[1].size());
}
CallEstimate Concatenate(const CallSite& call) {
  const CostRange size = call.args[0].size() + call.args[1].size();
  return Made(size.Times(kTraversal), size);
}

CallEstimate ReadReceiver(const CallSite& call) {
  return Cost(call.receiver->size().Times(kTraversal));
}
CallEstimate ReadArgument(const CallSite& call) {
  return Cost(call.args[0].size().Times(kTraversal));
}
CallEstimate ReadArgumentTwice(const CallSite& call) {
  return Cost(call.args[0].size().Times(2 * kTraversal));
}
CallEstimate CopyReceiver(const CallSite& call) {
  return Made(call.receiver->size().Times(kTraversal), call.receiver->size());
}
CallEstimate CopyArgument(const CallSite& call) {
  return Made(call.args[0].size().Times(kTraversal), call.args[0].size());
}
CallEstimate Contains(const CallSite& call) {
  return Cost(call.receiver->size().Times(kTraversal) * call.args[0].size().Times(kTraversal));
}
// The maxima of these three wrap around, as upstream's do.
CallEstimate ToBytes(const CallSite& call) {
  const CostRange size = call.args[0].size();
  return Made(size.Times(kTraversal), {size.min, size.max * 4});
}
CallEstimate BytesToText(const CallSite& call) {
  const CostRange size = call.args[0].size();
  return Made(size.Times(kTraversal), {size.min / 4, size.max});
}
CallEstimate Quote(const CallSite& call) {
  const CostRange size = call.args[0].size();
  return Made(size.Times(kTraversal), {size.min + 2, size.max * 2 + 2});
}
CallEstimate Replace(const CallSite& call) {
  const CostRange size = call.receiver->size();
  return Made(size.Times(2 * kTraversal),
              ReplacedSize(size, call.args[0].size(), call.args[1].size()));
}
CallEstimate Split(const CallSite& call) {
  const CostRange size = call.receiver->size();
  std::uint64_t most = size.max;
  if (call.args.size() > 1 && call.args[1].constant) {
    most = static_cast<std::uint64_t>(*call.args[1].constant);
  }
  return Made(size.Times(2 * kTraversal), {0, most});
}
CallEstimate Join(const CallSite& call) {
  const CostRange size = call.receiver->size();
  CostRange result;
  if (!call.receiver->type.params().empty()) result = size * call.receiver->element_size;
  if (!call.args.empty()) {
    const CostRange separators = {size.min > 0 ? size.min - 1 : 0, size.max > 0 ? size.max - 1 : 0};
    result = result + call.args[0].size() * separators;
  }
  return Made(result.Times(kTraversal), result);
}

CallEstimate Matches(const CallSite& call) {
  return Cost((call.receiver->size() + kUnit).Times(kTraversal) *
              call.args[0].size().Times(kRegex));
}
CallEstimate FindAll(const CallSite& call) {
  return Made(Matches(call).cost, {0, call.receiver->size().max});
}
CallEstimate ValidateFormat(const CallSite& call) {
  return Cost(call.args[0].size().Times(kTraversal).Times(kFormatRegex));
}

// One per element, and what its text costs.
CallEstimate Elements(const CallSite& call) {
  return Cost(ElementsCost(call, call.receiver->size().Times(kTraversal)));
}
CallEstimate ElementsOrSelf(const CallSite& call) {
  return Cost(ElementsCost(call, call.receiver->size()));
}
CallEstimate Slice(const CallSite& call) {
  const std::uint64_t start = ConstantOr(call.args[0], 0);
  const std::uint64_t end = ConstantOr(call.args[1], call.receiver->size().max);
  return MakesList(CostRange::Exactly(end - start));  // wraps around, as upstream does
}
CallEstimate Range(const CallSite& call) {
  return MakesList(CostRange::Exactly(ConstantOr(call.args[0], CostRange::kLargest)));
}
CallEstimate CopyList(const CallSite& call) { return MakesList(call.receiver->size()); }
CallEstimate Flatten(const CallSite& call) {
  const std::uint64_t depth = call.args.empty() ? 1 : ConstantOr(call.args[0], CostRange::kLargest);
  return MakesList(call.receiver->size(), static_cast<double>(depth));
}
CallEstimate Distinct(const CallSite& call) { return Quadratic(call.receiver->size(), 2); }
CallEstimate Sort(const CallSite& call) { return Quadratic(call.receiver->size(), 2); }
CallEstimate SortTexts(const CallSite& call) {
  return Quadratic(call.receiver->size(), 2 + kTraversal);
}
CallEstimate SortBy(const CallSite& call) { return Quadratic(call.args[0].size(), 2); }
CallEstimate SortByTexts(const CallSite& call) {
  return Quadratic(call.args[0].size(), 2 + kTraversal);
}
CallEstimate Sets(const CallSite& call) {
  return Cost((call.args[0].size() * call.args[1].size()).Times(1) + kUnit);
}
CallEstimate SetsTwice(const CallSite& call) {
  return Cost((call.args[0].size() * call.args[1].size()).Times(2) + kUnit);
}

CallEstimate ContainsIp(const CallSite&) { return Cost(IpCost()); }
CallEstimate ContainsIpText(const CallSite& call) {
  return Cost(IpCost() + call.args[0].size().Times(kTraversal));
}
CallEstimate ContainsCidr(const CallSite&) { return Cost(CidrCost()); }
CallEstimate ContainsCidrText(const CallSite& call) {
  return Cost(CidrCost() + call.args[0].size().Times(kTraversal));
}

CostRange ReplacedSize(const CostRange& text, const CostRange& searched,
                       const CostRange& replacement) {
  CostRange count, kept;
  if (searched.min == 0) {
    // Replacing nothing puts the replacement around every character.
    count.max = PlusOne(text.max);
    kept.max = text.max;
  } else if (replacement.max <= searched.min) {
    kept.max = text.max;
  } else {
    count.max = Ceiling(static_cast<double>(text.max) / static_cast<double>(searched.min));
  }
  if (searched.max == 0) {
    count.min = PlusOne(text.min);
    kept.min = text.min;
  } else if (searched.max <= replacement.min) {
    kept.min = text.min;
  } else {
    count.min = Ceiling(static_cast<double>(text.min) / static_cast<double>(searched.max));
  }
  return count * replacement + kept;
}

}  // namespace dray::cel::estimate

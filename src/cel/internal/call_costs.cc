// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/call_costs.h"

#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "base/string_map.h"
#include "cel/operators.h"

namespace dray::cel::internal {
namespace {

constexpr double kTraversal = 0.1;   // per character
constexpr double kRegex = 0.25;      // per character of a pattern
constexpr double kFormatRegex = 32;  // the longest pattern of a named format, by kRegex
constexpr CostRange kUnit = CostRange::Exactly(1);
constexpr CostRange kAddressBytes = {4, 16};

struct Call {
  std::string_view function;
  std::string_view overload;
  const CostNode* receiver;
  std::span<const CostNode> args;
};
using Rule = std::optional<CallCost> (*)(const Call&);

CallCost Cost(const CostRange& cost) { return {.cost = cost}; }

// The cost of a call that makes a list of `size`, or that works `factor` times on each entry of it.
CallCost MakesList(const CostRange& size, double factor = 1) {
  return {.cost = size.Times(factor) + CostRange::Exactly(11), .result_size = size};
}

std::uint64_t ConstantOr(const CostNode& node, std::uint64_t otherwise) {
  if (!node.constant) return otherwise;
  return *node.constant < 0 ? 0 : static_cast<std::uint64_t>(*node.constant);
}

// By overload.

std::optional<CallCost> Sets(const Call& call) {
  const double factor = call.overload == "list_sets_equivalent_list" ? 2 : 1;
  return Cost((call.args[0].size() * call.args[1].size()).Times(factor) + kUnit);
}
std::optional<CallCost> Slice(const Call& call) {
  const std::uint64_t start = ConstantOr(call.args[0], 0);
  const std::uint64_t end = ConstantOr(call.args[1], call.receiver->size().max);
  return MakesList(CostRange::Exactly(end - start));  // wraps around, as upstream does
}
std::optional<CallCost> ListsRange(const Call& call) {
  return MakesList(CostRange::Exactly(ConstantOr(call.args[0], CostRange::kLargest)));
}
std::optional<CallCost> Reverse(const Call& call) { return MakesList(call.receiver->size()); }
std::optional<CallCost> Flatten(const Call& call) {
  const std::uint64_t depth = call.args.empty() ? 1 : ConstantOr(call.args[0], CostRange::kLargest);
  return MakesList(call.receiver->size(), static_cast<double>(depth));
}
CallCost Quadratic(const CostRange& size, double factor) { return MakesList(size * size, factor); }
std::optional<CallCost> Distinct(const Call& call) { return Quadratic(call.receiver->size(), 2); }
double SortFactor(std::string_view overload) {
  const bool texts = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
  return texts ? 2 + kTraversal : 2;
}
std::optional<CallCost> Sort(const Call& call) {
  return Quadratic(call.receiver->size(), SortFactor(call.overload));
}
std::optional<CallCost> SortBy(const Call& call) {
  return Quadratic(call.args[0].size(), SortFactor(call.overload));
}

// By function.

std::optional<CallCost> Nominal(const Call&) { return Cost(kUnit); }
std::optional<CallCost> Authorize(const Call&) { return Cost(CostRange::Exactly(350'000)); }

// isSorted, sum, includes ...: one per element, and what its text costs.
std::optional<CallCost> Elements(const Call& call) {
  const CostRange size = call.receiver->size();
  if (call.receiver->type.params().empty()) {
    const bool may_be_list = call.function == "includes" || call.function == "include";
    return Cost(may_be_list ? size * kUnit : size.Times(kTraversal));
  }
  const Type element = call.receiver->type.param(0);
  CostRange each = kUnit;
  if (element.is(TypeKind::kString) || element.is(TypeKind::kBytes)) {
    each = each + call.receiver->element_size.Times(kTraversal);
  }
  return Cost(size * each);
}

std::optional<CallCost> ReadArgument(const Call& call) {
  return Cost(call.args[0].size().Times(kTraversal));
}
std::optional<CallCost> ReadArgumentTwice(const Call& call) {
  return Cost(call.args[0].size().Times(2 * kTraversal));
}
std::optional<CallCost> Url(const Call& call) {
  const CostRange size = call.args[0].size();
  return CallCost{.cost = size.Times(kTraversal), .result_size = size};
}
std::optional<CallCost> Ip(const Call& call) {
  if (call.overload == "cidr_ip") return Cost(kUnit);
  return call.args.empty() ? std::nullopt : ReadArgument(call);
}
std::optional<CallCost> CopyReceiver(const Call& call) {
  const CostRange size = call.receiver->size();
  return CallCost{.cost = size.Times(kTraversal), .result_size = size};
}
std::optional<CallCost> Replace(const Call& call) {
  const CostRange size = call.receiver->size();
  return CallCost{.cost = size.Times(2 * kTraversal),
                  .result_size = ReplacedSize(size, call.args[0].size(), call.args[1].size())};
}
std::optional<CallCost> Split(const Call& call) {
  const CostRange size = call.receiver->size();
  std::uint64_t most = size.max;
  if (call.args.size() > 1 && call.args[1].constant) {
    most = static_cast<std::uint64_t>(*call.args[1].constant);
  }
  return CallCost{.cost = size.Times(2 * kTraversal), .result_size = CostRange{0, most}};
}
std::optional<CallCost> Join(const Call& call) {
  const CostRange size = call.receiver->size();
  CostRange result;
  if (!call.receiver->type.params().empty()) result = size * call.receiver->element_size;
  if (!call.args.empty()) {
    const CostRange separators = {size.min > 0 ? size.min - 1 : 0, size.max > 0 ? size.max - 1 : 0};
    result = result + call.args[0].size() * separators;
  }
  return CallCost{.cost = result.Times(kTraversal), .result_size = result};
}
std::optional<CallCost> FindAll(const Call& call) {
  const CostRange size = call.receiver->size();
  return CallCost{.cost = (size + kUnit).Times(kTraversal) * call.args[0].size().Times(kRegex),
                  .result_size = CostRange{0, size.max}};
}
std::optional<CallCost> ContainsAddress(const Call& call) {
  CostRange cost = (kAddressBytes + kAddressBytes).Times(kTraversal);
  if (call.function == "containsCIDR") cost = cost + kAddressBytes.Times(kTraversal) + kUnit;
  if (call.overload.ends_with("_string")) cost = cost + call.args[0].size().Times(kTraversal);
  return Cost(cost);
}
std::optional<CallCost> ValidateFormat(const Call& call) {
  return Cost(call.args[0].size().Times(kTraversal).Times(kFormatRegex));
}

// Of two library values of the same type.
std::optional<CallCost> Equal(const Call& call) {
  const Type type = call.args[0].type;
  if (type != call.args[1].type) return std::nullopt;
  if (type.is(TypeKind::kOpaque)) {
    if (type.name() != "net.IP" && type.name() != "net.CIDR") return std::nullopt;
    return Cost(kUnit);
  }
  if (!type.is(TypeKind::kObject)) return std::nullopt;
  const std::string_view name = type.name();
  if (name == "kubernetes.NamedFormat") return Cost(CostRange{1, 64}.Times(kTraversal));
  if (name == "kubernetes.URL") {
    // Looks at the right side only.
    const std::uint64_t most = call.args[1].known_size.value_or(kUnit).max;
    return Cost(CostRange{1, most}.Times(kTraversal));
  }
  if (name == "kubernetes.Quantity" || name == "kubernetes.Semver") return Cost(kUnit);
  return std::nullopt;
}

// A rule, and the shape that a call must have for it.
struct RuleFor {
  Rule rule = nullptr;
  bool receiver = false;
  std::size_t args = 0;

  std::optional<CallCost> Apply(const Call& call) const {
    if (receiver && call.receiver == nullptr) return std::nullopt;
    return call.args.size() < args ? std::nullopt : rule(call);
  }
};
using Rules = absl::flat_hash_map<std::string_view, RuleFor, base::StringHash, base::StringEq>;

const Rules& ByOverload() {
  static const Rules* const rules = new Rules{{"list_sets_contains_list", {Sets, false, 2}},
                                              {"list_sets_equivalent_list", {Sets, false, 2}},
                                              {"list_sets_intersects_list", {Sets, false, 2}},
                                              {"list_slice", {Slice, true, 2}},
                                              {"lists_range", {ListsRange, false, 1}},
                                              {"list_reverse", {Reverse, true}},
                                              {"list_flatten", {Flatten, true}},
                                              {"list_flatten_int", {Flatten, true, 1}},
                                              {"list_distinct", {Distinct, true}}};
  return *rules;
}

const Rules& ByFunction() {
  static const Rules* const rules = [] {
    auto* made = new Rules{{"check", {Authorize}},
                           {"url", {Url, false, 1}},
                           {"ip", {Ip}},
                           {"ip.isCanonical", {ReadArgumentTwice, false, 1}},
                           {"replace", {Replace, true, 2}},
                           {"split", {Split, true, 1}},
                           {"join", {Join, true}},
                           {"find", {FindAll, true, 1}},
                           {"findAll", {FindAll, true, 1}},
                           {"containsIP", {ContainsAddress, true, 1}},
                           {"containsCIDR", {ContainsAddress, true, 1}},
                           {"validate", {ValidateFormat, true, 1}},
                           {"_==_", {Equal, false, 2}}};
    const auto add = [&](RuleFor rule, std::initializer_list<std::string_view> functions) {
      for (const std::string_view function : functions) made->emplace(function, rule);
    };
    add({Elements, true},
        {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes", "include"});
    add({CopyReceiver, true}, {"lowerAscii", "upperAscii", "substring", "trim"});
    add({ReadArgument, false, 1}, {"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver",
                                   "isSemver", "fieldSelector", "labelSelector"});
    add({Nominal}, {"masked",
                    "prefixLength",
                    "family",
                    "isUnspecified",
                    "isLoopback",
                    "isLinkLocalMulticast",
                    "isLinkLocalUnicast",
                    "isGlobalUnicast",
                    "sign",
                    "asInteger",
                    "isInteger",
                    "asApproximateFloat",
                    "isGreaterThan",
                    "isLessThan",
                    "compareTo",
                    "add",
                    "sub",
                    "major",
                    "minor",
                    "patch",
                    "getScheme",
                    "getHostname",
                    "getHost",
                    "getPort",
                    "getEscapedPath",
                    "getQuery",
                    "format.named",
                    "serviceAccount",
                    "path",
                    "group",
                    "resource",
                    "subresource",
                    "namespace",
                    "name",
                    "allowed",
                    "reason",
                    "error",
                    "errored"});
    return made;
  }();
  return *rules;
}

std::optional<CallCost> Apply(const Rules& rules, std::string_view name, const Call& call) {
  const auto found = rules.find(name);
  return found == rules.end() ? std::nullopt : found->second.Apply(call);
}

// Stops at the largest number. Upstream's conversion of 2^64 depends on the machine and no recorded
// case shows it; this one never guesses too low.
std::uint64_t Ceiling(double value) {
  const double up = std::ceil(value);
  return up >= 0x1p64 ? CostRange::kLargest : static_cast<std::uint64_t>(up);
}

std::uint64_t PlusOne(std::uint64_t n) { return n == CostRange::kLargest ? n : n + 1; }

}  // namespace

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

std::optional<CallCost> LibraryCallCost(std::string_view function, std::string_view overload,
                                        const CostNode* receiver, std::span<const CostNode> args) {
  const Call call{function, overload, receiver, args};
  if (function == "sort" && receiver != nullptr) return Sort(call);
  if (function == op::kSortByAssociatedKeys && receiver != nullptr) return SortBy(call);
  if (auto cost = Apply(ByOverload(), overload, call)) return cost;
  return Apply(ByFunction(), function, call);
}

}  // namespace dray::cel::internal

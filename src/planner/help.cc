// SPDX-License-Identifier: Apache-2.0
#include "planner/help.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "allocator/explanation.h"
#include "fmt/format.h"
#include "scheduler/explain_groups.h"

namespace dray::planner {
namespace {

constexpr std::size_t kShownHolders = 3;

std::string Devices(std::int64_t n) { return n == 1 ? "1 device" : fmt::format("{} devices", n); }
std::string Nodes(std::size_t n) { return n == 1 ? "1 node" : fmt::format("{} nodes", n); }

std::string HoldersOf(const allocator::Drop& drop) {
  std::string text;
  std::size_t shown = 0;
  for (const allocator::Holding& holding : drop.holders) {
    if (shown++ == kShownHolders) return text + ", ...";
    text.append(text.empty() ? "" : ", ").append(holding.claim);
  }
  return text;
}

// Empty: nothing that anybody could do about it.
std::string HelpFor(const allocator::Drop& drop, const std::string& request) {
  using Reason = allocator::Reason;
  const std::string devices = Devices(drop.devices);
  switch (drop.reason) {
    case Reason::kInUse:
    case Reason::kInUseByShares:
      if (drop.holders.empty()) return "";
      return fmt::format("{} coming back from {}", devices, HoldersOf(drop));
    case Reason::kCapacityInUse:
      return fmt::format("request {} asking for at most {} of {}, or claims giving some back: {}",
                         request, drop.available, drop.subject, HoldersOf(drop));
    case Reason::kCapacityTooSmall:
      return fmt::format("request {} asking for at most {} of {} instead of {}", request,
                         drop.available, drop.subject, drop.asked);
    case Reason::kCapacityPolicy:
      if (drop.allowed.empty()) {
        return fmt::format("request {} asking for another amount of {} than {}", request,
                           drop.subject, drop.asked);
      }
      return fmt::format("request {} asking for {} of {} instead of {}", request, drop.allowed,
                         drop.subject, drop.asked);
    case Reason::kCapacityMissing:
      return fmt::format("request {} not asking for capacity {}, which {} lack", request,
                         drop.subject, devices);
    case Reason::kTaint:
      return fmt::format("request {} tolerating {}: {}", request, drop.subject, devices);
    case Reason::kSelectorFalse:
      if (drop.of_class) return "";
      return fmt::format("request {} with another selector than {}: false for {}", request,
                         drop.expression, devices);
    case Reason::kExpressionError:
      return fmt::format("an expression of request {} that does not fail: {}", request,
                         drop.message);
    case Reason::kCounters:
      return fmt::format("{} more {} in counter set {} of {}", drop.short_by, drop.subject,
                         drop.counter_set, drop.pool);
    case Reason::kAttributeMissing:
      return fmt::format("attribute {} on {} that lack it", drop.subject, devices);
    case Reason::kNodeOperations:
      return "a node that lets drivers skip node operations";
    case Reason::kBindingConditionsOff:
      return "the feature gate DRADeviceBindingConditions";
    case Reason::kGroupsOff:
      return "the feature gate DRADeviceCompatibilityGroups";
    case Reason::kCountersOff:
      return "the feature gate DRAPartitionableDevices";
    case Reason::kOtherNode:
    case Reason::kGroups:
    case Reason::kCountersOverdrawn:
      return "";
  }
  return "";
}

class Collector {
 public:
  void Add(std::string text) {
    if (text.empty() || help_.size() == kMaxHelp || !said_.insert(text).second) return;
    help_.push_back(std::move(text));
  }
  std::vector<std::string> Take() { return std::move(help_); }

 private:
  std::vector<std::string> help_;
  std::set<std::string> said_;
};

void AddDevices(const allocator::Explanation& devices, Collector& help) {
  for (const allocator::ClaimReport& claim : devices.claims) {
    for (const allocator::RequestReport& request : claim.requests) {
      if (!request.in_conflict && !devices.conflict.empty()) continue;
      for (const allocator::AlternativeReport& alternative : request.alternatives) {
        for (const allocator::Drop& drop : alternative.drops) {
          help.Add(HelpFor(drop, alternative.name));
        }
      }
    }
  }
  for (const allocator::PoolReport& pool : devices.pools) {
    help.Add(fmt::format("all slices of pool {}/{}: {}", pool.driver, pool.pool, pool.why));
  }
}

}  // namespace

std::vector<std::string> WhatWouldHelp(const scheduler::PodExplanation& explanation) {
  Collector help;
  if (explanation.closest) {
    help.Add(
        fmt::format("node {} with {}", explanation.closest->node, explanation.closest->change));
  }
  // What helps the closest node comes first.
  const auto is_closest = [&](const scheduler::NodeGroup* group) {
    return explanation.closest &&
           std::ranges::find(group->examples, explanation.closest->node) != group->examples.end();
  };
  std::vector<const scheduler::NodeGroup*> groups;
  for (const scheduler::NodeGroup& group : explanation.groups) groups.push_back(&group);
  std::ranges::stable_partition(groups, is_closest);
  for (const scheduler::NodeGroup* group : groups) {
    for (const scheduler::Reason& reason : group->reasons) {
      if (reason.devices != nullptr) AddDevices(*reason.devices, help);
    }
  }
  for (const scheduler::NodeGroup* group : groups) {
    if (is_closest(group)) continue;
    help.Add(fmt::format("{} ({}{}) with {}", Nodes(group->nodes), group->examples.front(),
                         group->nodes > 1 ? ", ..." : "", scheduler::ChangeFor(group->reasons)));
  }
  return help.Take();
}

}  // namespace dray::planner

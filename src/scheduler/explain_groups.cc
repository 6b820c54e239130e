// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain_groups.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "allocator/explanation.h"
#include "base/quantity.h"
#include "fmt/format.h"

namespace dray::scheduler {
namespace {

constexpr std::size_t kExamples = 3;
// More groups than a reader takes in: what comes then is grouped by text alone.
constexpr std::size_t kGroups = 24;

std::string TextKey(const std::vector<Reason>& reasons) {
  std::string key;
  for (const Reason& reason : reasons) {
    key.append(reason.plugin).append(1, '\0').append(reason.code).append(1, '\0');
    key.append(reason.text).append(1, '\n');
  }
  return key;
}

std::string FullKey(const std::vector<Reason>& reasons) {
  std::string key = TextKey(reasons);
  for (const Reason& reason : reasons) {
    if (reason.devices != nullptr) key.append(reason.devices->summary).append(1, '\0');
  }
  return key;
}

std::optional<base::Quantity> Missing(const Reason::Shortage& shortage) {
  base::Quantity needed;
  base::Quantity free;
  if (!base::Quantity::TryParse(shortage.needed, &needed) ||
      !base::Quantity::TryParse(shortage.free, &free) || needed <= free) {
    return std::nullopt;
  }
  return needed - free;
}

double Proportion(const Reason::Shortage& shortage) {
  const auto missing = Missing(shortage);
  base::Quantity needed;
  if (!missing || !base::Quantity::TryParse(shortage.needed, &needed)) return 1;
  return missing->AsApproximateDouble() / needed.AsApproximateDouble();
}

// Refusals that are not about amounts, as what is to be said of the node.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kStates = {{
    {"node_unschedulable", "marked unschedulable"},
    {"node_affinity", "not matched by the pod's node selector or affinity"},
    {"node_name", "not the node that the pod names"},
    {"node_ports", "with a host port in use that the pod asks for"},
    {"pod_affinity", "without a pod that the affinity asks for"},
    {"pod_anti_affinity", "with a pod that the anti-affinity excludes"},
    {"existing_anti_affinity", "with a pod whose anti-affinity excludes this one"},
    {"topology_spread", "with more pods of its kind than the spread allows"},
    {"topology_label_missing", "without the topology label"},
    {"cannot_allocate_claims", "without devices that fit together"},
    {"devices_kept", "with devices kept for others, which preempted for them"},
    {"search_budget", "where the search for devices was given up"},
    {"device_pools", "with resource pools that are incomplete or invalid"},
    {"claim_elsewhere", "while a claim is allocated for other nodes"},
    {"too_many_devices", "with more devices asked for than one pod may have"},
    {"resource_missing", "without a device class or device plugin for the extended resource"},
    {"special_claim_stale", "while an earlier claim for its extended resources is there"},
    {"claim_of_another_pod", "while a claim that is part of the node is another pod's"},
    {"node_allocatable_unknown", "where it cannot be said what the devices take of the node"},
    {"pod_level_resources", "with devices that take more than the pod as a whole asks for"},
}};

std::string LackOf(const Reason::Shortage& shortage) {
  if (shortage.needed.empty()) return "without a " + shortage.what;
  if (const auto missing = Missing(shortage)) {
    std::string what = shortage.what;
    if (*missing == base::Quantity::FromInt(1) && what.starts_with("devices ")) what.erase(6, 1);
    return fmt::format("short of {} {}", missing->ToString(), what);
  }
  return "short of " + shortage.what;
}

std::string LackOf(const Reason& reason) {
  std::string text;
  for (const Reason::Shortage& shortage : reason.shortages) {
    text.append(text.empty() ? "" : ", ").append(LackOf(shortage));
  }
  if (!text.empty()) return text;
  const auto known = std::ranges::find(kStates, reason.code, &decltype(kStates)::value_type::first);
  return known != kStates.end() ? std::string(known->second) : reason.text;
}

// Whether the node has too few devices for a request even with nobody else on it: those that
// somebody has, or that what somebody has keeps from being used, would come back.
bool NeverHasEnough(const allocator::Explanation& devices) {
  const auto enough = [](const allocator::AlternativeReport& report) {
    std::int64_t could = report.usable;
    for (const allocator::Drop& drop : report.drops) {
      using enum allocator::Reason;
      const bool comes_back = drop.reason == kInUse || drop.reason == kInUseByShares ||
                              drop.reason == kCapacityInUse || drop.reason == kGroups ||
                              drop.reason == kCounters;
      if (comes_back) could += drop.devices;
    }
    return report.error.empty() && could > 0 && could >= report.needed;
  };
  for (const allocator::ConflictMember& member : devices.conflict) {
    if (member.constraint) continue;
    const auto& request = devices.claims[static_cast<std::size_t>(member.claim)]
                              .requests[static_cast<std::size_t>(member.index)];
    if (std::ranges::none_of(request.alternatives, enough)) return true;
  }
  return false;
}

}  // namespace

void GroupBuilder::Add(const std::vector<Reason>& reasons,
                       const std::vector<const NodeInfo*>& nodes) {
  std::string key = FullKey(reasons);
  if (groups_.size() >= kGroups && !groups_.contains(key)) key = TextKey(reasons);
  NodeGroup& group = groups_[key];
  if (group.nodes == 0 || DistanceOf(reasons) < DistanceOf(group.reasons)) group.reasons = reasons;
  group.nodes += nodes.size();
  for (const NodeInfo* node : nodes) {
    if (group.examples.size() == kExamples) break;
    group.examples.push_back(node->name());
  }
}

std::vector<NodeGroup> GroupBuilder::Take() {
  std::vector<NodeGroup> groups;
  for (auto& [key, group] : groups_) {
    std::ranges::sort(group.examples);
    groups.push_back(std::move(group));
  }
  groups_.clear();
  std::ranges::stable_sort(groups, [](const NodeGroup& a, const NodeGroup& b) {
    if (a.nodes != b.nodes) return a.nodes > b.nodes;
    return a.examples.front() < b.examples.front();
  });
  return groups;
}

Distance DistanceOf(const std::vector<Reason>& reasons) {
  Distance distance;
  for (const Reason& reason : reasons) {
    if (reason.devices != nullptr && NeverHasEnough(*reason.devices)) ++distance.never;
    if (reason.shortages.empty()) {
      ++distance.obstacles;
      distance.missing += 1;
    }
    for (const Reason::Shortage& shortage : reason.shortages) {
      ++distance.obstacles;
      distance.missing += Proportion(shortage);
    }
  }
  return distance;
}

std::vector<const NodeGroup*> NearestFirst(const PodExplanation& explanation) {
  std::vector<const NodeGroup*> groups;
  for (const NodeGroup& group : explanation.groups) groups.push_back(&group);
  const auto far = [&](const NodeGroup& group) {
    return !explanation.closest ||
           std::ranges::find(group.examples, explanation.closest->node) == group.examples.end();
  };
  std::ranges::stable_sort(groups, [&](const NodeGroup* a, const NodeGroup* b) {
    return std::tuple(far(*a), DistanceOf(a->reasons)) <
           std::tuple(far(*b), DistanceOf(b->reasons));
  });
  return groups;
}

std::string_view ClassNotThere(const std::vector<Reason>& reasons) {
  if (reasons.size() != 1 || reasons.front().devices == nullptr) return {};
  const allocator::Explanation& devices = *reasons.front().devices;
  if (devices.conflict.size() != 1 || devices.conflict.front().constraint) return {};
  const allocator::ConflictMember& member = devices.conflict.front();
  const allocator::RequestReport& request = devices.claims[static_cast<std::size_t>(member.claim)]
                                                .requests[static_cast<std::size_t>(member.index)];
  if (request.alternatives.size() != 1) return {};
  const allocator::AlternativeReport& report = request.alternatives.front();
  return report.error.empty() && report.of_class == 0 ? std::string_view(report.device_class)
                                                      : std::string_view();
}

std::string LacksOf(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) {
    text.append(text.empty() ? "" : ", ").append(LackOf(reason));
  }
  return text;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explain_groups.h"

#include <algorithm>
#include <array>
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

// What helps against refusals that are not about amounts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kChanges = {{
    {"node_unschedulable", "the node being schedulable again"},
    {"node_affinity", "other labels on the node, or another node selector or affinity of the pod"},
    {"node_name", "another node name in the pod"},
    {"node_ports", "a host port that is free on the node"},
    {"pod_affinity", "a pod there that the affinity asks for"},
    {"pod_anti_affinity", "no pod there that the anti-affinity excludes"},
    {"existing_anti_affinity", "no pod there whose anti-affinity excludes this one"},
    {"topology_spread", "a more even spread of the other pods, or a larger maxSkew"},
    {"topology_label_missing", "the topology label on the node"},
    {"cannot_allocate_claims", "other devices, or some that are given back"},
    {"search_budget", "claims whose devices are easier to find"},
    {"device_pools", "resource pools that are complete and valid"},
    {"claim_elsewhere", "a claim that is not allocated for other nodes"},
    {"too_many_devices", "fewer devices in one pod"},
    {"resource_missing", "a device class or a device plugin that serves the extended resource"},
    {"special_claim_stale", "the earlier claim for its extended resources being gone"},
}};

std::string ChangeOf(const Reason::Shortage& shortage) {
  if (shortage.needed.empty()) return "a " + shortage.what;
  if (const auto missing = Missing(shortage)) {
    std::string what = shortage.what;
    if (*missing == base::Quantity::FromInt(1) && what.starts_with("devices ")) what.erase(6, 1);
    return fmt::format("{} more {}", missing->ToString(), what);
  }
  return "more " + shortage.what;
}

std::string ChangeOf(const Reason& reason) {
  std::string text;
  for (const Reason::Shortage& shortage : reason.shortages) {
    text.append(text.empty() ? "" : " and ").append(ChangeOf(shortage));
  }
  if (!text.empty()) return text;
  const auto known =
      std::ranges::find(kChanges, reason.code, &decltype(kChanges)::value_type::first);
  if (known != kChanges.end()) return std::string(known->second);
  return fmt::format("this resolved: {}", reason.text);
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

std::string ChangeFor(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) {
    text.append(text.empty() ? "" : " and ").append(ChangeOf(reason));
  }
  return text;
}

}  // namespace dray::scheduler

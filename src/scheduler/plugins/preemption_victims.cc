// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/preemption_victims.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

#include "api/label_selector.h"

namespace dray::scheduler {
namespace {

// A pod that has not started yet will start after all that have.
std::int64_t StartedAt(const PodInfo& pod) {
  const auto& started = pod.pod->status.start_time;
  return started.has_value() ? started->UnixNanos() : std::numeric_limits<std::int64_t>::max();
}

// A copy of a node without some of its pods.
class ThinnedNode {
 public:
  ThinnedNode(WhatIf& what_if, CycleState& state, const PodInfo& pod, const NodeInfo& node)
      : what_if_(what_if), state_(state), pod_(pod), node_(node), copy_(node) {}
  ~ThinnedNode() {
    while (!gone_.empty()) PutBack(gone_.back());
  }
  ThinnedNode(const ThinnedNode&) = delete;
  ThinnedNode& operator=(const ThinnedNode&) = delete;

  void Take(std::shared_ptr<const PodInfo> victim) {
    std::erase(copy_.pods, victim);
    copy_.requested.Subtract(victim->requests);
    copy_.non_zero.Subtract(victim->non_zero);
    for (const HostPort& port : victim->host_ports) {
      const auto at = std::ranges::find(copy_.ports, port);
      if (at != copy_.ports.end()) copy_.ports.erase(at);
    }
    CountAffinity(*victim, -1);
    what_if_.Count(state_, pod_, *victim, node_, -1);
    gone_.push_back(std::move(victim));
  }
  void PutBack(std::shared_ptr<const PodInfo> victim) {
    copy_.pods.push_back(victim);
    copy_.requested.Add(victim->requests);
    copy_.non_zero.Add(victim->non_zero);
    copy_.ports.insert(copy_.ports.end(), victim->host_ports.begin(), victim->host_ports.end());
    CountAffinity(*victim, 1);
    what_if_.Count(state_, pod_, *victim, node_, 1);
    std::erase(gone_, victim);
  }
  PluginStatus Filter() { return what_if_.Filter(state_, pod_, copy_); }

 private:
  void CountAffinity(const PodInfo& victim, int delta) {
    if (victim.has_affinity) copy_.pods_with_affinity += delta;
    if (victim.has_required_anti_affinity) copy_.pods_with_anti_affinity += delta;
  }

  WhatIf& what_if_;
  CycleState& state_;
  const PodInfo& pod_;
  const NodeInfo& node_;
  NodeInfo copy_;
  std::vector<std::shared_ptr<const PodInfo>> gone_;
};

struct Cost {
  std::size_t violations = 0;
  std::int32_t highest = 0;
  std::int64_t sum = 0;
  std::size_t victims = 0;
  std::int64_t started = 0;  // of those with the highest priority, the first; the later the better

  bool operator<(const Cost& other) const {
    return std::tie(violations, highest, sum, victims, other.started) <
           std::tie(other.violations, other.highest, other.sum, other.victims, started);
  }
};

Cost CostOf(const PreemptionCandidate& candidate) {
  Cost cost{.violations = candidate.violations,
            .highest = candidate.victims.front()->priority,
            .victims = candidate.victims.size(),
            .started = std::numeric_limits<std::int64_t>::max()};
  for (const auto& victim : candidate.victims) {
    // Priorities may be negative; made positive, so that more victims never cost less.
    cost.sum +=
        std::int64_t{victim->priority} - std::int64_t{std::numeric_limits<std::int32_t>::min()};
    if (victim->priority == cost.highest) {
      cost.started = std::min(cost.started, StartedAt(*victim));
    }
  }
  return cost;
}

using Pods = std::vector<std::shared_ptr<const PodInfo>>;

// A budget, and how many it still lets go of those that are looked at now.
struct Budget {
  std::shared_ptr<const api::PodDisruptionBudget> budget;
  api::LabelMatcher selector;
  std::int32_t left = 0;

  // Who was let go already is not asked about again.
  bool IsFor(const api::Pod& pod) const {
    return !pod.metadata.labels.empty() && selector.Matches(pod.metadata.labels) &&
           !budget->status.disrupted_pods.contains(pod.metadata.name);
  }
};

// As in Kubernetes: a budget without a selector, or with an empty one, is for nobody; nor is any for
// a pod without labels.
std::vector<Budget> BudgetsOf(const World& world, std::string_view namespace_) {
  std::vector<Budget> budgets;
  for (auto& budget : world.BudgetsOf(namespace_)) {
    if (!budget->spec.selector) continue;
    auto selector = api::LabelMatcher::From(*budget->spec.selector);
    if (!selector.ok() || selector->empty()) continue;
    const std::int32_t allowed = budget->status.disruptions_allowed;
    budgets.push_back({std::move(budget), *std::move(selector), allowed});
  }
  return budgets;
}

// Which of the pods, in this order, budgets would rather keep.
Pods KeptByBudgets(const Pods& pods, const World& world) {
  std::map<std::string, std::vector<Budget>, std::less<>> by_namespace;
  Pods kept;
  for (const auto& info : pods) {
    const std::string& space = info->pod->metadata.namespace_;
    auto [at, added] = by_namespace.try_emplace(space);
    if (added) at->second = BudgetsOf(world, space);
    bool violates = false;
    for (Budget& budget : at->second) {
      if (!budget.IsFor(*info->pod)) continue;
      violates |= --budget.left < 0;
    }
    if (violates) kept.push_back(info);
  }
  return kept;
}

}  // namespace

bool MoreImportant(const PodInfo& a, const PodInfo& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return StartedAt(a) < StartedAt(b);
}

PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, const World& world, std::string& why) {
  std::vector<std::shared_ptr<const PodInfo>> possible;
  std::ranges::copy_if(node.pods, std::back_inserter(possible),
                       [&](const auto& other) { return other->priority < pod.priority; });
  ThinnedNode thinned(what_if, state, pod, node);
  for (const auto& victim : possible) thinned.Take(victim);
  if (const PluginStatus status = thinned.Filter(); !status.ok()) {
    why = status.reasons.empty() ? std::string() : status.reasons.front().text;
    return {};
  }
  std::ranges::stable_sort(possible,
                           [](const auto& a, const auto& b) { return MoreImportant(*a, *b); });
  const Pods kept = KeptByBudgets(possible, world);
  const auto is_kept = [&](const auto& victim) {
    return std::ranges::find(kept, victim) != kept.end();
  };
  // First those that budgets keep, so that there is room for them before there is for others.
  std::ranges::stable_partition(possible, is_kept);
  PreemptionCandidate candidate{.node = &node};
  for (const auto& victim : possible) {
    thinned.PutBack(victim);
    if (thinned.Filter().ok()) continue;
    thinned.Take(victim);
    candidate.victims.push_back(victim);
    if (is_kept(victim)) ++candidate.violations;
  }
  std::ranges::stable_sort(candidate.victims,
                           [](const auto& a, const auto& b) { return MoreImportant(*a, *b); });
  return candidate;
}

const PreemptionCandidate* PickCheapest(std::span<const PreemptionCandidate> candidates) {
  const auto cheapest = std::ranges::min_element(candidates, std::less<Cost>(), CostOf);
  return cheapest == candidates.end() ? nullptr : &*cheapest;
}

}  // namespace dray::scheduler

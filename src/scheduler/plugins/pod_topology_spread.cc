// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/pod_topology_spread.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "base/string_map.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/spread_constraints.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kRefused = "node(s) didn't match pod topology spread constraints";
constexpr std::int64_t kNoScore = -1;  // of nodes that are in no domain

struct Domains {
  base::StringMap<std::int64_t> pods;  // by value of the topology key
  // The least of `pods`; below zero: to be looked for.
  std::int64_t least = -1;

  std::int64_t Least(std::int32_t min_domains) {
    if (pods.size() < static_cast<std::size_t>(std::max(0, min_domains))) return 0;
    // Workers that ask for it at the same time find the same.
    const std::atomic_ref known(least);
    std::int64_t found = known.load(std::memory_order_relaxed);
    if (found < 0) {
      found = std::numeric_limits<std::int32_t>::max();
      for (const auto& [value, count] : pods) found = std::min(found, count);
      known.store(found, std::memory_order_relaxed);
    }
    return found;
  }
};

// Written by PreFilter and Count, read by Filter.
struct SpreadFilterState {
  std::vector<SpreadConstraint> constraints;
  std::vector<Domains> domains;  // by constraint
};

// Written by PreScore, read by Score.
struct SpreadScoreState {
  std::vector<SpreadConstraint> constraints;
  std::vector<Domains> domains;  // by constraint; none for host names, which count by node
  std::vector<double> weights;
};

const std::string& ValueOn(const NodeInfo& node, const SpreadConstraint& constraint) {
  return *node.node->metadata.labels.Find(constraint.topology_key());
}

bool ByHost(const SpreadConstraint& constraint) {
  return constraint.topology_key() == api::kHostnameLabel;
}

}  // namespace

PluginStatus PodTopologySpread::PreFilter(CycleState& state, const PodInfo& pod, World& world) {
  auto constraints = ConstraintsOf(*pod.pod, api::kDoNotSchedule);
  if (constraints.empty()) return PluginStatus::Skip();
  auto& spread = state.Get<SpreadFilterState>();
  spread.domains.assign(constraints.size(), {});
  for (const NodeInfo* node : world.nodes()) {
    if (!HasTopologyKeys(*node->node, constraints)) continue;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      if (!constraints[i].Includes(*node->node)) continue;
      spread.domains[i].pods[ValueOn(*node, constraints[i])] += constraints[i].CountOn(*node);
    }
  }
  spread.constraints = std::move(constraints);
  return PluginStatus::Success();
}

void PodTopologySpread::Count(CycleState& state, const PodInfo&, const PodInfo& other,
                              const NodeInfo& node, int delta) {
  auto& spread = state.Get<SpreadFilterState>();
  if (!HasTopologyKeys(*node.node, spread.constraints)) return;
  for (std::size_t i = 0; i < spread.constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread.constraints[i];
    if (!constraint.Counts(*other.pod) || !constraint.Includes(*node.node)) continue;
    spread.domains[i].pods[ValueOn(node, constraint)] += delta;
    spread.domains[i].least = -1;
  }
}

PluginStatus PodTopologySpread::Filter(CycleState& state, const PodInfo& pod,
                                       const NodeInfo& node) {
  auto& spread = state.Get<SpreadFilterState>();
  for (std::size_t i = 0; i < spread.constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread.constraints[i];
    const std::string* value = node.node->metadata.labels.Find(constraint.topology_key());
    if (value == nullptr) {
      return PluginStatus::Unresolvable(
          {.code = "topology_label_missing",
           .text = std::string(kRefused) + " (missing required label)"});
    }
    const auto there = spread.domains[i].pods.find(*value);
    const std::int64_t pods = there == spread.domains[i].pods.end() ? 0 : there->second;
    const std::int64_t self = constraint.MatchesLabels(pod.pod->metadata.labels) ? 1 : 0;
    if (pods + self - spread.domains[i].Least(constraint.min_domains()) > constraint.max_skew()) {
      return PluginStatus::Unschedulable(
          {.code = "topology_spread", .text = std::string(kRefused)});
    }
  }
  return PluginStatus::Success();
}

PluginStatus PodTopologySpread::PreScore(CycleState& state, const PodInfo& pod, World& world) {
  auto constraints = ConstraintsOf(*pod.pod, api::kScheduleAnyway);
  if (constraints.empty()) return PluginStatus::Skip();
  auto& spread = state.Get<SpreadScoreState>();
  spread.domains.assign(constraints.size(), {});

  // Domains are those of nodes that the pod can run on.
  std::size_t scored = 0;
  const auto add_domains = [&](const NodeInfo& node) {
    if (!HasTopologyKeys(*node.node, constraints)) return;
    ++scored;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      if (!ByHost(constraints[i]))
        spread.domains[i].pods.try_emplace(ValueOn(node, constraints[i]));
    }
  };
  if (const auto* feasible = state.Find<FeasibleNodes>(); feasible != nullptr) {
    for (const NodeInfo* node : feasible->nodes()) add_domains(*node);
  } else {
    for (const NodeInfo* node : world.nodes()) add_domains(*node);
  }
  for (const NodeInfo* node : world.nodes()) {
    if (!HasTopologyKeys(*node->node, constraints)) continue;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      if (ByHost(constraints[i]) || !constraints[i].Includes(*node->node)) continue;
      const auto domain = spread.domains[i].pods.find(ValueOn(*node, constraints[i]));
      if (domain != spread.domains[i].pods.end()) domain->second += constraints[i].CountOn(*node);
    }
  }
  // The more domains, the fewer pods in each: their number evens out constraints of different keys.
  spread.weights.clear();
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const std::size_t size = ByHost(constraints[i]) ? scored : spread.domains[i].pods.size();
    spread.weights.push_back(std::log(static_cast<double>(size + 2)));
  }
  spread.constraints = std::move(constraints);
  return PluginStatus::Success();
}

std::int64_t PodTopologySpread::Score(CycleState& state, const PodInfo&, const NodeInfo& node) {
  const auto& spread = state.Get<SpreadScoreState>();
  if (!HasTopologyKeys(*node.node, spread.constraints)) return kNoScore;
  double score = 0;
  for (std::size_t i = 0; i < spread.constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread.constraints[i];
    std::int64_t pods = 0;
    if (ByHost(constraint)) {
      pods = constraint.CountOn(node);
    } else {
      const auto domain = spread.domains[i].pods.find(ValueOn(node, constraint));
      if (domain != spread.domains[i].pods.end()) pods = domain->second;
    }
    score += static_cast<double>(pods) * spread.weights[i] + (constraint.max_skew() - 1);
  }
  return std::llround(score);
}

// Fewest pods best; the worst node still gets its share of the best one's.
void PodTopologySpread::Normalize(CycleState&, const PodInfo&, std::span<std::int64_t> scores) {
  std::int64_t min = std::numeric_limits<std::int64_t>::max();
  std::int64_t max = 0;
  for (const std::int64_t score : scores) {
    if (score == kNoScore) continue;
    min = std::min(min, score);
    max = std::max(max, score);
  }
  for (std::int64_t& score : scores) {
    if (score == kNoScore) {
      score = 0;
    } else {
      score = max == 0 ? kMaxNodeScore : kMaxNodeScore * (max + min - score) / max;
    }
  }
}

namespace {

bool MatchesDifferently(const std::vector<SpreadConstraint>& constraints, const api::Pod& before,
                        const api::Pod& after) {
  return std::ranges::any_of(constraints, [&](const SpreadConstraint& c) {
    return c.MatchesLabels(before.metadata.labels) != c.MatchesLabels(after.metadata.labels);
  });
}

bool MayHelp(const std::vector<SpreadConstraint>& constraints, const NodeChange& node) {
  const auto in_domain = [&](const api::Node* n) {
    return n != nullptr && HasTopologyKeys(*n, constraints);
  };
  const bool was = in_domain(node.before);
  const bool is = in_domain(node.after);
  if (was != is) return true;
  if (!is) return false;
  return node.before->spec.taints != node.after->spec.taints ||
         std::ranges::any_of(constraints, [&](const SpreadConstraint& c) {
           return *node.before->metadata.labels.Find(c.topology_key()) !=
                  *node.after->metadata.labels.Find(c.topology_key());
         });
}

}  // namespace

Hint PodTopologySpread::Wake(const PodInfo& pod, const api::Change& change,
                             const api::Object* old) {
  const auto hint = [](bool queue) { return queue ? Hint::kQueue : Hint::kSkip; };
  const auto constraints = ConstraintsOf(*pod.pod, api::kDoNotSchedule);
  const auto counts = [&](const api::Pod& other) {
    return other.metadata.namespace_ == pod.pod->metadata.namespace_ &&
           std::ranges::any_of(constraints, [&](const SpreadConstraint& c) {
             return c.MatchesLabels(other.metadata.labels);
           });
  };
  const PodChange seen = ReadPodChange(pod, change, old);
  switch (seen.kind) {
    case PodChange::Kind::kOwn: {
      if (seen.before == nullptr || seen.after == nullptr) return Hint::kSkip;
      const bool taints = std::ranges::any_of(constraints, &SpreadConstraint::honors_taints);
      return hint((taints && seen.before->spec.tolerations != seen.after->spec.tolerations) ||
                  MatchesDifferently(constraints, *seen.before, *seen.after));
    }
    // A pod more in another domain may lift the least of all, which is what the skew is measured
    // from.
    case PodChange::Kind::kPlaced:
      return hint(counts(*seen.after));
    case PodChange::Kind::kGone:
      return hint(counts(*seen.before));
    case PodChange::Kind::kChanged:
      // One that is being deleted does not count any more.
      if (!seen.before->metadata.deletion_timestamp && seen.after->metadata.deletion_timestamp) {
        return hint(counts(*seen.after));
      }
      return hint(seen.after->metadata.namespace_ == pod.pod->metadata.namespace_ &&
                  MatchesDifferently(constraints, *seen.before, *seen.after));
    case PodChange::Kind::kNone:
      break;
  }
  const NodeChange node = ReadNodeChange(change, old);
  return hint((node.before != nullptr || node.after != nullptr) && MayHelp(constraints, node));
}

}  // namespace dray::scheduler

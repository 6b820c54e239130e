// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/spread_constraints.h"

#include <algorithm>

#include "scheduler/plugins/selection.h"
#include "scheduler/plugins/taints.h"

namespace dray::scheduler {

bool SpreadConstraint::MatchesLabels(const api::Map<std::string>& labels) const {
  return constraint_->label_selector.has_value() && Matches(*constraint_->label_selector, labels) &&
         MatchesKeys(*pod_, constraint_->match_label_keys, labels);
}

// An empty selector matches every pod, yet kube-scheduler counts none by it.
bool SpreadConstraint::CountsNobody() const {
  if (!constraint_->label_selector.has_value()) return true;
  const api::LabelSelector& selector = *constraint_->label_selector;
  return selector.match_labels.empty() && selector.match_expressions.empty() &&
         std::ranges::none_of(constraint_->match_label_keys, [&](const std::string& key) {
           return pod_->metadata.labels.contains(key);
         });
}

bool SpreadConstraint::Counts(const api::Pod& other) const {
  return other.metadata.namespace_ == pod_->metadata.namespace_ &&
         !other.metadata.deletion_timestamp.has_value() && !CountsNobody() &&
         MatchesLabels(other.metadata.labels);
}

std::int64_t SpreadConstraint::CountOn(const NodeInfo& node) const {
  return std::ranges::count_if(node.pods, [&](const auto& pod) { return Counts(*pod->pod); });
}

bool SpreadConstraint::Includes(const api::Node& node) const {
  const bool honors_affinity = constraint_->node_affinity_policy != api::kNodeInclusionIgnore;
  if (honors_affinity && !MatchesRequiredAffinity(*pod_, node)) return false;
  return !honors_taints() || FindUntolerated(node.spec.taints, pod_->spec.tolerations) == nullptr;
}

std::vector<SpreadConstraint> ConstraintsOf(const api::Pod& pod, std::string_view action) {
  std::vector<SpreadConstraint> constraints;
  for (const api::TopologySpreadConstraint& c : pod.spec.topology_spread_constraints) {
    if (c.when_unsatisfiable == action) constraints.emplace_back(pod, c);
  }
  return constraints;
}

bool HasTopologyKeys(const api::Node& node, const std::vector<SpreadConstraint>& all) {
  return std::ranges::all_of(all, [&](const SpreadConstraint& c) {
    return node.metadata.labels.contains(c.topology_key());
  });
}

}  // namespace dray::scheduler

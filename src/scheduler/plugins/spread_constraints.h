// SPDX-License-Identifier: Apache-2.0
//
// A pod's topology spread constraints as rules on pods and nodes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/affinity.h"
#include "api/node.h"
#include "api/pod.h"
#include "scheduler/node_info.h"

namespace dray::scheduler {

// Points into the pod, which outlives it.
class SpreadConstraint {
 public:
  SpreadConstraint(const api::Pod& pod, const api::TopologySpreadConstraint& constraint)
      : pod_(&pod), constraint_(&constraint) {}

  const std::string& topology_key() const { return constraint_->topology_key; }
  std::int32_t max_skew() const { return constraint_->max_skew; }
  std::int32_t min_domains() const { return constraint_->min_domains.value_or(1); }
  // Whether it looks at the taints of nodes.
  bool honors_taints() const { return constraint_->node_taints_policy == api::kNodeInclusionHonor; }

  // Whether pods with these labels are among those that are spread.
  bool MatchesLabels(const api::Map<std::string>& labels) const;
  // The same as it counts on nodes: of the pod's namespace, and not about to go.
  bool Counts(const api::Pod& other) const;
  std::int64_t CountOn(const NodeInfo& node) const;
  // Whether the node's pods and its domain count at all.
  bool Includes(const api::Node& node) const;

 private:
  bool CountsNobody() const;

  const api::Pod* pod_;
  const api::TopologySpreadConstraint* constraint_;
};

// Those with that `action`: DoNotSchedule or ScheduleAnyway.
std::vector<SpreadConstraint> ConstraintsOf(const api::Pod& pod, std::string_view action);

// Whether the node has the keys of all constraints. Otherwise it belongs to no domain of any.
bool HasTopologyKeys(const api::Node& node, const std::vector<SpreadConstraint>& all);

}  // namespace dray::scheduler

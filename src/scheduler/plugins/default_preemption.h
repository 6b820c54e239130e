// SPDX-License-Identifier: Apache-2.0
//
// DefaultPreemption: when a pod fits nowhere, pods of lower priority make room on the node where
// that costs least.
//
// Spec: kube-scheduler's plugin of that name. Differs: candidates are taken in the order of nodes,
// not from a random one on, so that a plan is the same every time. docs/decisions.md.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "scheduler/framework.h"
#include "scheduler/plugins/preemption_victims.h"
#include "scheduler/what_if.h"

namespace dray::scheduler {

struct PreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
};

class DefaultPreemption final : public PostFilterPlugin {
 public:
  // All outlive it.
  DefaultPreemption(api::Cluster& cluster, const base::Clock& clock, WhatIf& what_if,
                    PreemptionArgs args = {})
      : cluster_(cluster), clock_(clock), what_if_(what_if), args_(args) {}

  std::string_view name() const override { return "DefaultPreemption"; }
  // kSuccess with the node on which victims were deleted: the pod is to be nominated for it and
  // tried again when they are gone. kUnschedulable when no victims would help, kError when they
  // could not be deleted.
  PostFilterResult PostFilter(CycleState& state, const PodInfo& pod, World& world) override;

  // On how many nodes it has looked at the pods, since it was made.
  std::size_t NodesSearchedForTest() const { return nodes_searched_; }

 private:
  // Empty: it may preempt.
  std::string WhyNotEligible(const CycleState& state, const PodInfo& pod, World& world) const;
  std::size_t CandidateLimit(std::size_t nodes) const;
  Status Evict(const PodInfo& pod, const PreemptionCandidate& candidate);
  Status EvictOne(const PodInfo& pod, const api::Pod& victim, std::string_view node);

  api::Cluster& cluster_;
  const base::Clock& clock_;
  WhatIf& what_if_;
  PreemptionArgs args_;
  std::size_t nodes_searched_ = 0;
};

}  // namespace dray::scheduler

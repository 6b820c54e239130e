// SPDX-License-Identifier: Apache-2.0
//
// DefaultPreemption: when a pod fits nowhere, pods of lower priority make room on the node where
// that costs least. With DefaultPreemptionArgs::devices they do so for devices, too, and what they give back
// is held for the pod (device_holds.h).
//
// Spec: kube-scheduler's plugin of that name. Differs: candidates are taken in the order of nodes,
// not from a random one on, so that a plan is the same every time; and devices. docs/decisions.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "scheduler/device_holds.h"
#include "scheduler/framework.h"
#include "scheduler/plugins/preemption_victims.h"
#include "scheduler/what_if.h"

namespace dray::scheduler {

struct PreemptionArgs {
  std::int32_t min_candidate_nodes_percentage = 10;
  std::int32_t min_candidate_nodes_absolute = 100;
  // Questions beyond Kubernetes's that a pod with devices may ask, on all nodes together, to find
  // victims that cost less.
  std::size_t questions = 4096;
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
  // How many questions of PreemptionArgs::questions were asked.
  std::size_t QuestionsForTest() const { return questions_asked_; }

 private:
  // Empty: it may preempt.
  std::string WhyNotEligible(const CycleState& state, const PodInfo& pod, World& world) const;
  std::size_t CandidateLimit(std::size_t nodes) const;
  // Of a pod that devices are held for, or were before a restart: what it waits for. Nothing: for
  // nothing any more.
  std::optional<PostFilterResult> Waits(CycleState& state, const PodInfo& pod, World& world,
                                        DevicePreemptionPlugin& devices);
  // The hold that a restart has ended, from those who still leave the nominated node.
  const DeviceHold* HoldAgain(CycleState& state, const PodInfo& pod, World& world,
                              DevicePreemptionPlugin& devices);
  struct Search {
    std::vector<PreemptionCandidate> candidates;
    std::map<std::string, std::size_t> reasons;  // why nodes have no victims, with how many say so
  };
  Search Candidates(CycleState& state, const PodInfo& pod, World& world,
                    DevicePreemptionPlugin* devices, std::span<const NodeInfo* const> curable);
  const DeviceHold* Hold(CycleState& state, const PodInfo& pod, World& world,
                         DevicePreemptionPlugin& devices, const PreemptionCandidate& candidate);

  api::Cluster& cluster_;
  const base::Clock& clock_;
  WhatIf& what_if_;
  PreemptionArgs args_;
  std::size_t nodes_searched_ = 0;
  std::size_t questions_asked_ = 0;
};

}  // namespace dray::scheduler

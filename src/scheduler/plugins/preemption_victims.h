// SPDX-License-Identifier: Apache-2.0
//
// Which pods would have to go for another one to fit on a node, and on which node that costs least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/framework.h"
#include "scheduler/plugins/victim_search.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct PreemptionCandidate {
  const NodeInfo* node = nullptr;
  std::vector<std::shared_ptr<const PodInfo>> victims;  // most important first
  VictimCost cost;
};

// A copy of a node without some of its pods, and, where devices matter, without some of others.
class ThinnedNode final : public VictimTrial {
 public:
  ThinnedNode(WhatIf& what_if, CycleState& state, const PodInfo& pod, const NodeInfo& node,
              World& world)
      : what_if_(what_if), state_(state), pod_(pod), node_(node), world_(world), copy_(node) {}
  ~ThinnedNode() override {
    while (!gone_.empty()) PutBack(gone_.back());
  }
  ThinnedNode(const ThinnedNode&) = delete;
  ThinnedNode& operator=(const ThinnedNode&) = delete;

  void Take(const std::shared_ptr<const PodInfo>& victim) override;
  // Nothing if it was not taken.
  void PutBack(const std::shared_ptr<const PodInfo>& victim) override;
  bool Fits() override;
  // As the last filter that refused the node says it.
  const std::string& why() const { return why_; }

 private:
  const NodeInfo* NodeOf(const PodInfo& victim) const;
  void CountAffinity(const PodInfo& victim, int delta);

  WhatIf& what_if_;
  CycleState& state_;
  const PodInfo& pod_;
  const NodeInfo& node_;
  World& world_;
  NodeInfo copy_;
  std::vector<std::shared_ptr<const PodInfo>> gone_;
  std::string why_;
};

// The pods of lower priority without which the pod fits on the node, as Kubernetes finds them: keeping
// those first that a disruption budget does not let go, and of the others the more important ones.
// Budgets are asked nicely: where nothing else helps, their pods go, too. No victims when it would not
// fit even without all of them (it is no use to ask where there are none: NodeInfo::lowest_priority);
// `why` then says so, as the event words it. Leaves `state` as it was.
PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, World& world, std::string& why);

// For a pod that needs devices: of the node's pods of lower priority and those `elsewhere` that have
// devices which it could use there, those that cost least. No victims also when nothing costs less than
// `below`; then `why` stays empty.
struct DeviceSearch {
  DevicePreemptionPlugin::Pods elsewhere;
  const VictimCost* below = nullptr;
  std::size_t* questions = nullptr;  // VictimSearchOptions
};
PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, World& world, const DeviceSearch& search,
                                  std::string& why);

// The cheapest: with the fewest violations of budgets, then whose most important victim is least
// important, then by the sum of priorities, then the number of victims, then whose longest-running
// victim started last; then the first. Never null unless there are none.
const PreemptionCandidate* PickCheapest(std::span<const PreemptionCandidate> candidates);

}  // namespace dray::scheduler

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
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct PreemptionCandidate {
  const NodeInfo* node = nullptr;
  std::vector<std::shared_ptr<const PodInfo>> victims;  // most important first
  std::size_t violations = 0;  // victims that a disruption budget would rather keep
};

// Higher priority, and of equal ones that which has run for longer.
bool MoreImportant(const PodInfo& a, const PodInfo& b);

// The fewest pods of lower priority without which the pod fits on the node, keeping those first that
// a disruption budget does not let go, and of the others the more important ones. Budgets are asked
// nicely: where nothing else helps, their pods go, too. No victims when it would not fit even without
// all of them (it is no use to ask where there are none: NodeInfo::lowest_priority); `why` then says
// so, as the event words it. Leaves `state` as it was.
PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, const World& world, std::string& why);

// The cheapest: with the fewest violations of budgets, then whose most important victim is least
// important, then by the sum of priorities, then the number of victims, then whose longest-running
// victim started last; then the first. Never null unless there are none.
const PreemptionCandidate* PickCheapest(std::span<const PreemptionCandidate> candidates);

}  // namespace dray::scheduler

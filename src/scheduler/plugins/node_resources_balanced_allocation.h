// SPDX-License-Identifier: Apache-2.0
//
// NodeResourcesBalancedAllocation: rather a node where no resource runs out long before the others.
#pragma once

#include <span>

#include "scheduler/config.h"
#include "scheduler/framework.h"
#include "scheduler/plugins/resource_amounts.h"
#include "scheduler/world.h"

namespace dray::scheduler {

class NodeResourcesBalancedAllocation final : public ScorePlugin {
 public:
  // Weights do not matter. `world` outlives it.
  NodeResourcesBalancedAllocation(std::span<const ResourceWeight> resources, World& world)
      : amounts_(resources, ResourceAmounts::Missing::kAsZero, world) {}

  std::string_view name() const override { return "NodeResourcesBalancedAllocation"; }
  // A pod that asks for nothing changes no balance.
  PluginStatus PreScore(CycleState&, const PodInfo& pod, World&) override {
    return amounts_.AsksAny(pod) ? PluginStatus::Success() : PluginStatus::Skip();
  }
  std::int64_t Score(CycleState&, const PodInfo& pod, const NodeInfo& node) override {
    return BalancedAllocation(amounts_.LoadsOf(pod, node));
  }
  bool Normalizes() const override { return false; }
  void Normalize(CycleState&, const PodInfo&, std::span<std::int64_t>) override {}

 private:
  ResourceAmounts amounts_;
};

}  // namespace dray::scheduler

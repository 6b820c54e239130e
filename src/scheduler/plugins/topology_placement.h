// SPDX-License-Identifier: Apache-2.0
//
// TopologyPlacement: where a group of pods must be in one rack or zone, the nodes that are tried at once
// are those of one. Which, the framework says.
//
// Spec: KEP-5732.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class TopologyPlacement final : public PreFilterPlugin, public FilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "TopologyPlacement"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return false; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

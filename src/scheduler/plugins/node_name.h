// SPDX-License-Identifier: Apache-2.0
//
// NodeName: a pod that names its node runs nowhere else.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class NodeName final : public PreFilterPlugin, public FilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "NodeName"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

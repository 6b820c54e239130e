// SPDX-License-Identifier: Apache-2.0
//
// NodeUnschedulable: nodes that are marked so take only pods that tolerate the taint of that name.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class NodeUnschedulable final : public FilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "NodeUnschedulable"; }
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

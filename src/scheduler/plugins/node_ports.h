// SPDX-License-Identifier: Apache-2.0
//
// NodePorts: a port of the host is for one pod.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class NodePorts final : public PreFilterPlugin, public FilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "NodePorts"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

// Same protocol and port, and addresses that are the same or one of them any.
bool Conflict(const HostPort& a, const HostPort& b);

}  // namespace dray::scheduler

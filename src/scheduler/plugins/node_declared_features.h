// SPDX-License-Identifier: Apache-2.0
//
// NodeDeclaredFeatures: a pod whose spec needs something that not every kubelet can do goes to nodes
// that declare it (status.declaredFeatures).
//
// Spec: KEP-5328. What devices need of a node is DynamicResources's.
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class NodeDeclaredFeatures final : public PreFilterPlugin, public FilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "NodeDeclaredFeatures"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }
  std::uint64_t ClassOf(const CycleState& state, const PodInfo& pod) const override;
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

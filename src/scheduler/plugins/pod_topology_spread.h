// SPDX-License-Identifier: Apache-2.0
//
// PodTopologySpread: pods that are alike are spread over zones, nodes or whatever a label says.
// DoNotSchedule decides, ScheduleAnyway scores.
//
// Differs: no default constraints. Kubernetes takes their selectors from services and workloads,
// which are not known here. docs/decisions.md.
#pragma once

#include <memory>

#include "scheduler/framework.h"
#include "scheduler/what_if.h"

namespace dray::scheduler {

class PodTopologySpread final : public PreFilterPlugin,
                                public FilterPlugin,
                                public ScorePlugin,
                                public HintPlugin,
                                public CountingPlugin {
 public:
  std::string_view name() const override { return "PodTopologySpread"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  // Asked only when the pod has constraints: then pods of other nodes matter.
  bool Local(const CycleState&, const PodInfo&) const override { return false; }
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override;

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return true; }
  void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) override;

  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// TaintToleration: taints keep pods away (NoSchedule, NoExecute), or make a node less wanted
// (PreferNoSchedule).
#pragma once

#include "scheduler/framework.h"

namespace dray::scheduler {

class TaintToleration final : public FilterPlugin, public ScorePlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "TaintToleration"; }
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  // How many taints that it does not tolerate would rather not have the pod.
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return true; }
  bool LocalScore(const CycleState&, const PodInfo&) const override { return true; }
  void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) override;

  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

}  // namespace dray::scheduler

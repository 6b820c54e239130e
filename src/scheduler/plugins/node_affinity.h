// SPDX-License-Identifier: Apache-2.0
//
// NodeAffinity: nodeSelector and the required terms decide, the preferred terms score. A profile may
// have terms of its own, which count for each of its pods.
#pragma once

#include <utility>

#include "scheduler/config.h"
#include "scheduler/framework.h"

namespace dray::scheduler {

class NodeAffinity final : public PreFilterPlugin,
                           public FilterPlugin,
                           public ScorePlugin,
                           public HintPlugin {
 public:
  explicit NodeAffinity(NodeAffinityArgs args = {}) : args_(std::move(args)) {}

  std::string_view name() const override { return "NodeAffinity"; }
  // Terms that name nodes narrow down which nodes are asked.
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return true; }
  bool LocalScore(const CycleState&, const PodInfo&) const override { return true; }
  void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) override;

  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;

 private:
  // The profile's own terms.
  bool Allows(const api::Node& node) const;
  const api::NodeAffinity* added() const { return args_.added_affinity.get(); }

  const NodeAffinityArgs args_;
};

}  // namespace dray::scheduler

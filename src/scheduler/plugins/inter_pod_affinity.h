// SPDX-License-Identifier: Apache-2.0
//
// InterPodAffinity: near some pods, away from others, and away from pods that do not want this one
// near.
#pragma once

#include <cstdint>

#include "scheduler/framework.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

struct PodChange;

class InterPodAffinity final : public PreFilterPlugin,
                               public FilterPlugin,
                               public ScorePlugin,
                               public HintPlugin,
                               public CountingPlugin {
 public:
  // `world` outlives it.
  explicit InterPodAffinity(World& world) : world_(world) {}

  std::string_view name() const override { return "InterPodAffinity"; }
  // kSkip when neither the pod nor any pod on a node has a required term that concerns it.
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Local(const CycleState&, const PodInfo&) const override { return false; }
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override;

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return true; }
  void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) override;

  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;

 private:
  // How much a required affinity of a pod that is there is worth to the pod that it means.
  static constexpr std::int32_t kHardPodAffinityWeight = 1;

  bool MatchesTerm(const api::Pod& owner, const api::PodAffinityTerm& term,
                   const api::Pod& other) const;
  bool MatchesAll(const api::Pod& owner, const std::vector<api::PodAffinityTerm>& terms,
                  const api::Pod& other) const;
  bool MatchesAny(const api::Pod& owner, const std::vector<api::PodAffinityTerm>& terms,
                  const api::Pod& other) const;
  bool MayHelp(const PodInfo& waiting, const PodChange& change) const;

  World& world_;
};

}  // namespace dray::scheduler

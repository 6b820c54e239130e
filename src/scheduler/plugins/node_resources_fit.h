// SPDX-License-Identifier: Apache-2.0
//
// NodeResourcesFit: what the pod asks for must be left on the node; how full the node then is makes
// its score.
//
// Spec: kube-scheduler's plugin of that name; KEP-5004 "Scheduler Changes": an extended resource
// that the node does not have by a device plugin, and that a device class serves, is left to
// DynamicResources on that node.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "scheduler/config.h"
#include "scheduler/framework.h"
#include "scheduler/plugins/resource_amounts.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// Written by PreFilter, read by Filter.
struct FitState {
  enum class Look : std::uint8_t {
    kAlways,
    kNever,        // the configuration says so
    kUnlessClass,  // a class serves it: only on nodes that have it by themselves
  };
  absl::InlinedVector<Look, 4> scalars;  // as PodInfo::requests.scalars
};

class NodeResourcesFit final : public PreFilterPlugin,
                               public FilterPlugin,
                               public ScorePlugin,
                               public HintPlugin {
 public:
  // `world` outlives it.
  NodeResourcesFit(const FitArgs& args, World& world);

  std::string_view name() const override { return "NodeResourcesFit"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  // One reason per resource. kUnresolvable when the empty node would not do either.
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  // Classes, too, say what a node has: see World::classes_version.
  bool Local(const CycleState&, const PodInfo&) const override { return true; }
  bool Lasts(std::span<const Reason>) const override { return true; }

  PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) override;
  std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  bool Normalizes() const override { return false; }
  void Normalize(CycleState&, const PodInfo&, std::span<std::int64_t>) override {}

  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;

 private:
  struct Room {
    const Resources& allocatable;
    const Resources& requested;
    std::size_t pods = 0;
  };
  FitState Plan(const PodInfo& pod) const;
  PluginStatus Check(const FitState& state, const PodInfo& pod, const Room& room) const;
  bool FitsEmpty(const PodInfo& pod, const Resources& allocatable) const;
  bool MoreOfAsked(const PodInfo& pod, const Resources& before, const Resources& after) const;

  FitArgs args_;
  World& world_;
  ResourceAmounts amounts_;
};

}  // namespace dray::scheduler

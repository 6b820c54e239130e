// SPDX-License-Identifier: Apache-2.0
//
// What volumes forbid besides: VolumeRestrictions, a claim that one pod alone may use; and
// NodeVolumeLimits, how many volumes of a driver a node can have.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/framework.h"

namespace dray::scheduler {

class VolumeRestrictions final : public PreFilterPlugin, public HintPlugin {
 public:
  std::string_view name() const override { return "VolumeRestrictions"; }
  // Whoever has it must go first: nobody is sent away for it.
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;
};

class NodeVolumeLimits final : public PreFilterPlugin, public FilterPlugin, public HintPlugin {
 public:
  // The world outlives it.
  explicit NodeVolumeLimits(World& world) : world_(world) {}

  std::string_view name() const override { return "NodeVolumeLimits"; }
  PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  // Which volumes pods have is nothing of the node's.
  bool Local(const CycleState&, const PodInfo&) const override { return false; }
  Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) override;

 private:
  World& world_;
};

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/topology_placement.h"

#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {

PluginStatus TopologyPlacement::PreFilter(CycleState& state, const PodInfo&, World&) {
  const auto* placement = state.Find<GroupPlacement>();
  return placement == nullptr || placement->nodes == nullptr ? PluginStatus::Skip()
                                                             : PluginStatus::Success();
}

PluginStatus TopologyPlacement::Filter(CycleState& state, const PodInfo&, const NodeInfo& node) {
  const auto* placement = state.Find<GroupPlacement>();
  if (placement->nodes->Test(node.rank)) return PluginStatus::Success();
  return PluginStatus::Unresolvable(
      {.code = "outside_placement",
       .text = fmt::format("node(s) outside of {}", placement->label)});
}

// A node with another label may make a place that has room.
Hint TopologyPlacement::Wake(const PodInfo&, const api::Change& change, const api::Object* old) {
  const NodeChange seen = ReadNodeChange(change, old);
  if (seen.after == nullptr) return Hint::kSkip;
  const bool same =
      seen.before != nullptr && seen.before->metadata.labels == seen.after->metadata.labels;
  return same ? Hint::kSkip : Hint::kQueue;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_name.h"

#include "scheduler/cycle_data.h"
#include "scheduler/plugins/changes.h"

namespace dray::scheduler {

PluginStatus NodeName::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  const std::string& wanted = pod.pod->spec.node_name;
  if (wanted.empty()) return PluginStatus::Skip();
  state.Get<CandidateNodes>().Restrict({wanted});
  return PluginStatus::Success();
}

PluginStatus NodeName::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  const std::string& wanted = pod.pod->spec.node_name;
  if (wanted.empty() || wanted == node.name()) return PluginStatus::Success();
  return PluginStatus::Unresolvable(
      {.code = "node_name", .text = "node(s) didn't match the requested node name"});
}

Hint NodeName::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const NodeChange seen = ReadNodeChange(change, old);
  const bool came = seen.before == nullptr && seen.after != nullptr &&
                    seen.after->metadata.name == pod.pod->spec.node_name;
  return came ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler

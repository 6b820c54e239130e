// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_unschedulable.h"

#include "api/resource_slice.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/taints.h"

namespace dray::scheduler {
namespace {

bool ToleratesUnschedulable(const api::Pod& pod) {
  static const api::Taint kTaint{.key = std::string(api::kUnschedulableTaint),
                                 .effect = std::string(api::kTaintEffectNoSchedule)};
  return Tolerates(pod.spec.tolerations, kTaint);
}

}  // namespace

PluginStatus NodeUnschedulable::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  if (!node.node->spec.unschedulable || ToleratesUnschedulable(*pod.pod)) {
    return PluginStatus::Success();
  }
  return PluginStatus::Unresolvable(
      {.code = "node_unschedulable", .text = "node(s) were unschedulable"});
}

Hint NodeUnschedulable::Wake(const PodInfo& pod, const api::Change& change,
                             const api::Object* old) {
  if (const PodChange seen = ReadPodChange(pod, change, old); seen.kind == PodChange::Kind::kOwn) {
    return seen.after != nullptr && ToleratesUnschedulable(*seen.after) ? Hint::kQueue
                                                                        : Hint::kSkip;
  }
  const NodeChange seen = ReadNodeChange(change, old);
  if (seen.after == nullptr || seen.after->spec.unschedulable) return Hint::kSkip;
  const bool was = seen.before == nullptr || seen.before->spec.unschedulable;
  return was ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler

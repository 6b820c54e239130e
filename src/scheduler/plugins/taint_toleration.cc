// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/taint_toleration.h"

#include <algorithm>

#include "fmt/format.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/normalize.h"
#include "scheduler/plugins/taints.h"
#include "scheduler/world.h"

namespace dray::scheduler {

PluginStatus TaintToleration::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  const api::Taint* taint = FindUntolerated(node.node->spec.taints, pod.pod->spec.tolerations);
  if (taint == nullptr) return PluginStatus::Success();
  return PluginStatus::Unresolvable(
      {.code = "node_taint",
       .text = fmt::format("node(s) had untolerated taint {{{}: {}}}", taint->key, taint->value),
       .shortages = {{.what = fmt::format("toleration for {}={}:{}", taint->key, taint->value,
                                          taint->effect)}}});
}

// Where no node has such a taint all of them have the same points.
PluginStatus TaintToleration::PreScore(CycleState&, const PodInfo&, World& world) {
  return world.nodes_with_soft_taints() == 0 ? PluginStatus::Skip() : PluginStatus::Success();
}

std::int64_t TaintToleration::Score(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  return std::ranges::count_if(node.node->spec.taints, [&](const api::Taint& taint) {
    return taint.effect == api::kTaintEffectPreferNoSchedule &&
           !Tolerates(pod.pod->spec.tolerations, taint);
  });
}

void TaintToleration::Normalize(CycleState&, const PodInfo&, std::span<std::int64_t> scores) {
  NormalizeToMax(scores, /*reverse=*/true);
}

Hint TaintToleration::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  if (const PodChange seen = ReadPodChange(pod, change, old); seen.kind == PodChange::Kind::kOwn) {
    const bool changed = seen.before != nullptr && seen.after != nullptr &&
                         seen.before->spec.tolerations != seen.after->spec.tolerations;
    return changed ? Hint::kQueue : Hint::kSkip;
  }
  const NodeChange seen = ReadNodeChange(change, old);
  if (seen.after == nullptr) return Hint::kSkip;
  const auto keeps_away = [&](const api::Node& node) {
    return FindUntolerated(node.spec.taints, pod.pod->spec.tolerations) != nullptr;
  };
  const bool kept_away = seen.before == nullptr || keeps_away(*seen.before);
  return kept_away && !keeps_away(*seen.after) ? Hint::kQueue : Hint::kSkip;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "controllers/taint_eviction.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <vector>

#include "api/taints.h"
#include "base/seconds.h"
#include "controllers/observer.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kEvent = "TaintManagerEviction";

std::array<const api::KindInfo*, 2> Kinds() { return {&KindOf<api::Node>(), &KindOf<api::Pod>()}; }

bool Evicts(const api::Taint& taint) { return taint.effect == api::kTaintEffectNoExecute; }

std::vector<api::Taint> EvictingTaints(const api::Node& node) {
  std::vector<api::Taint> evicting;
  std::ranges::copy_if(node.spec.taints, std::back_inserter(evicting), Evicts);
  return evicting;
}

// Since when it is on its node.
base::Time PlacedAt(const api::Pod& pod) {
  const auto placed = std::ranges::find(pod.status.conditions, api::kPodScheduledCondition,
                                        &api::PodCondition::type);
  if (placed != pod.status.conditions.end() && placed->last_transition_time) {
    return *placed->last_transition_time;
  }
  return pod.metadata.creation_timestamp.value_or(base::Time());
}

// When the pod has to go. Nothing: it may stay. Taints without a time are as old as `seen`.
std::optional<base::Time> DueOf(const api::Node& node, const api::Pod& pod, base::Time seen) {
  std::optional<base::Time> due;
  for (const api::Taint& taint : node.spec.taints) {
    if (!Evicts(taint)) continue;
    std::optional<std::int64_t> shortest;
    bool for_ever = false;
    for (const api::Toleration& toleration : pod.spec.tolerations) {
      if (!api::Tolerates(toleration, taint)) continue;
      if (!toleration.toleration_seconds) {
        for_ever = true;
        continue;
      }
      const std::int64_t seconds = std::max<std::int64_t>(*toleration.toleration_seconds, 0);
      shortest = std::min(shortest.value_or(seconds), seconds);
    }
    if (for_ever && !shortest) continue;
    const base::Time since = taint.time_added ? std::max(*taint.time_added, PlacedAt(pod)) : seen;
    const base::Time end = since + base::BoundedSeconds(shortest.value_or(0));
    due = std::min(due.value_or(end), end);
  }
  return due;
}

}  // namespace

TaintEviction::TaintEviction(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void TaintEviction::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Node>() != nullptr) {
    const std::string& name = either.metadata().name;
    const bool same =
        before != nullptr && after != nullptr &&
        EvictingTaints(*before->As<api::Node>()) == EvictingTaints(*after->As<api::Node>());
    if (same) return;
    if (after != nullptr && std::ranges::any_of(after->As<api::Node>()->spec.taints, Evicts)) {
      tainted_.insert(name);
    } else if (tainted_.erase(name) == 0) {
      return;
    }
    for (const ObjectKey& pod : pods_.On(name)) queue().Add(pod);
    return;
  }
  pods_.OnChange(before, after);
  if (after == nullptr) {
    waiting_.erase(before->metadata().uid);
  } else if (tainted_.contains(NodeOf(after))) {
    queue().Add(ObjectKey::Of(*after));
  }
}

Status TaintEviction::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const api::Object object = *found;
  const api::Pod& pod = *object.As<api::Pod>();
  const auto* node = view().Find<api::Node>("", pod.spec.node_name);
  const base::Time now = clock().Now();
  const auto waits = waiting_.find(pod.metadata.uid);
  const base::Time seen = waits == waiting_.end() ? now : waits->second;
  const auto due = node == nullptr || IsTerminal(pod) ? std::nullopt : DueOf(*node, pod, seen);
  if (!due) {
    if (waiting_.erase(pod.metadata.uid) > 0) {
      Tell(view(), object,
           {.component = name(),
            .reason = kEvent,
            .message = fmt::format("Cancelling deletion of Pod {}/{}", key.namespace_, key.name)});
    }
    return {};
  }
  if (*due <= now) return Evict(object);
  waiting_.try_emplace(pod.metadata.uid, now);
  queue().AddAfter(key, *due - now);
  return {};
}

Status TaintEviction::Evict(const api::Object& pod) {
  Tell(view(), pod,
       {.component = name(),
        .reason = kEvent,
        .message = fmt::format("Marking for deletion Pod {}/{}", pod.metadata().namespace_,
                               pod.metadata().name)});
  const Status marked = MarkDisrupted(view(), pod,
                                      {.reason = "DeletionByTaintManager",
                                       .message = "Taint manager: deleting due to NoExecute taint",
                                       .now = clock().Now()});
  if (marked.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(marked);
  return view().Delete(pod);
}

}  // namespace dray::controllers

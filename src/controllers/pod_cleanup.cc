// SPDX-License-Identifier: Apache-2.0
#include "controllers/pod_cleanup.h"

#include <array>
#include <iterator>
#include <utility>

#include "api/node.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"

namespace dray::controllers {
namespace {

// A node may come back under the same name: a restart, a mistake that is taken back.
constexpr std::chrono::seconds kQuarantine{40};

std::array<const api::KindInfo*, 2> Kinds() { return {&KindOf<api::Node>(), &KindOf<api::Pod>()}; }

}  // namespace

PodCleanup::PodCleanup(const Source& source, const base::Clock& clock, PodCleanupOptions options)
    : Reconciler(source, clock, Kinds()), options_(options) {}

void PodCleanup::OnNode(const api::Object* before, const api::Object* after) {
  const std::string& name = (after != nullptr ? after : before)->metadata().name;
  if (after != nullptr) {
    lost_.erase(name);
    return;
  }
  const auto it = pods_on_.find(name);
  if (it == pods_on_.end()) return;
  for (const ObjectKey& pod : it->second) queue().Add(pod);
}

void PodCleanup::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Node>() != nullptr) return OnNode(before, after);
  const ObjectKey key = ObjectKey::Of(either);
  const Ended ended{either.metadata().creation_timestamp.value_or(base::Time()), key.namespace_,
                    key.name};
  if (before != nullptr) {
    const api::Pod& pod = *before->As<api::Pod>();
    const bool stays =
        after != nullptr && after->As<api::Pod>()->spec.node_name == pod.spec.node_name;
    if (!stays) Leave(pod.spec.node_name, key);
    if (IsTerminal(pod)) Revive(ended);
  }
  if (after == nullptr) return;
  const api::Pod& pod = *after->As<api::Pod>();
  if (!pod.spec.node_name.empty()) pods_on_[pod.spec.node_name].insert(key);
  if (IsTerminal(pod)) End(ended);
  // The others: one more has ended, so that the oldest may have to go.
  if (IsTerminal(pod) && !too_many_.empty()) {
    const auto& [created, namespace_, name] = *too_many_.begin();
    queue().Add(ObjectKey::Of<api::Pod>(namespace_, name));
  }
  const bool lost =
      !pod.spec.node_name.empty() && view().Find<api::Node>("", pod.spec.node_name) == nullptr;
  if (lost || IsDone(pod)) queue().Add(key);
}

Status PodCleanup::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object object = *found;
  const api::Pod& pod = *object.As<api::Pod>();
  const bool deleted = pod.metadata.deletion_timestamp.has_value();
  if (pod.spec.node_name.empty() && deleted) {
    // Nobody holds it but finalizers, and those are somebody else's.
    return pod.metadata.finalizers.empty() ? view().Delete(object) : Status();
  }
  if (!pod.spec.node_name.empty() && view().Find<api::Node>("", pod.spec.node_name) == nullptr) {
    return ReconcileLost(object);
  }
  if (!IsTerminal(pod) || view().Leaving(object)) return {};
  const base::Time created = pod.metadata.creation_timestamp.value_or(base::Time());
  if (!too_many_.contains(Ended{created, key.namespace_, key.name})) return {};
  return view().Delete(object);
}

void PodCleanup::Leave(const std::string& node, const ObjectKey& pod) {
  const auto pods = pods_on_.find(node);
  if (pods == pods_on_.end()) return;
  pods->second.erase(pod);
  if (!pods->second.empty()) return;
  pods_on_.erase(pods);
  // Nobody asks any more since when it is lost.
  lost_.erase(node);
}

void PodCleanup::End(const Ended& pod) {
  if (!too_many_.empty() && pod < *too_many_.rbegin()) {
    too_many_.insert(pod);
    return;
  }
  ended_.insert(pod);
  if (ended_.size() <= options_.ended_pods) return;
  too_many_.insert(*ended_.begin());
  ended_.erase(ended_.begin());
}

void PodCleanup::Revive(const Ended& pod) {
  if (too_many_.erase(pod) > 0 || ended_.erase(pod) == 0 || too_many_.empty()) return;
  const auto newest = std::prev(too_many_.end());
  ended_.insert(*newest);
  too_many_.erase(newest);
}

Status PodCleanup::ReconcileLost(const api::Object& object) {
  const api::Pod& pod = *object.As<api::Pod>();
  const auto now = clock().Monotonic();
  const auto since = lost_.try_emplace(pod.spec.node_name, now).first->second;
  if (now < since + kQuarantine) {
    queue().AddAfter(ObjectKey::Of(object), since + kQuarantine - now);
    return {};
  }
  DRAY_ASSIGN_OR_RETURN(const auto node, view().Fetch<api::Node>("", pod.spec.node_name));
  if (node.has_value()) return {};
  if (view().Leaving(object) && !pod.metadata.finalizers.empty()) return {};
  const Status marked = MarkDisrupted(view(), object,
                                      {.reason = "DeletionByPodGC",
                                       .message = "PodGC: node no longer exists",
                                       .now = clock().Now(),
                                       .fail = true});
  if (marked.code() == StatusCode::kNotFound) return {};
  DRAY_RETURN_IF_ERROR(marked);
  return view().Delete(object);
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
#include "controllers/replica_set_controller.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/generated_name.h"
#include "api/pod.h"
#include "controllers/children.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// How many pods are made or deleted before the others are looked at again. Kubernetes has 500, and a
// thread for each controller; here others wait meanwhile.
constexpr std::size_t kBurst = 50;
constexpr std::string_view kReplicaFailure = "ReplicaFailure";
constexpr std::string_view kDeletionCostAnnotation = "controller.kubernetes.io/pod-deletion-cost";

std::array<const api::KindInfo*, 2> Kinds() {
  return {&KindOf<api::ReplicaSet>(), &KindOf<api::Pod>()};
}

// Whether a set would count the pod differently.
bool MattersToSets(const api::Object& before, const api::Object& after) {
  const api::Pod& was = *before.As<api::Pod>();
  const api::Pod& is = *after.As<api::Pod>();
  return IsTerminal(was) != IsTerminal(is) || ReadySince(was) != ReadySince(is) ||
         was.metadata.deletion_timestamp != is.metadata.deletion_timestamp ||
         was.metadata.labels != is.metadata.labels ||
         was.metadata.owner_references != is.metadata.owner_references;
}

std::int32_t DeletionCost(const api::Pod& pod) {
  const std::string* text = pod.metadata.annotations.Find(kDeletionCostAnnotation);
  std::int32_t cost = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), cost);
  return cost;
}

// Smaller is deleted first: what has done least. Names are views into the pod.
using Worth = std::tuple<bool, int, bool, std::int32_t, std::int64_t, std::int64_t, std::int64_t,
                         std::string_view>;
Worth WorthOf(const api::Pod& pod) {
  const auto ready = ReadySince(pod);
  std::int64_t restarts = 0;
  for (const auto& container : pod.status.container_statuses) restarts += container.restart_count;
  const auto newest_first = [](base::Time time) { return -time.seconds(); };
  const int phase = pod.status.phase == api::kPodRunning   ? 2
                    : pod.status.phase == api::kPodUnknown ? 1
                                                           : 0;
  return {!pod.spec.node_name.empty(),
          phase,
          ready.has_value(),
          DeletionCost(pod),
          ready.has_value() ? newest_first(*ready) : 0,
          -restarts,
          newest_first(pod.metadata.creation_timestamp.value_or(base::Time())),
          std::string_view(pod.metadata.name)};
}

void SetFailure(std::vector<api::ReplicaSetCondition>& conditions, const Status& scaled,
                base::Time now) {
  const auto it = std::ranges::find(conditions, kReplicaFailure, &api::ReplicaSetCondition::type);
  if (scaled.ok()) {
    if (it != conditions.end()) conditions.erase(it);
    return;
  }
  api::ReplicaSetCondition failure{.type = std::string(kReplicaFailure),
                                   .status = "True",
                                   .last_transition_time = now.TruncateToSeconds(),
                                   .reason = "FailedCreate",
                                   .message = std::string(base::Message(scaled))};
  // The first message stays: each refusal names another pod, and a status that changes with every
  // try would bring the next one at once.
  if (it == conditions.end()) conditions.push_back(std::move(failure));
}

}  // namespace

ReplicaSetController::ReplicaSetController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void ReplicaSetController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Pod>() != nullptr) return OnPod(before, after);
  const api::ObjectMeta& metadata = either.metadata();
  if (after == nullptr) return sets_.Remove(metadata.namespace_, metadata.name);
  sets_.Add(metadata.namespace_, metadata.name);
  queue().Add(ObjectKey::Of(*after));
}

void ReplicaSetController::OnPod(const api::Object* before, const api::Object* after) {
  pods_.OnChange(before, after);
  if (before != nullptr && after != nullptr && !MattersToSets(*before, *after)) return;
  for (const api::Object* pod : {before, after}) {
    if (pod == nullptr) continue;
    if (const auto set = ControllerKey<api::ReplicaSet>(pod->metadata())) queue().Add(*set);
  }
  if (after != nullptr && api::FindController(after->metadata()) == nullptr) {
    QueueSelecting(after->metadata());
  }
}

void ReplicaSetController::QueueSelecting(const api::ObjectMeta& orphan) {
  for (const std::string& name : sets_.At(orphan.namespace_)) {
    const auto* set = view().Find<api::ReplicaSet>(orphan.namespace_, name);
    if (set == nullptr || !set->spec.selector.has_value()) continue;
    const auto selector = api::LabelMatcher::From(*set->spec.selector);
    if (!selector.ok() || !selector->Matches(orphan.labels)) continue;
    queue().Add(ObjectKey::Of<api::ReplicaSet>(orphan.namespace_, name));
  }
}

Status ReplicaSetController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object set = *found;
  const auto& selector = set.As<api::ReplicaSet>()->spec.selector;
  if (!selector.has_value()) return {};  // a server does not take one
  const api::ReplicaSetSpec& spec = set.As<api::ReplicaSet>()->spec;
  ReplicaRules rules{.labels = spec.template_.metadata.labels,
                     .min_ready_seconds = spec.min_ready_seconds};
  DRAY_ASSIGN_OR_RETURN(rules.selector, api::LabelMatcher::From(*selector));
  const base::Time now = clock().Now();
  DRAY_RETURN_IF_ERROR(pods_.Gather(set, rules, view(), now));
  Status scaled;
  if (!view().Leaving(set)) {
    scaled = Scale(set, static_cast<std::size_t>(pods_.Count(set, rules, view(), now).active));
  }
  DRAY_RETURN_IF_ERROR(WriteStatus(set, rules, scaled));
  return scaled;
}

Status ReplicaSetController::Scale(const api::Object& set, std::size_t active) {
  const std::int32_t wanted = set.As<api::ReplicaSet>()->spec.replicas.value_or(1);
  const auto target = static_cast<std::size_t>(std::max(wanted, 0));
  if (active == target) return {};
  if (active < target) return MakePods(set, target - active);
  return DeletePods(set, active - target);
}

Status ReplicaSetController::MakePods(const api::Object& set, std::size_t count) {
  const api::Pod pod = PodFromTemplate(set.As<api::ReplicaSet>()->spec.template_, set);
  for (std::size_t i = 0; i < std::min(count, kBurst); ++i) {
    const auto made = view().Create(api::Object::Of(pod));
    if (!made.ok()) {
      Tell(view(), set,
           {.component = name(),
            .warning = true,
            .reason = "FailedCreate",
            .message = fmt::format("Error creating: {}",
                                   api::WithoutGeneratedParts(base::Message(made.status()),
                                                              pod.metadata.generate_name))});
      return made.status();
    }
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulCreate",
          .message = fmt::format("Created pod: {}", made->metadata().name)});
  }
  if (count > kBurst) queue().Add(ObjectKey::Of(set));
  return {};
}

Status ReplicaSetController::DeletePods(const api::Object& set, std::size_t count) {
  const std::vector<api::Object> active = pods_.Active(set);
  // Names are views into the objects above.
  std::vector<std::pair<Worth, const api::Object*>> order;
  order.reserve(active.size());
  for (const api::Object& pod : active) order.emplace_back(WorthOf(*pod.As<api::Pod>()), &pod);
  const std::size_t now = std::min({count, kBurst, order.size()});
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(now));
  for (std::size_t i = 0; i < now; ++i) {
    const api::Object& pod = *order[i].second;
    DRAY_RETURN_IF_ERROR(view().Delete(pod));
    pods_.Leaves(set, pod);
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulDelete",
          .message = fmt::format("Deleted pod: {}", pod.metadata().name)});
  }
  if (count > now) queue().Add(ObjectKey::Of(set));
  return {};
}

Status ReplicaSetController::WriteStatus(const api::Object& set, const ReplicaRules& rules,
                                         const Status& scaled) {
  const api::ReplicaSet& wanted = *set.As<api::ReplicaSet>();
  const base::Time now = clock().Now();
  const ReplicaCounts counted = pods_.Count(set, rules, view(), now);
  if (counted.next_available.has_value()) {
    queue().AddAfter(ObjectKey::Of(set), *counted.next_available - now);
  }
  const Status written = view().EditStatus(set, [&](api::Object& changed) {
    const api::ReplicaSetStatus before = changed.As<api::ReplicaSet>()->status;
    api::ReplicaSetStatus status = before;
    status.replicas = counted.active;
    status.fully_labeled_replicas = counted.labelled;
    status.ready_replicas = counted.ready;
    status.available_replicas = counted.available;
    status.observed_generation = wanted.metadata.generation;
    SetFailure(status.conditions, scaled, now);
    if (status == before) return false;
    changed.Mutable<api::ReplicaSet>()->status = std::move(status);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
#include "controllers/disruption_controller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "api/job.h"
#include "api/label_selector.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "controllers/budget_math.h"
#include "controllers/children.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"

namespace dray::controllers {
namespace {

// An eviction that has not become a deletion by then never will.
constexpr std::chrono::minutes kEvictionTime(2);

std::array<const api::KindInfo*, 5> BudgetKinds() {
  return {&KindOf<api::PodDisruptionBudget>(), &KindOf<api::Pod>(), &KindOf<api::ReplicaSet>(),
          &KindOf<api::Deployment>(), &KindOf<api::StatefulSet>()};
}

void SetCondition(std::vector<api::Condition>& conditions, std::int64_t generation,
                  std::int32_t allowed, base::Time now) {
  auto it = std::ranges::find(conditions, api::kDisruptionAllowedCondition, &api::Condition::type);
  if (it == conditions.end()) {
    conditions.push_back({.type = std::string(api::kDisruptionAllowedCondition)});
    it = std::prev(conditions.end());
  }
  const std::string status = allowed > 0 ? "True" : "False";
  if (it->status != status) it->last_transition_time = now.TruncateToSeconds();
  it->status = status;
  it->reason = allowed > 0 ? "SufficientPods" : "InsufficientPods";
  it->observed_generation = generation;
}

}  // namespace

DisruptionController::DisruptionController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, BudgetKinds()) {}

void DisruptionController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const api::ObjectMeta& metadata = either.metadata();
  if (either.As<api::PodDisruptionBudget>() != nullptr) {
    if (after == nullptr) return budgets_.Remove(metadata.namespace_, metadata.name);
    budgets_.Add(metadata.namespace_, metadata.name);
    return queue().Add(ObjectKey::Of(*after));
  }
  if (either.As<api::Pod>() != nullptr) {
    const std::pair key(metadata.namespace_, metadata.name);
    if (after != nullptr) {
      pods_.insert_or_assign(key, *after);
    } else {
      pods_.erase(key);
    }
  }
  for (const std::string& name : budgets_.At(metadata.namespace_)) {
    queue().Add(ObjectKey::Of<api::PodDisruptionBudget>(metadata.namespace_, name));
  }
}

std::int32_t DisruptionController::WantedBy(const std::vector<const api::Pod*>& pods) const {
  absl::btree_map<std::string, std::int32_t> wanted;  // by the owner's uid
  for (const api::Pod* pod : pods) {
    const api::OwnerReference* owner = api::FindController(pod->metadata);
    if (owner == nullptr || wanted.contains(owner->uid)) continue;
    const std::string& space = pod->metadata.namespace_;
    if (const auto key = ControllerKey<api::ReplicaSet>(pod->metadata)) {
      const auto* set = view().Find<api::ReplicaSet>(space, key->name);
      if (set == nullptr) continue;
      // A deployment's sets change places; what is wanted is the deployment's.
      const auto above = ControllerKey<api::Deployment>(set->metadata);
      const auto* deployment = above ? view().Find<api::Deployment>(space, above->name) : nullptr;
      if (deployment != nullptr) {
        wanted[deployment->metadata.uid] = deployment->spec.replicas.value_or(1);
      } else {
        wanted[owner->uid] = set->spec.replicas.value_or(1);
      }
    } else if (const auto stateful = ControllerKey<api::StatefulSet>(pod->metadata)) {
      const auto* set = view().Find<api::StatefulSet>(space, stateful->name);
      if (set != nullptr) wanted[owner->uid] = set->spec.replicas.value_or(1);
    }
  }
  std::int32_t total = 0;
  for (const auto& [uid, count] : wanted) total += count;
  return total;
}

Status DisruptionController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const api::Object object = *found;
  const api::PodDisruptionBudget& budget = *object.As<api::PodDisruptionBudget>();
  std::optional<api::LabelMatcher> selector;
  if (budget.spec.selector) {
    DRAY_ASSIGN_OR_RETURN(selector, api::LabelMatcher::From(*budget.spec.selector));
  }
  const base::Time now = clock().Now();
  std::vector<const api::Pod*> selected;
  std::int32_t healthy = 0;
  api::Map<base::Time> disrupted;
  std::optional<base::Time> next;
  const auto from = pods_.lower_bound({key.namespace_, ""});
  for (auto it = from; it != pods_.end() && it->first.first == key.namespace_; ++it) {
    const api::Pod& pod = *it->second.As<api::Pod>();
    if (!selector || !selector->Matches(pod.metadata.labels) || IsTerminal(pod)) continue;
    selected.push_back(&pod);
    const base::Time* evicted = budget.status.disrupted_pods.Find(pod.metadata.name);
    bool going = pod.metadata.deletion_timestamp.has_value();
    if (evicted != nullptr && !going && *evicted + kEvictionTime > now) {
      going = true;
      disrupted[pod.metadata.name] = *evicted;
      const base::Time until = *evicted + kEvictionTime;
      next = next ? std::min(*next, until) : until;
    }
    if (!going && ReadySince(pod).has_value()) ++healthy;
  }
  const BudgetSizes sizes =
      SizesOf(budget.spec, static_cast<std::int32_t>(selected.size()), WantedBy(selected));
  const std::int32_t allowed = DisruptionsAllowed(sizes, healthy);
  if (next) queue().AddAfter(key, *next - now);
  // Not with the stored one after a conflict: an eviction may have taken its pod off meanwhile.
  api::Object changed = object;
  api::PodDisruptionBudgetStatus& status = changed.Mutable<api::PodDisruptionBudget>()->status;
  status.observed_generation = budget.metadata.generation;
  status.disrupted_pods = std::move(disrupted);
  status.disruptions_allowed = allowed;
  status.current_healthy = healthy;
  status.desired_healthy = sizes.desired;
  status.expected_pods = sizes.expected;
  SetCondition(status.conditions, budget.metadata.generation, allowed, now);
  if (status == budget.status) return {};
  const Status written = view().UpdateStatus(std::move(changed)).status();
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers

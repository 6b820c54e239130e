// SPDX-License-Identifier: Apache-2.0
//
// What a deployment says of itself: counts, and whether it is available and getting anywhere.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "controllers/deployment_controller.h"
#include "controllers/rollout.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kAvailable = "Available";
constexpr std::string_view kProgressing = "Progressing";
constexpr std::string_view kDone = "NewReplicaSetAvailable";
constexpr std::int32_t kProgressDeadlineSeconds = 600;

using Conditions = std::vector<api::DeploymentCondition>;

const api::DeploymentCondition* Find(const Conditions& conditions, std::string_view type) {
  const auto it = std::ranges::find(conditions, type, &api::DeploymentCondition::type);
  return it == conditions.end() ? nullptr : &*it;
}

// A condition that says the same is left as it is, times and all, unless it is news that it holds.
void Set(Conditions& conditions, api::DeploymentCondition condition, base::Time now, bool news) {
  const auto it = std::ranges::find(conditions, condition.type, &api::DeploymentCondition::type);
  condition.last_update_time = now.TruncateToSeconds();
  condition.last_transition_time = condition.last_update_time;
  if (it == conditions.end()) {
    conditions.push_back(std::move(condition));
    return;
  }
  if (it->status == condition.status) {
    condition.last_transition_time = it->last_transition_time;
    if (it->reason == condition.reason && it->message == condition.message && !news) return;
  }
  *it = std::move(condition);
}

bool IsComplete(const api::DeploymentStatus& status, std::int32_t wanted) {
  return status.updated_replicas == wanted && status.replicas == wanted &&
         status.available_replicas == wanted;
}
bool HasProgressed(const api::DeploymentStatus& before, const api::DeploymentStatus& now) {
  return now.updated_replicas > before.updated_replicas ||
         now.replicas - now.updated_replicas < before.replicas - before.updated_replicas ||
         now.ready_replicas > before.ready_replicas ||
         now.available_replicas > before.available_replicas;
}

api::DeploymentCondition Availability(const api::DeploymentStatus& status, std::int32_t least) {
  if (status.available_replicas >= least) {
    return {.type = std::string(kAvailable),
            .status = "True",
            .reason = "MinimumReplicasAvailable",
            .message = "Deployment has minimum availability."};
  }
  return {.type = std::string(kAvailable),
          .status = "False",
          .reason = "MinimumReplicasUnavailable",
          .message = "Deployment does not have minimum availability."};
}

api::DeploymentCondition Progress(std::string_view status, std::string_view reason,
                                  std::string_view set, std::string_view what) {
  return {.type = std::string(kProgressing),
          .status = std::string(status),
          .reason = std::string(reason),
          .message = fmt::format("ReplicaSet \"{}\" {}", set, what)};
}

bool Names(const api::DeploymentCondition& condition, std::string_view set) {
  return condition.message.find(fmt::format("\"{}\"", set)) != std::string::npos;
}

api::DeploymentStatus Count(const api::Object* fresh, const std::vector<api::Object>& old) {
  api::DeploymentStatus counted;
  const auto add = [&](const api::Object& set) {
    const api::ReplicaSetStatus& status = set.As<api::ReplicaSet>()->status;
    counted.replicas += status.replicas;
    counted.ready_replicas += status.ready_replicas;
    counted.available_replicas += status.available_replicas;
    counted.unavailable_replicas += ReplicasOf(set);
  };
  std::ranges::for_each(old, add);
  if (fresh != nullptr) {
    add(*fresh);
    counted.updated_replicas = fresh->As<api::ReplicaSet>()->status.replicas;
  }
  counted.unavailable_replicas =
      std::max(counted.unavailable_replicas - counted.available_replicas, 0);
  return counted;
}

}  // namespace

Status DeploymentController::WriteStatus(const api::Object& deployment, const Sets& sets) {
  const api::Deployment& wanted = *deployment.As<api::Deployment>();
  const base::Time now = clock().Now();
  const std::int32_t replicas = wanted.spec.replicas.value_or(1);
  const api::Object* fresh = sets.fresh.has_value() ? &*sets.fresh : nullptr;
  const api::DeploymentStatus counted = Count(fresh, sets.old);
  const std::chrono::seconds deadline(
      wanted.spec.progress_deadline_seconds.value_or(kProgressDeadlineSeconds));
  std::optional<std::chrono::nanoseconds> look_again;

  const Status written = view().EditStatus(deployment, [&](api::Object& changed) {
    const api::DeploymentStatus before = changed.As<api::Deployment>()->status;
    api::DeploymentStatus status = counted;
    status.observed_generation = wanted.metadata.generation;
    status.collision_count = before.collision_count;
    status.conditions = before.conditions;
    status.unknown = before.unknown;
    Set(status.conditions, Availability(status, replicas - LimitsOf(wanted.spec).unavailable), now,
        false);
    if (fresh != nullptr && !wanted.spec.paused) {
      const std::string& set = fresh->metadata().name;
      const api::DeploymentCondition* known = Find(before.conditions, kProgressing);
      look_again.reset();
      if (IsComplete(status, replicas)) {
        Set(status.conditions, Progress("True", kDone, set, "has successfully progressed."), now,
            false);
      } else if (known == nullptr && status.updated_replicas == 0) {
        Set(status.conditions, Progress("True", "NewReplicaSetCreated", set, "was created."), now,
            false);
        look_again = deadline;
      } else if (known == nullptr || !Names(*known, set) || HasProgressed(before, status) ||
                 known->reason == kDone) {
        Set(status.conditions, Progress("True", "ReplicaSetUpdated", set, "is progressing."), now,
            true);
        look_again = deadline;
      } else if (known->status == "True") {
        const auto late = known->last_update_time.value_or(now) + deadline;
        if (late <= now) {
          Set(status.conditions,
              Progress("False", "ProgressDeadlineExceeded", set, "has timed out progressing."), now,
              false);
        } else {
          look_again = late - now;
        }
      }
    }
    if (status == before) return false;
    changed.Mutable<api::Deployment>()->status = std::move(status);
    return true;
  });
  if (look_again.has_value()) queue().AddAfter(ObjectKey::Of(deployment), *look_again);
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
//
// From the old sets to the new one, a step at a time.
#include <algorithm>
#include <string>
#include <utility>

#include "api/pod.h"
#include "controllers/deployment_controller.h"
#include "controllers/pods.h"
#include "controllers/rollout.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::int32_t kHistoryLimit = 10;

std::int32_t Sum(const std::vector<api::Object>& sets, std::int32_t (*count)(const api::Object&)) {
  std::int32_t sum = 0;
  for (const api::Object& set : sets) sum += count(set);
  return sum;
}

std::int32_t Wanted(const api::Object& deployment) {
  return deployment.As<api::Deployment>()->spec.replicas.value_or(1);
}

}  // namespace

Status DeploymentController::Scale(const api::Object& deployment, api::Object& set,
                                   std::int32_t replicas) {
  const std::int32_t before = ReplicasOf(set);
  if (before == replicas) return {};
  DRAY_RETURN_IF_ERROR(view().EditObject(set, [&](api::Object& changed) {
    changed.Mutable<api::ReplicaSet>()->spec.replicas = replicas;
    return true;
  }));
  if (const api::Object* now = view().Find(ObjectKey::Of(set))) set = *now;
  Tell(view(), deployment,
       {.component = name(),
        .reason = "ScalingReplicaSet",
        .message =
            fmt::format("Scaled {} replica set {} from {} to {}", replicas > before ? "up" : "down",
                        set.metadata().name, before, replicas)});
  return {};
}

Status DeploymentController::RollOut(const api::Object& deployment, Sets& sets) {
  const std::int32_t wanted = Wanted(deployment);
  const RolloutLimits limits = LimitsOf(deployment.As<api::Deployment>()->spec);
  const std::int32_t fresh = sets.fresh.has_value() ? ReplicasOf(*sets.fresh) : 0;
  const std::int32_t room = wanted + limits.surge - fresh - Sum(sets.old, ReplicasOf);
  const std::int32_t target =
      fresh >= wanted ? wanted : fresh + std::clamp(room, 0, wanted - fresh);
  DRAY_RETURN_IF_ERROR(EnsureFresh(deployment, sets, target));
  if (!sets.fresh.has_value()) return {};  // its name was taken; the next pass makes another one
  DRAY_RETURN_IF_ERROR(Scale(deployment, *sets.fresh, target));
  return DrainOld(deployment, sets);
}

Status DeploymentController::DrainOld(const api::Object& deployment, Sets& sets) {
  const std::int32_t least =
      Wanted(deployment) - LimitsOf(deployment.As<api::Deployment>()->spec).unavailable;
  const std::int32_t fresh = ReplicasOf(*sets.fresh);
  std::int32_t spare =
      fresh + Sum(sets.old, ReplicasOf) - least - (fresh - AvailableOf(*sets.fresh));
  // First what does not work anyway: that cannot make anything less available.
  for (api::Object& set : sets.old) {
    const std::int32_t broken = ReplicasOf(set) - AvailableOf(set);
    const std::int32_t fewer = std::min(broken, spare);
    if (fewer <= 0) continue;
    DRAY_RETURN_IF_ERROR(Scale(deployment, set, ReplicasOf(set) - fewer));
    spare -= fewer;
  }
  spare = std::min(spare, AvailableOf(*sets.fresh) + Sum(sets.old, AvailableOf) - least);
  for (api::Object& set : sets.old) {
    const std::int32_t fewer = std::min(ReplicasOf(set), spare);
    if (fewer <= 0) continue;
    DRAY_RETURN_IF_ERROR(Scale(deployment, set, ReplicasOf(set) - fewer));
    spare -= fewer;
  }
  return {};
}

bool DeploymentController::HasRunningPods(const std::vector<api::Object>& sets) const {
  return std::ranges::any_of(sets, [&](const api::Object& set) {
    return std::ranges::any_of(
        pods_.Of(set), [](const api::Object& pod) { return !IsTerminal(*pod.As<api::Pod>()); });
  });
}

Status DeploymentController::Recreate(const api::Object& deployment, Sets& sets) {
  for (api::Object& set : sets.old) DRAY_RETURN_IF_ERROR(Scale(deployment, set, 0));
  if (HasRunningPods(sets.old)) return {};
  DRAY_RETURN_IF_ERROR(EnsureFresh(deployment, sets, Wanted(deployment)));
  if (!sets.fresh.has_value()) return {};
  return Scale(deployment, *sets.fresh, Wanted(deployment));
}

// Nothing new is rolled out; the set that runs follows the number.
Status DeploymentController::ScalePaused(const api::Object& deployment, Sets& sets) {
  api::Object* running = nullptr;
  for (api::Object& set : sets.old) {
    if (ReplicasOf(set) > 0) running = &set;
  }
  const bool fresh = sets.fresh.has_value() && (ReplicasOf(*sets.fresh) > 0 || running == nullptr);
  if (fresh && running == nullptr) return Scale(deployment, *sets.fresh, Wanted(deployment));
  if (fresh || running == nullptr) return {};  // in the middle of a roll-out, or before the first
  const std::int32_t others = Sum(sets.old, ReplicasOf) - ReplicasOf(*running);
  return Scale(deployment, *running, std::max(Wanted(deployment) - others, 0));
}

Status DeploymentController::RemoveHistory(const api::Object& deployment, const Sets& sets) {
  const std::int32_t limit =
      deployment.As<api::Deployment>()->spec.revision_history_limit.value_or(kHistoryLimit);
  std::vector<api::Object> over;
  for (const api::Object& set : sets.old) {
    const auto& status = set.As<api::ReplicaSet>()->status;
    if (ReplicasOf(set) == 0 && status.replicas == 0 && !view().Leaving(set)) over.push_back(set);
  }
  std::ranges::stable_sort(over, {},
                           [](const api::Object& set) { return RevisionOf(set.metadata()); });
  for (std::size_t i = 0; i + std::max(limit, 0) < over.size(); ++i) {
    DRAY_RETURN_IF_ERROR(view().Delete(over[i]));
  }
  return {};
}

}  // namespace dray::controllers

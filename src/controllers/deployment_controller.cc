// SPDX-License-Identifier: Apache-2.0
//
// What changes mean, and the sets of a deployment. How one replaces another is in
// deployment_rollout.cc, what is said about it in deployment_status.cc.
#include "controllers/deployment_controller.h"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include "api/pod.h"
#include "controllers/rollout.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

std::array<const api::KindInfo*, 3> Kinds() {
  return {&KindOf<api::Deployment>(), &KindOf<api::ReplicaSet>(), &KindOf<api::Pod>()};
}

// Annotations that belong to the deployment alone.
bool StaysWithDeployment(std::string_view annotation) {
  return annotation == "kubectl.kubernetes.io/last-applied-configuration" ||
         annotation == api::kDeploymentRevisionAnnotation;
}

auto AgeOf(const api::Object& set) {
  return std::tuple(set.metadata().creation_timestamp.value_or(base::Time()),
                    std::string_view(set.metadata().name));
}

std::int64_t MaxRevision(const std::vector<api::Object>& sets) {
  std::int64_t newest = 0;
  for (const api::Object& set : sets) newest = std::max(newest, RevisionOf(set.metadata()));
  return newest;
}

}  // namespace

DeploymentController::DeploymentController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, Kinds()) {}

void DeploymentController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const api::ObjectMeta& metadata = either.metadata();
  if (either.As<api::Pod>() != nullptr) {
    pods_.OnChange(before, after);
    // Only whoever waits for the last pod of an old set wants to know, and only that it is gone.
    if (after != nullptr) return;
    const auto set = ControllerKey<api::ReplicaSet>(metadata);
    const api::Object* found = set.has_value() ? view().Find(*set) : nullptr;
    if (found == nullptr) return;
    if (const auto owner = ControllerKey<api::Deployment>(found->metadata())) queue().Add(*owner);
    return;
  }
  if (either.As<api::ReplicaSet>() != nullptr) {
    sets_.OnChange(before, after);
    for (const api::Object* set : {before, after}) {
      if (set == nullptr) continue;
      if (const auto owner = ControllerKey<api::Deployment>(set->metadata())) queue().Add(*owner);
    }
    if (after != nullptr && api::FindController(after->metadata()) == nullptr) {
      QueueSelecting(after->metadata());
    }
    return;
  }
  if (after == nullptr) return deployments_.Remove(metadata.namespace_, metadata.name);
  deployments_.Add(metadata.namespace_, metadata.name);
  queue().Add(ObjectKey::Of(*after));
}

void DeploymentController::QueueSelecting(const api::ObjectMeta& orphan) {
  for (const std::string& name : deployments_.At(orphan.namespace_)) {
    const auto* deployment = view().Find<api::Deployment>(orphan.namespace_, name);
    if (deployment == nullptr || !deployment->spec.selector.has_value()) continue;
    const auto selector = api::LabelMatcher::From(*deployment->spec.selector);
    if (!selector.ok() || !selector->Matches(orphan.labels)) continue;
    queue().Add(ObjectKey::Of<api::Deployment>(orphan.namespace_, name));
  }
}

DeploymentController::Sets DeploymentController::SetsOf(const api::Object& deployment,
                                                        std::vector<api::Object> sets) const {
  const api::PodTemplateSpec& wanted = deployment.As<api::Deployment>()->spec.template_;
  std::ranges::sort(sets, {}, AgeOf);
  Sets split;
  for (api::Object& set : sets) {
    if (!split.fresh.has_value() &&
        SameTemplate(set.As<api::ReplicaSet>()->spec.template_, wanted)) {
      split.fresh = std::move(set);
    } else {
      split.old.push_back(std::move(set));
    }
  }
  return split;
}

Status DeploymentController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object deployment = *found;
  const api::DeploymentSpec& spec = deployment.As<api::Deployment>()->spec;
  if (!spec.selector.has_value()) return {};  // a server does not take one
  DRAY_ASSIGN_OR_RETURN(const api::LabelMatcher matcher, api::LabelMatcher::From(*spec.selector));
  DRAY_ASSIGN_OR_RETURN(auto gathered, sets_.Gather(deployment, matcher, view()));
  Sets sets = SetsOf(deployment, std::move(gathered));
  if (view().Leaving(deployment)) return WriteStatus(deployment, sets);
  if (spec.paused) {
    DRAY_RETURN_IF_ERROR(ScalePaused(deployment, sets));
  } else if (spec.strategy.type == api::kStrategyRecreate) {
    DRAY_RETURN_IF_ERROR(Recreate(deployment, sets));
  } else {
    DRAY_RETURN_IF_ERROR(RollOut(deployment, sets));
  }
  DRAY_RETURN_IF_ERROR(RemoveHistory(deployment, sets));
  return WriteStatus(deployment, sets);
}

// The present template's set is of the newest revision.
Status DeploymentController::EnsureFresh(const api::Object& deployment, Sets& sets,
                                         std::int32_t replicas) {
  if (!sets.fresh.has_value()) {
    DRAY_RETURN_IF_ERROR(MakeFresh(deployment, sets, replicas));
    if (!sets.fresh.has_value()) return {};
  }
  const std::int64_t revision =
      std::max(RevisionOf(sets.fresh->metadata()), MaxRevision(sets.old) + 1);
  const std::string text = fmt::format_int(revision).str();
  const std::int32_t min_ready = deployment.As<api::Deployment>()->spec.min_ready_seconds;
  DRAY_RETURN_IF_ERROR(view().EditObject(*sets.fresh, [&](api::Object& changed) {
    api::ReplicaSet& set = *changed.Mutable<api::ReplicaSet>();
    std::string& at = set.metadata.annotations[api::kDeploymentRevisionAnnotation];
    if (at == text && set.spec.min_ready_seconds == min_ready) return false;
    at = text;
    set.spec.min_ready_seconds = min_ready;
    return true;
  }));
  if (const api::Object* now = view().Find(ObjectKey::Of(*sets.fresh))) sets.fresh = *now;
  return view().EditObject(deployment, [&](api::Object& changed) {
    if (RevisionOf(changed.metadata()) == revision) return false;
    changed.MutableMetadata().annotations[api::kDeploymentRevisionAnnotation] = text;
    return true;
  });
}

Status DeploymentController::MakeFresh(const api::Object& deployment, Sets& sets,
                                       std::int32_t replicas) {
  const api::Deployment& wanted = *deployment.As<api::Deployment>();
  const std::int32_t collisions = wanted.status.collision_count.value_or(0);
  const std::string hash = HashOf(wanted.spec.template_, collisions);
  api::ReplicaSet set;
  set.metadata.name = fmt::format("{}-{}", wanted.metadata.name, hash);
  set.metadata.namespace_ = wanted.metadata.namespace_;
  set.metadata.owner_references = {ControllerReference(deployment)};
  for (const auto& [annotation, value] : wanted.metadata.annotations) {
    if (!StaysWithDeployment(annotation)) set.metadata.annotations[annotation] = value;
  }
  set.metadata.annotations[api::kDeploymentRevisionAnnotation] =
      fmt::format_int(MaxRevision(sets.old) + 1).str();
  set.spec.template_ = wanted.spec.template_;
  set.spec.template_.metadata.labels[api::kPodTemplateHashLabel] = hash;
  set.metadata.labels = set.spec.template_.metadata.labels;
  set.spec.selector = wanted.spec.selector;
  set.spec.selector->match_labels[api::kPodTemplateHashLabel] = hash;
  set.spec.min_ready_seconds = wanted.spec.min_ready_seconds;
  set.spec.replicas = replicas;
  auto made = view().Create(api::Object::Of(std::move(set)));
  if (made.ok()) {
    sets.fresh = *std::move(made);
    if (replicas > 0) {
      Tell(view(), deployment,
           {.component = name(),
            .reason = "ScalingReplicaSet",
            .message = fmt::format("Scaled up replica set {} from 0 to {}",
                                   sets.fresh->metadata().name, replicas)});
    }
    return {};
  }
  if (made.status().code() != StatusCode::kAlreadyExists) {
    Tell(view(), deployment,
         {.component = name(),
          .warning = true,
          .reason = "ReplicaSetCreateError",
          .message =
              fmt::format("Failed to create new replica set: {}", base::Message(made.status()))});
    return made.status();
  }
  // Somebody else's set has the name: the next try is for another one.
  return view().EditStatus(deployment, [&](api::Object& changed) {
    changed.Mutable<api::Deployment>()->status.collision_count = collisions + 1;
    return true;
  });
}

}  // namespace dray::controllers

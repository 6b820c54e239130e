// SPDX-License-Identifier: Apache-2.0
#include "controllers/workload_pods.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/pod_conditions.h"
#include "controllers/pods.h"

namespace dray::controllers {

api::OwnerReference ControllerReference(const api::Object& owner) {
  return {.api_version = owner.kind().ApiVersion(),
          .kind = std::string(owner.kind().kind),
          .name = owner.metadata().name,
          .uid = owner.metadata().uid,
          .controller = true,
          .block_owner_deletion = true};
}

api::Pod PodFromTemplate(const api::PodTemplateSpec& made_from, const api::Object& owner) {
  api::Pod pod;
  pod.metadata.generate_name = owner.metadata().name + "-";
  pod.metadata.namespace_ = owner.metadata().namespace_;
  pod.metadata.labels = made_from.metadata.labels;
  pod.metadata.annotations = made_from.metadata.annotations;
  pod.metadata.finalizers = made_from.metadata.finalizers;
  pod.metadata.owner_references = {ControllerReference(owner)};
  pod.spec = made_from.spec;
  return pod;
}

std::optional<base::Time> ReadySince(const api::Pod& pod) {
  const auto& conditions = pod.status.conditions;
  const auto it = std::ranges::find(conditions, api::kPodReadyCondition, &api::PodCondition::type);
  if (it == conditions.end() || it->status != "True") return std::nullopt;
  return it->last_transition_time.value_or(base::Time());
}

std::optional<base::Time> AvailableAt(const api::Pod& pod, std::int32_t min_ready_seconds) {
  const auto since = ReadySince(pod);
  if (!since.has_value()) return std::nullopt;
  return *since + std::chrono::seconds(min_ready_seconds);
}

void Tell(View& view, const api::Object& about, Told told) {
  view.Note({.about = about,
             .type = told.warning ? "Warning" : "Normal",
             .reason = std::string(told.reason),
             .message = std::move(told.message),
             .component = std::string(told.component),
             .action = ""});
}

Status MarkDisrupted(View& view, const api::Object& pod, const Disruption& disruption) {
  return view.EditStatus(pod, [&](api::Object& changed) {
    const api::PodStatus before = changed.As<api::Pod>()->status;
    api::PodStatus& status = changed.Mutable<api::Pod>()->status;
    if (disruption.fail && !IsTerminal(*changed.As<api::Pod>())) status.phase = api::kPodFailed;
    api::SetCondition(status, {.type = std::string(api::kDisruptionTargetCondition),
                               .status = "True",
                               .last_transition_time = disruption.now.TruncateToSeconds(),
                               .reason = std::string(disruption.reason),
                               .message = std::string(disruption.message)});
    return status != before;
  });
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
#include "controllers/stateful_set_controller.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>

#include "api/daemon_set.h"
#include "api/pod.h"
#include "api/workloads.h"
#include "controllers/pods.h"
#include "controllers/revisions.h"
#include "controllers/rollout.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// How many pods it makes or deletes before others come in: they share its thread.
constexpr int kBurst = 50;

std::array<const api::KindInfo*, 3> StatefulKinds() {
  return {&KindOf<api::StatefulSet>(), &KindOf<api::Pod>(), &KindOf<api::ControllerRevision>()};
}

const api::StatefulSetSpec& SpecOf(const api::Object& set) {
  return set.As<api::StatefulSet>()->spec;
}

std::int32_t FirstOrdinal(const api::StatefulSetSpec& spec) {
  return spec.ordinals ? spec.ordinals->start : 0;
}
std::int32_t WantedPods(const api::StatefulSetSpec& spec) { return spec.replicas.value_or(1); }
bool InOrder(const api::StatefulSetSpec& spec) {
  return spec.pod_management_policy != api::kPodManagementParallel;
}
std::int32_t PartitionOf(const api::StatefulSetSpec& spec) {
  return spec.update_strategy.rolling_update
             ? spec.update_strategy.rolling_update->partition.value_or(0)
             : 0;
}

// Behind its last pod; and the first that is to be of the newest template.
std::int64_t EndOrdinal(const api::StatefulSetSpec& spec) {
  constexpr std::int64_t kEnd = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  return std::min(std::int64_t{FirstOrdinal(spec)} + WantedPods(spec), kEnd);
}
std::int64_t FirstNewOrdinal(const api::StatefulSetSpec& spec) {
  return std::int64_t{FirstOrdinal(spec)} + PartitionOf(spec);
}

// How many pods may be missing while they are replaced.
std::int32_t MostMissing(const api::StatefulSetSpec& spec) {
  if (!spec.update_strategy.rolling_update ||
      !spec.update_strategy.rolling_update->max_unavailable) {
    return 1;
  }
  const api::IntOrString& amount = *spec.update_strategy.rolling_update->max_unavailable;
  if (const auto* number = std::get_if<std::int32_t>(&amount.value)) return std::max(*number, 1);
  const std::int64_t percent = std::atoll(std::get<std::string>(amount.value).c_str());
  return std::max<std::int32_t>(static_cast<std::int32_t>((WantedPods(spec) * percent + 99) / 100),
                                1);
}

std::string_view RevisionNameOf(const api::Object& pod) {
  const std::string* label = pod.metadata().labels.Find(api::kControllerRevisionHashLabel);
  return label == nullptr ? std::string_view() : std::string_view(*label);
}

std::string PodName(const api::Object& set, std::int32_t ordinal) {
  return fmt::format("{}-{}", set.metadata().name, ordinal);
}
std::string ClaimName(const api::StatefulSetVolumeClaim& claim, const api::Object& set,
                      std::int32_t ordinal) {
  return fmt::format("{}-{}-{}", claim.metadata.name, set.metadata().name, ordinal);
}

const api::KindInfo& ClaimKind() {
  static const api::KindInfo& kind = *api::FindKind("v1", "PersistentVolumeClaim");
  return kind;
}

// The pod's volumes of its own stand in for those of the same name.
void AddVolumes(const api::Object& set, std::int32_t ordinal, api::PodSpec& spec) {
  for (const api::StatefulSetVolumeClaim& claim : SpecOf(set).volume_claim_templates) {
    std::erase_if(spec.volumes,
                  [&](const api::Volume& volume) { return volume.name == claim.metadata.name; });
    api::Volume volume;
    volume.name = claim.metadata.name;
    volume.persistent_volume_claim.emplace().claim_name = ClaimName(claim, set, ordinal);
    spec.volumes.push_back(std::move(volume));
  }
}

api::Object ClaimFor(const api::Object& set, const api::StatefulSetVolumeClaim& claim,
                     std::int32_t ordinal) {
  api::Object made = api::Object::New(ClaimKind());
  api::ObjectMeta& metadata = made.MutableMetadata();
  metadata.name = ClaimName(claim, set, ordinal);
  metadata.namespace_ = set.metadata().namespace_;
  metadata.labels = claim.metadata.labels;
  metadata.annotations = claim.metadata.annotations;
  if (SpecOf(set).selector) {
    for (const auto& [key, value] : SpecOf(set).selector->match_labels) {
      metadata.labels[key] = value;
    }
  }
  const auto& policy = SpecOf(set).persistent_volume_claim_retention_policy;
  if (policy && policy->when_deleted == "Delete") {
    metadata.owner_references = {ControllerReference(set)};
  }
  const api::StructInfo& info = ClaimKind().hub->fields();
  const api::FieldInfo& spec = info.fields.at(static_cast<std::size_t>(info.Find("spec")));
  *static_cast<api::PersistentVolumeClaimSpec*>(spec.At(made.MutableData())) = claim.spec;
  return made;
}

}  // namespace

std::optional<std::int32_t> OrdinalOf(std::string_view set, std::string_view pod) {
  if (pod.size() <= set.size() + 1 || !pod.starts_with(set) || pod[set.size()] != '-') {
    return std::nullopt;
  }
  const std::string_view digits = pod.substr(set.size() + 1);
  std::int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  const bool plain = digits == "0" || digits[0] != '0';
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0 || !plain) {
    return std::nullopt;
  }
  return ordinal;
}

api::Pod StatefulPod(const api::Object& set, const api::PodTemplateSpec& made_from,
                     std::int32_t ordinal, std::string_view revision) {
  api::Pod pod = PodFromTemplate(made_from, set);
  pod.metadata.generate_name.clear();
  pod.metadata.name = PodName(set, ordinal);
  pod.metadata.labels[api::kControllerRevisionHashLabel] = revision;
  pod.metadata.labels[api::kStatefulSetPodNameLabel] = pod.metadata.name;
  pod.metadata.labels[api::kPodIndexLabel] = std::to_string(ordinal);
  pod.spec.hostname = pod.metadata.name;
  pod.spec.subdomain = SpecOf(set).service_name;
  AddVolumes(set, ordinal, pod.spec);
  return pod;
}

std::vector<api::Object> StatefulVolumeClaims(const api::Object& set, std::int32_t ordinal) {
  std::vector<api::Object> claims;
  for (const api::StatefulSetVolumeClaim& claim : SpecOf(set).volume_claim_templates) {
    claims.push_back(ClaimFor(set, claim, ordinal));
  }
  return claims;
}

StatefulSetController::StatefulSetController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, StatefulKinds()) {}

void StatefulSetController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const api::ObjectMeta& metadata = either.metadata();
  if (either.As<api::StatefulSet>() != nullptr) {
    if (after == nullptr) return sets_.Remove(metadata.namespace_, metadata.name);
    sets_.Add(metadata.namespace_, metadata.name);
    return queue().Add(ObjectKey::Of(*after));
  }
  const bool pod = either.As<api::Pod>() != nullptr;
  (pod ? pods_ : revisions_).OnChange(before, after);
  for (const api::Object* child : {before, after}) {
    if (child == nullptr) continue;
    if (const auto set = ControllerKey<api::StatefulSet>(child->metadata())) queue().Add(*set);
  }
  if (pod && after != nullptr && api::FindController(after->metadata()) == nullptr) {
    QueueSelecting(after->metadata());
  }
}

void StatefulSetController::QueueSelecting(const api::ObjectMeta& orphan) {
  for (const std::string& name : sets_.At(orphan.namespace_)) {
    // Only a pod that has the name of one is adopted.
    if (!OrdinalOf(name, orphan.name)) continue;
    queue().Add(ObjectKey::Of<api::StatefulSet>(orphan.namespace_, name));
  }
}

StatusOr<StatefulSetController::Revisions> StatefulSetController::RevisionsOf(
    const api::Object& set) {
  const api::StatefulSet& wanted = *set.As<api::StatefulSet>();
  const std::string hash = HashOf(wanted.spec.template_, wanted.status.collision_count.value_or(0));
  std::vector<api::Object> known = revisions_.Of(set);
  DRAY_ASSIGN_OR_RETURN(api::Object update,
                        EnsureRevision(set, wanted.spec.template_, hash, known, view()));
  known = revisions_.Of(set);
  const auto current = std::ranges::find_if(known, [&](const api::Object& revision) {
    return revision.metadata().name == wanted.status.current_revision;
  });
  Revisions revisions{.current = current == known.end() ? update : *current,
                      .update = std::move(update)};
  std::vector<std::string> in_use = {revisions.current.metadata().name,
                                     revisions.update.metadata().name};
  for (const api::Object& pod : pods_.Of(set)) in_use.emplace_back(RevisionNameOf(pod));
  DRAY_RETURN_IF_ERROR(TrimRevisions(std::move(known), in_use,
                                     wanted.spec.revision_history_limit.value_or(10), view()));
  return revisions;
}

StatefulSetController::ByOrdinal StatefulSetController::PodsOf(const api::Object& set) const {
  ByOrdinal pods;
  for (const api::Object& pod : pods_.Of(set)) {
    if (const auto ordinal = OrdinalOf(set.metadata().name, pod.metadata().name)) {
      pods.emplace(*ordinal, pod);
    }
  }
  return pods;
}

Status StatefulSetController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object set = *found;
  if (!SpecOf(set).selector) return {};
  DRAY_ASSIGN_OR_RETURN(const api::LabelMatcher selector,
                        api::LabelMatcher::From(*SpecOf(set).selector));
  if (view().Leaving(set)) return {};
  // What it no longer selects is not its own any more.
  for (const api::Object& pod : pods_.Of(set)) {
    if (selector.Matches(pod.metadata().labels)) continue;
    DRAY_RETURN_IF_ERROR(view().EditObject(pod, [&](api::Object& changed) {
      return std::erase_if(changed.MutableMetadata().owner_references,
                           [&](const auto& owner) { return owner.uid == set.metadata().uid; }) > 0;
    }));
  }
  DRAY_ASSIGN_OR_RETURN(const Revisions revisions, RevisionsOf(set));
  const auto work = [&]() -> Status {
    DRAY_ASSIGN_OR_RETURN(const Step step, Fill(set, revisions, PodsOf(set)));
    if (step == Step::kWait) return {};
    if (step == Step::kGoOn) {
      DRAY_ASSIGN_OR_RETURN(const bool shrunk, Shrink(set, PodsOf(set)));
      if (!shrunk) return {};
    }
    return RollOut(set, revisions, PodsOf(set));
  };
  const Status worked = work();
  DRAY_RETURN_IF_ERROR(WriteStatus(set, revisions));
  return worked;
}

bool StatefulSetController::IsHealthy(const api::Object& set, const api::Object& pod) const {
  if (view().Leaving(pod)) return false;
  const auto at = AvailableAt(*pod.As<api::Pod>(), SpecOf(set).min_ready_seconds);
  return at.has_value() && *at <= clock().Now();
}

StatefulSetController::Step StatefulSetController::GoOnLater(const api::Object& set) {
  queue().Add(ObjectKey::Of(set));
  return Step::kWait;
}

StatusOr<StatefulSetController::Step> StatefulSetController::Fill(const api::Object& set,
                                                                  const Revisions& revisions,
                                                                  const ByOrdinal& pods) {
  const api::StatefulSetSpec& spec = SpecOf(set);
  const bool in_order = InOrder(spec);
  const std::int32_t first = FirstOrdinal(spec);
  bool all = true;
  int writes = 0;
  for (std::int64_t ordinal = first; ordinal < EndOrdinal(spec); ++ordinal) {
    const auto i = static_cast<std::int32_t>(ordinal);
    const auto there = pods.find(i);
    if (there == pods.end()) {
      if (++writes > kBurst) return GoOnLater(set);
      DRAY_RETURN_IF_ERROR(MakePod(set, revisions, i));
      if (in_order) return Step::kWait;
      all = false;
      continue;
    }
    const api::Object& pod = there->second;
    // One that has ended comes back under its name, once it is gone.
    if (IsTerminal(*pod.As<api::Pod>()) && !view().Leaving(pod)) {
      if (++writes > kBurst) return GoOnLater(set);
      DRAY_RETURN_IF_ERROR(view().Delete(pod));
      if (in_order) return Step::kWait;
      all = false;
      continue;
    }
    if (in_order && !IsHealthy(set, pod)) {
      if (const auto at = AvailableAt(*pod.As<api::Pod>(), spec.min_ready_seconds)) {
        queue().AddAfter(ObjectKey::Of(set), *at - clock().Now());
      }
      // One of an old template that never becomes ready must not keep the new one from coming.
      const bool old = RevisionNameOf(pod) != revisions.update.metadata().name;
      return old && i - first >= PartitionOf(spec) ? Step::kReplace : Step::kWait;
    }
  }
  return all ? Step::kGoOn : Step::kWait;
}

StatusOr<bool> StatefulSetController::Shrink(const api::Object& set, const ByOrdinal& pods) {
  const api::StatefulSetSpec& spec = SpecOf(set);
  const std::int32_t first = FirstOrdinal(spec);
  const auto& policy = spec.persistent_volume_claim_retention_policy;
  int writes = 0;
  for (auto it = pods.rbegin(); it != pods.rend(); ++it) {
    const auto& [ordinal, pod] = *it;
    if (ordinal >= first && ordinal < EndOrdinal(spec)) continue;
    if (view().Leaving(pod)) {
      if (InOrder(spec)) return false;
      continue;
    }
    if (++writes > kBurst) {
      GoOnLater(set);
      return false;
    }
    DRAY_RETURN_IF_ERROR(view().Delete(pod));
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulDelete",
          .message = fmt::format("delete Pod {} in StatefulSet {} successful", pod.metadata().name,
                                 set.metadata().name)});
    if (policy && policy->when_scaled == "Delete") {
      for (const api::StatefulSetVolumeClaim& claim : spec.volume_claim_templates) {
        DRAY_ASSIGN_OR_RETURN(const auto found, view().Fetch(ClaimKind(), set.metadata().namespace_,
                                                             ClaimName(claim, set, ordinal)));
        if (found) DRAY_RETURN_IF_ERROR(view().Delete(*found));
      }
    }
    if (InOrder(spec)) return false;
  }
  return true;
}

Status StatefulSetController::RollOut(const api::Object& set, const Revisions& revisions,
                                      const ByOrdinal& pods) {
  const api::StatefulSetSpec& spec = SpecOf(set);
  if (spec.update_strategy.type == api::kStrategyOnDelete) return {};
  int writes = 0;
  const std::string& newest = revisions.update.metadata().name;
  std::int32_t missing = 0;
  for (const auto& [ordinal, pod] : pods) missing += IsHealthy(set, pod) ? 0 : 1;
  for (auto it = pods.rbegin(); it != pods.rend(); ++it) {
    const auto& [ordinal, pod] = *it;
    if (ordinal < FirstNewOrdinal(spec)) break;
    if (RevisionNameOf(pod) == newest) {
      if (!IsHealthy(set, pod) && missing >= MostMissing(spec)) return {};
      continue;
    }
    if (view().Leaving(pod)) {
      if (missing >= MostMissing(spec)) return {};
      continue;
    }
    const bool healthy = IsHealthy(set, pod);
    if (healthy && missing >= MostMissing(spec)) return {};
    if (++writes > kBurst) {
      GoOnLater(set);
      return {};
    }
    DRAY_RETURN_IF_ERROR(view().Delete(pod));
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulDelete",
          .message = fmt::format("delete Pod {} in StatefulSet {} successful", pod.metadata().name,
                                 set.metadata().name)});
    missing += healthy ? 1 : 0;
  }
  return {};
}

Status StatefulSetController::EnsureClaims(const api::Object& set, const api::Pod& pod,
                                           std::int32_t ordinal) {
  for (api::Object& claim : StatefulVolumeClaims(set, ordinal)) {
    DRAY_ASSIGN_OR_RETURN(const auto found, view().Fetch(ClaimKind(), pod.metadata.namespace_,
                                                         claim.metadata().name));
    if (found) continue;
    const Status made = view().Create(std::move(claim)).status();
    if (!made.ok() && made.code() != StatusCode::kAlreadyExists) return made;
  }
  return {};
}

Status StatefulSetController::MakePod(const api::Object& set, const Revisions& revisions,
                                      std::int32_t ordinal) {
  const api::StatefulSetSpec& spec = SpecOf(set);
  const bool old =
      spec.update_strategy.type != api::kStrategyOnDelete && ordinal < FirstNewOrdinal(spec);
  const api::Object& revision = old ? revisions.current : revisions.update;
  DRAY_ASSIGN_OR_RETURN(const api::PodTemplateSpec made_from, TemplateOf(revision));
  const api::Pod pod = StatefulPod(set, made_from, ordinal, revision.metadata().name);
  DRAY_RETURN_IF_ERROR(EnsureClaims(set, pod, ordinal));
  const auto made = view().Create(api::Object::Of(pod));
  if (made.status().code() == StatusCode::kAlreadyExists) return Adopt(set, pod.metadata.name);
  Tell(view(), set,
       {.component = name(),
        .warning = !made.ok(),
        .reason = made.ok() ? "SuccessfulCreate" : "FailedCreate",
        .message = made.ok() ? fmt::format("create Pod {} in StatefulSet {} successful",
                                           pod.metadata.name, set.metadata().name)
                             : fmt::format("create Pod {} in StatefulSet {} failed error: {}",
                                           pod.metadata.name, set.metadata().name,
                                           base::Message(made.status()))});
  return made.status();
}

// Somebody has made a pod of that name: it is taken if it is nobody else's and has the labels.
Status StatefulSetController::Adopt(const api::Object& set, const std::string& pod) {
  DRAY_ASSIGN_OR_RETURN(auto found, view().Fetch<api::Pod>(set.metadata().namespace_, pod));
  if (!found) return base::Aborted(fmt::format("pod {} has gone again", pod));
  DRAY_ASSIGN_OR_RETURN(const api::LabelMatcher selector,
                        api::LabelMatcher::From(*SpecOf(set).selector));
  const api::OwnerReference* owner = api::FindController(found->metadata());
  if (owner != nullptr && owner->uid == set.metadata().uid) return {};
  if (owner != nullptr || view().Leaving(*found) || !selector.Matches(found->metadata().labels)) {
    return base::AlreadyExists(fmt::format("there is a pod {} that is not of this set", pod));
  }
  found->MutableMetadata().owner_references.push_back(ControllerReference(set));
  return view().Update(*std::move(found)).status();
}

Status StatefulSetController::WriteStatus(const api::Object& set, const Revisions& revisions) {
  const api::StatefulSetSpec& spec = SpecOf(set);
  api::StatefulSetStatus counted;
  const std::string& update = revisions.update.metadata().name;
  std::string current = revisions.current.metadata().name;
  bool done = true;
  for (const auto& [ordinal, pod] : PodsOf(set)) {
    ++counted.replicas;
    const bool healthy = IsHealthy(set, pod);
    if (ReadySince(*pod.As<api::Pod>()).has_value() && !view().Leaving(pod)) {
      ++counted.ready_replicas;
    }
    counted.available_replicas += healthy ? 1 : 0;
    counted.current_replicas += RevisionNameOf(pod) == current ? 1 : 0;
    counted.updated_replicas += RevisionNameOf(pod) == update ? 1 : 0;
    done = done && healthy && RevisionNameOf(pod) == update;
  }
  // A roll-out is over when every pod has the newest template and can be counted on.
  if (done && counted.replicas == WantedPods(spec) && PartitionOf(spec) == 0) {
    current = update;
    counted.current_replicas = counted.updated_replicas;
  }
  const Status written = view().EditStatus(set, [&](api::Object& changed) {
    const api::StatefulSetStatus before = changed.As<api::StatefulSet>()->status;
    api::StatefulSetStatus status = counted;
    status.observed_generation = set.metadata().generation;
    status.current_revision = current;
    status.update_revision = update;
    status.collision_count = before.collision_count;
    status.conditions = before.conditions;
    if (status == before) return false;
    changed.Mutable<api::StatefulSet>()->status = std::move(status);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
//
// What deleting an object means: at once, or later, when its finalizers are done, its grace is over
// or its namespace is empty.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/pod_conditions.h"
#include "api/priority_class.h"
#include "api/system_priority.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "registry/internal/attempt.h"
#include "registry/registry.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::int64_t kDefaultGrace = 30;

// How long a pod's containers get to end: only where something runs.
std::int64_t GraceOf(const api::Object& object, const DeleteOptions& options) {
  const api::Pod* pod = object.As<api::Pod>();
  if (pod == nullptr) return 0;
  const bool over = pod->status.phase == api::kPodSucceeded || pod->status.phase == api::kPodFailed;
  if (pod->spec.node_name.empty() || over) return 0;
  const std::int64_t own = pod->spec.termination_grace_period_seconds.value_or(kDefaultGrace);
  const std::int64_t grace = options.grace_seconds.value_or(own);
  return grace < 0 ? 1 : grace;  // only 0 says "at once"
}

// The finalizers that say what becomes of what the object owns.
void SetPropagation(Propagation propagation, std::vector<std::string>& finalizers) {
  if (propagation == Propagation::kDefault) return;
  std::erase(finalizers, kOrphan);
  std::erase(finalizers, kForeground);
  if (propagation == Propagation::kOrphan) finalizers.emplace_back(kOrphan);
  if (propagation == Propagation::kForeground) finalizers.emplace_back(kForeground);
}

// Tells whoever counts the ends of pods that this one was not its own.
void MarkEvicted(api::Object& object, base::Time now) {
  auto* pod = object.Mutable<api::Pod>();
  if (pod == nullptr) return;
  api::SetCondition(pod->status, {.type = std::string(api::kDisruptionTargetCondition),
                                  .status = "True",
                                  .last_transition_time = now.TruncateToSeconds(),
                                  .reason = "EvictionByEvictionAPI",
                                  .message = "Eviction API: evicting"});
}

bool HoldsContent(const api::Object& object) {
  const api::Namespace* space = object.As<api::Namespace>();
  return space != nullptr && !space->spec.finalizers.empty();
}

// What a cluster cannot do without.
Status CheckMortal(const api::Object& object) {
  constexpr std::string_view kImmortal[] = {"default", "kube-system", "kube-public"};
  const std::string& name = object.metadata().name;
  if (object.As<api::PriorityClass>() != nullptr && api::SystemPriority(name)) {
    return rest::Forbidden(object.kind(), name,
                           "this is a system priority class and cannot be deleted");
  }
  if (object.As<api::Namespace>() == nullptr) return {};
  if (std::ranges::find(kImmortal, name) == std::end(kImmortal)) return {};
  return rest::Forbidden(object.kind(), name, "this namespace may not be deleted");
}

}  // namespace

Status CheckPreconditions(const api::Object& object, const DeleteOptions& options) {
  const api::ObjectMeta& metadata = object.metadata();
  if (options.uid && *options.uid != metadata.uid) {
    return rest::PreconditionFailed(
        object.kind(), metadata.name,
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                    "object might have been deleted and then recreated",
                    *options.uid, metadata.uid));
  }
  if (options.resource_version && *options.resource_version != metadata.resource_version) {
    return rest::PreconditionFailed(
        object.kind(), metadata.name,
        fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                    "ResourceVersion in record ({}). The object might have been modified",
                    *options.resource_version, metadata.resource_version));
  }
  return {};
}

StatusOr<Registry::Attempt> Registry::TryDelete(const Found& found,
                                                const DeleteOptions& options) const {
  const api::Object& stored = found.object();
  DRAY_RETURN_IF_ERROR(CheckMortal(stored));
  DRAY_RETURN_IF_ERROR(CheckPreconditions(stored, options));
  api::Object next = stored;
  SetPropagation(options.propagation, next.MutableMetadata().finalizers);
  Attempt attempt{stored};
  if (options.eviction) {
    DRAY_RETURN_IF_ERROR(AdmitEviction(objects_, stored, clock_.Now(), attempt.transaction));
    MarkEvicted(next, clock_.Now());
  }
  const std::int64_t grace = GraceOf(stored, options);
  const bool waits = !next.metadata().finalizers.empty() || grace > 0 || HoldsContent(stored);
  if (!waits) {
    attempt.Delete(std::move(next), found.entry->modified);
    return attempt;
  }
  const auto& since = stored.metadata().deletion_timestamp;
  // A second deletion can only shorten the wait.
  const bool sooner =
      since && grace < stored.metadata().deletion_grace_period_seconds.value_or(grace);
  const bool same = next.metadata().finalizers == stored.metadata().finalizers;
  if (since && !sooner && same) return attempt;
  if (!since || sooner) api::MarkDeleted(next, clock_.Now(), grace);
  if (auto* space = next.Mutable<api::Namespace>()) {
    space->status.phase = api::kNamespaceTerminating;
  }
  attempt.result = std::move(next);
  attempt.PutResult(found.entry->modified);
  return attempt;
}

StatusOr<Registry::Attempt> Registry::TryDeleteUnread(const api::KindInfo& kind,
                                                      const std::string& namespace_,
                                                      const std::string& name) const {
  const store::EntryPtr entry = objects_.store().Find(KeyOf(kind, namespace_, name));
  if (entry == nullptr) return rest::NotFound(kind, name);
  // All that is known of it.
  api::Object last = api::Object::New(api::HubKind(*kind.hub));
  last.MutableMetadata().name = name;
  if (kind.namespaced) last.MutableMetadata().namespace_ = namespace_;
  Attempt attempt{last};
  attempt.Delete(std::move(last), entry->modified);
  return attempt;
}

}  // namespace dray::registry

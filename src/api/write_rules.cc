// SPDX-License-Identifier: Apache-2.0
#include "api/write_rules.h"

#include <algorithm>
#include <utility>

#include "api/custom_kind.h"
#include "api/device_class.h"
#include "api/generated_name.h"
#include "api/internal/status_part.h"
#include "api/lease.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "base/seconds.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

ValidationOptions Validation(const WriteRules& rules) {
  return {.gates = rules.gates, .expressions = rules.expressions};
}

std::string Shown(const Pod& pod) {
  return fmt::format("Pod \"{}/{}\"", pod.metadata.namespace_, pod.metadata.name);
}

void MarkScheduled(Pod& pod, base::Time now) {
  auto& conditions = pod.status.conditions;
  auto it = std::ranges::find(conditions, kPodScheduledCondition, &PodCondition::type);
  if (it == conditions.end()) {
    conditions.push_back({.type = std::string(kPodScheduledCondition)});
    it = std::prev(conditions.end());
  }
  if (it->status != "True") it->last_transition_time = now.TruncateToSeconds();
  it->status = "True";
  it->reason.clear();
  it->message.clear();
}

}  // namespace

void PrepareNew(Object& object, const WriteRules& rules, base::Time now,
                base::RandomSource& random) {
  SetDefaults(object, now);
  object = std::move(object).InHub();
  ObjectMeta& metadata = object.MutableMetadata();
  metadata.uid = base::NewUuid(random);
  metadata.creation_timestamp = now.TruncateToSeconds();
  metadata.deletion_timestamp.reset();
  metadata.deletion_grace_period_seconds.reset();
  metadata.self_link.clear();
  PrepareForCreate(object, {.gates = rules.gates, .now = now});
}

ErrorList CheckNew(const Object& object, const WriteRules& rules) {
  return rules.validate ? ValidateCreate(object, Validation(rules)) : ErrorList{};
}

std::string CompletedName(std::string_view stem, base::RandomSource& random) {
  std::string name(stem.substr(0, kNameStemMaxLength));
  std::uint64_t bits = random.Next();
  for (std::size_t i = 0; i < kNameSuffixLength; ++i) {
    name.push_back(kNameAlphabet[bits % kNameAlphabet.size()]);
    bits /= kNameAlphabet.size();
  }
  return name;
}

ErrorList PrepareUpdate(Object& object, const Object& stored, const WriteRules& rules,
                        base::Time now) {
  const bool unconditional = AllowsUnconditionalUpdate(object.kind());
  SetDefaults(object, now);
  object = std::move(object).InHub();
  ObjectMeta& metadata = object.MutableMetadata();
  if (unconditional) {
    metadata.resource_version = stored.metadata().resource_version;
  }
  KeepServerFields(metadata, stored.metadata());
  internal::KeepStatus(object, stored);
  PrepareForUpdate(object, stored, {.gates = rules.gates, .now = now});
  return rules.validate ? ValidateUpdate(object, stored, Validation(rules)) : ErrorList{};
}

ErrorList PrepareStatus(Object& object, const Object& stored, const WriteRules& rules,
                        base::Time now) {
  SetDefaults(object, now);
  object = std::move(object).InHub();
  ObjectMeta& metadata = object.MutableMetadata();
  metadata.resource_version = stored.metadata().resource_version;
  KeepServerFields(metadata, stored.metadata());
  internal::KeepAllButStatus(object, stored);
  PrepareForStatusUpdate(object, stored, {.gates = rules.gates, .now = now});
  return rules.validate ? ValidateStatusUpdate(object, stored, Validation(rules)) : ErrorList{};
}

ErrorList PrepareEphemeralContainers(Object& object, const Object& stored, const WriteRules& rules,
                                     base::Time now) {
  SetDefaults(object, now);
  object = std::move(object).InHub();
  Object next = stored;
  Pod& pod = *next.Mutable<Pod>();
  pod.spec.ephemeral_containers = object.As<Pod>()->spec.ephemeral_containers;
  pod.metadata.managed_fields = object.metadata().managed_fields;
  if (!(pod.spec == stored.As<Pod>()->spec)) ++pod.metadata.generation;
  object = std::move(next);
  return rules.validate ? ValidateEphemeralContainersUpdate(object, stored, Validation(rules))
                        : ErrorList{};
}

bool HasStatusPart(const KindInfo& kind) { return internal::HasStatus(kind); }

bool AllowsUnconditionalUpdate(const KindInfo& kind) {
  if (IsCustom(kind) || kind.group == "apiextensions.k8s.io") return false;
  if (kind.hub == &TypeInfoOf<DeviceTaintRule>()) return kind.version != "v1";
  if (kind.hub == &TypeInfoOf<PodGroup>() || kind.hub == &TypeInfoOf<Workload>()) return false;
  return kind.hub != &TypeInfoOf<Lease>();
}

void MarkDeleted(Object& object, base::Time now, std::int64_t grace_seconds) {
  ObjectMeta& metadata = object.MutableMetadata();
  metadata.deletion_timestamp = (now + base::BoundedSeconds(grace_seconds)).TruncateToSeconds();
  metadata.deletion_grace_period_seconds = grace_seconds;
  if (metadata.generation > 0) ++metadata.generation;
}

StatusOr<Object> BoundPod(const Object& pod, std::string_view node, base::Time now) {
  const Pod& before = *pod.As<Pod>();
  if (node.empty()) return base::InvalidArgument("target.name: Required value");
  if (before.metadata.deletion_timestamp) {
    return base::Aborted(fmt::format("{} is being deleted and gets no node", Shown(before)));
  }
  if (!before.spec.node_name.empty()) {
    return base::AlreadyExists(
        fmt::format("{} is already on node \"{}\"", Shown(before), before.spec.node_name));
  }
  if (!before.spec.scheduling_gates.empty()) {
    return base::Aborted(fmt::format("{} has scheduling gates and gets no node", Shown(before)));
  }
  Object object = pod;
  Pod& bound = *object.Mutable<Pod>();
  bound.spec.node_name = node;
  bound.status.nominated_node_name.clear();
  MarkScheduled(bound, now);
  return object;
}

}  // namespace dray::api

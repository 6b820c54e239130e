// SPDX-License-Identifier: Apache-2.0
//
// apps/v1 StatefulSet: pods with numbers, which keep their names and volumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"
#include "api/volume.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kPodManagementOrderedReady = "OrderedReady";
inline constexpr std::string_view kPodManagementParallel = "Parallel";
inline constexpr std::string_view kStatefulSetPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";

// How pods of a stateful set are replaced.
struct RollingUpdateStatefulSetStrategy {
  std::optional<std::int32_t> partition;
  std::optional<IntOrString> max_unavailable;
  UnknownFields unknown;
  friend bool operator==(const RollingUpdateStatefulSetStrategy&,
                         const RollingUpdateStatefulSetStrategy&) = default;
};
const StructInfo& InfoOf(const RollingUpdateStatefulSetStrategy*);

// How pods of a stateful set get a new template.
struct StatefulSetUpdateStrategy {
  std::string type;
  Box<RollingUpdateStatefulSetStrategy> rolling_update;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetUpdateStrategy&,
                         const StatefulSetUpdateStrategy&) = default;
};
const StructInfo& InfoOf(const StatefulSetUpdateStrategy*);

// What becomes of the volumes of a stateful set.
struct StatefulSetPersistentVolumeClaimRetentionPolicy {
  std::string when_deleted;
  std::string when_scaled;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetPersistentVolumeClaimRetentionPolicy&,
                         const StatefulSetPersistentVolumeClaimRetentionPolicy&) = default;
};
const StructInfo& InfoOf(const StatefulSetPersistentVolumeClaimRetentionPolicy*);

// The numbers of the pods of a stateful set.
struct StatefulSetOrdinals {
  std::int32_t start = 0;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetOrdinals&, const StatefulSetOrdinals&) = default;
};
const StructInfo& InfoOf(const StatefulSetOrdinals*);

// Something that is the case for a stateful set.
struct StatefulSetCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetCondition&, const StatefulSetCondition&) = default;
};
const StructInfo& InfoOf(const StatefulSetCondition*);

// A claim for a volume that every pod of a stateful set gets.
struct StatefulSetVolumeClaim {
  std::string api_version;
  std::string kind;
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  Box<RawJson> status;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetVolumeClaim&, const StatefulSetVolumeClaim&) = default;
};
const StructInfo& InfoOf(const StatefulSetVolumeClaim*);

// Which pods with numbers are wanted.
struct StatefulSetSpec {
  std::optional<std::int32_t> replicas;
  Box<LabelSelector> selector;
  PodTemplateSpec template_;
  std::vector<StatefulSetVolumeClaim> volume_claim_templates;
  std::string service_name;
  std::string pod_management_policy;
  StatefulSetUpdateStrategy update_strategy;
  std::optional<std::int32_t> revision_history_limit;
  std::int32_t min_ready_seconds = 0;
  Box<StatefulSetPersistentVolumeClaimRetentionPolicy> persistent_volume_claim_retention_policy;
  Box<StatefulSetOrdinals> ordinals;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetSpec&, const StatefulSetSpec&) = default;
};
const StructInfo& InfoOf(const StatefulSetSpec*);

// How far a stateful set is.
struct StatefulSetStatus {
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t current_replicas = 0;
  std::int32_t updated_replicas = 0;
  std::string current_revision;
  std::string update_revision;
  std::optional<std::int32_t> collision_count;
  std::vector<StatefulSetCondition> conditions;
  std::int32_t available_replicas = 0;
  UnknownFields unknown;
  friend bool operator==(const StatefulSetStatus&, const StatefulSetStatus&) = default;
};
const StructInfo& InfoOf(const StatefulSetStatus*);

// Pods with numbers, which keep their names and volumes.
struct StatefulSet {
  ObjectMeta metadata;
  StatefulSetSpec spec;
  StatefulSetStatus status;
  UnknownFields unknown;
  friend bool operator==(const StatefulSet&, const StatefulSet&) = default;
};
const StructInfo& InfoOf(const StatefulSet*);

}  // namespace dray::api

// SPDX-License-Identifier: Apache-2.0
//
// apps/v1 DaemonSet: a pod on every node that fits; and ControllerRevision, a template as it once was.
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
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kStrategyOnDelete = "OnDelete";
// Of the pods of daemon sets and stateful sets: which template they are of.
inline constexpr std::string_view kControllerRevisionHashLabel = "controller-revision-hash";
inline constexpr std::string_view kTemplateGenerationLabel = "pod-template-generation";

// How pods of a daemon set are replaced.
struct RollingUpdateDaemonSet {
  std::optional<IntOrString> max_unavailable;
  std::optional<IntOrString> max_surge;
  UnknownFields unknown;
  friend bool operator==(const RollingUpdateDaemonSet&, const RollingUpdateDaemonSet&) = default;
};
const StructInfo& InfoOf(const RollingUpdateDaemonSet*);

// How pods of a daemon set get a new template.
struct DaemonSetUpdateStrategy {
  std::string type;
  Box<RollingUpdateDaemonSet> rolling_update;
  UnknownFields unknown;
  friend bool operator==(const DaemonSetUpdateStrategy&, const DaemonSetUpdateStrategy&) = default;
};
const StructInfo& InfoOf(const DaemonSetUpdateStrategy*);

// Something that is the case for a daemon set.
struct DaemonSetCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const DaemonSetCondition&, const DaemonSetCondition&) = default;
};
const StructInfo& InfoOf(const DaemonSetCondition*);

// Which pods are wanted on every node that fits.
struct DaemonSetSpec {
  Box<LabelSelector> selector;
  PodTemplateSpec template_;
  DaemonSetUpdateStrategy update_strategy;
  std::int32_t min_ready_seconds = 0;
  std::optional<std::int32_t> revision_history_limit;
  UnknownFields unknown;
  friend bool operator==(const DaemonSetSpec&, const DaemonSetSpec&) = default;
};
const StructInfo& InfoOf(const DaemonSetSpec*);

// How far a daemon set is.
struct DaemonSetStatus {
  std::int32_t current_number_scheduled = 0;
  std::int32_t number_misscheduled = 0;
  std::int32_t desired_number_scheduled = 0;
  std::int32_t number_ready = 0;
  std::int64_t observed_generation = 0;
  std::int32_t updated_number_scheduled = 0;
  std::int32_t number_available = 0;
  std::int32_t number_unavailable = 0;
  std::optional<std::int32_t> collision_count;
  std::vector<DaemonSetCondition> conditions;
  UnknownFields unknown;
  friend bool operator==(const DaemonSetStatus&, const DaemonSetStatus&) = default;
};
const StructInfo& InfoOf(const DaemonSetStatus*);

// A pod on every node that fits.
struct DaemonSet {
  ObjectMeta metadata;
  DaemonSetSpec spec;
  DaemonSetStatus status;
  UnknownFields unknown;
  friend bool operator==(const DaemonSet&, const DaemonSet&) = default;
};
const StructInfo& InfoOf(const DaemonSet*);

// A template of a workload as it once was.
struct ControllerRevision {
  ObjectMeta metadata;
  RawJson data;
  std::int64_t revision = 0;
  UnknownFields unknown;
  friend bool operator==(const ControllerRevision&, const ControllerRevision&) = default;
};
const StructInfo& InfoOf(const ControllerRevision*);

}  // namespace dray::api

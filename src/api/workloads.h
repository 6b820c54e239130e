// SPDX-License-Identifier: Apache-2.0
//
// apps/v1 ReplicaSet and Deployment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/pod.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kStrategyRollingUpdate = "RollingUpdate";
inline constexpr std::string_view kStrategyRecreate = "Recreate";
inline constexpr std::string_view kDeploymentRevisionAnnotation =
    "deployment.kubernetes.io/revision";
inline constexpr std::string_view kPodTemplateHashLabel = "pod-template-hash";

struct ReplicaSetCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const ReplicaSetCondition&, const ReplicaSetCondition&) = default;
};
const StructInfo& InfoOf(const ReplicaSetCondition*);

struct ReplicaSetSpec {
  std::optional<std::int32_t> replicas;
  std::int32_t min_ready_seconds = 0;
  Box<LabelSelector> selector;
  PodTemplateSpec template_;
  UnknownFields unknown;
  friend bool operator==(const ReplicaSetSpec&, const ReplicaSetSpec&) = default;
};
const StructInfo& InfoOf(const ReplicaSetSpec*);

struct ReplicaSetStatus {
  std::int32_t replicas = 0;
  std::int32_t fully_labeled_replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::optional<std::int32_t> terminating_replicas;
  std::int64_t observed_generation = 0;
  std::vector<ReplicaSetCondition> conditions;
  UnknownFields unknown;
  friend bool operator==(const ReplicaSetStatus&, const ReplicaSetStatus&) = default;
};
const StructInfo& InfoOf(const ReplicaSetStatus*);

struct ReplicaSet {
  ObjectMeta metadata;
  ReplicaSetSpec spec;
  ReplicaSetStatus status;
  UnknownFields unknown;
  friend bool operator==(const ReplicaSet&, const ReplicaSet&) = default;
};
const StructInfo& InfoOf(const ReplicaSet*);

struct RollingUpdateDeployment {
  std::optional<IntOrString> max_unavailable;  // a number or a percentage
  std::optional<IntOrString> max_surge;        // a number or a percentage
  UnknownFields unknown;
  friend bool operator==(const RollingUpdateDeployment&, const RollingUpdateDeployment&) = default;
};
const StructInfo& InfoOf(const RollingUpdateDeployment*);

struct DeploymentStrategy {
  std::string type;
  Box<RollingUpdateDeployment> rolling_update;  // only for RollingUpdate
  UnknownFields unknown;
  friend bool operator==(const DeploymentStrategy&, const DeploymentStrategy&) = default;
};
const StructInfo& InfoOf(const DeploymentStrategy*);

struct DeploymentCondition {
  std::string type;
  std::string status;
  std::optional<base::Time> last_update_time;
  std::optional<base::Time> last_transition_time;
  std::string reason;
  std::string message;
  UnknownFields unknown;
  friend bool operator==(const DeploymentCondition&, const DeploymentCondition&) = default;
};
const StructInfo& InfoOf(const DeploymentCondition*);

struct DeploymentSpec {
  std::optional<std::int32_t> replicas;
  Box<LabelSelector> selector;
  PodTemplateSpec template_;
  DeploymentStrategy strategy;
  std::int32_t min_ready_seconds = 0;
  std::optional<std::int32_t> revision_history_limit;
  bool paused = false;
  std::optional<std::int32_t> progress_deadline_seconds;
  UnknownFields unknown;
  friend bool operator==(const DeploymentSpec&, const DeploymentSpec&) = default;
};
const StructInfo& InfoOf(const DeploymentSpec*);

struct DeploymentStatus {
  std::int64_t observed_generation = 0;
  std::int32_t replicas = 0;
  std::int32_t updated_replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::int32_t unavailable_replicas = 0;
  std::optional<std::int32_t> terminating_replicas;
  std::vector<DeploymentCondition> conditions;
  std::optional<std::int32_t> collision_count;
  UnknownFields unknown;
  friend bool operator==(const DeploymentStatus&, const DeploymentStatus&) = default;
};
const StructInfo& InfoOf(const DeploymentStatus*);

struct Deployment {
  ObjectMeta metadata;
  DeploymentSpec spec;
  DeploymentStatus status;
  UnknownFields unknown;
  friend bool operator==(const Deployment&, const Deployment&) = default;
};
const StructInfo& InfoOf(const Deployment*);

}  // namespace dray::api

// SPDX-License-Identifier: Apache-2.0
//
// scheduling.k8s.io/v1beta1 Workload and PodGroup: pods that are scheduled together.
//
// A PodGroup is what a scheduler looks at: pods name it in spec.schedulingGroup. A Workload is what
// controllers make groups from; nobody schedules by it. v1alpha3 has the same fields. Composite groups
// (groups of groups) are not served: docs/decisions.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/values.h"

namespace dray::api {

inline constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";
inline constexpr std::string_view kPodGroupProtection = "scheduling.k8s.io/podgroup-protection";
inline constexpr std::string_view kGroupScheduledCondition = "PodGroupInitiallyScheduled";
inline constexpr std::string_view kGroupScheduled = "Scheduled";
inline constexpr std::string_view kGroupUnschedulable = "Unschedulable";
inline constexpr std::string_view kGroupSchedulerError = "SchedulerError";
inline constexpr std::size_t kPodGroupClaimsMaxSize = 4;
inline constexpr std::size_t kWorkloadMaxTemplates = 8;
inline constexpr std::size_t kPodGroupMaxTopologyKeys = 1;
inline constexpr std::int32_t kHighestUserPriority = 1'000'000'000;

struct BasicSchedulingPolicy {
  UnknownFields unknown;
  friend bool operator==(const BasicSchedulingPolicy&, const BasicSchedulingPolicy&) = default;
};
const StructInfo& InfoOf(const BasicSchedulingPolicy*);

struct GangSchedulingPolicy {
  std::int32_t min_count = 0;
  UnknownFields unknown;
  friend bool operator==(const GangSchedulingPolicy&, const GangSchedulingPolicy&) = default;
};
const StructInfo& InfoOf(const GangSchedulingPolicy*);

// A union: pod by pod, or so many at once.
struct PodGroupSchedulingPolicy {
  Box<BasicSchedulingPolicy> basic;
  Box<GangSchedulingPolicy> gang;
  UnknownFields unknown;
  friend bool operator==(const PodGroupSchedulingPolicy&,
                         const PodGroupSchedulingPolicy&) = default;
};
const StructInfo& InfoOf(const PodGroupSchedulingPolicy*);

struct TopologyConstraint {
  std::string key;
  UnknownFields unknown;
  friend bool operator==(const TopologyConstraint&, const TopologyConstraint&) = default;
};
const StructInfo& InfoOf(const TopologyConstraint*);

struct PodGroupSchedulingConstraints {
  std::vector<TopologyConstraint> topology;
  UnknownFields unknown;
  friend bool operator==(const PodGroupSchedulingConstraints&,
                         const PodGroupSchedulingConstraints&) = default;
};
const StructInfo& InfoOf(const PodGroupSchedulingConstraints*);

// A union: exactly one of the two names.
struct PodGroupResourceClaim {
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
  UnknownFields unknown;
  friend bool operator==(const PodGroupResourceClaim&, const PodGroupResourceClaim&) = default;
};
const StructInfo& InfoOf(const PodGroupResourceClaim*);

struct SingleDisruptionMode {
  UnknownFields unknown;
  friend bool operator==(const SingleDisruptionMode&, const SingleDisruptionMode&) = default;
};
const StructInfo& InfoOf(const SingleDisruptionMode*);

struct AllDisruptionMode {
  UnknownFields unknown;
  friend bool operator==(const AllDisruptionMode&, const AllDisruptionMode&) = default;
};
const StructInfo& InfoOf(const AllDisruptionMode*);

// A union: pods of the group are pushed out one by one, or all of them.
struct DisruptionMode {
  Box<SingleDisruptionMode> single;
  Box<AllDisruptionMode> all;
  UnknownFields unknown;
  friend bool operator==(const DisruptionMode&, const DisruptionMode&) = default;
};
const StructInfo& InfoOf(const DisruptionMode*);

struct WorkloadReference {
  std::string workload_name;
  std::string template_name;
  UnknownFields unknown;
  friend bool operator==(const WorkloadReference&, const WorkloadReference&) = default;
};
const StructInfo& InfoOf(const WorkloadReference*);

struct PodGroupSpec {
  Box<WorkloadReference> workload_ref;
  PodGroupSchedulingPolicy scheduling_policy;
  Box<PodGroupSchedulingConstraints> scheduling_constraints;
  std::vector<PodGroupResourceClaim> resource_claims;
  Box<DisruptionMode> disruption_mode;
  std::string priority_class_name;
  std::optional<std::int32_t> priority;          // filled in from the priority class
  std::optional<std::string> preemption_policy;  // PreemptLowerPriority, Never
  UnknownFields unknown;
  friend bool operator==(const PodGroupSpec&, const PodGroupSpec&) = default;
};
const StructInfo& InfoOf(const PodGroupSpec*);

struct PodGroupResourceClaimStatus {
  std::string name;
  std::optional<std::string> resource_claim_name;
  UnknownFields unknown;
  friend bool operator==(const PodGroupResourceClaimStatus&,
                         const PodGroupResourceClaimStatus&) = default;
};
const StructInfo& InfoOf(const PodGroupResourceClaimStatus*);

struct PodGroupStatus {
  std::vector<Condition> conditions;
  std::vector<PodGroupResourceClaimStatus> resource_claim_statuses;
  UnknownFields unknown;
  friend bool operator==(const PodGroupStatus&, const PodGroupStatus&) = default;
};
const StructInfo& InfoOf(const PodGroupStatus*);

// Pods that are scheduled together.
struct PodGroup {
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
  UnknownFields unknown;
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};
const StructInfo& InfoOf(const PodGroup*);

// How many pods must be placed at once: minCount of a gang, one of any other group.
std::int32_t MinCountOf(const PodGroupSpec& spec);

// What a Workload makes a group of.
struct PodGroupTemplate {
  std::string name;
  PodGroupSchedulingPolicy scheduling_policy;
  Box<PodGroupSchedulingConstraints> scheduling_constraints;
  std::vector<PodGroupResourceClaim> resource_claims;
  Box<DisruptionMode> disruption_mode;
  std::string priority_class_name;
  std::optional<std::int32_t> priority;
  std::optional<std::string> preemption_policy;
  UnknownFields unknown;
  friend bool operator==(const PodGroupTemplate&, const PodGroupTemplate&) = default;
};
const StructInfo& InfoOf(const PodGroupTemplate*);

// An object of the same namespace, of any kind.
struct WorkloadControllerReference {
  std::string api_group;
  std::string kind;
  std::string name;
  UnknownFields unknown;
  friend bool operator==(const WorkloadControllerReference&,
                         const WorkloadControllerReference&) = default;
};
const StructInfo& InfoOf(const WorkloadControllerReference*);

struct WorkloadSpec {
  Box<WorkloadControllerReference> controller_ref;
  std::vector<PodGroupTemplate> pod_group_templates;
  UnknownFields unknown;
  friend bool operator==(const WorkloadSpec&, const WorkloadSpec&) = default;
};
const StructInfo& InfoOf(const WorkloadSpec*);

// The groups that belong to one piece of work, for controllers to make.
struct Workload {
  ObjectMeta metadata;
  WorkloadSpec spec;
  UnknownFields unknown;
  friend bool operator==(const Workload&, const Workload&) = default;
};
const StructInfo& InfoOf(const Workload*);

}  // namespace dray::api

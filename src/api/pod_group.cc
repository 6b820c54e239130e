// SPDX-License-Identifier: Apache-2.0
#include "api/pod_group.h"

namespace dray::api {
namespace {

constexpr std::string_view kClaimsDoc =
    "Claims that pods of the group share. A pod uses one by a claim of its own with the same name "
    "and the same reference.";
constexpr std::string_view kDisruptionDoc =
    "Whether its pods are pushed out one by one (single, the default) or all of them (all).";
constexpr std::string_view kConstraintsDoc = "Where its pods may be, as seen from each other.";
constexpr std::string_view kPreemptionDoc =
    "Whether the group may push out others: PreemptLowerPriority or Never.";

}  // namespace

std::int32_t MinCountOf(const PodGroupSpec& spec) {
  return spec.scheduling_policy.gang ? spec.scheduling_policy.gang->min_count : 1;
}

const StructInfo& InfoOf(const BasicSchedulingPolicy*) {
  static const StructInfo info = Struct<BasicSchedulingPolicy>(
      "BasicSchedulingPolicy", {}, {.doc = "Pods of the group are scheduled as they come."});
  return info;
}

const StructInfo& InfoOf(const GangSchedulingPolicy*) {
  using T = GangSchedulingPolicy;
  static const StructInfo info = Struct<T>(
      "GangSchedulingPolicy",
      {
          Field<&T::min_count>("minCount", {.presence = Presence::kAlways,
                                            .doc = "How many pods must be placed at once, or none.",
                                            .proto = {1}}),
      },
      {.doc = "All or nothing: no pod is bound before this many can be."});
  return info;
}

const StructInfo& InfoOf(const PodGroupSchedulingPolicy*) {
  using T = PodGroupSchedulingPolicy;
  static const StructInfo info = Struct<T>(
      "PodGroupSchedulingPolicy",
      {
          Field<&T::basic>("basic", {.doc = "Pods are scheduled as they come.", .proto = {1}}),
          Field<&T::gang>("gang", {.doc = "All at once, or none.", .proto = {2}}),
      },
      {.doc = "How a group is scheduled: exactly one of its fields is set."});
  return info;
}

const StructInfo& InfoOf(const TopologyConstraint*) {
  using T = TopologyConstraint;
  static const StructInfo info = Struct<T>(
      "TopologyConstraint",
      {
          Field<&T::key>("key", {.presence = Presence::kAlways,
                                 .doc = "A node label. All pods of the group go to nodes with the "
                                        "same value of it.",
                                 .proto = {1}}),
      },
      {.doc = "All pods of a group in one place."});
  return info;
}

const StructInfo& InfoOf(const PodGroupSchedulingConstraints*) {
  using T = PodGroupSchedulingConstraints;
  static const StructInfo info = Struct<T>(
      "PodGroupSchedulingConstraints",
      {
          Field<&T::topology>("topology", {.doc = "In which place together.", .proto = {1}}),
      },
      {.doc = "Where pods of a group may be, as seen from each other."});
  return info;
}

const StructInfo& InfoOf(const PodGroupResourceClaim*) {
  using T = PodGroupResourceClaim;
  static const StructInfo info = Struct<T>(
      "PodGroupResourceClaim",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways,
                                   .doc = "What it is called in the group and in its pods.",
                                   .proto = {1}}),
          Field<&T::resource_claim_name>("resourceClaimName",
                                         {.doc = "A claim that is there.", .proto = {2}}),
          Field<&T::resource_claim_template_name>(
              "resourceClaimTemplateName",
              {.doc = "A template: one claim is made from it for the group.", .proto = {3}}),
      },
      {.doc = "A claim that pods of a group share."});
  return info;
}

const StructInfo& InfoOf(const SingleDisruptionMode*) {
  static const StructInfo info = Struct<SingleDisruptionMode>(
      "SingleDisruptionMode", {}, {.doc = "Pods are pushed out one by one."});
  return info;
}

const StructInfo& InfoOf(const AllDisruptionMode*) {
  static const StructInfo info = Struct<AllDisruptionMode>(
      "AllDisruptionMode", {}, {.doc = "Who pushes out one pod pushes out all of the group."});
  return info;
}

const StructInfo& InfoOf(const DisruptionMode*) {
  using T = DisruptionMode;
  static const StructInfo info =
      Struct<T>("DisruptionMode",
                {
                    Field<&T::single>("single", {.doc = "One by one.", .proto = {1}}),
                    Field<&T::all>("all", {.doc = "All or none.", .proto = {2}}),
                },
                {.doc = "How a group is pushed out: exactly one of its fields is set."});
  return info;
}

const StructInfo& InfoOf(const WorkloadReference*) {
  using T = WorkloadReference;
  static const StructInfo info = Struct<T>(
      "WorkloadReference",
      {
          Field<&T::workload_name>(
              "workloadName",
              {.presence = Presence::kAlways, .doc = "The Workload.", .proto = {1}}),
          Field<&T::template_name>(
              "templateName",
              {.presence = Presence::kAlways, .doc = "Which of its templates.", .proto = {2}}),
      },
      {.doc = "What a group was made from."});
  return info;
}

const StructInfo& InfoOf(const PodGroupSpec*) {
  using T = PodGroupSpec;
  static const StructInfo info = Struct<T>(
      "PodGroupSpec",
      {
          Field<&T::workload_ref>("workloadRef",
                                  {.doc = "What the group was made from.", .proto = {2}}),
          Field<&T::scheduling_policy>(
              "schedulingPolicy",
              {.presence = Presence::kAlways, .doc = "How it is scheduled.", .proto = {3}}),
          Field<&T::scheduling_constraints>("schedulingConstraints",
                                            {.gate = Gate::kTopologyAwareWorkloadScheduling,
                                             .doc = kConstraintsDoc,
                                             .proto = {4}}),
          Field<&T::resource_claims>("resourceClaims", {.list = ListKind::kMap,
                                                        .keys = "name",
                                                        .gate = Gate::kDRAWorkloadResourceClaims,
                                                        .retain_keys = true,
                                                        .doc = kClaimsDoc,
                                                        .proto = {5}}),
          Field<&T::disruption_mode>("disruptionMode", {.doc = kDisruptionDoc, .proto = {6}}),
          Field<&T::priority_class_name>(
              "priorityClassName",
              {.doc = "The class that its priority comes from.", .proto = {7}}),
          Field<&T::priority>("priority",
                              {.doc = "Of several groups and pods the one with the higher priority "
                                      "is first. Filled in from the class.",
                               .proto = {8}}),
          Field<&T::preemption_policy>(
              "preemptionPolicy",
              {.gate = Gate::kPodGroupPreemptionPolicy, .doc = kPreemptionDoc, .proto = {9}}),
      },
      {.doc = "What pods of a group have in common."});
  return info;
}

const StructInfo& InfoOf(const PodGroupResourceClaimStatus*) {
  using T = PodGroupResourceClaimStatus;
  static const StructInfo info = Struct<T>(
      "PodGroupResourceClaimStatus",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways,
                                   .doc = "Which entry of spec.resourceClaims.",
                                   .proto = {1}}),
          Field<&T::resource_claim_name>("resourceClaimName",
                                         {.doc = "The claim that was made for it.", .proto = {2}}),
      },
      {.doc = "The claim that was made for an entry of spec.resourceClaims."});
  return info;
}

const StructInfo& InfoOf(const PodGroupStatus*) {
  using T = PodGroupStatus;
  static const StructInfo info =
      Struct<T>("PodGroupStatus",
                {
                    Field<&T::conditions>(
                        "conditions",
                        {.list = ListKind::kMap,
                         .keys = "type",
                         .doc = "What is the case: PodGroupInitiallyScheduled once it was placed.",
                         .proto = {1}}),
                    Field<&T::resource_claim_statuses>(
                        "resourceClaimStatuses", {.list = ListKind::kMap,
                                                  .keys = "name",
                                                  .gate = Gate::kDRAWorkloadResourceClaims,
                                                  .retain_keys = true,
                                                  .doc = "The claims that were made for the group.",
                                                  .proto = {2}}),
                },
                {.doc = "What is the case for a group."});
  return info;
}

const StructInfo& InfoOf(const PodGroup*) {
  using T = PodGroup;
  static const StructInfo info = Struct<T>(
      "PodGroup",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the group.", .proto = {1}}),
          Field<&T::spec>("spec", {.presence = Presence::kAlways,
                                   .doc = "What its pods have in common.",
                                   .proto = {2}}),
          Field<&T::status>("status", {.doc = "What is the case.", .proto = {3}}),
      },
      {.doc = "Pods that are scheduled together. They name it in spec.schedulingGroup."});
  return info;
}

const StructInfo& InfoOf(const PodGroupTemplate*) {
  using T = PodGroupTemplate;
  static const StructInfo info = Struct<T>(
      "PodGroupTemplate",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways,
                                   .doc = "What it is called in the Workload.",
                                   .proto = {1}}),
          Field<&T::scheduling_policy>(
              "schedulingPolicy",
              {.presence = Presence::kAlways, .doc = "How the group is scheduled.", .proto = {2}}),
          Field<&T::scheduling_constraints>("schedulingConstraints",
                                            {.presence = Presence::kAlways,
                                             .gate = Gate::kTopologyAwareWorkloadScheduling,
                                             .doc = kConstraintsDoc,
                                             .proto = {3}}),
          Field<&T::resource_claims>("resourceClaims", {.list = ListKind::kMap,
                                                        .keys = "name",
                                                        .gate = Gate::kDRAWorkloadResourceClaims,
                                                        .retain_keys = true,
                                                        .doc = kClaimsDoc,
                                                        .proto = {4}}),
          Field<&T::disruption_mode>("disruptionMode", {.doc = kDisruptionDoc, .proto = {5}}),
          Field<&T::priority_class_name>(
              "priorityClassName",
              {.doc = "The class that its priority comes from.", .proto = {6}}),
          Field<&T::priority>("priority", {.doc = "The priority of the group.", .proto = {7}}),
          Field<&T::preemption_policy>(
              "preemptionPolicy",
              {.gate = Gate::kPodGroupPreemptionPolicy, .doc = kPreemptionDoc, .proto = {8}}),
      },
      {.doc = "What a group is made from."});
  return info;
}

const StructInfo& InfoOf(const WorkloadControllerReference*) {
  using T = WorkloadControllerReference;
  static const StructInfo info =
      Struct<T>("TypedLocalObjectReference",
                {
                    Field<&T::api_group>(
                        "apiGroup", {.doc = "Its API group. Empty: the core group.", .proto = {1}}),
                    Field<&T::kind>(
                        "kind", {.presence = Presence::kAlways, .doc = "Its kind.", .proto = {2}}),
                    Field<&T::name>(
                        "name", {.presence = Presence::kAlways, .doc = "Its name.", .proto = {3}}),
                },
                {.doc = "An object of the same namespace."});
  return info;
}

const StructInfo& InfoOf(const WorkloadSpec*) {
  using T = WorkloadSpec;
  static const StructInfo info = Struct<T>(
      "WorkloadSpec",
      {
          Field<&T::controller_ref>("controllerRef",
                                    {.doc = "What the workload is for: a Job, say.", .proto = {1}}),
          Field<&T::pod_group_templates>("podGroupTemplates",
                                         {.presence = Presence::kAlways,
                                          .list = ListKind::kMap,
                                          .keys = "name",
                                          .patch_key = kPatchReplaces,
                                          .doc = "What its groups are made of.",
                                          .proto = {2}}),
      },
      {.doc = "The groups of one piece of work."});
  return info;
}

const StructInfo& InfoOf(const Workload*) {
  using T = Workload;
  static const StructInfo info = Struct<T>(
      "Workload",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the workload.", .proto = {1}}),
          Field<&T::spec>(
              "spec",
              {.presence = Presence::kAlways, .doc = "What its groups are made of.", .proto = {2}}),
      },
      {.doc = "The groups of one piece of work, for controllers to make. No scheduler reads it."});
  return info;
}

}  // namespace dray::api

// SPDX-License-Identifier: Apache-2.0
#include "api/workloads.h"

namespace dray::api {

const StructInfo& InfoOf(const ReplicaSetCondition*) {
  using T = ReplicaSetCondition;
  static const StructInfo info = Struct<T>(
      "ReplicaSetCondition", {
                                 Field<&T::type>("type", {.presence = Presence::kAlways}),
                                 Field<&T::status>("status", {.presence = Presence::kAlways}),
                                 Field<&T::last_transition_time>("lastTransitionTime"),
                                 Field<&T::reason>("reason"),
                                 Field<&T::message>("message"),
                             });
  return info;
}

const StructInfo& InfoOf(const ReplicaSetSpec*) {
  using T = ReplicaSetSpec;
  static const StructInfo info = Struct<T>(
      "ReplicaSetSpec", {
                            Field<&T::replicas>("replicas"),
                            Field<&T::min_ready_seconds>("minReadySeconds"),
                            Field<&T::selector>("selector", {.presence = Presence::kAlways}),
                            Field<&T::template_>("template"),
                        });
  return info;
}

const StructInfo& InfoOf(const ReplicaSetStatus*) {
  using T = ReplicaSetStatus;
  static const StructInfo info =
      Struct<T>("ReplicaSetStatus",
                {
                    Field<&T::replicas>("replicas", {.presence = Presence::kAlways}),
                    Field<&T::fully_labeled_replicas>("fullyLabeledReplicas"),
                    Field<&T::ready_replicas>("readyReplicas"),
                    Field<&T::available_replicas>("availableReplicas"),
                    Field<&T::terminating_replicas>("terminatingReplicas"),
                    Field<&T::observed_generation>("observedGeneration"),
                    Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
                });
  return info;
}

const StructInfo& InfoOf(const ReplicaSet*) {
  using T = ReplicaSet;
  static const StructInfo info = Struct<T>("ReplicaSet", {
                                                             Field<&T::metadata>("metadata"),
                                                             Field<&T::spec>("spec"),
                                                             Field<&T::status>("status"),
                                                         });
  return info;
}

const StructInfo& InfoOf(const RollingUpdateDeployment*) {
  using T = RollingUpdateDeployment;
  static const StructInfo info =
      Struct<T>("RollingUpdateDeployment", {
                                               Field<&T::max_unavailable>("maxUnavailable"),
                                               Field<&T::max_surge>("maxSurge"),
                                           });
  return info;
}

const StructInfo& InfoOf(const DeploymentStrategy*) {
  using T = DeploymentStrategy;
  static const StructInfo info =
      Struct<T>("DeploymentStrategy", {
                                          Field<&T::type>("type"),
                                          Field<&T::rolling_update>("rollingUpdate"),
                                      });
  return info;
}

const StructInfo& InfoOf(const DeploymentCondition*) {
  using T = DeploymentCondition;
  static const StructInfo info = Struct<T>(
      "DeploymentCondition", {
                                 Field<&T::type>("type", {.presence = Presence::kAlways}),
                                 Field<&T::status>("status", {.presence = Presence::kAlways}),
                                 Field<&T::last_update_time>("lastUpdateTime"),
                                 Field<&T::last_transition_time>("lastTransitionTime"),
                                 Field<&T::reason>("reason"),
                                 Field<&T::message>("message"),
                             });
  return info;
}

const StructInfo& InfoOf(const DeploymentSpec*) {
  using T = DeploymentSpec;
  static const StructInfo info = Struct<T>(
      "DeploymentSpec", {
                            Field<&T::replicas>("replicas"),
                            Field<&T::selector>("selector", {.presence = Presence::kAlways}),
                            Field<&T::template_>("template", {.presence = Presence::kAlways}),
                            Field<&T::strategy>("strategy"),
                            Field<&T::min_ready_seconds>("minReadySeconds"),
                            Field<&T::revision_history_limit>("revisionHistoryLimit"),
                            Field<&T::paused>("paused"),
                            Field<&T::progress_deadline_seconds>("progressDeadlineSeconds"),
                        });
  return info;
}

const StructInfo& InfoOf(const DeploymentStatus*) {
  using T = DeploymentStatus;
  static const StructInfo info =
      Struct<T>("DeploymentStatus",
                {
                    Field<&T::observed_generation>("observedGeneration"),
                    Field<&T::replicas>("replicas"),
                    Field<&T::updated_replicas>("updatedReplicas"),
                    Field<&T::ready_replicas>("readyReplicas"),
                    Field<&T::available_replicas>("availableReplicas"),
                    Field<&T::unavailable_replicas>("unavailableReplicas"),
                    Field<&T::terminating_replicas>("terminatingReplicas"),
                    Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
                    Field<&T::collision_count>("collisionCount"),
                });
  return info;
}

const StructInfo& InfoOf(const Deployment*) {
  using T = Deployment;
  static const StructInfo info = Struct<T>("Deployment", {
                                                             Field<&T::metadata>("metadata"),
                                                             Field<&T::spec>("spec"),
                                                             Field<&T::status>("status"),
                                                         });
  return info;
}

}  // namespace dray::api

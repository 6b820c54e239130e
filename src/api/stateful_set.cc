// SPDX-License-Identifier: Apache-2.0
#include "api/stateful_set.h"

namespace dray::api {

const StructInfo& InfoOf(const RollingUpdateStatefulSetStrategy*) {
  using T = RollingUpdateStatefulSetStrategy;
  static const StructInfo info =
      Struct<T>("RollingUpdateStatefulSetStrategy",
                {
                    Field<&T::partition>(
                        "partition",
                        {.doc = "Pods with smaller numbers keep the old template.", .proto = {1}}),
                    Field<&T::max_unavailable>(
                        "maxUnavailable",
                        {.doc = "How many pods may be missing meanwhile: a number or a percentage.",
                         .proto = {2}}),
                },
                {.doc = "How pods of a stateful set are replaced."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetUpdateStrategy*) {
  using T = StatefulSetUpdateStrategy;
  static const StructInfo info = Struct<T>(
      "StatefulSetUpdateStrategy",
      {
          Field<&T::type>(
              "type",
              {.doc = "RollingUpdate, or OnDelete: when the old pod is deleted.", .proto = {1}}),
          Field<&T::rolling_update>("rollingUpdate",
                                    {.doc = "How far, and how fast.", .proto = {2}}),
      },
      {.doc = "How pods of a stateful set get a new template."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetPersistentVolumeClaimRetentionPolicy*) {
  using T = StatefulSetPersistentVolumeClaimRetentionPolicy;
  static const StructInfo info = Struct<T>(
      "StatefulSetPersistentVolumeClaimRetentionPolicy",
      {
          Field<&T::when_deleted>("whenDeleted",
                                  {.doc = "With the set: Retain or Delete.", .proto = {1}}),
          Field<&T::when_scaled>(
              "whenScaled",
              {.doc = "With a pod that is no longer wanted: Retain or Delete.", .proto = {2}}),
      },
      {.doc = "What becomes of the volumes of a stateful set."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetOrdinals*) {
  using T = StatefulSetOrdinals;
  static const StructInfo info = Struct<T>(
      "StatefulSetOrdinals",
      {
          Field<&T::start>(
              "start", {.presence = Presence::kAlways, .doc = "The first number.", .proto = {1}}),
      },
      {.doc = "The numbers of the pods of a stateful set."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetCondition*) {
  using T = StatefulSetCondition;
  static const StructInfo info = Struct<T>(
      "StatefulSetCondition",
      {
          Field<&T::type>(
              "type",
              {.presence = Presence::kAlways, .doc = "What the condition is about.", .proto = {1}}),
          Field<&T::status>(
              "status",
              {.presence = Presence::kAlways, .doc = "True, False or Unknown.", .proto = {2}}),
          Field<&T::last_transition_time>("lastTransitionTime",
                                          {.doc = "When the status last changed.", .proto = {3}}),
          Field<&T::reason>("reason", {.doc = "Machine-readable reason.", .proto = {4}}),
          Field<&T::message>("message", {.doc = "Human-readable message.", .proto = {5}}),
      },
      {.doc = "A condition of a stateful set."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetVolumeClaim*) {
  using T = StatefulSetVolumeClaim;
  static const StructInfo info = Struct<T>(
      "StatefulSetVolumeClaim",
      {
          Field<&T::api_version>("apiVersion", {.doc = "v1, or nothing."}),
          Field<&T::kind>("kind", {.doc = "PersistentVolumeClaim, or nothing."}),
          Field<&T::metadata>(
              "metadata",
              {.doc = "The volume's name in the pod, and labels of the claims.", .proto = {1}}),
          Field<&T::spec>("spec", {.doc = "What kind of volume is wanted.", .proto = {2}}),
          Field<&T::status>("status",
                            {.doc = "Nothing: claims have it, a template has not.", .proto = {3}}),
      },
      {.doc = "A claim for a volume that every pod of a stateful set gets."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetSpec*) {
  using T = StatefulSetSpec;
  static const StructInfo info = Struct<T>(
      "StatefulSetSpec",
      {
          Field<&T::replicas>("replicas", {.doc = "How many pods.", .proto = {1}}),
          Field<&T::selector>(
              "selector",
              {.presence = Presence::kAlways, .doc = "The labels of its pods.", .proto = {2}}),
          Field<&T::template_>("template", {.doc = "What its pods are made from.", .proto = {3}}),
          Field<&T::volume_claim_templates>(
              "volumeClaimTemplates",
              {.doc = "Volumes that every pod has of its own.", .proto = {4}}),
          Field<&T::service_name>("serviceName", {.presence = Presence::kAlways,
                                                  .doc = "The service that gives its pods names.",
                                                  .proto = {5}}),
          Field<&T::pod_management_policy>(
              "podManagementPolicy",
              {.doc = "OrderedReady, one after the other, or Parallel.", .proto = {6}}),
          Field<&T::update_strategy>("updateStrategy",
                                     {.doc = "How pods get a new template.", .proto = {7}}),
          Field<&T::revision_history_limit>(
              "revisionHistoryLimit", {.doc = "How many old templates are kept.", .proto = {8}}),
          Field<&T::min_ready_seconds>(
              "minReadySeconds",
              {.doc = "How long a pod is ready before it counts as available.", .proto = {9}}),
          Field<&T::persistent_volume_claim_retention_policy>(
              "persistentVolumeClaimRetentionPolicy",
              {.doc = "What becomes of the volumes.", .proto = {10}}),
          Field<&T::ordinals>("ordinals", {.doc = "Which numbers its pods have.", .proto = {11}}),
      },
      {.doc = "Which pods with numbers are wanted."});
  return info;
}

const StructInfo& InfoOf(const StatefulSetStatus*) {
  using T = StatefulSetStatus;
  static const StructInfo info = Struct<T>(
      "StatefulSetStatus",
      {
          Field<&T::observed_generation>(
              "observedGeneration",
              {.doc = "The generation of the spec that this status is about.", .proto = {1}}),
          Field<&T::replicas>(
              "replicas",
              {.presence = Presence::kAlways, .doc = "How many pods there are.", .proto = {2}}),
          Field<&T::ready_replicas>("readyReplicas", {.doc = "How many are ready.", .proto = {3}}),
          Field<&T::current_replicas>(
              "currentReplicas",
              {.doc = "How many have the template of currentRevision.", .proto = {4}}),
          Field<&T::updated_replicas>(
              "updatedReplicas",
              {.doc = "How many have the template of updateRevision.", .proto = {5}}),
          Field<&T::current_revision>("currentRevision",
                                      {.doc = "The template before the newest.", .proto = {6}}),
          Field<&T::update_revision>("updateRevision",
                                     {.doc = "The newest template.", .proto = {7}}),
          Field<&T::collision_count>(
              "collisionCount",
              {.doc = "How often two templates had the same hash.", .proto = {9}}),
          Field<&T::conditions>("conditions", {.list = ListKind::kMap,
                                               .keys = "type",
                                               .doc = "What is the case for the set.",
                                               .proto = {10}}),
          Field<&T::available_replicas>(
              "availableReplicas",
              {.presence = Presence::kAlways, .doc = "How many are available.", .proto = {11}}),
      },
      {.doc = "How far a stateful set is."});
  return info;
}

const StructInfo& InfoOf(const StatefulSet*) {
  using T = StatefulSet;
  static const StructInfo info =
      Struct<T>("StatefulSet",
                {
                    Field<&T::metadata>(
                        "metadata", {.doc = "Name, labels and history of the set.", .proto = {1}}),
                    Field<&T::spec>("spec", {.doc = "Which pods are wanted.", .proto = {2}}),
                    Field<&T::status>("status", {.doc = "How far it is.", .proto = {3}}),
                },
                {.doc = "Pods with numbers, which keep their names and volumes."});
  return info;
}

}  // namespace dray::api

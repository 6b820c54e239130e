// SPDX-License-Identifier: Apache-2.0
#include "api/daemon_set.h"

namespace dray::api {

const StructInfo& InfoOf(const RollingUpdateDaemonSet*) {
  using T = RollingUpdateDaemonSet;
  static const StructInfo info = Struct<T>(
      "RollingUpdateDaemonSet",
      {
          Field<&T::max_unavailable>("maxUnavailable",
                                     {.doc = "How many nodes may be without a running pod "
                                             "meanwhile: a number or a percentage.",
                                      .proto = {1}}),
          Field<&T::max_surge>("maxSurge", {.doc = "On how many nodes the new pod may start before "
                                                   "the old one ends: a number or a percentage.",
                                            .proto = {2}}),
      },
      {.doc = "How pods of a daemon set are replaced."});
  return info;
}

const StructInfo& InfoOf(const DaemonSetUpdateStrategy*) {
  using T = DaemonSetUpdateStrategy;
  static const StructInfo info = Struct<T>(
      "DaemonSetUpdateStrategy",
      {
          Field<&T::type>(
              "type",
              {.doc = "RollingUpdate, or OnDelete: when the old pod is deleted.", .proto = {1}}),
          Field<&T::rolling_update>("rollingUpdate", {.doc = "How fast.", .proto = {2}}),
      },
      {.doc = "How pods of a daemon set get a new template."});
  return info;
}

const StructInfo& InfoOf(const DaemonSetCondition*) {
  using T = DaemonSetCondition;
  static const StructInfo info = Struct<T>(
      "DaemonSetCondition",
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
      {.doc = "A condition of a daemon set."});
  return info;
}

const StructInfo& InfoOf(const DaemonSetSpec*) {
  using T = DaemonSetSpec;
  static const StructInfo info = Struct<T>(
      "DaemonSetSpec",
      {
          Field<&T::selector>(
              "selector",
              {.presence = Presence::kAlways, .doc = "The labels of its pods.", .proto = {1}}),
          Field<&T::template_>("template", {.doc = "What its pods are made from.", .proto = {2}}),
          Field<&T::update_strategy>("updateStrategy",
                                     {.doc = "How pods get a new template.", .proto = {3}}),
          Field<&T::min_ready_seconds>(
              "minReadySeconds",
              {.doc = "How long a pod is ready before it counts as available.", .proto = {4}}),
          Field<&T::revision_history_limit>(
              "revisionHistoryLimit", {.doc = "How many old templates are kept.", .proto = {6}}),
      },
      {.doc = "Which pods are wanted on every node that fits."});
  return info;
}

const StructInfo& InfoOf(const DaemonSetStatus*) {
  using T = DaemonSetStatus;
  static const StructInfo info = Struct<T>(
      "DaemonSetStatus",
      {
          Field<&T::current_number_scheduled>("currentNumberScheduled",
                                              {.presence = Presence::kAlways,
                                               .doc = "Nodes that should have a pod and have one.",
                                               .proto = {1}}),
          Field<&T::number_misscheduled>("numberMisscheduled",
                                         {.presence = Presence::kAlways,
                                          .doc = "Nodes that should have no pod and have one.",
                                          .proto = {2}}),
          Field<&T::desired_number_scheduled>("desiredNumberScheduled",
                                              {.presence = Presence::kAlways,
                                               .doc = "Nodes that should have a pod.",
                                               .proto = {3}}),
          Field<&T::number_ready>(
              "numberReady",
              {.presence = Presence::kAlways, .doc = "Nodes whose pod is ready.", .proto = {4}}),
          Field<&T::observed_generation>(
              "observedGeneration",
              {.doc = "The generation of the spec that this status is about.", .proto = {5}}),
          Field<&T::updated_number_scheduled>(
              "updatedNumberScheduled",
              {.doc = "Nodes whose pod has the newest template.", .proto = {6}}),
          Field<&T::number_available>("numberAvailable",
                                      {.doc = "Nodes whose pod is available.", .proto = {7}}),
          Field<&T::number_unavailable>(
              "numberUnavailable",
              {.doc = "Nodes that should have an available pod and have none.", .proto = {8}}),
          Field<&T::collision_count>(
              "collisionCount",
              {.doc = "How often two templates had the same hash.", .proto = {9}}),
          Field<&T::conditions>("conditions", {.list = ListKind::kMap,
                                               .keys = "type",
                                               .doc = "What is the case for the set.",
                                               .proto = {10}}),
      },
      {.doc = "How far a daemon set is."});
  return info;
}

const StructInfo& InfoOf(const DaemonSet*) {
  using T = DaemonSet;
  static const StructInfo info =
      Struct<T>("DaemonSet",
                {
                    Field<&T::metadata>(
                        "metadata", {.doc = "Name, labels and history of the set.", .proto = {1}}),
                    Field<&T::spec>("spec", {.doc = "Which pods are wanted.", .proto = {2}}),
                    Field<&T::status>("status", {.doc = "How far it is.", .proto = {3}}),
                },
                {.doc = "A pod on every node that fits."});
  return info;
}

const StructInfo& InfoOf(const ControllerRevision*) {
  using T = ControllerRevision;
  static const StructInfo info = Struct<T>(
      "ControllerRevision",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the revision.", .proto = {1}}),
          Field<&T::data>("data", {.presence = Presence::kAlways,
                                   .doc = "What was wanted then. It never changes.",
                                   .proto = {2}}),
          Field<&T::revision>(
              "revision",
              {.presence = Presence::kAlways, .doc = "Which one it was.", .proto = {3}}),
      },
      {.doc = "A template of a workload as it once was."});
  return info;
}

}  // namespace dray::api

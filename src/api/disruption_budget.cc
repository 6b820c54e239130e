// SPDX-License-Identifier: Apache-2.0
#include "api/disruption_budget.h"

namespace dray::api {

const StructInfo& InfoOf(const PodDisruptionBudgetSpec*) {
  using T = PodDisruptionBudgetSpec;
  static const StructInfo info = Struct<T>(
      "PodDisruptionBudgetSpec",
      {
          Field<&T::min_available>(
              "minAvailable",
              {.doc = "How many must stay: a number or a percentage.", .proto = {1}}),
          Field<&T::selector>("selector",
                              {.patch_key = kPatchReplaces,
                               .doc = "The labels of the pods. Empty: all of the namespace.",
                               .proto = {2}}),
          Field<&T::max_unavailable>(
              "maxUnavailable",
              {.doc = "How many may be missing: a number or a percentage.", .proto = {3}}),
          Field<&T::unhealthy_pod_eviction_policy>(
              "unhealthyPodEvictionPolicy",
              {.doc =
                   "When pods that are not ready may be evicted: IfHealthyBudget or AlwaysAllow.",
               .proto = {4}}),
      },
      {.doc = "How many pods of a set may be evicted at once."});
  return info;
}

const StructInfo& InfoOf(const PodDisruptionBudgetStatus*) {
  using T = PodDisruptionBudgetStatus;
  static const StructInfo info = Struct<T>(
      "PodDisruptionBudgetStatus",
      {
          Field<&T::observed_generation>(
              "observedGeneration",
              {.doc = "The generation of the spec that this status is about.", .proto = {1}}),
          Field<&T::disrupted_pods>(
              "disruptedPods",
              {.doc = "Pods that were evicted and have not gone yet, and since when.",
               .proto = {2}}),
          Field<&T::disruptions_allowed>("disruptionsAllowed",
                                         {.presence = Presence::kAlways,
                                          .doc = "How many pods may be evicted now.",
                                          .proto = {3}}),
          Field<&T::current_healthy>(
              "currentHealthy",
              {.presence = Presence::kAlways, .doc = "How many pods are ready.", .proto = {4}}),
          Field<&T::desired_healthy>(
              "desiredHealthy",
              {.presence = Presence::kAlways, .doc = "How many must be ready.", .proto = {5}}),
          Field<&T::expected_pods>("expectedPods", {.presence = Presence::kAlways,
                                                    .doc = "How many pods the budget is for.",
                                                    .proto = {6}}),
          Field<&T::conditions>("conditions", {.list = ListKind::kMap,
                                               .keys = "type",
                                               .doc = "What is the case for the budget.",
                                               .proto = {7}}),
      },
      {.doc = "What a budget allows at the moment."});
  return info;
}

const StructInfo& InfoOf(const PodDisruptionBudget*) {
  using T = PodDisruptionBudget;
  static const StructInfo info = Struct<T>(
      "PodDisruptionBudget",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the budget.", .proto = {1}}),
          Field<&T::spec>("spec", {.doc = "What is allowed.", .proto = {2}}),
          Field<&T::status>("status", {.doc = "What is allowed at the moment.", .proto = {3}}),
      },
      {.doc = "How many pods of a set may be evicted at once."});
  return info;
}

}  // namespace dray::api

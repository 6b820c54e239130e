// SPDX-License-Identifier: Apache-2.0
#include "api/affinity.h"

namespace dray::api {

const StructInfo& InfoOf(const PreferredSchedulingTerm*) {
  using T = PreferredSchedulingTerm;
  static const StructInfo info =
      Struct<T>("PreferredSchedulingTerm",
                {
                    Field<&T::weight>("weight", {.presence = Presence::kAlways}),
                    Field<&T::preference>("preference", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const NodeAffinity*) {
  using T = NodeAffinity;
  static const StructInfo info = Struct<T>(
      "NodeAffinity", {
                          Field<&T::required>("requiredDuringSchedulingIgnoredDuringExecution"),
                          Field<&T::preferred>("preferredDuringSchedulingIgnoredDuringExecution"),
                      });
  return info;
}

const StructInfo& InfoOf(const PodAffinityTerm*) {
  using T = PodAffinityTerm;
  static const StructInfo info =
      Struct<T>("PodAffinityTerm",
                {
                    Field<&T::label_selector>("labelSelector"),
                    Field<&T::namespaces>("namespaces"),
                    Field<&T::topology_key>("topologyKey", {.presence = Presence::kAlways}),
                    Field<&T::namespace_selector>("namespaceSelector"),
                    Field<&T::match_label_keys>("matchLabelKeys"),
                    Field<&T::mismatch_label_keys>("mismatchLabelKeys"),
                });
  return info;
}

const StructInfo& InfoOf(const WeightedPodAffinityTerm*) {
  using T = WeightedPodAffinityTerm;
  static const StructInfo info = Struct<T>(
      "WeightedPodAffinityTerm",
      {
          Field<&T::weight>("weight", {.presence = Presence::kAlways}),
          Field<&T::pod_affinity_term>("podAffinityTerm", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const PodAffinity*) {
  using T = PodAffinity;
  static const StructInfo info = Struct<T>(
      "PodAffinity", {
                         Field<&T::required>("requiredDuringSchedulingIgnoredDuringExecution"),
                         Field<&T::preferred>("preferredDuringSchedulingIgnoredDuringExecution"),
                     });
  return info;
}

const StructInfo& InfoOf(const PodAntiAffinity*) {
  using T = PodAntiAffinity;
  static const StructInfo info =
      Struct<T>("PodAntiAffinity",
                {
                    Field<&T::required>("requiredDuringSchedulingIgnoredDuringExecution"),
                    Field<&T::preferred>("preferredDuringSchedulingIgnoredDuringExecution"),
                });
  return info;
}

const StructInfo& InfoOf(const Affinity*) {
  using T = Affinity;
  static const StructInfo info =
      Struct<T>("Affinity", {
                                Field<&T::node_affinity>("nodeAffinity"),
                                Field<&T::pod_affinity>("podAffinity"),
                                Field<&T::pod_anti_affinity>("podAntiAffinity"),
                            });
  return info;
}

const StructInfo& InfoOf(const Toleration*) {
  using T = Toleration;
  static const StructInfo info =
      Struct<T>("Toleration", {
                                  Field<&T::key>("key"),
                                  Field<&T::operator_>("operator"),
                                  Field<&T::value>("value"),
                                  Field<&T::effect>("effect"),
                                  Field<&T::toleration_seconds>("tolerationSeconds"),
                              });
  return info;
}

const StructInfo& InfoOf(const TopologySpreadConstraint*) {
  using T = TopologySpreadConstraint;
  static const StructInfo info = Struct<T>(
      "TopologySpreadConstraint",
      {
          Field<&T::max_skew>("maxSkew", {.presence = Presence::kAlways}),
          Field<&T::topology_key>("topologyKey", {.presence = Presence::kAlways}),
          Field<&T::when_unsatisfiable>("whenUnsatisfiable", {.presence = Presence::kAlways}),
          Field<&T::label_selector>("labelSelector"),
          Field<&T::min_domains>("minDomains"),
          Field<&T::node_affinity_policy>("nodeAffinityPolicy"),
          Field<&T::node_taints_policy>("nodeTaintsPolicy"),
          Field<&T::match_label_keys>("matchLabelKeys"),
      });
  return info;
}

}  // namespace dray::api

// SPDX-License-Identifier: Apache-2.0
//
// Where a pod wants to be: node and pod affinity, tolerations, topology spread.
//
// `required` and `preferred` are short for requiredDuringSchedulingIgnoredDuringExecution and its
// sister.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/meta.h"
#include "api/node_selector.h"
#include "api/values.h"

namespace dray::api {

inline constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
inline constexpr std::string_view kScheduleAnyway = "ScheduleAnyway";
inline constexpr std::string_view kNodeInclusionHonor = "Honor";
inline constexpr std::string_view kNodeInclusionIgnore = "Ignore";

struct PreferredSchedulingTerm {
  std::int32_t weight = 0;  // 1 to 100
  NodeSelectorTerm preference;
  UnknownFields unknown;
  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};
const StructInfo& InfoOf(const PreferredSchedulingTerm*);

// Required terms decide, preferred ones score.
struct NodeAffinity {
  Box<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
  UnknownFields unknown;
  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};
const StructInfo& InfoOf(const NodeAffinity*);

// Pods that match, within one value of the topology key.
struct PodAffinityTerm {
  Box<LabelSelector> label_selector;    // unset: no pods
  std::vector<std::string> namespaces;  // none, and no selector: the pod's own
  std::string topology_key;
  Box<LabelSelector> namespace_selector;  // unset: only `namespaces`; empty: all
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  UnknownFields unknown;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};
const StructInfo& InfoOf(const PodAffinityTerm*);

struct WeightedPodAffinityTerm {
  std::int32_t weight = 0;  // 1 to 100
  PodAffinityTerm pod_affinity_term;
  UnknownFields unknown;
  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};
const StructInfo& InfoOf(const WeightedPodAffinityTerm*);

struct PodAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  UnknownFields unknown;
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};
const StructInfo& InfoOf(const PodAffinity*);

struct PodAntiAffinity {
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  UnknownFields unknown;
  friend bool operator==(const PodAntiAffinity&, const PodAntiAffinity&) = default;
};
const StructInfo& InfoOf(const PodAntiAffinity*);

struct Affinity {
  Box<NodeAffinity> node_affinity;
  Box<PodAffinity> pod_affinity;
  Box<PodAntiAffinity> pod_anti_affinity;
  UnknownFields unknown;
  friend bool operator==(const Affinity&, const Affinity&) = default;
};
const StructInfo& InfoOf(const Affinity*);

// Tolerates taints of nodes. An empty key with operator Exists tolerates all.
struct Toleration {
  std::string key;
  std::string operator_;  // Exists, Equal; empty means Equal
  std::string value;
  std::string effect;                              // empty: all effects
  std::optional<std::int64_t> toleration_seconds;  // only for NoExecute; unset: for ever
  UnknownFields unknown;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};
const StructInfo& InfoOf(const Toleration*);

struct TopologySpreadConstraint {
  std::int32_t max_skew = 0;
  std::string topology_key;
  std::string when_unsatisfiable;
  Box<LabelSelector> label_selector;  // unset: no pods
  std::optional<std::int32_t> min_domains;
  std::optional<std::string> node_affinity_policy;
  std::optional<std::string> node_taints_policy;
  std::vector<std::string> match_label_keys;
  UnknownFields unknown;
  friend bool operator==(const TopologySpreadConstraint&,
                         const TopologySpreadConstraint&) = default;
};
const StructInfo& InfoOf(const TopologySpreadConstraint*);

}  // namespace dray::api

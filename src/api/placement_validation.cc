// SPDX-License-Identifier: Apache-2.0
//
// Where a pod may run. What is let in here, a scheduler must be able to follow.
#include <array>
#include <string>
#include <string_view>

#include "api/internal/name_validation.h"
#include "api/internal/node_selector_validation.h"
#include "api/internal/pod_validation.h"
#include "api/label_selector.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::int32_t kMaxWeight = 100;

void CheckWeight(Report& report, const Path& at, std::int32_t weight) {
  if (weight < 1 || weight > kMaxWeight) {
    report.InvalidNumber(at, weight, "must be in the range 1-100");
  }
}

void CheckToleration(Report& report, const Path& at, const Toleration& toleration) {
  constexpr std::array<std::string_view, 3> kEffects = {"NoSchedule", "PreferNoSchedule",
                                                        "NoExecute"};
  constexpr std::array<std::string_view, 2> kOperators = {"Equal", "Exists"};
  const std::string_view op = toleration.operator_;
  if (!toleration.key.empty()) CheckForm(report, at.Child("key"), toleration.key, kLabelKey);
  if (toleration.key.empty() && op != "Exists") {
    report.Invalid(at.Child("operator"), op,
                   "operator must be Exists when `key` is empty, which means \"match all values "
                   "and all keys\"");
  }
  if (toleration.toleration_seconds && toleration.effect != "NoExecute") {
    report.Invalid(at.Child("effect"), toleration.effect,
                   "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (op.empty() || op == "Equal") {
    CheckForm(report, at.Child("operator"), toleration.value, kLabelValue);
  } else if (op == "Exists") {
    if (!toleration.value.empty()) {
      report.Invalid(at.Child("operator"), toleration.value,
                     "value must be empty when `operator` is 'Exists'");
    }
  } else if (op != "Lt" && op != "Gt") {  // those two come with a gate of newer clusters
    report.NotSupported(at.Child("operator"), op, kOperators);
  }
  if (!toleration.effect.empty()) {
    CheckOneOf(report, at.Child("effect"), toleration.effect, kEffects);
  }
}

void CheckAffinityTerm(Report& report, const Path& at, const PodAffinityTerm& term) {
  if (term.label_selector) {
    CheckLabelSelector(report, at.Child("labelSelector"), *term.label_selector);
  }
  if (term.namespace_selector) {
    CheckLabelSelector(report, at.Child("namespaceSelector"), *term.namespace_selector);
  }
  for (const std::string& name : term.namespaces) {
    CheckForm(report, at.Child("namespaces"), name, kDnsLabel);
  }
  if (term.topology_key.empty()) {
    report.Required(at.Child("topologyKey"), "can not be empty");
  } else {
    CheckForm(report, at.Child("topologyKey"), term.topology_key, kLabelKey);
  }
}

template <typename PodAffinityKind>
void CheckPodAffinity(Report& report, const Path& at, const PodAffinityKind& affinity) {
  const Path required = at.Child("requiredDuringSchedulingIgnoredDuringExecution");
  for (std::size_t i = 0; i < affinity.required.size(); ++i) {
    CheckAffinityTerm(report, required.Index(i), affinity.required[i]);
  }
  const Path preferred = at.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (std::size_t i = 0; i < affinity.preferred.size(); ++i) {
    const Path here = preferred.Index(i);
    CheckWeight(report, here.Child("weight"), affinity.preferred[i].weight);
    CheckAffinityTerm(report, here.Child("podAffinityTerm"),
                      affinity.preferred[i].pod_affinity_term);
  }
}

void CheckNodeAffinity(Report& report, const Path& at, const NodeAffinity& affinity) {
  if (affinity.required) {
    ValidateNodeSelector(report, at.Child("requiredDuringSchedulingIgnoredDuringExecution"),
                         *affinity.required);
  }
  const Path preferred = at.Child("preferredDuringSchedulingIgnoredDuringExecution");
  for (std::size_t i = 0; i < affinity.preferred.size(); ++i) {
    const Path here = preferred.Index(i);
    CheckWeight(report, here.Child("weight"), affinity.preferred[i].weight);
    ValidateNodeSelectorTerm(report, here.Child("preference"), affinity.preferred[i].preference);
  }
}

void CheckSpread(Report& report, const Path& at,
                 const std::vector<TopologySpreadConstraint>& constraints) {
  constexpr std::array<std::string_view, 2> kWhen = {"DoNotSchedule", "ScheduleAnyway"};
  base::StringSet seen;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const TopologySpreadConstraint& constraint = constraints[i];
    const Path here = at.Index(i);
    if (constraint.max_skew <= 0) {
      report.InvalidNumber(here.Child("maxSkew"), constraint.max_skew, "must be greater than zero");
    }
    if (constraint.topology_key.empty()) {
      report.Required(here.Child("topologyKey"), "can not be empty");
    }
    CheckOneOf(report, here.Child("whenUnsatisfiable"), constraint.when_unsatisfiable, kWhen);
    const std::string pair =
        fmt::format("{{{}, {}}}", constraint.topology_key, constraint.when_unsatisfiable);
    if (!seen.insert(pair).second) {
      report.Duplicate(here.Child("{topologyKey, whenUnsatisfiable}"), pair);
    }
    if (constraint.min_domains) {
      if (*constraint.min_domains <= 0) {
        report.InvalidNumber(here.Child("minDomains"), *constraint.min_domains,
                             "must be greater than zero");
      }
      if (constraint.when_unsatisfiable != "DoNotSchedule") {
        report.InvalidNumber(here.Child("minDomains"), *constraint.min_domains,
                             "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
      }
    }
    if (constraint.label_selector) {
      CheckLabelSelector(report, here.Child("labelSelector"), *constraint.label_selector);
    }
  }
}

}  // namespace

void CheckLabels(Report& report, const Path& at, const Map<std::string>& labels) {
  for (const auto& [key, value] : labels) {
    CheckForm(report, at, std::string_view(key), kLabelKey);
    CheckForm(report, at, value, kLabelValue);
  }
}

bool CheckLabelSelector(Report& report, const Path& at, const LabelSelector& selector) {
  const auto matcher = LabelMatcher::From(selector);
  if (!matcher.ok()) report.InvalidAsIs(at, "{}", base::Message(matcher.status()));
  return matcher.ok();
}

void ValidatePlacement(Report& report, const Path& at, const PodSpec& spec) {
  CheckLabels(report, at.Child("nodeSelector"), spec.node_selector);
  const Path affinity = at.Child("affinity");
  if (spec.affinity) {
    if (spec.affinity->node_affinity) {
      CheckNodeAffinity(report, affinity.Child("nodeAffinity"), *spec.affinity->node_affinity);
    }
    if (spec.affinity->pod_affinity) {
      CheckPodAffinity(report, affinity.Child("podAffinity"), *spec.affinity->pod_affinity);
    }
    if (spec.affinity->pod_anti_affinity) {
      CheckPodAffinity(report, affinity.Child("podAntiAffinity"),
                       *spec.affinity->pod_anti_affinity);
    }
  }
  CheckSpread(report, at.Child("topologySpreadConstraints"), spec.topology_spread_constraints);
  const Path gates = at.Child("schedulingGates");
  base::StringSet seen;
  for (std::size_t i = 0; i < spec.scheduling_gates.size(); ++i) {
    const std::string& name = spec.scheduling_gates[i].name;
    CheckForm(report, gates.Index(i), name, kLabelKey);
    if (!seen.insert(name).second) report.Duplicate(gates.Index(i), name);
  }
  const Path tolerations = at.Child("tolerations");
  for (std::size_t i = 0; i < spec.tolerations.size(); ++i) {
    CheckToleration(report, tolerations.Index(i), spec.tolerations[i]);
  }
}

}  // namespace dray::api::internal

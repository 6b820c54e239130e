// SPDX-License-Identifier: Apache-2.0
#include "controllers/quota_scopes.h"

#include <algorithm>
#include <string_view>

namespace dray::controllers {
namespace {

bool HasDeadline(const api::Pod& pod) { return pod.spec.active_deadline_seconds.value_or(-1) >= 0; }
bool IsBestEffort(const api::Pod& pod) { return pod.status.qos_class == "BestEffort"; }

bool LooksElsewhere(const api::PodAffinityTerm& term) {
  return !term.namespaces.empty() || term.namespace_selector.has_value();
}
template <typename PodAffinity>
bool LooksElsewhere(const PodAffinity& affinity) {
  if (!affinity.has_value()) return false;
  return std::ranges::any_of(affinity->required,
                             [](const auto& term) { return LooksElsewhere(term); }) ||
         std::ranges::any_of(affinity->preferred, [](const auto& weighted) {
           return LooksElsewhere(weighted.pod_affinity_term);
         });
}
bool HasCrossNamespaceAffinity(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  return affinity.has_value() &&
         (LooksElsewhere(affinity->pod_affinity) || LooksElsewhere(affinity->pod_anti_affinity));
}

bool Fits(const api::ScopedResourceSelectorRequirement& requirement, const api::Pod& pod) {
  const std::string_view scope = requirement.scope_name;
  if (scope == api::kQuotaScopeTerminating) return HasDeadline(pod);
  if (scope == api::kQuotaScopeNotTerminating) return !HasDeadline(pod);
  if (scope == api::kQuotaScopeBestEffort) return IsBestEffort(pod);
  if (scope == api::kQuotaScopeNotBestEffort) return !IsBestEffort(pod);
  if (scope == api::kQuotaScopeCrossNamespacePodAffinity) return HasCrossNamespaceAffinity(pod);
  if (scope != api::kQuotaScopePriorityClass) return false;
  const std::string& name = pod.spec.priority_class_name;
  const std::string_view op = requirement.operator_;
  const bool listed = std::ranges::find(requirement.values, name) != requirement.values.end();
  if (op == "In") return !name.empty() && listed;
  if (op == "NotIn") return !listed;
  if (op == "DoesNotExist") return name.empty();
  return !name.empty();  // Exists
}

}  // namespace

bool HasScopes(const api::ResourceQuotaSpec& quota) {
  return !quota.scopes.empty() ||
         (quota.scope_selector.has_value() && !quota.scope_selector->match_expressions.empty());
}

bool InScope(const api::ResourceQuotaSpec& quota, const api::Pod& pod) {
  const auto fits = [&](const auto& requirement) { return Fits(requirement, pod); };
  for (const std::string& scope : quota.scopes) {
    if (!Fits({.scope_name = scope, .operator_ = "Exists"}, pod)) return false;
  }
  return !quota.scope_selector.has_value() ||
         std::ranges::all_of(quota.scope_selector->match_expressions, fits);
}

}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
#include "api/quota_scopes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/event.h"
#include "api/pod_qos.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

bool HasDeadline(const Pod& pod) { return pod.spec.active_deadline_seconds.value_or(-1) >= 0; }
bool IsBestEffort(const Pod& pod) { return QosClassOf(pod) == kQosBestEffort; }

bool LooksElsewhere(const PodAffinityTerm& term) {
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
bool HasCrossNamespaceAffinity(const Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  return affinity.has_value() &&
         (LooksElsewhere(affinity->pod_affinity) || LooksElsewhere(affinity->pod_anti_affinity));
}

bool Fits(const ScopedResourceSelectorRequirement& requirement, const Pod& pod) {
  const std::string_view scope = requirement.scope_name;
  if (scope == kQuotaScopeTerminating) return HasDeadline(pod);
  if (scope == kQuotaScopeNotTerminating) return !HasDeadline(pod);
  if (scope == kQuotaScopeBestEffort) return IsBestEffort(pod);
  if (scope == kQuotaScopeNotBestEffort) return !IsBestEffort(pod);
  if (scope == kQuotaScopeCrossNamespacePodAffinity) return HasCrossNamespaceAffinity(pod);
  if (scope != kQuotaScopePriorityClass) return false;
  const std::string& name = pod.spec.priority_class_name;
  const std::string_view op = requirement.operator_;
  const bool listed = std::ranges::find(requirement.values, name) != requirement.values.end();
  if (op == "In") return !name.empty() && listed;
  if (op == "NotIn") return !listed;
  if (op == "DoesNotExist") return name.empty();
  return !name.empty();  // Exists
}

// Kinds that had a name of their own before any kind could be counted.
bool HasShortName(const KindInfo& kind) {
  constexpr std::array<std::string_view, 6> kOld = {"configmaps",     "persistentvolumeclaims",
                                                    "resourcequotas", "replicationcontrollers",
                                                    "secrets",        "services"};
  return kind.group.empty() && std::ranges::find(kOld, kind.plural) != kOld.end();
}

}  // namespace

bool QuotaCounts(const ResourceQuotaSpec& quota, const Object& object) {
  const bool selects =
      quota.scope_selector.has_value() && !quota.scope_selector->match_expressions.empty();
  if (quota.scopes.empty() && !selects) return true;
  const Pod* pod = object.As<Pod>();
  if (pod == nullptr) return false;
  for (const std::string& scope : quota.scopes) {
    if (!Fits({.scope_name = scope, .operator_ = "Exists"}, *pod)) return false;
  }
  return !selects ||
         std::ranges::all_of(quota.scope_selector->match_expressions,
                             [&](const auto& requirement) { return Fits(requirement, *pod); });
}

bool IsCounted(const KindInfo& kind) { return kind.namespaced && kind.hub != &TypeInfoOf<Event>(); }

std::string CountQuotaName(const KindInfo& kind) {
  return kind.group.empty() ? fmt::format("count/{}", kind.plural)
                            : fmt::format("count/{}.{}", kind.plural, kind.group);
}

Map<base::Quantity> QuotaUsage(const Object& object, const QuotaContext& context) {
  if (const auto* pod = object.As<Pod>()) return PodQuotaUsage(*pod, context.now);
  if (const auto* claim = object.As<ResourceClaim>()) return ClaimQuotaUsage(*claim, context);
  const KindInfo& kind = HubKind(*object.kind().hub);
  const base::Quantity one = base::Quantity::FromInt(1);
  Map<base::Quantity> usage = {{CountQuotaName(kind), one}};
  if (HasShortName(kind)) usage[kind.plural] = one;
  return usage;
}

}  // namespace dray::api

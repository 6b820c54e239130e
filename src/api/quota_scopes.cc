// SPDX-License-Identifier: Apache-2.0
#include "api/quota_scopes.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "api/field_view.h"
#include "api/pod_qos.h"
#include "api/volume.h"
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

bool Is(const KindInfo& kind, std::string_view name) {
  return kind.group.empty() && kind.kind == name;
}
bool IsService(const KindInfo& kind) { return Is(kind, "Service"); }
bool IsVolumeClaim(const KindInfo& kind) { return Is(kind, "PersistentVolumeClaim"); }

// The class of attributes that a volume has, shall have, or is getting.
bool FitsVolumeClaim(const ScopedResourceSelectorRequirement& requirement, const Object& claim) {
  if (requirement.scope_name != kQuotaScopeVolumeAttributesClass) return false;
  const FieldView view = FieldView::Of(claim);
  std::vector<std::string_view> names;
  if (const auto* spec = view["spec"].As<PersistentVolumeClaimSpec>()) {
    if (spec->volume_attributes_class_name) names.push_back(*spec->volume_attributes_class_name);
  }
  names.push_back(view.At("status.currentVolumeAttributesClassName").text());
  names.push_back(view.At("status.modifyVolumeStatus.targetVolumeAttributesClassName").text());
  std::erase(names, std::string_view());
  const auto listed = [&](std::string_view name) {
    return std::ranges::find(requirement.values, name) != requirement.values.end();
  };
  const std::string_view op = requirement.operator_;
  if (op == "In") return std::ranges::any_of(names, listed);
  if (op == "NotIn") return names.empty() || !std::ranges::all_of(names, listed);
  if (op == "DoesNotExist") return names.empty();
  return !names.empty();  // Exists
}

bool FitsObject(const ScopedResourceSelectorRequirement& requirement, const Object& object) {
  if (const Pod* pod = object.As<Pod>()) return Fits(requirement, *pod);
  return IsVolumeClaim(object.kind()) && FitsVolumeClaim(requirement, object);
}

// Ports on nodes are counted by what is asked for: nobody has given any out yet.
void AddService(const Object& service, Map<base::Quantity>& usage) {
  const FieldView spec = FieldView::Of(service)["spec"];
  const FieldView ports = spec["ports"];
  const std::string_view reached = spec["type"].text();
  const bool balanced = reached == "LoadBalancer";
  std::int64_t on_nodes = 0;
  if (balanced || reached == "NodePort") {
    const FieldView all = spec["allocateLoadBalancerNodePorts"];
    const bool only_named = balanced && all.set() && !all.flag();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (!only_named || ports.item(i)["nodePort"].number().value_or(0) != 0) ++on_nodes;
    }
  }
  usage[kNodePortsQuota] = base::Quantity::FromInt(on_nodes);
  usage[kLoadBalancersQuota] = base::Quantity::FromInt(balanced ? 1 : 0);
}

// Storage is counted in whole bytes: what is being made larger, by what it will be.
void AddVolumeClaim(const Object& claim, Map<base::Quantity>& usage) {
  const FieldView view = FieldView::Of(claim);
  const auto* spec = view["spec"].As<PersistentVolumeClaimSpec>();
  if (spec == nullptr) return;
  std::string class_name = spec->storage_class_name.value_or("");
  // Before there was a field for it.
  const auto& annotations = claim.metadata().annotations;
  if (const auto* named = annotations.Find("volume.beta.kubernetes.io/storage-class")) {
    class_name = *named;
  }
  const auto add = [&](std::string_view name, const base::Quantity& amount) {
    usage[name] = amount;
    if (class_name.empty()) return;
    usage[fmt::format("{}{}{}", class_name, kStorageClassQuotaSuffix, name)] = amount;
  };
  add(kVolumeClaimsQuota, base::Quantity::FromInt(1));
  const base::Quantity* asked = spec->resources.requests.Find("storage");
  if (asked == nullptr) return;
  base::Quantity storage = *asked;
  const auto* allocated = view.At("status.allocatedResources").As<Map<base::Quantity>>();
  const base::Quantity* grown = allocated == nullptr ? nullptr : allocated->Find("storage");
  if (grown != nullptr && storage < *grown) storage = *grown;
  storage.RoundUp(0);
  add(kRequestsStorageQuota, storage);
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
  for (const std::string& scope : quota.scopes) {
    if (!FitsObject({.scope_name = scope, .operator_ = "Exists"}, object)) return false;
  }
  return !selects || std::ranges::all_of(
                         quota.scope_selector->match_expressions,
                         [&](const auto& requirement) { return FitsObject(requirement, object); });
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
  if (IsService(kind)) AddService(object, usage);
  if (IsVolumeClaim(kind)) AddVolumeClaim(object, usage);
  return usage;
}

bool QuotaHandlesUpdate(const Object& object, const Object& old) {
  if (const Pod* pod = object.As<Pod>()) return PodQuotaHandles("update", "", pod, old.As<Pod>());
  return IsService(object.kind()) || IsVolumeClaim(object.kind());
}

bool QuotaIsAbout(const Map<base::Quantity>& hard, const KindInfo& kind) {
  const bool more = kind.hub == &TypeInfoOf<Pod>() || kind.hub == &TypeInfoOf<ResourceClaim>() ||
                    IsService(kind) || IsVolumeClaim(kind);
  return more || hard.contains(CountQuotaName(kind)) ||
         (HasShortName(kind) && hard.contains(kind.plural));
}

}  // namespace dray::api

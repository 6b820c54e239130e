// SPDX-License-Identifier: Apache-2.0
//
// ResourceQuota: names that something is counted under, amounts that can be reached, and scopes that
// exist and do not exclude each other. A limit that nobody can understand would limit nothing.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/extended_resources.h"
#include "api/internal/kind_validation.h"
#include "api/quota.h"
#include "base/names.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 9> kCounts = {
    "pods",       "resourcequotas",   "services",      "replicationcontrollers", "secrets",
    "configmaps", kVolumeClaimsQuota, kNodePortsQuota, kLoadBalancersQuota};
constexpr std::array<std::string_view, 6> kPodCompute = {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
constexpr std::array<std::string_view, 4> kStorage = {
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
    kRequestsStorageQuota};

template <typename Words>
bool Has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool IsHugePages(std::string_view name) {
  return name.starts_with(kHugePagesPrefix) || name.starts_with("requests.hugepages-");
}
bool IsStandard(std::string_view name) {
  return Has(kCounts, name) || Has(kPodCompute, name) || Has(kStorage, name) || IsHugePages(name);
}

void CheckHard(Report& report, const Path& at, const Map<base::Quantity>& hard) {
  for (const auto& [key, amount] : hard) {
    const std::string_view name(key);
    const Path here = at.Key(name);
    const base::Reasons reasons = base::CheckQualifiedName(name);
    for (const std::string& reason : reasons) report.Invalid(here, name, reason);
    if (reasons.empty() && name.find('/') == name.npos && !IsStandard(name)) {
      report.Invalid(here, name, "must be a standard resource for quota");
    }
    if (amount.Sign() < 0) {
      report.Invalid(here, amount.ToString(), "must be greater than or equal to 0");
    }
    const bool whole = Has(kCounts, name) || IsDeviceResourceName(name);
    if (whole && !amount.IsInteger()) {
      report.Invalid(here, amount.ToString(), "must be an integer");
    }
  }
}

bool IsScope(std::string_view scope) {
  constexpr std::array<std::string_view, 7> kScopes = {
      kQuotaScopeTerminating,          kQuotaScopeNotTerminating,
      kQuotaScopeBestEffort,           kQuotaScopeNotBestEffort,
      kQuotaScopePriorityClass,        kQuotaScopeCrossNamespacePodAffinity,
      kQuotaScopeVolumeAttributesClass};
  return Has(kScopes, scope);
}

// Scopes are about pods: what is limited besides must be something that pods take. One that takes
// nothing of its node has no amounts of cpu and memory.
bool CanLimit(std::string_view scope, std::string_view name) {
  if (!IsStandard(name)) return true;
  if (scope == kQuotaScopeVolumeAttributesClass) {
    return name == kVolumeClaimsQuota || name == kRequestsStorageQuota;
  }
  if (scope == kQuotaScopeBestEffort) return name == "pods";
  return name == "pods" || Has(kPodCompute, name);
}

void CheckScope(Report& report, const Path& at, const Path& named, std::string_view scope,
                const Map<base::Quantity>& hard) {
  if (!IsScope(scope)) {
    report.Invalid(named, scope, "unsupported scope");
    return;
  }
  for (const auto& [name, amount] : hard) {
    if (!CanLimit(scope, name)) report.Invalid(at, scope, "unsupported scope applied to resource");
  }
}

void CheckConflicts(Report& report, const Path& at, const std::vector<std::string_view>& scopes) {
  const auto both = [&](std::string_view a, std::string_view b) {
    return Has(scopes, a) && Has(scopes, b);
  };
  if (both(kQuotaScopeBestEffort, kQuotaScopeNotBestEffort) ||
      both(kQuotaScopeTerminating, kQuotaScopeNotTerminating)) {
    report.InvalidAsIs(at, "{}", "conflicting scopes");
  }
}

void CheckRequirement(Report& report, const Path& at,
                      const ScopedResourceSelectorRequirement& requirement) {
  const std::string_view op = requirement.operator_;
  if (IsScope(requirement.scope_name) && requirement.scope_name != kQuotaScopePriorityClass &&
      requirement.scope_name != kQuotaScopeVolumeAttributesClass && op != "Exists") {
    report.Invalid(at.Child("operator"), op,
                   "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                   "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                   "ResourceQuotaScopeNotBestEffort or "
                   "ResourceQuotaScopeCrossNamespacePodAffinity");
  }
  if (op == "In" || op == "NotIn") {
    if (requirement.values.empty()) {
      report.Required(at.Child("values"),
                      "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                      "selector");
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!requirement.values.empty()) {
      report.Invalid(at.Child("values"), requirement.values.front(),
                     "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                     "selector");
    }
  } else {
    report.Invalid(at.Child("operator"), op, "not a valid selector operator");
  }
}

}  // namespace

void ValidateQuota(Report& report, const ResourceQuota& quota, const ResourceQuota* old) {
  const Path at("spec");
  const ResourceQuotaSpec& spec = quota.spec;
  if (old != nullptr && old->spec == spec) return;
  CheckHard(report, at.Child("hard"), spec.hard);
  const Path scopes = at.Child("scopes");
  std::vector<std::string_view> named;
  for (const std::string& scope : spec.scopes) {
    CheckScope(report, scopes, scopes, scope, spec.hard);
    named.push_back(scope);
  }
  CheckConflicts(report, scopes, named);
  if (spec.scope_selector) {
    const Path selector = at.Child("scopeSelector");
    const Path expressions = selector.Child("matchExpressions");
    named.clear();
    for (const ScopedResourceSelectorRequirement& one : spec.scope_selector->match_expressions) {
      CheckScope(report, expressions, expressions.Child("scopeName"), one.scope_name, spec.hard);
      CheckRequirement(report, expressions, one);
      named.push_back(one.scope_name);
    }
    CheckConflicts(report, expressions, named);
  }
  if (old != nullptr && old->spec.scopes != spec.scopes) {
    report.InvalidAsIs(scopes, "{}", "field is immutable");
  }
}

}  // namespace dray::api::internal

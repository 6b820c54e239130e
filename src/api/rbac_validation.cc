// SPDX-License-Identifier: Apache-2.0
//
// Roles and bindings: rules that allow something, references and subjects that can be found.
#include <array>
#include <string_view>

#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/pod_validation.h"
#include "api/json.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 1> kGroups = {kRbacGroup};
constexpr std::array<std::string_view, 1> kNoGroup = {""};

void CheckRules(Report& report, const std::vector<PolicyRule>& rules, bool namespaced) {
  const Path all("rules");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const PolicyRule& rule = rules[i];
    const Path at = all.Index(i);
    if (rule.verbs.empty()) {
      report.Required(at.Child("verbs"), "verbs must contain at least one value");
    }
    if (!rule.non_resource_urls.empty()) {
      const Path urls = at.Child("nonResourceURLs");
      if (namespaced) {
        report.InvalidAsIs(urls, EncodeJson(rule.non_resource_urls),
                           "namespaced rules cannot apply to non-resource URLs");
      }
      if (!rule.api_groups.empty() || !rule.resources.empty() || !rule.resource_names.empty()) {
        report.InvalidAsIs(urls, EncodeJson(rule.non_resource_urls),
                           "rules cannot apply to both regular resources and non-resource URLs");
      }
      continue;
    }
    if (rule.api_groups.empty()) {
      report.Required(at.Child("apiGroups"), "resource rules must supply at least one api group");
    }
    if (rule.resources.empty()) {
      report.Required(at.Child("resources"), "resource rules must supply at least one resource");
    }
  }
}

void CheckSubject(Report& report, const Path& at, const RbacSubject& subject, bool namespaced) {
  if (subject.name.empty()) report.Required(at.Child("name"), "");
  if (subject.kind == kSubjectServiceAccount) {
    if (!subject.name.empty()) CheckForm(report, at.Child("name"), subject.name, kDnsSubdomain);
    if (!subject.api_group.empty()) {
      report.NotSupported(at.Child("apiGroup"), subject.api_group, kNoGroup);
    }
    if (!namespaced && subject.namespace_.empty()) report.Required(at.Child("namespace"), "");
    return;
  }
  if (subject.kind == kSubjectUser || subject.kind == kSubjectGroup) {
    if (subject.api_group != kRbacGroup) {
      report.NotSupported(at.Child("apiGroup"), subject.api_group, kGroups);
    }
    return;
  }
  constexpr std::array<std::string_view, 3> kKinds = {kSubjectServiceAccount, kSubjectUser,
                                                      kSubjectGroup};
  report.NotSupported(at.Child("kind"), subject.kind, kKinds);
}

template <typename Binding>
void CheckBinding(Report& report, const Binding& binding, const Binding* old,
                  std::span<const std::string_view> kinds, bool namespaced) {
  const Path ref("roleRef");
  if (binding.role_ref.api_group != kRbacGroup) {
    report.NotSupported(ref.Child("apiGroup"), binding.role_ref.api_group, kGroups);
  }
  CheckOneOf(report, ref.Child("kind"), binding.role_ref.kind, kinds);
  if (binding.role_ref.name.empty()) {
    report.Required(ref.Child("name"), "");
  } else {
    CheckForm(report, ref.Child("name"), binding.role_ref.name, kPathSegment);
  }
  const Path subjects("subjects");
  for (std::size_t i = 0; i < binding.subjects.size(); ++i) {
    CheckSubject(report, subjects.Index(i), binding.subjects[i], namespaced);
  }
  // Whoever may change who has a role has not been asked whether they may give another one.
  if (old != nullptr && !(old->role_ref == binding.role_ref)) {
    report.InvalidAsIs(ref, EncodeJson(binding.role_ref), "field is immutable");
  }
}

}  // namespace

void ValidateRole(Report& report, const Role& role) { CheckRules(report, role.rules, true); }

void ValidateClusterRole(Report& report, const ClusterRole& role) {
  CheckRules(report, role.rules, false);
  if (!role.aggregation_rule) return;
  const Path rule("aggregationRule");
  const Path selectors = rule.Child("clusterRoleSelectors");
  const auto& list = role.aggregation_rule->cluster_role_selectors;
  if (list.empty()) {
    report.Required(selectors,
                    "at least one clusterRoleSelector required if aggregationRule is non-nil");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    CheckLabelSelector(report, selectors.Index(i), list[i]);
  }
}

void ValidateRoleBinding(Report& report, const RoleBinding& binding, const RoleBinding* old) {
  constexpr std::array<std::string_view, 2> kKinds = {"Role", "ClusterRole"};
  CheckBinding(report, binding, old, kKinds, true);
}

void ValidateClusterRoleBinding(Report& report, const ClusterRoleBinding& binding,
                                const ClusterRoleBinding* old) {
  constexpr std::array<std::string_view, 1> kKinds = {"ClusterRole"};
  CheckBinding(report, binding, old, kKinds, false);
}

}  // namespace dray::api::internal

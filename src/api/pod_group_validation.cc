// SPDX-License-Identifier: Apache-2.0
//
// Workloads and PodGroups. A group is fixed once it is made, but for how many pods it needs.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kFixed = "field is immutable";
constexpr std::size_t kNoLimit = 1'000'000;

// Exactly one of two members of a union.
void CheckUnion(Report& report, const Path& at, std::string_view a, bool has_a, std::string_view b,
                bool has_b) {
  if (has_a && has_b) {
    report.InvalidAsIs(at, fmt::format("{{{}, {}}}", a, b),
                       fmt::format("must specify exactly one of: `{}`, `{}`", a, b));
  } else if (!has_a && !has_b) {
    report.InvalidAsIs(at, "", fmt::format("must specify one of: `{}`, `{}`", a, b));
  }
}

void CheckOptional(Report& report, const Path& at, std::string_view name, const NameForm& form) {
  if (!name.empty()) CheckForm(report, at, name, form);
}

void CheckPolicy(Report& report, const Path& at, const PodGroupSchedulingPolicy& policy) {
  CheckUnion(report, at, "basic", policy.basic.has_value(), "gang", policy.gang.has_value());
  if (!policy.gang) return;
  const Path gang = at.Child("gang");
  const Path count = gang.Child("minCount");
  if (policy.gang->min_count == 0) {
    report.Required(count, "");
  } else if (policy.gang->min_count < 0) {
    report.InvalidNumber(count, policy.gang->min_count, "must be greater than or equal to 1");
  }
}

void CheckConstraints(Report& report, const Path& at, const PodGroupSchedulingConstraints& rules) {
  const Path topology = at.Child("topology");
  if (!CheckSize(report, topology, rules.topology.size(), kPodGroupMaxTopologyKeys)) return;
  for (std::size_t i = 0; i < rules.topology.size(); ++i) {
    const Path here = topology.Index(i);
    CheckRequiredForm(report, here.Child("key"), rules.topology[i].key, kLabelKey);
  }
}

void CheckClaims(Report& report, const Path& at, const std::vector<PodGroupResourceClaim>& claims) {
  if (!CheckSize(report, at, claims.size(), kPodGroupClaimsMaxSize)) return;
  CheckUnique(report, at, claims,
              [](const PodGroupResourceClaim& claim) -> std::string_view { return claim.name; });
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const PodGroupResourceClaim& claim = claims[i];
    const Path here = at.Index(i);
    CheckRequiredForm(report, here.Child("name"), claim.name, kDnsLabel);
    CheckUnion(report, here, "resourceClaimName", claim.resource_claim_name.has_value(),
               "resourceClaimTemplateName", claim.resource_claim_template_name.has_value());
    if (claim.resource_claim_name) {
      CheckForm(report, here.Child("resourceClaimName"), *claim.resource_claim_name, kDnsSubdomain);
    }
    if (claim.resource_claim_template_name) {
      CheckForm(report, here.Child("resourceClaimTemplateName"),
                *claim.resource_claim_template_name, kDnsSubdomain);
    }
  }
}

// What a group and a template of groups have in common.
template <typename T>
void CheckCommon(Report& report, const Path& at, const T& spec) {
  constexpr std::array<std::string_view, 2> kPolicies = {kPreemptNever, kPreemptLowerPriority};
  CheckPolicy(report, at.Child("schedulingPolicy"), spec.scheduling_policy);
  if (spec.scheduling_constraints) {
    CheckConstraints(report, at.Child("schedulingConstraints"), *spec.scheduling_constraints);
  }
  CheckClaims(report, at.Child("resourceClaims"), spec.resource_claims);
  if (spec.disruption_mode) {
    CheckUnion(report, at.Child("disruptionMode"), "single",
               spec.disruption_mode->single.has_value(), "all",
               spec.disruption_mode->all.has_value());
  }
  CheckOptional(report, at.Child("priorityClassName"), spec.priority_class_name, kDnsSubdomain);
  if (spec.priority && *spec.priority > kHighestUserPriority) {
    report.InvalidNumber(at.Child("priority"), *spec.priority,
                         "must be less than or equal to 1000000000");
  }
  if (spec.preemption_policy) {
    CheckOneOf(report, at.Child("preemptionPolicy"), *spec.preemption_policy, kPolicies);
  }
}

void CheckSamePolicy(Report& report, const Path& at, const PodGroupSchedulingPolicy& next,
                     const PodGroupSchedulingPolicy& old) {
  if (next.basic.has_value() != old.basic.has_value()) {
    report.InvalidAsIs(at.Child("basic"), "", kFixed);
  }
  if (next.gang.has_value() == old.gang.has_value()) return;
  report.InvalidAsIs(at.Child("gang"), "",
                     next.gang.has_value() ? "field cannot be set once created"
                                           : "field cannot be cleared once set");
}

template <typename T>
void CheckSame(Report& report, const Path& at, const T& next, const T& old) {
  if (!(next == old)) report.InvalidAsIs(at, "", kFixed);
}

template <typename T>
void CheckCommonUpdate(Report& report, const Path& at, const T& next, const T& old) {
  CheckSamePolicy(report, at.Child("schedulingPolicy"), next.scheduling_policy,
                  old.scheduling_policy);
  CheckSame(report, at.Child("schedulingConstraints"), next.scheduling_constraints,
            old.scheduling_constraints);
  CheckSame(report, at.Child("resourceClaims"), next.resource_claims, old.resource_claims);
  CheckSame(report, at.Child("disruptionMode"), next.disruption_mode, old.disruption_mode);
  CheckSame(report, at.Child("priorityClassName"), next.priority_class_name,
            old.priority_class_name);
  CheckSame(report, at.Child("priority"), next.priority, old.priority);
  CheckSame(report, at.Child("preemptionPolicy"), next.preemption_policy, old.preemption_policy);
}

void CheckController(Report& report, const Path& at, const WorkloadControllerReference& ref) {
  CheckOptional(report, at.Child("apiGroup"), ref.api_group, kDnsSubdomain);
  CheckRequiredForm(report, at.Child("kind"), ref.kind, kPathSegment);
  CheckRequiredForm(report, at.Child("name"), ref.name, kPathSegment);
}

void CheckTemplatesUpdate(Report& report, const Path& at, const std::vector<PodGroupTemplate>& next,
                          const std::vector<PodGroupTemplate>& old) {
  std::map<std::string_view, const PodGroupTemplate*> before;
  for (const PodGroupTemplate& row : old) before[row.name] = &row;
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Path here = at.Index(i);
    const auto found = before.find(next[i].name);
    if (found == before.end()) {
      report.Forbidden(here, "item may not be added");
      continue;
    }
    CheckCommonUpdate(report, here, next[i], *found->second);
    before.erase(found);
  }
  for (const auto& row : before) {
    report.Forbidden(at.Key(row.first), "item may not be removed");
  }
}

}  // namespace

void ValidatePodGroup(Report& report, const PodGroup& group, const PodGroup* old) {
  const Path at("spec");
  const PodGroupSpec& spec = group.spec;
  if (spec.workload_ref) {
    const Path ref = at.Child("workloadRef");
    CheckRequiredForm(report, ref.Child("workloadName"), spec.workload_ref->workload_name,
                      kDnsSubdomain);
    CheckRequiredForm(report, ref.Child("templateName"), spec.workload_ref->template_name,
                      kDnsLabel);
  }
  CheckCommon(report, at, spec);
  if (old == nullptr) return;
  CheckSame(report, at.Child("workloadRef"), spec.workload_ref, old->spec.workload_ref);
  CheckCommonUpdate(report, at, spec, old->spec);
}

void ValidatePodGroupStatusUpdate(Report& report, const PodGroup& group, const PodGroup& old) {
  const Path at("status");
  ValidateConditions(report, at.Child("conditions"), group.status.conditions, kNoLimit);
  const Path claims = at.Child("resourceClaimStatuses");
  const auto& statuses = group.status.resource_claim_statuses;
  if (!CheckSize(report, claims, statuses.size(), kPodGroupClaimsMaxSize)) return;
  CheckUnique(
      report, claims, statuses,
      [](const PodGroupResourceClaimStatus& status) -> std::string_view { return status.name; });
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const Path here = claims.Index(i);
    const Path name = here.Child("name");
    CheckRequiredForm(report, name, statuses[i].name, kDnsLabel);
    if (std::ranges::find(old.spec.resource_claims, statuses[i].name,
                          &PodGroupResourceClaim::name) == old.spec.resource_claims.end()) {
      report.Invalid(name, statuses[i].name,
                     "must match the name of an entry in `spec.resourceClaims`");
    }
    if (statuses[i].resource_claim_name) {
      CheckForm(report, here.Child("resourceClaimName"), *statuses[i].resource_claim_name,
                kDnsSubdomain);
    }
  }
}

void ValidateWorkload(Report& report, const Workload& workload, const Workload* old) {
  const Path at("spec");
  const WorkloadSpec& spec = workload.spec;
  if (spec.controller_ref) CheckController(report, at.Child("controllerRef"), *spec.controller_ref);
  const Path templates = at.Child("podGroupTemplates");
  if (spec.pod_group_templates.empty()) {
    report.InvalidAsIs(at, "", "must specify one of: `podGroupTemplates`");
  }
  if (!CheckSize(report, templates, spec.pod_group_templates.size(), kWorkloadMaxTemplates)) return;
  CheckUnique(report, templates, spec.pod_group_templates,
              [](const PodGroupTemplate& row) -> std::string_view { return row.name; });
  for (std::size_t i = 0; i < spec.pod_group_templates.size(); ++i) {
    const PodGroupTemplate& row = spec.pod_group_templates[i];
    const PodGroupTemplate& first = spec.pod_group_templates.front();
    const Path here = templates.Index(i);
    CheckRequiredForm(report, here.Child("name"), row.name, kDnsLabel);
    CheckCommon(report, here, row);
    if (row.priority_class_name == first.priority_class_name && row.priority == first.priority) {
      continue;
    }
    report.InvalidAsIs(at, "null", "detected multiple priority configurations");
    break;
  }
  if (old == nullptr) return;
  CheckSame(report, at.Child("controllerRef"), spec.controller_ref, old->spec.controller_ref);
  CheckTemplatesUpdate(report, templates, spec.pod_group_templates, old->spec.pod_group_templates);
}

}  // namespace dray::api::internal

// SPDX-License-Identifier: Apache-2.0
//
// What a pod must say to be accepted, alone or as the template of a workload: what a scheduler, a
// controller or a node could do nothing with is refused, as Kubernetes does. One place for the
// server, `dray validate` and plans.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/pod_validation.h"
#include "api/json.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kMayChange =
    "pod updates may not change fields other than `spec.containers[*].image`, "
    "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only "
    "additions) and `spec.schedulingGates` (only removals)";

void CheckVolumes(Report& report, const Path& at, const std::vector<Volume>& volumes,
                  PodNames& names) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Path here = at.Index(i);
    CheckPodName(report, here.Child("name"), volumes[i].name, names.volumes);
  }
}

void CheckClaims(Report& report, const Path& at, const std::vector<PodResourceClaim>& claims,
                 std::string_view pod, PodNames& names) {
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const PodResourceClaim& claim = claims[i];
    const Path here = at.Index(i);
    CheckPodName(report, here.Child("name"), claim.name, names.claims);
    if (!pod.empty() && claim.resource_claim_template_name && base::IsDnsLabel(claim.name)) {
      const std::string made = std::string(pod) + "-" + claim.name;
      for (const std::string& reason : base::CheckDnsSubdomain(made)) {
        report.Invalid(here.Child("name"), made, "final ResourceClaim name: " + reason);
      }
    }
    if (claim.resource_claim_name && claim.resource_claim_template_name) {
      report.Invalid(here, claim.name,
                     "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                     "specified");
    } else if (!claim.resource_claim_name && !claim.resource_claim_template_name) {
      report.Invalid(here, claim.name,
                     "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
    }
    if (claim.resource_claim_name) {
      CheckForm(report, here.Child("resourceClaimName"), *claim.resource_claim_name, kDnsSubdomain);
    }
    if (claim.resource_claim_template_name) {
      CheckForm(report, here.Child("resourceClaimTemplateName"),
                *claim.resource_claim_template_name, kDnsSubdomain);
    }
  }
}

// A name that may be left out.
void CheckOptional(Report& report, const Path& at, std::string_view name, const NameForm& form) {
  if (!name.empty()) CheckForm(report, at, name, form);
}
void CheckOptionalWord(Report& report, const Path& at, std::string_view word,
                       std::span<const std::string_view> supported) {
  if (!word.empty()) CheckOneOf(report, at, word, supported);
}

// With hostNetwork a container's ports are the node's.
void CheckHostNetwork(Report& report, const Path& at, const std::vector<Container>& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Path container = at.Index(i);
    const Path ports = container.Child("ports");
    for (std::size_t j = 0; j < containers[i].ports.size(); ++j) {
      const ContainerPort& port = containers[i].ports[j];
      const Path here = ports.Index(j);
      if (port.host_port != 0 && port.host_port != port.container_port) {
        report.InvalidNumber(here.Child("hostPort"), port.host_port,
                             "must match `containerPort` when `hostNetwork` is true");
      }
    }
  }
}

void CheckWords(Report& report, const Path& at, const PodSpec& spec) {
  constexpr std::array<std::string_view, 3> kRestart = {"Always", "OnFailure", "Never"};
  constexpr std::array<std::string_view, 4> kDns = {"ClusterFirst", "ClusterFirstWithHostNet",
                                                    "Default", "None"};
  constexpr std::array<std::string_view, 2> kPreemption = {kPreemptLowerPriority, kPreemptNever};
  CheckOptionalWord(report, at.Child("restartPolicy"), spec.restart_policy, kRestart);
  CheckOptionalWord(report, at.Child("dnsPolicy"), spec.dns_policy, kDns);
  CheckOptionalWord(report, at.Child("preemptionPolicy"), spec.preemption_policy.value_or(""),
                    kPreemption);
  CheckOptional(report, at.Child("serviceAccountName"), spec.service_account_name, kDnsSubdomain);
  CheckOptional(report, at.Child("nodeName"), spec.node_name, kDnsSubdomain);
  CheckOptional(report, at.Child("hostname"), spec.hostname, kDnsLabel);
  CheckOptional(report, at.Child("subdomain"), spec.subdomain, kDnsLabel);
  CheckOptional(report, at.Child("priorityClassName"), spec.priority_class_name, kDnsSubdomain);
  CheckOptional(report, at.Child("runtimeClassName"), spec.runtime_class_name.value_or(""),
                kDnsSubdomain);
}

// The group itself need not be there yet: whoever makes both may do so in any order.
void CheckSchedulingGroup(Report& report, const Path& at, const PodSpec& spec) {
  const Path group = at.Child("schedulingGroup");
  const Path name = group.Child("podGroupName");
  if (!spec.scheduling_group->pod_group_name) {
    report.InvalidAsIs(name, "null", "must specify one of: `podGroupName`");
  } else {
    CheckForm(report, name, *spec.scheduling_group->pod_group_name, kDnsSubdomain);
  }
  if (!spec.eviction_responders.empty()) {
    report.Forbidden(group, "may not be set when evictionResponders is set");
  }
}

const NodeAffinity* NodeAffinityOf(const PodSpec& spec) {
  return spec.affinity ? spec.affinity->node_affinity.get() : nullptr;
}

// To pods it is near to, or far from, the same ones as before.
void PutBackNodeAffinity(Box<Affinity>& next, const Box<Affinity>& stored) {
  Affinity changed = next ? *next : Affinity();
  changed.node_affinity = stored ? stored->node_affinity : Box<NodeAffinity>();
  if (changed == (stored ? *stored : Affinity())) {
    next = stored;
  } else {
    next = std::move(changed);
  }
}

// Each requirement that was there is still there, where it was.
bool OnlyAdds(const std::vector<NodeSelectorRequirement>& next,
              const std::vector<NodeSelectorRequirement>& stored) {
  return next.size() >= stored.size() && std::equal(stored.begin(), stored.end(), next.begin());
}
bool OnlyAdds(const NodeSelectorTerm& next, const NodeSelectorTerm& stored) {
  // A term without requirements fits no node.
  const bool none = stored.match_expressions.empty() && stored.match_fields.empty();
  if (none && (!next.match_expressions.empty() || !next.match_fields.empty())) return false;
  return OnlyAdds(next.match_expressions, stored.match_expressions) &&
         OnlyAdds(next.match_fields, stored.match_fields);
}

// Of a pod that is held back: it may be made to fit fewer nodes, and not more or others.
void CheckNarrowing(Report& report, const Path& at, const PodSpec& next, const PodSpec& stored) {
  if (stored.scheduling_gates.empty()) return;
  const bool kept = std::ranges::all_of(stored.node_selector, [&](const auto& label) {
    const std::string* value = next.node_selector.Find(label.first.view());
    return value != nullptr && *value == label.second;
  });
  if (!kept) {
    report.InvalidAsIs(at.Child("nodeSelector"), "<value omitted>",
                       "only additions are allowed (no mutations or deletions)");
  }
  const NodeAffinity* before = NodeAffinityOf(stored);
  if (before == nullptr || !before->required || before->required->node_selector_terms.empty()) {
    return;
  }
  const Path affinity = at.Child("affinity");
  const Path node_affinity = affinity.Child("nodeAffinity");
  const Path required = node_affinity.Child("requiredDuringSchedulingIgnoredDuringExecution");
  const Path terms = required.Child("nodeSelectorTerms");
  const NodeAffinity* after = NodeAffinityOf(next);
  const std::vector<NodeSelectorTerm> none;
  const auto& had = before->required->node_selector_terms;
  const auto& has =
      after != nullptr && after->required ? after->required->node_selector_terms : none;
  if (has.size() != had.size()) {
    return report.InvalidAsIs(
        terms, "<value omitted>",
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  }
  for (std::size_t i = 0; i < had.size(); ++i) {
    if (OnlyAdds(has[i], had[i])) continue;
    report.InvalidAsIs(terms.Index(i), "<value omitted>",
                       "only additions are allowed (no mutations or deletions)");
  }
}

// A pod that has been promised a time never gets more.
void CheckDeadlineUpdate(Report& report, const Path& at, const PodSpec& next,
                         const PodSpec& stored) {
  const auto& before = stored.active_deadline_seconds;
  const auto& after = next.active_deadline_seconds;
  if (!before) return;
  if (!after) {
    report.InvalidAsIs(at, "null", "must not update from a positive integer to nil value");
  } else if (*after > *before) {
    report.InvalidNumber(at, *after, "must be less than or equal to previous value");
  }
}

// Whether what may change is all that has changed: with that put back, both are equal.
bool OnlyMutableChanged(PodSpec next, const PodSpec& stored) {
  const auto put_back = [](std::vector<Container>& after, const std::vector<Container>& before) {
    for (std::size_t i = 0; i < std::min(after.size(), before.size()); ++i) {
      after[i].image = before[i].image;
    }
  };
  put_back(next.containers, stored.containers);
  put_back(next.init_containers, stored.init_containers);
  next.active_deadline_seconds = stored.active_deadline_seconds;
  // By their texts: each looked for among the others, a pod of the largest size would take a minute.
  const auto holds_all = [](const auto& more, const auto& less) {
    if (less.empty()) return true;
    base::StringSet texts;
    for (const auto& one : more) texts.insert(EncodeJson(one));
    return std::ranges::all_of(less,
                               [&](const auto& one) { return texts.contains(EncodeJson(one)); });
  };
  if (holds_all(next.tolerations, stored.tolerations)) next.tolerations = stored.tolerations;
  // A pod that is held back may also be made to fit fewer nodes: see CheckNarrowing.
  if (!stored.scheduling_gates.empty()) {
    next.node_selector = stored.node_selector;
    PutBackNodeAffinity(next.affinity, stored.affinity);
  }
  if (holds_all(stored.scheduling_gates, next.scheduling_gates)) {
    next.scheduling_gates = stored.scheduling_gates;
  }
  if (stored.termination_grace_period_seconds.value_or(0) < 0 &&
      next.termination_grace_period_seconds == 1) {
    next.termination_grace_period_seconds = stored.termination_grace_period_seconds;
  }
  return next == stored;
}

}  // namespace

void ValidatePodSpec(Report& report, const Path& at, const PodSpec& spec, std::string_view pod) {
  constexpr std::int64_t kMaxDeadline = std::numeric_limits<std::int32_t>::max();
  PodNames names;
  CheckVolumes(report, at.Child("volumes"), spec.volumes, names);
  CheckClaims(report, at.Child("resourceClaims"), spec.resource_claims, pod, names);
  const Path containers = at.Child("containers");
  if (spec.containers.empty()) report.Required(containers, "");
  ValidateContainers(report, containers, spec.containers, names);
  // Init containers end before the others begin: their ports on the node do not meet.
  names.host_ports.clear();
  ValidateContainers(report, at.Child("initContainers"), spec.init_containers, names);
  ValidateEphemeralContainers(report, at.Child("ephemeralContainers"), spec.ephemeral_containers,
                              names);
  ValidatePodResources(report, at, spec);
  if (spec.host_network) CheckHostNetwork(report, containers, spec.containers);
  CheckWords(report, at, spec);
  ValidatePlacement(report, at, spec);
  if (spec.scheduling_group) CheckSchedulingGroup(report, at, spec);
  const auto& deadline = spec.active_deadline_seconds;
  if (deadline && (*deadline < 1 || *deadline > kMaxDeadline)) {
    report.InvalidNumber(at.Child("activeDeadlineSeconds"), *deadline,
                         "must be between 1 and 2147483647, inclusive");
  }
}

void ValidatePodCreate(Report& report, const Pod& pod) {
  const Path spec("spec");
  ValidatePodSpec(report, spec, pod.spec, pod.metadata.name);
  if (!pod.spec.node_name.empty() && !pod.spec.scheduling_gates.empty()) {
    report.Forbidden(spec.Child("nodeName"),
                     "cannot be set until all schedulingGates have been cleared");
  }
  if (!pod.spec.ephemeral_containers.empty()) {
    report.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create");
  }
}

void ValidatePodEphemeralContainers(Report& report, const Pod& pod, const Pod& old) {
  const Path spec("spec");
  ValidatePodSpec(report, spec, pod.spec, pod.metadata.name);
  const Path at = spec.Child("ephemeralContainers");
  // A kubelet's own pods are files of its machine; what the API server has is a mirror.
  if (pod.metadata.annotations.Find("kubernetes.io/config.mirror") != nullptr) {
    report.Forbidden(at, "static pods do not support ephemeral containers");
  }
  std::map<std::string_view, const EphemeralContainer*> next;
  for (const EphemeralContainer& one : pod.spec.ephemeral_containers) next[one.common.name] = &one;
  for (const EphemeralContainer& one : old.spec.ephemeral_containers) {
    const auto found = next.find(one.common.name);
    if (found == next.end()) {
      report.Forbidden(at, fmt::format("existing ephemeral containers \"{}\" may not be removed",
                                       one.common.name));
    } else if (!(*found->second == one)) {
      report.Forbidden(at, fmt::format("existing ephemeral containers \"{}\" may not be changed",
                                       one.common.name));
    }
  }
}

void ValidatePodUpdate(Report& report, const Pod& pod, const Pod& old) {
  if (pod.spec == old.spec) return;
  const Path spec("spec");
  if (!OnlyMutableChanged(pod.spec, old.spec)) {
    report.Forbidden(spec, kMayChange);
    return;
  }
  CheckDeadlineUpdate(report, spec.Child("activeDeadlineSeconds"), pod.spec, old.spec);
  CheckNarrowing(report, spec, pod.spec, old.spec);
  ValidatePodSpec(report, spec, pod.spec, pod.metadata.name);
}

}  // namespace dray::api::internal

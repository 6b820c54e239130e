// SPDX-License-Identifier: Apache-2.0
#include "registry/workload_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "api/job.h"
#include "api/label_selector.h"
#include "api/pod.h"
#include "api/workloads.h"
#include "base/names.h"

namespace dray::registry {
namespace {

using api::Append;
using api::ErrorList;
using base::FieldPath;

constexpr std::int32_t kMaxPort = 65535;
constexpr std::string_view kDnsLabel =
    "must consist of at most 63 lower case letters, digits or '-', and start and end with a letter "
    "or digit";
constexpr std::string_view kMayChange =
    "pod updates may not change fields other than `spec.containers[*].image`, "
    "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only "
    "additions) and `spec.schedulingGates` (only removals)";

using Names = std::set<std::string_view>;

void CheckName(std::string_view name, const FieldPath& path, Names& names, ErrorList& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path));
  } else if (!base::IsDnsLabel(name)) {
    errors.push_back(api::Invalid(path, name, kDnsLabel));
  } else if (!names.insert(name).second) {
    errors.push_back(api::Duplicate(path, name));
  }
}

void CheckClaims(const api::PodSpec& spec, const FieldPath& path, ErrorList& errors) {
  Names names;
  for (std::size_t i = 0; i < spec.resource_claims.size(); ++i) {
    const api::PodResourceClaim& claim = spec.resource_claims[i];
    const FieldPath at = (path / "resourceClaims").Index(i);
    CheckName(claim.name, at / "name", names, errors);
    if (claim.resource_claim_name && claim.resource_claim_template_name) {
      errors.push_back(api::Invalid(at, claim.name,
                                    "at most one of `resourceClaimName` or "
                                    "`resourceClaimTemplateName` may be specified"));
    } else if (!claim.resource_claim_name && !claim.resource_claim_template_name) {
      errors.push_back(api::Invalid(at, claim.name,
                                    "must specify one of: `resourceClaimName`, "
                                    "`resourceClaimTemplateName`"));
    }
  }
}

void CheckContainer(const api::Container& container, const api::PodSpec& spec, const FieldPath& at,
                    Names& names, ErrorList& errors) {
  CheckName(container.name, at / "name", names, errors);
  if (container.image.empty()) errors.push_back(api::Required(at / "image"));
  for (std::size_t i = 0; i < container.ports.size(); ++i) {
    const std::int32_t port = container.ports[i].container_port;
    const FieldPath where = (at / "ports").Index(i) / "containerPort";
    if (port == 0) {
      errors.push_back(api::Required(where));
    } else if (port < 0 || port > kMaxPort) {
      errors.push_back(api::InvalidNumber(where, port, "must be between 1 and 65535, inclusive"));
    }
  }
  const auto& wanted = container.resources.claims;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::ranges::find(spec.resource_claims, wanted[i].name, &api::PodResourceClaim::name) ==
        spec.resource_claims.end()) {
      errors.push_back(
          api::NotFound((at / "resources" / "claims").Index(i) / "name", wanted[i].name));
    }
  }
}

ErrorList CheckPodSpec(const api::PodSpec& spec, const FieldPath& path) {
  ErrorList errors;
  CheckClaims(spec, path, errors);
  if (spec.containers.empty()) errors.push_back(api::Required(path / "containers"));
  Names names;
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    CheckContainer(spec.containers[i], spec, (path / "containers").Index(i), names, errors);
  }
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    CheckContainer(spec.init_containers[i], spec, (path / "initContainers").Index(i), names,
                   errors);
  }
  constexpr std::array<std::string_view, 3> kPolicies = {"Always", "OnFailure", "Never"};
  if (!spec.restart_policy.empty() &&
      std::ranges::find(kPolicies, spec.restart_policy) == kPolicies.end()) {
    errors.push_back(api::NotSupported(path / "restartPolicy", spec.restart_policy, kPolicies));
  }
  return errors;
}

// Of what keeps a number of pods that it finds by their labels.
template <typename Spec>
ErrorList CheckSet(const Spec& spec) {
  const FieldPath path("spec");
  ErrorList errors;
  const bool selects = spec.selector && !(spec.selector->match_labels.empty() &&
                                          spec.selector->match_expressions.empty());
  if (!spec.selector) {
    errors.push_back(api::Required(path / "selector"));
  } else if (!selects) {
    errors.push_back(api::InvalidValue(path / "selector", "{}",
                                       "empty selector is invalid, it would match every pod"));
  } else {
    const auto matcher = api::LabelMatcher::From(*spec.selector);
    const FieldPath labels = path / "template" / "metadata" / "labels";
    if (!matcher.ok()) {
      errors.push_back(api::InvalidValue(path / "selector", "{}", base::Message(matcher.status())));
    } else if (!matcher->Matches(spec.template_.metadata.labels)) {
      errors.push_back(
          api::InvalidValue(labels, "{}", "`selector` does not match template `labels`"));
    }
  }
  const api::PodSpec& pod = spec.template_.spec;
  const FieldPath below = path / "template" / "spec";
  Append(errors, CheckPodSpec(pod, below));
  if (!pod.restart_policy.empty() && pod.restart_policy != "Always") {
    constexpr std::array<std::string_view, 1> kAlways = {"Always"};
    errors.push_back(api::NotSupported(below / "restartPolicy", pod.restart_policy, kAlways));
  }
  return errors;
}

ErrorList CheckJob(const api::JobSpec& spec) {
  const FieldPath below = FieldPath("spec") / "template" / "spec";
  ErrorList errors = CheckPodSpec(spec.template_.spec, below);
  const std::string& policy = spec.template_.spec.restart_policy;
  if (policy != "OnFailure" && policy != "Never") {
    errors.push_back(
        api::Required(below / "restartPolicy", "valid values: \"OnFailure\", \"Never\""));
  }
  return errors;
}

// Whether what may change is all that has changed: with that put back, both are equal.
bool OnlyMutableChanged(api::PodSpec next, const api::PodSpec& stored) {
  const auto put_back = [](std::vector<api::Container>& after,
                           const std::vector<api::Container>& before) {
    for (std::size_t i = 0; i < std::min(after.size(), before.size()); ++i) {
      after[i].image = before[i].image;
    }
  };
  put_back(next.containers, stored.containers);
  put_back(next.init_containers, stored.init_containers);
  next.active_deadline_seconds = stored.active_deadline_seconds;
  const auto holds_all = [](const auto& more, const auto& less) {
    return std::ranges::all_of(
        less, [&](const auto& one) { return std::ranges::find(more, one) != more.end(); });
  };
  if (holds_all(next.tolerations, stored.tolerations)) next.tolerations = stored.tolerations;
  // A pod that is held back may also be made to fit fewer nodes.
  if (!stored.scheduling_gates.empty()) {
    next.node_selector = stored.node_selector;
    next.affinity = stored.affinity;
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

template <typename T>
ErrorList CheckSelectorStays(const T& next, const T& stored) {
  if (next.spec.selector == stored.spec.selector) return {};
  return {api::InvalidValue(FieldPath("spec") / "selector", "{}", "field is immutable")};
}

}  // namespace

api::ErrorList CheckWorkload(const api::Object& object) {
  if (const auto* pod = object.As<api::Pod>()) return CheckPodSpec(pod->spec, FieldPath("spec"));
  if (const auto* set = object.As<api::ReplicaSet>()) return CheckSet(set->spec);
  if (const auto* deployment = object.As<api::Deployment>()) return CheckSet(deployment->spec);
  if (const auto* job = object.As<api::Job>()) return CheckJob(job->spec);
  return {};
}

api::ErrorList CheckWorkloadUpdate(const api::Object& object, const api::Object& stored) {
  if (const auto* pod = object.As<api::Pod>()) {
    if (OnlyMutableChanged(pod->spec, stored.As<api::Pod>()->spec)) return {};
    return {api::Forbidden(FieldPath("spec"), kMayChange)};
  }
  ErrorList errors = CheckWorkload(object);
  const ErrorList known = CheckWorkload(stored);
  std::erase_if(errors, [&](const api::FieldError& error) {
    return std::ranges::find(known, error) != known.end();
  });
  if (const auto* set = object.As<api::ReplicaSet>()) {
    Append(errors, CheckSelectorStays(*set, *stored.As<api::ReplicaSet>()));
  } else if (const auto* deployment = object.As<api::Deployment>()) {
    Append(errors, CheckSelectorStays(*deployment, *stored.As<api::Deployment>()));
  }
  return errors;
}

}  // namespace dray::registry

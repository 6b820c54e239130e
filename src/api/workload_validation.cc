// SPDX-License-Identifier: Apache-2.0
//
// ReplicaSets, Deployments and Jobs: numbers that make sense, a selector that selects the pods of
// the template, and a template that can become a pod.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "api/internal/kind_validation.h"
#include "api/internal/pod_validation.h"
#include "api/internal/workload_validation.h"
#include "api/json.h"
#include "api/label_selector.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::int32_t kMaxIndexedParallelism = 100'000;
constexpr std::string_view kImmutable = "field is immutable";

std::string Shown(const std::optional<std::int32_t>& number) {
  return number ? std::to_string(*number) : "null";
}

template <typename Number>
void CheckNotNegative(Report& report, const Path& at, const std::optional<Number>& number) {
  if (number && *number < 0) {
    report.InvalidNumber(at, *number, "must be greater than or equal to 0");
  }
}
void CheckNotNegative(Report& report, const Path& at, std::int32_t number) {
  CheckNotNegative(report, at, std::optional(number));
}

constexpr std::string_view kNotSelected = "`selector` does not match template `labels`";

// Of what keeps a number of pods that it finds by their labels.
template <typename Spec>
void CheckSet(Report& report, const Path& at, const Spec& spec) {
  constexpr std::array<std::string_view, 1> kAlways = {kRestartPolicyAlways};
  CheckNotNegative(report, at.Child("replicas"), spec.replicas);
  CheckNotNegative(report, at.Child("minReadySeconds"), spec.min_ready_seconds);
  const Path made_from = at.Child("template");
  const Path metadata = made_from.Child("metadata");
  CheckSelector(report, at.Child("selector"), spec.selector, metadata.Child("labels"),
                spec.template_.metadata.labels);
  CheckTemplate(report, made_from, spec.template_);
  const Path pods = made_from.Child("spec");
  const PodSpec& pod = spec.template_.spec;
  if (!pod.restart_policy.empty() && pod.restart_policy != kRestartPolicyAlways) {
    report.NotSupported(pods.Child("restartPolicy"), pod.restart_policy, kAlways);
  }
  if (pod.active_deadline_seconds) {
    report.Forbidden(pods.Child("activeDeadlineSeconds"),
                     "activeDeadlineSeconds in ReplicaSet is not Supported");
  }
}

void CheckStrategy(Report& report, const Path& at, const DeploymentStrategy& strategy) {
  constexpr std::array<std::string_view, 2> kTypes = {kStrategyRecreate, kStrategyRollingUpdate};
  const Path rolling = at.Child("rollingUpdate");
  if (strategy.type == kStrategyRecreate) {
    if (strategy.rolling_update) {
      report.Forbidden(rolling, "may not be specified when strategy `type` is 'Recreate'");
    }
    return;
  }
  if (!strategy.type.empty() && strategy.type != kStrategyRollingUpdate) {
    report.NotSupported(at.Child("type"), strategy.type, kTypes);
    return;
  }
  if (!strategy.rolling_update) return;  // all as by default
  const auto& unavailable = strategy.rolling_update->max_unavailable;
  const auto& surge = strategy.rolling_update->max_surge;
  std::optional<std::int32_t> less;
  std::optional<std::int32_t> more;
  if (unavailable) less = CheckAmount(report, rolling.Child("maxUnavailable"), *unavailable);
  if (surge) more = CheckAmount(report, rolling.Child("maxSurge"), *surge);
  const bool share = unavailable && std::holds_alternative<std::string>(unavailable->value);
  if (share && less && *less > 100) {
    report.Invalid(rolling.Child("maxUnavailable"), std::get<std::string>(unavailable->value),
                   "must not be greater than 100%");
  }
  if (less == 0 && more == 0) {
    report.InvalidNumber(rolling.Child("maxUnavailable"), 0, "may not be 0 when `maxSurge` is 0");
  }
}

void CheckDeployment(Report& report, const Path& at, const DeploymentSpec& spec) {
  CheckSet(report, at, spec);
  CheckStrategy(report, at.Child("strategy"), spec.strategy);
  CheckNotNegative(report, at.Child("revisionHistoryLimit"), spec.revision_history_limit);
  CheckNotNegative(report, at.Child("progressDeadlineSeconds"), spec.progress_deadline_seconds);
  if (spec.progress_deadline_seconds && *spec.progress_deadline_seconds >= 0 &&
      *spec.progress_deadline_seconds <= spec.min_ready_seconds) {
    report.InvalidNumber(at.Child("progressDeadlineSeconds"), *spec.progress_deadline_seconds,
                         "must be greater than minReadySeconds");
  }
}

// A label that a server puts on a job's pods, to know them by.
bool IsJobsOwnLabel(std::string_view key) {
  constexpr std::string_view kPrefix = "batch.kubernetes.io/";
  if (key.starts_with(kPrefix)) key.remove_prefix(kPrefix.size());
  return key == "controller-uid" || key == "job-name";
}

// Servers make the selectors of jobs. Who wants another one has to say so, and it has to select the
// job's pods: one that does not would have the job make pods for ever.
void CheckJobSelector(Report& report, const Path& at, const JobSpec& spec) {
  const Path selector = at.Child("selector");
  if (!spec.selector) {
    if (spec.manual_selector.value_or(false)) report.Required(selector, "");
    return;
  }
  if (!CheckLabelSelector(report, selector, *spec.selector)) return;
  bool made = spec.selector->match_expressions.empty();
  for (const auto& [key, value] : spec.selector->match_labels) made &= IsJobsOwnLabel(key.view());
  if (!made && !spec.manual_selector.value_or(false)) {
    report.InvalidAsIs(selector, EncodeJson(*spec.selector), "`selector` not auto-generated");
    return;
  }
  if (!LabelMatcher::From(*spec.selector)->Matches(spec.template_.metadata.labels)) {
    const Path made_from = at.Child("template");
    const Path metadata = made_from.Child("metadata");
    report.InvalidAsIs(metadata.Child("labels"), EncodeJson(spec.template_.metadata.labels),
                       kNotSelected);
  }
}

template <typename T>
void CheckSelectorStays(Report& report, const Path& at, const T& next, const T& old) {
  if (next.spec.selector != old.spec.selector) {
    report.InvalidAsIs(at.Child("selector"), "{}", kImmutable);
  }
}

template <typename T>
void CheckStays(Report& report, const Path& at, const T& next, const T& old) {
  if (next != old) report.InvalidAsIs(at, "{}", kImmutable);
}

// A job that is suspended and has never run may still be told where its pods are to go: by whoever
// queues jobs, before their turn comes.
PodTemplateSpec WithPlacementOf(PodTemplateSpec old, const PodTemplateSpec& next) {
  old.metadata.labels = next.metadata.labels;
  old.metadata.annotations = next.metadata.annotations;
  old.spec.node_selector = next.spec.node_selector;
  old.spec.tolerations = next.spec.tolerations;
  old.spec.scheduling_gates = next.spec.scheduling_gates;
  Affinity affinity = old.spec.affinity ? *old.spec.affinity : Affinity{};
  affinity.node_affinity =
      next.spec.affinity ? next.spec.affinity->node_affinity : decltype(affinity.node_affinity){};
  if (next.spec.affinity || affinity != Affinity{}) {
    old.spec.affinity = affinity;
  } else {
    old.spec.affinity.reset();
  }
  return old;
}

// The pods that a job has made before and those that it makes later are the same.
void CheckJobStays(Report& report, const Path& at, const Job& job, const Job& old) {
  const JobSpec& next = job.spec;
  const bool indexed = next.completion_mode == std::string(kCompletionModeIndexed);
  if (next.completions != old.spec.completions) {
    if (!indexed) {
      report.InvalidAsIs(at.Child("completions"), Shown(next.completions), kImmutable);
    } else if (next.completions && next.completions != next.parallelism) {
      report.InvalidNumber(at.Child("completions"), *next.completions,
                           "can only be modified in tandem with spec.parallelism");
    }
  }
  CheckSelectorStays(report, at, job, old);
  const bool waits = old.spec.suspend.value_or(false) && !old.status.start_time;
  const PodTemplateSpec& made_from = old.spec.template_;
  if (!SemanticEqual(next.template_,
                     waits ? WithPlacementOf(made_from, next.template_) : made_from)) {
    report.InvalidAsIs(at.Child("template"), "{}", kImmutable);
  }
  CheckStays(report, at.Child("completionMode"), next.completion_mode, old.spec.completion_mode);
  CheckStays(report, at.Child("podFailurePolicy"), next.pod_failure_policy,
             old.spec.pod_failure_policy);
  CheckStays(report, at.Child("backoffLimitPerIndex"), next.backoff_limit_per_index,
             old.spec.backoff_limit_per_index);
  CheckStays(report, at.Child("managedBy"), next.managed_by, old.spec.managed_by);
  CheckStays(report, at.Child("successPolicy"), next.success_policy, old.spec.success_policy);
}

// Of an update what is new: objects that were stored before a rule was there stay usable.
template <typename Spec>
void CheckChanged(Report& report, const Path& at, const Spec& next, const Spec& old,
                  void (*check)(Report&, const Path&, const Spec&)) {
  if (next == old) return;
  Report after(report.options());
  Report before(report.options());
  check(after, at, next);
  check(before, at, old);
  const auto text = [](const FieldError& error) {
    return fmt::format("{} {}", static_cast<int>(error.type), error.Message());
  };
  base::StringSet known;
  for (const FieldError& error : before.Take()) known.insert(text(error));
  for (FieldError& error : after.Take()) {
    if (known.empty() || !known.contains(text(error))) report.Add(std::move(error));
  }
}

}  // namespace

void CheckTemplate(Report& report, const Path& at, const PodTemplateSpec& made_from) {
  const Path metadata = at.Child("metadata");
  CheckLabels(report, metadata.Child("labels"), made_from.metadata.labels);
  const Path spec = at.Child("spec");
  // The names of the pods are not known yet.
  ValidatePodSpec(report, spec, made_from.spec, "");
  if (!made_from.spec.ephemeral_containers.empty()) {
    report.Forbidden(spec.Child("ephemeralContainers"),
                     "ephemeral containers not allowed in pod template");
  }
}

void CheckSelector(Report& report, const Path& at, const Box<LabelSelector>& selector,
                   const Path& labels_at, const Map<std::string>& labels) {
  if (!selector) {
    report.Required(at, "");
    return;
  }
  if (selector->match_labels.empty() && selector->match_expressions.empty()) {
    report.InvalidAsIs(at, "{}", "empty selector is invalid, it would match every pod");
    return;
  }
  if (!CheckLabelSelector(report, at, *selector)) return;
  if (!LabelMatcher::From(*selector)->Matches(labels)) {
    report.InvalidAsIs(labels_at, EncodeJson(labels), kNotSelected);
  }
}

std::optional<std::int32_t> CheckAmount(Report& report, const Path& at, const IntOrString& amount) {
  if (const auto* number = std::get_if<std::int32_t>(&amount.value)) {
    CheckNotNegative(report, at, *number);
    return *number;
  }
  const std::string_view text = std::get<std::string>(amount.value);
  const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
  std::int32_t share = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), share);
  if (!text.ends_with('%') || error != std::errc() || end != digits.data() + digits.size() ||
      share < 0) {
    report.Invalid(at, text,
                   "a valid percent string must be a numeric string followed by an ending '%' "
                   "(e.g. '1%' or '93%')");
    return std::nullopt;
  }
  return share;
}

void CheckJob(Report& report, const Path& at, const JobSpec& spec) {
  constexpr std::array<std::string_view, 2> kModes = {kCompletionModeNonIndexed,
                                                      kCompletionModeIndexed};
  constexpr std::array<std::string_view, 2> kReplacement = {"Failed", "TerminatingOrFailed"};
  CheckNotNegative(report, at.Child("parallelism"), spec.parallelism);
  CheckNotNegative(report, at.Child("completions"), spec.completions);
  CheckNotNegative(report, at.Child("activeDeadlineSeconds"), spec.active_deadline_seconds);
  CheckNotNegative(report, at.Child("backoffLimit"), spec.backoff_limit);
  CheckNotNegative(report, at.Child("ttlSecondsAfterFinished"), spec.ttl_seconds_after_finished);
  CheckNotNegative(report, at.Child("backoffLimitPerIndex"), spec.backoff_limit_per_index);
  CheckNotNegative(report, at.Child("maxFailedIndexes"), spec.max_failed_indexes);
  if (spec.completion_mode) {
    CheckOneOf(report, at.Child("completionMode"), *spec.completion_mode, kModes);
  }
  if (spec.pod_replacement_policy) {
    CheckOneOf(report, at.Child("podReplacementPolicy"), *spec.pod_replacement_policy,
               kReplacement);
  }
  if (spec.completion_mode == std::string(kCompletionModeIndexed)) {
    if (!spec.completions) {
      report.Required(at.Child("completions"), "when completion mode is Indexed");
    }
    if (spec.parallelism.value_or(0) > kMaxIndexedParallelism) {
      report.InvalidNumber(at.Child("parallelism"), *spec.parallelism,
                           "must be less than or equal to 100000 when completion mode is Indexed");
    }
  }
  CheckJobSelector(report, at, spec);
  const Path made_from = at.Child("template");
  CheckTemplate(report, made_from, spec.template_);
  const Path pods = made_from.Child("spec");
  const std::string& policy = spec.template_.spec.restart_policy;
  if (policy != kRestartPolicyOnFailure && policy != kRestartPolicyNever) {
    report.Required(pods.Child("restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
  }
}

void ValidateReplicaSet(Report& report, const ReplicaSet& set, const ReplicaSet* old) {
  const Path at("spec");
  if (old == nullptr) return CheckSet(report, at, set.spec);
  CheckChanged(report, at, set.spec, old->spec, &CheckSet<ReplicaSetSpec>);
  CheckSelectorStays(report, at, set, *old);
}

void ValidateDeployment(Report& report, const Deployment& deployment, const Deployment* old) {
  const Path at("spec");
  if (old == nullptr) return CheckDeployment(report, at, deployment.spec);
  CheckChanged(report, at, deployment.spec, old->spec, &CheckDeployment);
  CheckSelectorStays(report, at, deployment, *old);
}

void ValidateJob(Report& report, const Job& job, const Job* old) {
  const Path at("spec");
  if (old == nullptr) return CheckJob(report, at, job.spec);
  CheckChanged(report, at, job.spec, old->spec, &CheckJob);
  CheckJobStays(report, at, job, *old);
}

}  // namespace dray::api::internal

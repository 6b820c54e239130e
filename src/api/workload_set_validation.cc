// SPDX-License-Identifier: Apache-2.0
//
// DaemonSets, StatefulSets, CronJobs, disruption budgets and limit ranges.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/cron_job.h"
#include "api/cron_schedule.h"
#include "api/daemon_set.h"
#include "api/disruption_budget.h"
#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/pod_validation.h"
#include "api/internal/revision_validation.h"
#include "api/internal/workload_validation.h"
#include "api/limit_range.h"
#include "api/stateful_set.h"
#include "base/time_zone_names.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 2> kUpdateTypes = {kStrategyOnDelete, "RollingUpdate"};
constexpr std::size_t kCronJobNameLength = 52;

void CheckAtLeastZero(Report& report, const Path& at, std::optional<std::int64_t> number) {
  if (number && *number < 0) {
    report.InvalidNumber(at, *number, "must be greater than or equal to 0");
  }
}

// Template, selector and what pods of both sets have in common.
template <typename Spec>
void CheckPods(Report& report, const Path& at, const Spec& spec, const PodTemplateSpec& made_of) {
  constexpr std::array<std::string_view, 1> kAlways = {kRestartPolicyAlways};
  CheckAtLeastZero(report, at.Child("minReadySeconds"), spec.min_ready_seconds);
  CheckAtLeastZero(report, at.Child("revisionHistoryLimit"), spec.revision_history_limit);
  const Path made_from = at.Child("template");
  const Path metadata = made_from.Child("metadata");
  CheckSelector(report, at.Child("selector"), spec.selector, metadata.Child("labels"),
                spec.template_.metadata.labels);
  CheckTemplate(report, made_from, made_of);
  const Path pods = made_from.Child("spec");
  const PodSpec& pod = spec.template_.spec;
  if (!pod.restart_policy.empty() && pod.restart_policy != kRestartPolicyAlways) {
    report.NotSupported(pods.Child("restartPolicy"), pod.restart_policy, kAlways);
  }
  if (pod.active_deadline_seconds) {
    report.Forbidden(pods.Child("activeDeadlineSeconds"), "must not be set: its pods run forever");
  }
}

// The first number of a percentage or a number; of percentages at most 100.
void CheckShare(Report& report, const Path& at, const IntOrString& amount) {
  const auto number = CheckAmount(report, at, amount);
  if (number && *number > 100 && std::holds_alternative<std::string>(amount.value)) {
    report.Invalid(at, std::get<std::string>(amount.value), "must not be greater than 100%");
  }
}

bool IsZero(const std::optional<IntOrString>& amount) {
  if (!amount) return true;
  if (const auto* number = std::get_if<std::int32_t>(&amount->value)) return *number == 0;
  return std::get<std::string>(amount->value) == "0%";
}

void CheckDaemonSet(Report& report, const Path& at, const DaemonSetSpec& spec) {
  CheckPods(report, at, spec, spec.template_);
  const Path strategy = at.Child("updateStrategy");
  if (!spec.update_strategy.type.empty()) {
    CheckOneOf(report, strategy.Child("type"), spec.update_strategy.type, kUpdateTypes);
  }
  if (!spec.update_strategy.rolling_update) return;
  const Path rolling = strategy.Child("rollingUpdate");
  const auto& unavailable = spec.update_strategy.rolling_update->max_unavailable;
  const auto& surge = spec.update_strategy.rolling_update->max_surge;
  if (unavailable) CheckShare(report, rolling.Child("maxUnavailable"), *unavailable);
  if (surge) CheckShare(report, rolling.Child("maxSurge"), *surge);
  if (!IsZero(surge) && !IsZero(unavailable)) {
    report.Invalid(rolling.Child("maxSurge"), "", "may not be set when maxUnavailable is non-zero");
  } else if (IsZero(surge) && IsZero(unavailable)) {
    report.Required(rolling.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0");
  }
}

// As its pods will be: with a volume for each volume claim template, which containers may mount.
PodTemplateSpec WithVolumes(const StatefulSetSpec& spec) {
  PodTemplateSpec made_of = spec.template_;
  for (const StatefulSetVolumeClaim& claim : spec.volume_claim_templates) {
    const std::string& name = claim.metadata.name;
    const auto& volumes = made_of.spec.volumes;
    if (name.empty() || std::ranges::find(volumes, name, &Volume::name) != volumes.end()) continue;
    Volume& volume = made_of.spec.volumes.emplace_back();
    volume.name = name;
    volume.persistent_volume_claim.emplace().claim_name = name;
  }
  return made_of;
}

void CheckStatefulSet(Report& report, const Path& at, const StatefulSetSpec& spec) {
  constexpr std::array<std::string_view, 2> kPolicies = {kPodManagementOrderedReady,
                                                         kPodManagementParallel};
  if (spec.volume_claim_templates.empty()) {
    CheckPods(report, at, spec, spec.template_);
  } else {
    CheckPods(report, at, spec, WithVolumes(spec));
  }
  CheckAtLeastZero(report, at.Child("replicas"), spec.replicas);
  if (!spec.pod_management_policy.empty()) {
    CheckOneOf(report, at.Child("podManagementPolicy"), spec.pod_management_policy, kPolicies);
  }
  const Path strategy = at.Child("updateStrategy");
  if (!spec.update_strategy.type.empty()) {
    CheckOneOf(report, strategy.Child("type"), spec.update_strategy.type, kUpdateTypes);
  }
  const Path rolling = strategy.Child("rollingUpdate");
  if (spec.update_strategy.rolling_update) {
    if (spec.update_strategy.type == kStrategyOnDelete) {
      report.InvalidAsIs(rolling, "", "only allowed for updateStrategy 'RollingUpdate'");
    }
    CheckAtLeastZero(report, rolling.Child("partition"),
                     spec.update_strategy.rolling_update->partition);
    if (const auto& most = spec.update_strategy.rolling_update->max_unavailable) {
      CheckShare(report, rolling.Child("maxUnavailable"), *most);
      if (IsZero(most)) report.InvalidAsIs(rolling.Child("maxUnavailable"), "0", "cannot be 0");
    }
  }
  if (spec.ordinals) {
    const Path ordinals = at.Child("ordinals");
    CheckAtLeastZero(report, ordinals.Child("start"), spec.ordinals->start);
  }
}

// One that has become unknown can stay.
void CheckTimeZone(Report& report, const Path& at, const std::optional<std::string>& zone,
                   const std::optional<std::string>& old) {
  if (!zone || zone == old) return;
  if (zone->empty()) {
    report.Invalid(at, "", "must be nil or non-empty string");
  } else if (LowerCase(*zone) == "local") {
    report.Invalid(at, *zone,
                   "timeZone must be an explicit time zone as defined in "
                   "https://www.iana.org/time-zones");
  } else if (!base::IsTimeZoneName(*zone)) {
    report.Invalid(at, *zone, fmt::format("unknown time zone {}", *zone));
  }
}

void CheckCronJob(Report& report, const Path& at, const CronJobSpec& spec) {
  constexpr std::array<std::string_view, 3> kPolicies = {kConcurrencyAllow, kConcurrencyForbid,
                                                         kConcurrencyReplace};
  const Path schedule = at.Child("schedule");
  if (spec.schedule.empty()) {
    report.Required(schedule, "");
  } else if (spec.schedule.find("TZ") != std::string::npos) {
    report.Invalid(schedule, spec.schedule,
                   "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  } else if (const auto parsed = CronSchedule::Parse(spec.schedule); !parsed.ok()) {
    report.Invalid(schedule, spec.schedule, base::Message(parsed.status()));
  }
  if (!spec.concurrency_policy.empty()) {
    CheckOneOf(report, at.Child("concurrencyPolicy"), spec.concurrency_policy, kPolicies);
  }
  CheckAtLeastZero(report, at.Child("startingDeadlineSeconds"), spec.starting_deadline_seconds);
  CheckAtLeastZero(report, at.Child("successfulJobsHistoryLimit"),
                   spec.successful_jobs_history_limit);
  CheckAtLeastZero(report, at.Child("failedJobsHistoryLimit"), spec.failed_jobs_history_limit);
  const Path made_from = at.Child("jobTemplate");
  const Path job = made_from.Child("spec");
  CheckJob(report, job, spec.job_template.spec);
  if (spec.job_template.spec.manual_selector.value_or(false)) {
    constexpr std::array<std::string_view, 2> kNone = {"nil", "false"};
    report.NotSupported(job.Child("manualSelector"), "true", kNone);
  }
}

void CheckLimits(Report& report, const Path& at, const LimitRangeItem& item) {
  constexpr std::array<std::string_view, 3> kTypes = {kLimitTypeContainer, kLimitTypePod,
                                                      kLimitTypeClaim};
  if (item.type.empty()) {
    report.Required(at.Child("type"), "");
  } else if (item.type.find('/') == std::string::npos) {
    CheckOneOf(report, at.Child("type"), item.type, kTypes);
  }
  if (item.type == kLimitTypePod) {
    if (!item.default_.empty()) {
      report.Forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'");
    }
    if (!item.default_request.empty()) {
      report.Forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'");
    }
  }
  // Claims for volumes ask for nothing else.
  if (item.type == kLimitTypeClaim && !item.min.contains("storage") &&
      !item.max.contains("storage")) {
    report.Required(
        at.Child("limits"),
        "either minimum or maximum storage value is required, but neither was provided");
  }
  const auto below = [&](std::string_view name, const Map<base::Quantity>& lower,
                         const Map<base::Quantity>& upper, std::string_view upper_name) {
    const Path field = at.Child(name);
    for (const auto& [resource, amount] : lower) {
      const base::Quantity* most = upper.Find(resource);
      if (most != nullptr && *most < amount) {
        report.InvalidQuantity(field.Key(resource), amount,
                               fmt::format("{} value {} is greater than {} value {}", name,
                                           amount.ToString(), upper_name, most->ToString()));
      }
    }
  };
  below("min", item.min, item.max, "max");
  below("min", item.min, item.default_request, "defaultRequest");
  below("min", item.min, item.default_, "default");
  below("defaultRequest", item.default_request, item.max, "max");
  below("defaultRequest", item.default_request, item.default_, "default");
  below("default", item.default_, item.max, "max");
  const Path ratio = at.Child("maxLimitRequestRatio");
  for (const auto& [resource, amount] : item.max_limit_request_ratio) {
    if (amount < base::Quantity::FromInt(1)) {
      report.InvalidQuantity(ratio.Key(resource), amount, "ratio is less than 1");
    }
  }
}

template <typename T>
void CheckSameSelector(Report& report, const T& next, const T* old) {
  if (old == nullptr || next.spec.selector == old->spec.selector) return;
  const Path at("spec");
  report.InvalidAsIs(at.Child("selector"), "{}", kFieldIsImmutable);
}

}  // namespace

void ValidateDaemonSet(Report& report, const DaemonSet& set, const DaemonSet* old) {
  CheckDaemonSet(report, Path("spec"), set.spec);
  CheckSameSelector(report, set, old);
}

void ValidateStatefulSet(Report& report, const StatefulSet& set, const StatefulSet* old) {
  const Path at("spec");
  CheckStatefulSet(report, at, set.spec);
  if (old == nullptr) return;
  StatefulSetSpec same = set.spec;
  same.replicas = old->spec.replicas;
  same.template_ = old->spec.template_;
  same.update_strategy = old->spec.update_strategy;
  same.min_ready_seconds = old->spec.min_ready_seconds;
  same.persistent_volume_claim_retention_policy =
      old->spec.persistent_volume_claim_retention_policy;
  same.ordinals = old->spec.ordinals;
  same.revision_history_limit = old->spec.revision_history_limit;
  if (!SemanticEqual(same, old->spec)) {
    report.Forbidden(at,
                     "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                     "'template', 'updateStrategy', 'revisionHistoryLimit', "
                     "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
  }
}

void ValidateCronJob(Report& report, const CronJob& job, const CronJob* old) {
  const Path at("spec");
  CheckCronJob(report, at, job.spec);
  CheckTimeZone(report, at.Child("timeZone"), job.spec.time_zone,
                old == nullptr ? std::nullopt : old->spec.time_zone);
  const Path metadata("metadata");
  // A job's name gets eleven characters more, and must be a label then.
  if (old == nullptr && job.metadata.name.size() > kCronJobNameLength) {
    report.Invalid(metadata.Child("name"), job.metadata.name, "must be no more than 52 characters");
  }
}

void ValidateDisruptionBudget(Report& report, const PodDisruptionBudget& budget) {
  const Path at("spec");
  const PodDisruptionBudgetSpec& spec = budget.spec;
  constexpr std::array<std::string_view, 2> kPolicies = {kEvictAlwaysAllow, kEvictIfHealthyBudget};
  if (spec.min_available && spec.max_unavailable) {
    report.InvalidAsIs(at, "", "minAvailable and maxUnavailable cannot be both set");
  }
  if (spec.min_available) CheckShare(report, at.Child("minAvailable"), *spec.min_available);
  if (spec.max_unavailable) CheckShare(report, at.Child("maxUnavailable"), *spec.max_unavailable);
  if (spec.selector) CheckLabelSelector(report, at.Child("selector"), *spec.selector);
  if (spec.unhealthy_pod_eviction_policy) {
    CheckOneOf(report, at.Child("unhealthyPodEvictionPolicy"), *spec.unhealthy_pod_eviction_policy,
               kPolicies);
  }
}

void ValidateLimitRange(Report& report, const LimitRange& range) {
  const Path spec("spec");
  const Path limits = spec.Child("limits");
  for (std::size_t i = 0; i < range.spec.limits.size(); ++i) {
    CheckLimits(report, limits.Index(i), range.spec.limits[i]);
  }
  CheckUnique(report, limits, range.spec.limits,
              [](const LimitRangeItem& item) -> std::string_view { return item.type; });
}

// What was once is what a rollback goes back to.
void ValidateRevision(Report& report, const ControllerRevision& revision,
                      const ControllerRevision* old) {
  if (revision.revision < 0) {
    report.InvalidNumber(Path("revision"), revision.revision, "must be greater than or equal to 0");
  }
  if (old != nullptr && revision.data != old->data) {
    report.InvalidAsIs(Path("data"), "<value omitted>", "field is immutable");
  }
}

}  // namespace dray::api::internal

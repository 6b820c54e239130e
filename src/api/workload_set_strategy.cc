// SPDX-License-Identifier: Apache-2.0
//
// DaemonSets, StatefulSets, CronJobs, disruption budgets and limit ranges between decoding and
// validation.
#include <optional>
#include <utility>

#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

constexpr std::int32_t kHistory = 10;

template <typename T>
void Fill(std::optional<T>& field, T value) {
  if (!field) field = std::move(value);
}

template <typename T>
void BeginSet(T& object) {
  object.metadata.generation = 1;
  object.status = {};
}
template <typename T>
void ContinueSet(T& object, const T& old) {
  object.status = old.status;
  object.metadata.generation =
      old.metadata.generation + (SemanticEqual(object.spec, old.spec) ? 0 : 1);
}

}  // namespace

void SetDefaults(DaemonSet& set) {
  DaemonSetUpdateStrategy& strategy = set.spec.update_strategy;
  if (strategy.type.empty()) strategy.type = kStrategyRollingUpdate;
  if (strategy.type == kStrategyRollingUpdate) {
    if (!strategy.rolling_update) strategy.rolling_update.emplace();
    Fill(strategy.rolling_update->max_unavailable, IntOrString{1});
    Fill(strategy.rolling_update->max_surge, IntOrString{0});
  }
  Fill(set.spec.revision_history_limit, kHistory);
  SetTemplateDefaults(set.spec.template_.spec);
}

void SetDefaults(StatefulSet& set) {
  StatefulSetSpec& spec = set.spec;
  Fill(spec.replicas, 1);
  if (spec.pod_management_policy.empty()) spec.pod_management_policy = kPodManagementOrderedReady;
  if (spec.update_strategy.type.empty()) {
    spec.update_strategy.type = kStrategyRollingUpdate;
    if (!spec.update_strategy.rolling_update) spec.update_strategy.rolling_update.emplace();
  }
  if (spec.update_strategy.rolling_update) Fill(spec.update_strategy.rolling_update->partition, 0);
  if (!spec.persistent_volume_claim_retention_policy) {
    spec.persistent_volume_claim_retention_policy.emplace();
  }
  auto& volumes = *spec.persistent_volume_claim_retention_policy;
  if (volumes.when_deleted.empty()) volumes.when_deleted = "Retain";
  if (volumes.when_scaled.empty()) volumes.when_scaled = "Retain";
  Fill(spec.revision_history_limit, kHistory);
  for (StatefulSetVolumeClaim& claim : spec.volume_claim_templates) {
    if (claim.api_version.empty()) claim.api_version = "v1";
    if (claim.kind.empty()) claim.kind = "PersistentVolumeClaim";
    if (!claim.spec.volume_mode) claim.spec.volume_mode = "Filesystem";
  }
  SetTemplateDefaults(spec.template_.spec);
}

void SetDefaults(CronJob& job) {
  CronJobSpec& spec = job.spec;
  if (spec.concurrency_policy.empty()) spec.concurrency_policy = kConcurrencyAllow;
  Fill(spec.suspend, false);
  Fill(spec.successful_jobs_history_limit, 3);
  Fill(spec.failed_jobs_history_limit, 1);
  SetTemplateDefaults(spec.job_template.spec.template_.spec);
}

void SetDefaults(LimitRange& range) {
  for (LimitRangeItem& item : range.spec.limits) {
    if (item.type != kLimitTypeContainer) continue;
    // A limit that nobody has said is the most that there may be; a request is the limit, or the
    // least.
    for (const auto& [name, amount] : item.max) {
      if (!item.default_.contains(name)) item.default_[name] = amount;
    }
    for (const auto& [name, amount] : item.default_) {
      if (!item.default_request.contains(name)) item.default_request[name] = amount;
    }
    for (const auto& [name, amount] : item.min) {
      if (!item.default_request.contains(name)) item.default_request[name] = amount;
    }
  }
}

void PrepareForCreate(DaemonSet& set, const StrategyOptions&) { BeginSet(set); }
void PrepareForCreate(StatefulSet& set, const StrategyOptions&) { BeginSet(set); }
void PrepareForCreate(CronJob& job, const StrategyOptions&) { BeginSet(job); }
void PrepareForCreate(PodDisruptionBudget& budget, const StrategyOptions&) { BeginSet(budget); }
void PrepareForUpdate(DaemonSet& set, const DaemonSet& old, const StrategyOptions&) {
  ContinueSet(set, old);
}
void PrepareForUpdate(StatefulSet& set, const StatefulSet& old, const StrategyOptions&) {
  ContinueSet(set, old);
}
void PrepareForUpdate(CronJob& job, const CronJob& old, const StrategyOptions&) {
  ContinueSet(job, old);
}
void PrepareForUpdate(PodDisruptionBudget& budget, const PodDisruptionBudget& old,
                      const StrategyOptions&) {
  ContinueSet(budget, old);
}

}  // namespace dray::api::internal

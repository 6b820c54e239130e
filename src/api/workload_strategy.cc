// SPDX-License-Identifier: Apache-2.0
//
// Workloads between decoding and validation: defaults, and the generation that tells an observer
// which wish a status answers.
#include <algorithm>
#include <optional>

#include "api/internal/strategies.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kQuarter = "25%";
constexpr std::int32_t kRevisionHistoryLimit = 10;
constexpr std::int32_t kProgressDeadlineSeconds = 600;
constexpr std::int32_t kBackoffLimit = 6;

template <typename T>
void Default(std::optional<T>& field, T value) {
  if (!field) field = std::move(value);
}
IntOrString Quarter() { return {.value = std::string(kQuarter)}; }

template <typename T>
void Begin(T& workload) {
  workload.metadata.generation = 1;
  workload.status = {};
}

// A status says which generation it has seen: it is another one when something else is wished.
template <typename T>
void Continue(T& workload, const T& old, bool other_wish) {
  workload.status = old.status;
  workload.metadata.generation = old.metadata.generation + (other_wish ? 1 : 0);
}

// As in Kubernetes a deployment's annotations go into its sets; the revision is the controller's.
bool SameAnnotations(Map<std::string> a, Map<std::string> b) {
  a.erase(kDeploymentRevisionAnnotation);
  b.erase(kDeploymentRevisionAnnotation);
  return a == b;
}

}  // namespace

void SetDefaults(ReplicaSet& set) {
  Default(set.spec.replicas, 1);
  SetTemplateDefaults(set.spec.template_.spec);
}

void SetDefaults(Deployment& deployment) {
  DeploymentSpec& spec = deployment.spec;
  Default(spec.replicas, 1);
  DeploymentStrategy& strategy = spec.strategy;
  if (strategy.type.empty()) strategy.type = kStrategyRollingUpdate;
  if (strategy.type == kStrategyRollingUpdate) {
    if (!strategy.rolling_update) strategy.rolling_update.emplace();
    Default(strategy.rolling_update->max_unavailable, Quarter());
    Default(strategy.rolling_update->max_surge, Quarter());
  }
  Default(spec.revision_history_limit, kRevisionHistoryLimit);
  Default(spec.progress_deadline_seconds, kProgressDeadlineSeconds);
  SetTemplateDefaults(spec.template_.spec);
}

void SetDefaults(Job& job) {
  JobSpec& spec = job.spec;
  // Neither: one pod, once. Only the parallelism: as many as it takes until one has succeeded.
  if (!spec.completions && !spec.parallelism) spec.completions = 1;
  Default(spec.parallelism, 1);
  Default(spec.backoff_limit, kBackoffLimit);
  Default(spec.completion_mode, std::string(kCompletionModeNonIndexed));
  Default(spec.suspend, false);
  SetTemplateDefaults(spec.template_.spec);
}

void PrepareForCreate(ReplicaSet& set, const StrategyOptions&) { Begin(set); }
void PrepareForCreate(Deployment& deployment, const StrategyOptions&) { Begin(deployment); }
void PrepareForCreate(Job& job, const StrategyOptions&) { Begin(job); }

void PrepareForUpdate(ReplicaSet& set, const ReplicaSet& old, const StrategyOptions&) {
  Continue(set, old, !SemanticEqual(set.spec, old.spec));
}
void PrepareForUpdate(Deployment& deployment, const Deployment& old, const StrategyOptions&) {
  Continue(deployment, old,
           !SemanticEqual(deployment.spec, old.spec) ||
               !SameAnnotations(deployment.metadata.annotations, old.metadata.annotations));
}
void PrepareForUpdate(Job& job, const Job& old, const StrategyOptions&) {
  Continue(job, old, !SemanticEqual(job.spec, old.spec));
}

}  // namespace dray::api::internal

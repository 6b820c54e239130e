// SPDX-License-Identifier: Apache-2.0
//
// An eviction and the budgets of its pod. Spec: policy/v1 and Kubernetes's eviction subresource.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/disruption_budget.h"
#include "api/label_selector.h"
#include "api/pod.h"
#include "api/pod_conditions.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

// More than that are not remembered: then the controller has not kept up.
constexpr std::size_t kMostDisrupted = 2000;
constexpr int kRetrySeconds = 10;

struct Budget {
  api::Object object;
  store::EntryPtr entry;

  const api::PodDisruptionBudget& value() const { return *object.As<api::PodDisruptionBudget>(); }
};

bool Selects(const api::PodDisruptionBudget& budget, const api::Pod& pod) {
  if (!budget.spec.selector) return false;  // as in policy/v1: none selects nobody
  const auto selector = api::LabelMatcher::From(*budget.spec.selector);
  return selector.ok() && selector->Matches(pod.metadata.labels);
}

StatusOr<std::vector<Budget>> BudgetsOf(const Objects& objects, const api::Pod& pod) {
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::PodDisruptionBudget>());
  const auto range = objects.store().Range(PrefixOf(kind, pod.metadata.namespace_));
  // A budget that cannot be read is not none.
  if (!range.ok()) return range.status();
  std::vector<Budget> budgets;
  for (const store::EntryPtr& entry : range->entries) {
    DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr stored, objects.Read(*entry));
    if (!Selects(*stored->object().As<api::PodDisruptionBudget>(), pod)) continue;
    budgets.push_back({stored->object(), entry});
  }
  return budgets;
}

Status Refused(std::string_view message, std::string_view cause) {
  rest::ApiError error = rest::FromStatus(rest::TooManyRequests(message, kRetrySeconds));
  error.details->causes.push_back(
      {.reason = "DisruptionBudget", .message = std::string(cause), .field = ""});
  return rest::ToStatus(error);
}

bool IsReady(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type == api::kPodReadyCondition && condition.status == "True";
  });
}

}  // namespace

Status AdmitEviction(const Objects& objects, const api::Object& evicted, base::Time now,
                     store::Transaction& transaction) {
  const api::Pod& pod = *evicted.As<api::Pod>();
  // Who does not run or is going anyway is missed by nobody.
  if (pod.metadata.deletion_timestamp || pod.status.phase == api::kPodSucceeded ||
      pod.status.phase == api::kPodFailed || pod.status.phase == api::kPodPending ||
      pod.status.phase.empty()) {
    return {};
  }
  DRAY_ASSIGN_OR_RETURN(const std::vector<Budget> budgets, BudgetsOf(objects, pod));
  if (budgets.empty()) return {};
  if (budgets.size() > 1) {
    return base::MakeStatus(
        StatusCode::kInternal,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
        "support.");
  }
  const api::PodDisruptionBudget& budget = budgets[0].value();
  const api::PodDisruptionBudgetStatus& status = budget.status;
  if (!IsReady(pod)) {
    const bool always =
        budget.spec.unhealthy_pod_eviction_policy == std::string(api::kEvictAlwaysAllow);
    const bool enough =
        status.current_healthy >= status.desired_healthy && status.desired_healthy > 0;
    if (always || enough) return {};
  }
  constexpr std::string_view kMessage =
      "Cannot evict pod as it would violate the pod's disruption budget.";
  if (status.observed_generation < budget.metadata.generation) {
    return Refused(kMessage,
                   fmt::format("The disruption budget {} is still being processed by the server.",
                               budget.metadata.name));
  }
  if (status.disrupted_pods.size() > kMostDisrupted) {
    return rest::Forbidden(budgets[0].object.kind(), budget.metadata.name,
                           "DisruptedPods map too big - too many evictions not confirmed by PDB "
                           "controller");
  }
  if (status.disruptions_allowed <= 0) {
    return Refused(
        kMessage,
        fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                    budget.metadata.name, status.desired_healthy, status.current_healthy));
  }
  api::Object charged = budgets[0].object;
  api::PodDisruptionBudgetStatus& next = charged.Mutable<api::PodDisruptionBudget>()->status;
  --next.disruptions_allowed;
  next.disrupted_pods[pod.metadata.name] = now.TruncateToSeconds();
  Objects::Put(transaction, std::move(charged), budgets[0].entry->modified);
  return {};
}

}  // namespace dray::registry

// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>
#include <utility>

#include "console/internal/scene_answer.h"
#include "console/planning.h"
#include "fmt/format.h"
#include "planner/asked.h"
#include "planner/cures.h"
#include "planner/edits.h"
#include "planner/plan_json.h"

namespace dray::console {
namespace {

// What a controller would only make is not pending: it is a plan of the cluster as it is.
planner::Asked AskedIn(const planner::Plan& plan, const ExplainRequest& request) {
  if (request.pending) return planner::PendingIn(plan, {.made = false});
  const ObjectName& name = *request.target;
  const api::KindInfo* kind = planner::KindCalled(name.kind);
  if (kind == nullptr) return {};
  return planner::About(plan, kind->kind, name.name, name.namespace_);
}

}  // namespace

Answer ExplainScene(const ExplainRequest& request, Scene scene, const api::FeatureGates& gates) {
  const auto begun = std::chrono::steady_clock::now();
  const planner::PlanOptions options = internal::OptionsFor(scene, gates);
  auto plan = planner::MakePlan(std::move(scene.objects), options);
  if (!plan.ok()) return internal::OfStatus(plan.status());
  const planner::Asked asked = AskedIn(*plan, request);
  if (!request.pending && asked.empty()) {
    const ObjectName& name = *request.target;
    return Refusal(404, "NotFound",
                   fmt::format("there is no {} {}/{}, or there is nothing to explain about it",
                               name.kind, name.namespace_, name.name));
  }
  planner::CureFinder finder(*plan, options);
  return internal::OfDocument(planner::ExplainJson(*plan, asked,
                                                   {.explain = true,
                                                    .finder = &finder,
                                                    .most_helped = internal::kMostExplained,
                                                    .most_explained = internal::kMostExplained,
                                                    .one_of_each_cause = request.pending}),
                              scene, *plan, begun);
}

}  // namespace dray::console

// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "allocator/policy.h"
#include "console/internal/scene_answer.h"
#include "console/planning.h"
#include "fmt/format.h"
#include "planner/comparison.h"
#include "planner/cures.h"
#include "planner/edits.h"
#include "planner/plan_json.h"

namespace dray::console {
namespace {

// A cluster that is changed, and then planned.
class Changed {
 public:
  Changed(const PlanRequest& request, Scene& scene, const planner::PlanOptions& options)
      : request_(request), scene_(scene), options_(options), comparison_(scene.objects) {}

  // Deletions first, then manifests, numbers, nodes: what is deleted may come again with other
  // fields. Nothing: it is done.
  std::optional<Answer> Change(const ManifestReader& read) {
    if (auto refused = Delete()) return refused;
    if (auto refused = Apply(read)) return refused;
    if (auto refused = Scale()) return refused;
    return AddNodes();
  }

  const planner::Comparison& comparison() const { return comparison_; }
  std::vector<planner::Skipped> TakeSkipped() { return std::move(skipped_); }

 private:
  static Answer NoSuchKind(std::string_view field, const std::string& kind) {
    return Refusal(422, "Invalid", fmt::format("{}: there is no kind \"{}\"", field, kind));
  }

  std::optional<Answer> Delete() {
    for (const ObjectName& name : request_.gone) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) return NoSuchKind("delete", name.kind);
      const Status done = planner::RemoveObject(scene_.objects, *kind, name.namespace_, name.name);
      if (!done.ok()) return internal::OfStatus(done);
    }
    return std::nullopt;
  }

  std::optional<Answer> Apply(const ManifestReader& read) {
    if (request_.manifests.empty()) return std::nullopt;
    auto result = read(request_.manifests, std::move(scene_.objects), scene_.namespace_, options_);
    if (auto* refused = std::get_if<Answer>(&result)) return std::move(*refused);
    auto& applied = std::get<ManifestResult>(result);
    scene_.objects = std::move(applied.objects);
    skipped_ = std::move(applied.skipped);
    for (const ObjectName& put : applied.put) {
      comparison_.Put(put.kind, put.namespace_, put.name);
    }
    return std::nullopt;
  }

  std::optional<Answer> Scale() {
    for (const auto& [name, count] : request_.scale) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) return NoSuchKind("scale", name.kind);
      const Status done =
          planner::ScaleObject(scene_.objects, *kind, name.namespace_, name.name, count);
      if (!done.ok()) return internal::OfStatus(done);
    }
    return std::nullopt;
  }

  std::optional<Answer> AddNodes() {
    for (const PlanRequest::MoreNodes& more : request_.nodes) {
      auto names = planner::AddNodesLike(scene_.objects, more.like, more.count);
      if (!names.ok()) return internal::OfStatus(names.status());
      for (std::string& name : *names) comparison_.AddNode(std::move(name), more.like);
    }
    return std::nullopt;
  }

  const PlanRequest& request_;
  Scene& scene_;
  const planner::PlanOptions& options_;
  planner::Comparison comparison_;
  std::vector<planner::Skipped> skipped_;
};

}  // namespace

Answer PlanScene(const PlanRequest& request, Scene scene, const api::FeatureGates& gates,
                 const ManifestReader& read) {
  const auto begun = std::chrono::steady_clock::now();
  planner::PlanOptions options = internal::OptionsFor(scene, gates);
  if (!request.policy.empty()) {
    const auto policy = allocator::FindPolicy(request.policy);
    if (!policy) {
      return Refusal(422, "Invalid",
                     fmt::format("policy: unknown policy \"{}\"; there is {}", request.policy,
                                 allocator::PolicyNames(", ")));
    }
    options.policy = *policy;
  }
  Changed changed(request, scene, options);
  if (auto refused = changed.Change(read)) return *std::move(refused);
  auto plan = planner::MakePlan(std::move(scene.objects), options);
  if (!plan.ok()) return internal::OfStatus(plan.status());
  plan->skipped = changed.TakeSkipped();
  std::optional<planner::CureFinder> finder;
  if (request.explain) finder.emplace(*plan, options);
  return internal::OfDocument(planner::ToJson(*plan, {.explain = request.explain,
                                                      .finder = finder ? &*finder : nullptr,
                                                      .most_helped = internal::kMostExplained,
                                                      .most_explained = internal::kMostExplained,
                                                      .comparison = &changed.comparison()}),
                              scene, *plan, begun);
}

}  // namespace dray::console

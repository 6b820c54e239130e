// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "cli/internal/console_answer.h"
#include "cli/internal/console_plan.h"
#include "cli/internal/console_scenarios.h"
#include "fleet/json.h"
#include "fmt/format.h"
#include "planner/answer.h"
#include "planner/cures.h"
#include "planner/edits.h"
#include "planner/plan.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

using console::Answer;
using console::Scene;

class ExplainPage {
 public:
  ExplainPage(const console::ExplainRequest& request, Scene scene, const api::FeatureGates& gates)
      : request_(request), scene_(std::move(scene)), options_(OptionsFor(scene_, gates)) {}

  Answer Make() {
    const auto begun = std::chrono::steady_clock::now();
    auto plan = planner::MakePlan(std::move(scene_.objects), options_);
    if (!plan.ok()) return OfStatus(plan.status());
    planner::CureFinder finder(*plan, options_);
    OutcomeWriter writer(scene_, *plan, &finder);
    out_.BeginMap().Count("rev", scene_.revision).List("assumptions");
    for (const std::string& text : scene_.assumptions) out_.String(text);
    out_.EndList();
    if (request_.pending) {
      Pending(*plan, writer);
    } else if (!Target(*plan, writer)) {
      const console::ObjectName& name = *request_.target;
      return Refusal(404, "NotFound",
                     fmt::format("there is no {} {}/{}, or there is nothing to explain about it",
                                 name.kind, name.namespace_, name.name));
    }
    out_.List("podsNotCreated");
    for (const planner::MissingPods& entry : plan->missing) {
      out_.Raw(api::ToJson(planner::ToJson(entry)));
    }
    out_.EndList();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    out_.Key("seconds").Real(took.count(), 3).EndMap();
    return {.json = out_.Take()};
  }

 private:
  template <typename Outcome>
  void Write(const Outcome& outcome, OutcomeWriter& writer) {
    out_.Raw(api::ToJson(writer.Write(outcome)));
  }

  // Of each cause the pod that has waited longest stands for the others.
  void Pending(const planner::Plan& plan, OutcomeWriter& writer) {
    std::vector<const planner::PodOutcome*> pods;
    std::vector<const planner::ClaimOutcome*> claims;
    std::vector<const planner::MissingPods*> missing;
    for (const planner::PodOutcome& pod : plan.pods) {
      // What a controller would only make is not pending.
      if (pod.explanation && !pod.made) pods.push_back(&pod);
    }
    std::ranges::stable_sort(pods, [](const auto* a, const auto* b) {
      if (a->created && b->created) return *a->created < *b->created;
      return a->created.has_value() && !b->created.has_value();
    });
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (claim.explanation) claims.push_back(&claim);
    }
    for (const planner::MissingPods& entry : plan.missing) missing.push_back(&entry);
    const std::vector<planner::Cause> causes = planner::CausesOf(pods, claims, missing);
    out_.Key("causes").Raw(api::ToJson(planner::ToJson(causes))).List("outcomes");
    for (std::size_t i = 0; i < std::min(causes.size(), kMostExplained); ++i) {
      if (!causes[i].pods.empty()) {
        Write(*causes[i].pods.front(), writer);
      } else if (!causes[i].claims.empty()) {
        Write(*causes[i].claims.front(), writer);
      }
    }
    out_.EndList();
  }

  bool Target(const planner::Plan& plan, OutcomeWriter& writer) {
    const console::ObjectName& name = *request_.target;
    const api::KindInfo* kind = planner::KindCalled(name.kind);
    if (kind == nullptr) return false;
    const bool claim = kind->kind == "ResourceClaim";
    const std::string owner = fmt::format("{}/{}", kind->kind, name.name);
    std::size_t found = 0;
    out_.List("outcomes");
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.namespace_ != name.namespace_ || found >= kMostExplained) continue;
      const bool is = kind->kind == "Pod" ? pod.name == name.name
                      : claim
                          ? std::ranges::any_of(
                                pod.claims, [&](const auto& use) { return use.name == name.name; })
                          : std::ranges::find(pod.owners, owner) != pod.owners.end();
      if (!is) continue;
      ++found;
      Write(pod, writer);
    }
    for (const planner::ClaimOutcome& outcome : plan.claims) {
      if (!claim || outcome.namespace_ != name.namespace_ || outcome.claim.name != name.name) {
        continue;
      }
      ++found;
      Write(outcome, writer);
    }
    out_.EndList();
    return found > 0;
  }

  const console::ExplainRequest& request_;
  Scene scene_;
  planner::PlanOptions options_;
  fleet::JsonOut out_;
};

}  // namespace

Answer ExplainScene(const console::ExplainRequest& request, Scene scene,
                    const api::FeatureGates& gates) {
  return ExplainPage(request, std::move(scene), gates).Make();
}

}  // namespace dray::cli::internal

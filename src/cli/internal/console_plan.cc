// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_plan.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "allocator/policy.h"
#include "api/json.h"
#include "api/json_tree.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "cel/device_env.h"
#include "cli/internal/console_answer.h"
#include "cli/internal/console_scenarios.h"
#include "cli/internal/server_objects.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fleet/json.h"
#include "fmt/format.h"
#include "planner/cures.h"
#include "planner/edits.h"
#include "planner/plan.h"
#include "planner/plan_json.h"

namespace dray::cli::internal {
namespace {

using api::DocumentNode;
using console::Answer;
using console::Scene;
using fleet::JsonOut;
using planner::State;

constexpr std::size_t kMostObjects = 10'000;  // of manifests

// What is wrong with manifests, with its places.
Answer OfReport(const Report& report) {
  JsonOut out;
  std::string message;
  JsonOut issues;
  issues.BeginList();
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    if (finding.level != Level::kError) continue;
    if (++errors > 100) break;
    const std::string text = finding.field.empty()
                                 ? finding.message
                                 : fmt::format("{}: {}", finding.field, finding.message);
    if (message.empty()) message = text;
    issues.BeginMap().Count("line", finding.position.line).Count("column", finding.position.column);
    issues.Text("message", text).Text("hint", finding.hint).EndMap();
  }
  issues.EndList();
  out.BeginMap().Text("kind", "Status").Text("apiVersion", "v1").Map("metadata").EndMap();
  out.Text("status", "Failure");
  out.Text("message", message.empty() ? "the manifests cannot be used" : message);
  out.Text("reason", "Invalid").Count("code", 422).Key("issues").Raw(issues.Take()).EndMap();
  return {.code = 422, .json = out.Take()};
}

class PlanPage {
 public:
  PlanPage(const console::PlanRequest& request, Scene scene, const api::FeatureGates& gates)
      : request_(request), scene_(std::move(scene)), options_(OptionsFor(scene_, gates)) {}

  Answer Make() {
    const auto begun = std::chrono::steady_clock::now();
    if (!request_.policy.empty()) {
      const auto policy = allocator::FindPolicy(request_.policy);
      if (!policy) {
        return Refusal(422, "Invalid",
                       fmt::format("policy: \"{}\" is none; there is {}", request_.policy,
                                   allocator::PolicyNames(", ")));
      }
      options_.policy = *policy;
    }
    Remember();
    if (auto refused = Change()) return *std::move(refused);
    auto plan = planner::MakePlan(std::move(scene_.objects), options_);
    if (!plan.ok()) return OfStatus(plan.status());
    Write(*plan, begun);
    return {.json = out_.Take()};
  }

 private:
  // How it was before anything is changed.
  void Remember() {
    for (const api::Object& object : scene_.objects) {
      if (const auto* pod = object.As<api::Pod>()) {
        before_[KeyOf(pod->metadata.namespace_, pod->metadata.name)] =
            pod->spec.node_name.empty() ? State::kRefused : State::kExisting;
      } else if (const auto* claim = object.As<api::ResourceClaim>()) {
        claims_before_[KeyOf(claim->metadata.namespace_, claim->metadata.name)] =
            claim->status.allocation.has_value() ? State::kExisting : State::kRefused;
      }
    }
  }

  std::optional<Answer> Change() {
    for (const console::ObjectName& name : request_.gone) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) {
        return Refusal(422, "Invalid", fmt::format("delete: there is no kind \"{}\"", name.kind));
      }
      const Status done = planner::RemoveObject(scene_.objects, *kind, name.namespace_, name.name);
      if (!done.ok()) return OfStatus(done);
    }
    if (!request_.manifests.empty()) {
      Sources sources;
      sources.files.push_back({"manifests", request_.manifests});
      Manifests manifests = ReadManifests(std::move(sources));
      if (manifests.manifests.size() > kMostObjects) {
        return Refusal(413, "RequestEntityTooLarge",
                       fmt::format("the console plans at most {} objects at a time", kMostObjects));
      }
      const cel::DeviceExpressionChecker expressions;
      const Report report = Validate(manifests, {.gates = options_.gates,
                                                 .expressions = &expressions,
                                                 .now = options_.now,
                                                 .fit_together = false});
      if (report.ExitCode() != kExitOk) return OfReport(report);
      for (const auto& [kind, count] : report.skipped_kinds) skipped_[kind] += count;
      for (const Manifest& manifest : manifests.manifests) {
        const api::ObjectMeta& metadata = manifest.object.metadata();
        const std::string kind(manifest.object.kind().kind);
        const std::string space =
            metadata.namespace_.empty() ? scene_.namespace_ : metadata.namespace_;
        named_.insert(fmt::format("{}/{}/{}", kind, space, metadata.name));
      }
      auto applied = Applied(std::move(scene_.objects), manifests, scene_.namespace_);
      if (!applied.ok()) return OfStatus(applied.status());
      scene_.objects = *std::move(applied);
    }
    for (const auto& [name, count] : request_.scale) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) {
        return Refusal(422, "Invalid", fmt::format("scale: there is no kind \"{}\"", name.kind));
      }
      const Status done =
          planner::ScaleObject(scene_.objects, *kind, name.namespace_, name.name, count);
      if (!done.ok()) return OfStatus(done);
    }
    for (const auto& more : request_.nodes) {
      auto names = planner::AddNodesLike(scene_.objects, more.like, more.count);
      if (!names.ok()) return OfStatus(names.status());
      for (std::string& name : *names) new_nodes_.emplace_back(std::move(name), more.like);
    }
    return std::nullopt;
  }

  bool Named(std::string_view kind, const std::string& space, const std::string& name,
             const std::vector<std::string>& owners) const {
    if (named_.contains(fmt::format("{}/{}/{}", kind, space, name))) return true;
    return std::ranges::any_of(owners, [&](const std::string& owner) {
      const auto slash = owner.find('/');
      return named_.contains(
          fmt::format("{}/{}/{}", owner.substr(0, slash), space, owner.substr(slash + 1)));
    });
  }

  // Nothing: it was not there.
  static std::optional<State> Find(const std::map<std::string, State>& states,
                                   const std::string& key) {
    const auto it = states.find(key);
    if (it == states.end()) return std::nullopt;
    return it->second;
  }

  static void AddBefore(DocumentNode& node, const std::map<std::string, State>& states,
                        const std::string& key) {
    if (const auto before = Find(states, key)) {
      node.members.push_back({"before", {}, api::json::String(planner::NameOf(*before))});
    }
  }

  // Who has to go for each pod.
  static std::map<std::string, std::vector<std::string>> VictimsOf(const planner::Plan& plan) {
    std::map<std::string, std::vector<std::string>> victims;
    constexpr std::string_view kPod = "pod ";
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.state != State::kPreempted || !pod.preempted_for.starts_with(kPod)) continue;
      std::string key = pod.preempted_for.substr(kPod.size());
      key.resize(std::min(key.find(' '), key.size()));
      if (key.find('/') == std::string::npos) key = KeyOf(pod.namespace_, key);
      victims[key].push_back(KeyOf(pod.namespace_, pod.name));
    }
    return victims;
  }

  void Write(const planner::Plan& plan, std::chrono::steady_clock::time_point begun) {
    std::optional<planner::CureFinder> finder;
    if (request_.explain) finder.emplace(plan, options_);
    OutcomeWriter writer(scene_, plan, finder ? &*finder : nullptr);
    const auto victims = VictimsOf(plan);
    out_.BeginMap().Count("rev", scene_.revision).List("assumptions");
    for (const std::string& text : scene_.assumptions) out_.String(text);
    out_.EndList().List("notes");
    for (const std::string& note : plan.notes) out_.String(note);
    out_.EndList();
    std::size_t skipped = 0;
    for (const auto& [kind, count] : skipped_) skipped += count;
    out_.Map("summary").Count("existing", plan.Count(State::kExisting));
    out_.Count("placed", plan.Count(State::kPlaced)).Count("pending", plan.Count(State::kRefused));
    out_.Count("waiting", plan.Count(State::kWaiting));
    out_.Count("preempted", plan.Count(State::kPreempted));
    std::int64_t not_created = 0;
    for (const planner::MissingPods& entry : plan.missing) not_created += entry.missing;
    out_.Count("podsNotCreated", not_created).Count("skipped", skipped).EndMap();
    out_.List("outcomes");
    for (const planner::PodOutcome& pod : plan.pods) Pod(pod, victims, writer);
    for (const planner::ClaimOutcome& claim : plan.claims) Claim(claim, writer);
    out_.EndList();
    NewNodes(plan);
    out_.List("podsNotCreated");
    for (const planner::MissingPods& entry : plan.missing) {
      out_.Raw(api::ToJson(planner::ToJson(entry)));
    }
    out_.EndList().List("skipped");
    for (const auto& [kind, count] : skipped_) {
      out_.BeginMap().Text("kind", kind).Count("count", count).EndMap();
    }
    out_.EndList();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    out_.Key("seconds").Real(took.count(), 3).EndMap();
  }

  void Pod(const planner::PodOutcome& pod,
           const std::map<std::string, std::vector<std::string>>& victims, OutcomeWriter& writer) {
    const std::string key = KeyOf(pod.namespace_, pod.name);
    if (pod.state == Find(before_, key) && !Named("Pod", pod.namespace_, pod.name, pod.owners)) {
      return;
    }
    DocumentNode node = writer.Write(pod);
    AddBefore(node, before_, key);
    if (const auto found = victims.find(key); found != victims.end()) {
      std::vector<DocumentNode> names;
      for (const std::string& victim : found->second) names.push_back(api::json::String(victim));
      node.members.push_back({"victims", {}, api::json::List(std::move(names))});
    }
    out_.Raw(api::ToJson(node));
  }

  void Claim(const planner::ClaimOutcome& claim, OutcomeWriter& writer) {
    const std::string key = KeyOf(claim.namespace_, claim.claim.name);
    if (claim.state == Find(claims_before_, key) &&
        !Named("ResourceClaim", claim.namespace_, claim.claim.name, {})) {
      return;
    }
    DocumentNode node = writer.Write(claim);
    AddBefore(node, claims_before_, key);
    out_.Raw(api::ToJson(node));
  }

  void NewNodes(const planner::Plan& plan) {
    std::map<std::string, std::set<std::pair<std::string, std::string>>> pools;
    for (const api::Object& object : plan.objects) {
      const auto* slice = object.As<api::ResourceSlice>();
      if (slice == nullptr || !slice->spec.node_name) continue;
      pools[*slice->spec.node_name].emplace(slice->spec.driver, slice->spec.pool.name);
    }
    out_.List("newNodes");
    for (const auto& [name, like] : new_nodes_) {
      out_.BeginMap().Text("name", name).Text("like", like).List("used");
      for (const planner::PodOutcome& pod : plan.pods) {
        if (pod.node != name) continue;
        for (const planner::ClaimUse& claim : pod.claims) {
          for (const planner::DeviceGrant& device : claim.devices) {
            if (!pools[name].contains({device.driver, device.pool})) continue;
            out_.BeginMap().Text("driver", device.driver).Text("device", device.device);
            out_.Text("by", KeyOf(pod.namespace_, pod.name)).EndMap();
          }
        }
      }
      out_.EndList().EndMap();
    }
    out_.EndList();
  }

  const console::PlanRequest& request_;
  Scene scene_;
  planner::PlanOptions options_;
  std::map<std::string, State> before_;
  std::map<std::string, State> claims_before_;
  std::set<std::string> named_;  // of the manifests: kind/namespace/name
  std::map<std::string, std::size_t> skipped_;
  std::vector<std::pair<std::string, std::string>> new_nodes_;
  JsonOut out_;
};

}  // namespace

Answer PlanScene(const console::PlanRequest& request, Scene scene, const api::FeatureGates& gates) {
  return PlanPage(request, std::move(scene), gates).Make();
}

}  // namespace dray::cli::internal

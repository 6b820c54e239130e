// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_answer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "api/json_tree.h"
#include "cli/internal/console_scenarios.h"
#include "fleet/fleet_json.h"
#include "fmt/format.h"
#include "planner/plan_json.h"
#include "scheduler/explanation.h"

namespace dray::cli::internal {
namespace {

using api::DocumentNode;
using api::json::Bool;
using api::json::Entry;
using api::json::List;
using api::json::Map;
using api::json::Number;
using api::json::String;
using console::Answer;
using console::Scene;

// What files add is younger than all that is there, whatever the clocks say.
base::Time AfterAll(base::Time now, const std::vector<api::Object>& stored) {
  for (const api::Object& object : stored) {
    const auto& created = object.metadata().creation_timestamp;
    if (created) now = std::max(now, *created + std::chrono::seconds(1));
  }
  return now;
}

DocumentNode* Child(DocumentNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.members, key, &api::Member::key);
  return found == node.members.end() ? nullptr : &found->value;
}

std::string TextOf(DocumentNode& node, std::string_view key) {
  const DocumentNode* child = Child(node, key);
  return child == nullptr ? "" : child->text;
}

// The numbers of its devices, where they are there.
void AddDeviceIds(DocumentNode& outcome, const Scene& scene) {
  DocumentNode* claims = Child(outcome, "claims");
  if (claims == nullptr) return;
  for (DocumentNode& claim : claims->items) {
    DocumentNode* devices = Child(claim, "devices");
    if (devices == nullptr) continue;
    for (DocumentNode& device : devices->items) {
      const auto id = scene.device_id(TextOf(device, "driver"), TextOf(device, "pool"),
                                      TextOf(device, "device"));
      if (id) device.members.push_back({"id", {}, Number(*id)});
    }
  }
}

// The groups of nodes, with those that are known by number, and which has the nearest.
void AddGroups(DocumentNode& outcome, const scheduler::PodExplanation& why, const Scene& scene) {
  DocumentNode* whole = Child(outcome, "explanation");
  DocumentNode* told = whole == nullptr ? nullptr : Child(*whole, "groups");
  if (told == nullptr) return;
  std::vector<DocumentNode> groups;
  for (std::size_t i = 0; i < std::min(why.groups.size(), told->items.size()); ++i) {
    const scheduler::NodeGroup& group = why.groups[i];
    std::vector<DocumentNode> examples;
    std::vector<std::uint32_t> ids;
    for (const std::string& node : group.examples) {
      examples.push_back(String(node));
      if (const auto id = scene.node_id(node)) ids.push_back(*id);
    }
    std::vector<Entry> entries = {{"nodes", Number(group.nodes)},
                                  {"examples", List(std::move(examples))}};
    // Only where all of them are known.
    if (ids.size() == group.nodes) entries.push_back({"nodeSet", String(fleet::RangesOf(ids))});
    if (why.closest &&
        std::ranges::find(group.examples, why.closest->node) != group.examples.end()) {
      entries.push_back({"nearest", Bool(true)});
    }
    const DocumentNode* reasons = Child(told->items[i], "reasons");
    entries.push_back({"reasons", reasons == nullptr ? List({}) : *reasons});
    groups.push_back(Map(std::move(entries)));
  }
  outcome.members.push_back({"groups", {}, List(std::move(groups))});
}

}  // namespace

Answer OfStatus(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
      return Refusal(404, "NotFound", base::Message(status));
    case StatusCode::kDeadlineExceeded:
      return Refusal(504, "Timeout",
                     "it takes too long for the console; 'dray plan' and 'dray explain' take the "
                     "time that they need");
    default:
      return Refusal(422, "Invalid", base::Message(status));
  }
}

planner::PlanOptions OptionsFor(const Scene& scene, const api::FeatureGates& gates) {
  return {.gates = gates,
          .now = AfterAll(scene.now, scene.objects),
          .assume_schedulers = true,
          .max_made_pods = kMostMadePods,
          .expired = scene.expired};
}

std::string KeyOf(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

template <typename Outcome>
DocumentNode OutcomeWriter::Made(const Outcome& outcome) {
  planner::JsonOptions options{.objects = &plan_.objects};
  planner::Help help;
  if (finder_ != nullptr && outcome.explanation && explained_++ < kMostExplained) {
    help = finder_->For(outcome);
    options.help = &help;
    options.explain = true;
  }
  DocumentNode node = planner::ToJson(outcome, options);
  AddDeviceIds(node, scene_);
  if (options.explain) AddGroups(node, *outcome.explanation, scene_);
  return node;
}
template DocumentNode OutcomeWriter::Made(const planner::PodOutcome& outcome);
template DocumentNode OutcomeWriter::Made(const planner::ClaimOutcome& outcome);

}  // namespace dray::cli::internal

// SPDX-License-Identifier: Apache-2.0
#include "console/internal/scene_answer.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json_tree.h"
#include "fleet/fleet_json.h"
#include "fmt/format.h"

namespace dray::console::internal {
namespace {

using api::DocumentNode;
using api::json::Bool;
using api::json::List;
using api::json::Number;
using api::json::String;

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

std::span<DocumentNode> ItemsOf(DocumentNode& node, std::string_view key) {
  DocumentNode* child = Child(node, key);
  return child == nullptr ? std::span<DocumentNode>() : child->items;
}

std::string TextOf(DocumentNode& node, std::string_view key) {
  const DocumentNode* child = Child(node, key);
  return child == nullptr ? "" : child->text;
}

void Add(DocumentNode& node, std::string_view key, DocumentNode value) {
  node.members.push_back({std::string(key), {}, std::move(value)});
}

// The numbers of its devices, where they are there.
void AddDeviceIds(DocumentNode& outcome, const Scene& scene) {
  for (DocumentNode& claim : ItemsOf(outcome, "claims")) {
    for (DocumentNode& device : ItemsOf(claim, "devices")) {
      const auto id = scene.device_id(TextOf(device, "driver"), TextOf(device, "pool"),
                                      TextOf(device, "device"));
      if (id) Add(device, "id", Number(*id));
    }
  }
}

// The groups of nodes of its explanation, with those that are known by number, and which has the
// nearest.
void AddGroups(DocumentNode& outcome, const Scene& scene) {
  DocumentNode* whole = Child(outcome, "explanation");
  DocumentNode* groups = whole == nullptr ? nullptr : Child(*whole, "groups");
  if (groups == nullptr) return;
  DocumentNode* closest = Child(*whole, "closest");
  const std::string nearest = closest == nullptr ? "" : TextOf(*closest, "node");
  DocumentNode shown = *groups;
  for (DocumentNode& group : shown.items) {
    std::vector<std::uint32_t> ids;
    bool has_nearest = false;
    for (const DocumentNode& node : ItemsOf(group, "examples")) {
      if (const auto id = scene.node_id(node.text)) ids.push_back(*id);
      has_nearest |= node.text == nearest;
    }
    // Only where all of them are known.
    if (std::to_string(ids.size()) == TextOf(group, "nodes")) {
      Add(group, "nodeSet", String(fleet::RangesOf(ids)));
    }
    if (has_nearest) Add(group, "nearest", Bool(true));
  }
  Add(outcome, "groups", std::move(shown));
}

}  // namespace

Answer OfStatus(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
      return Refusal(404, "NotFound", base::Message(status));
    case StatusCode::kDeadlineExceeded:
      return Refusal(
          504, "Timeout",
          "this takes too long for the console; 'dray plan' and 'dray explain' have no time limit");
    default:
      return Refusal(422, "Invalid", base::Message(status));
  }
}

planner::PlanOptions OptionsFor(const Scene& scene, const api::FeatureGates& gates) {
  return {.gates = gates,
          .now = AfterAll(scene.now, scene.objects),
          .assume_schedulers = true,
          .everything_given = scene.complete,
          .max_made_pods = kMostMadePods,
          .expired = scene.expired};
}

Answer OfDocument(DocumentNode document, const Scene& scene, const planner::Plan& plan,
                  std::chrono::steady_clock::time_point begun) {
  for (DocumentNode& outcome : ItemsOf(document, "outcomes")) {
    AddDeviceIds(outcome, scene);
    AddGroups(outcome, scene);
  }
  std::vector<DocumentNode> assumptions;
  for (const std::string& text : scene.assumptions) assumptions.push_back(String(text));
  for (const std::string& text : plan.notes) assumptions.push_back(String(text));
  std::erase_if(document.members,
                [](const api::Member& member) { return member.key == "assumptions"; });
  Add(document, "assumptions", List(std::move(assumptions)));
  Add(document, "rev", Number(scene.revision));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  DocumentNode seconds = Number(0);
  seconds.text = fmt::format("{:.3f}", took.count());
  Add(document, "seconds", std::move(seconds));
  return {.json = api::ToJson(document)};
}

}  // namespace dray::console::internal

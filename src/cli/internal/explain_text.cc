// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "cli/internal/json_tree.h"
#include "cli/internal/plan_text.h"
#include "fmt/format.h"
#include "planner/help.h"
#include "scheduler/explanation_text.h"

namespace dray::cli::internal {
namespace {

using planner::State;

std::string Among(const scheduler::PodExplanation& why) {
  return why.nodes == 0 ? "" : fmt::format(" among {}", why.nodes);
}

std::string HeadingOf(const planner::PodOutcome& pod) {
  const std::string name = fmt::format("pod {}/{}", pod.namespace_, pod.name);
  switch (pod.state) {
    case State::kExisting:
      return fmt::format("{} is on node {}", name, pod.node);
    case State::kPlaced:
      return fmt::format("{} gets node {}", name, pod.node);
    case State::kWaiting:
      return fmt::format("{} gets node {} when its devices are ready", name, pod.node);
    case State::kPreempted:
      return fmt::format("{} has to leave node {} for a more important pod", name, pod.node);
    case State::kRefused:
      return fmt::format("{} has no node{}", name, Among(*pod.explanation));
  }
  return name;
}

std::string HeadingOf(const planner::ClaimOutcome& claim) {
  const std::string name = fmt::format("claim {}/{}", claim.namespace_, claim.claim.name);
  const std::string node = claim.node.empty() ? "" : fmt::format(" on node {}", claim.node);
  switch (claim.state) {
    case State::kExisting:
      return fmt::format("{} is allocated{}, and no pod uses it", name, node);
    case State::kWaiting:
    case State::kPlaced:
      return fmt::format("{} gets devices{}; no pod uses it", name, node);
    case State::kPreempted:
    case State::kRefused:
      return fmt::format("{} gets no devices on any node{}", name, Among(*claim.explanation));
  }
  return name;
}

// "request gpu: gpu.example.com/node-1/gpu-0, a share with bandwidth=10G"
std::string LineOf(const planner::DeviceGrant& device) {
  std::string text = fmt::format("request {}: {}/{}/{}", device.request, device.driver, device.pool,
                                 device.device);
  if (!device.share_id.empty()) text += ", a share";
  std::string amounts;
  for (const auto& [name, amount] : device.consumed) {
    amounts += fmt::format("{}{}={}", amounts.empty() ? " with " : ", ", name, amount);
  }
  text += amounts;
  if (device.admin_access) text += ", for administration";
  return text;
}

std::string LinesOf(const std::vector<const planner::ClaimUse*>& claims) {
  std::string text;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const planner::ClaimUse& claim = *claims[i];
    const bool last = i + 1 == claims.size();
    text += fmt::format("{}claim {}", last ? "└─ " : "├─ ", claim.name);
    if (!claim.pod_claim.empty() && claim.pod_claim != claim.name) {
      text += fmt::format(" ({})", claim.pod_claim);
    }
    text += '\n';
    for (std::size_t j = 0; j < claim.devices.size(); ++j) {
      text += fmt::format("{}{}{}\n", last ? "   " : "│  ",
                          j + 1 == claim.devices.size() ? "└─ " : "├─ ", LineOf(claim.devices[j]));
    }
  }
  return text;
}

// The first line stands out, and so does the way that is closest.
std::string Painted(const std::string& text, const Painter& paint) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = Printable(text.substr(at, end - at));
    if (at == 0) {
      out += paint.Bold(line);
    } else if (const auto closest = line.find("closest: "); closest != std::string::npos) {
      out += line.substr(0, closest) + paint.Paint(kGreen, line.substr(closest));
    } else {
      out += line;
    }
    out += '\n';
    at = end + 1;
  }
  return out;
}

std::string WhyText(std::string heading, const scheduler::PodExplanation& why,
                    const Painter& paint) {
  std::string text =
      Painted(scheduler::ToText(why, {.heading = std::move(heading), .devices = true}), paint);
  const std::vector<std::string> help = planner::WhatWouldHelp(why);
  if (help.empty()) return text;
  text += paint.Paint(kGreen, "what would help") + ":\n";
  for (const std::string& line : help) text += fmt::format("  - {}\n", Printable(line));
  return text;
}

api::DocumentNode JsonOf(const planner::ClaimUse& claim) {
  std::vector<api::DocumentNode> devices;
  for (const planner::DeviceGrant& device : claim.devices) {
    std::vector<Entry> entries = {{"request", String(device.request)},
                                  {"driver", String(device.driver)},
                                  {"pool", String(device.pool)},
                                  {"device", String(device.device)}};
    if (!device.share_id.empty()) entries.push_back({"shareID", String(device.share_id)});
    if (!device.consumed.empty()) {
      std::vector<Entry> amounts;
      for (const auto& [name, amount] : device.consumed) amounts.push_back({name, String(amount)});
      entries.push_back({"consumedCapacity", Map(std::move(amounts))});
    }
    if (device.admin_access) entries.push_back({"adminAccess", Bool(true)});
    devices.push_back(Map(std::move(entries)));
  }
  std::vector<Entry> entries = {{"name", String(claim.name)}};
  if (!claim.pod_claim.empty()) entries.push_back({"podClaim", String(claim.pod_claim)});
  entries.push_back({"devices", List(std::move(devices))});
  return Map(std::move(entries));
}

void AddWhy(const std::optional<scheduler::PodExplanation>& why, std::vector<Entry>& entries) {
  if (!why) return;
  std::vector<api::Diagnostic> none;
  entries.push_back({"explanation", api::ParseJson(scheduler::ToJson(*why), none)});
  std::vector<api::DocumentNode> help;
  for (const std::string& line : planner::WhatWouldHelp(*why)) help.push_back(String(line));
  entries.push_back({"wouldHelp", List(std::move(help))});
}

}  // namespace

std::string ExplainText(const planner::PodOutcome& pod, const Painter& paint) {
  if (pod.explanation) return WhyText(HeadingOf(pod), *pod.explanation, paint);
  std::vector<const planner::ClaimUse*> claims;
  for (const planner::ClaimUse& claim : pod.claims) claims.push_back(&claim);
  return Painted(HeadingOf(pod) + "\n" + LinesOf(claims), paint);
}

std::string ExplainText(const planner::ClaimOutcome& claim, const Painter& paint) {
  if (claim.explanation) return WhyText(HeadingOf(claim), *claim.explanation, paint);
  return Painted(HeadingOf(claim) + "\n" + LinesOf({&claim.claim}), paint);
}

api::DocumentNode ExplainJson(const planner::PodOutcome& pod) {
  std::vector<Entry> entries = {{"kind", String("Pod")},
                                {"namespace", String(pod.namespace_)},
                                {"name", String(pod.name)},
                                {"state", String(NameOf(pod.state))}};
  if (!pod.node.empty()) entries.push_back({"node", String(pod.node)});
  std::vector<api::DocumentNode> owners;
  for (const std::string& owner : pod.owners) owners.push_back(String(owner));
  if (!owners.empty()) entries.push_back({"owners", List(std::move(owners))});
  std::vector<api::DocumentNode> claims;
  for (const planner::ClaimUse& claim : pod.claims) claims.push_back(JsonOf(claim));
  entries.push_back({"claims", List(std::move(claims))});
  AddWhy(pod.explanation, entries);
  return Map(std::move(entries));
}

api::DocumentNode ExplainJson(const planner::ClaimOutcome& claim) {
  std::vector<Entry> entries = {{"kind", String("ResourceClaim")},
                                {"namespace", String(claim.namespace_)},
                                {"name", String(claim.claim.name)},
                                {"state", String(NameOf(claim.state))}};
  if (!claim.node.empty()) entries.push_back({"node", String(claim.node)});
  entries.push_back({"claims", List({JsonOf(claim.claim)})});
  AddWhy(claim.explanation, entries);
  return Map(std::move(entries));
}

}  // namespace dray::cli::internal

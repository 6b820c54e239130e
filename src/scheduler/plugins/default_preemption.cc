// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/default_preemption.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "scheduler/plugins/eviction.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

Reason Preemption(std::string_view text) {
  return {.code = "preemption", .text = fmt::format("preemption: {}", text)};
}

PostFilterResult Refused(std::string_view text) {
  return {PluginStatus::Unschedulable(Preemption(text)), {}, 0};
}

// Room is being made. Kubernetes says nothing of it until the pod is tried again while the others
// still end; here it is not tried before they are gone, so it is said at once.
Reason WaitingOn(std::span<const std::string> victims, std::string_view node,
                 const DeviceHold* hold) {
  return Preemption(WaitingFor(victims, fmt::format("node {}", node),
                               hold == nullptr ? std::vector<std::string>() : DevicesOf(*hold)));
}

Reason WaitingOn(const DeviceHold& hold) {
  std::vector<std::string> victims;
  for (const DeviceHold::Victim& victim : hold.victims) victims.push_back(victim.key);
  return WaitingOn(victims, hold.node, &hold);
}

PostFilterResult Preempting(const PreemptionCandidate& candidate, const DeviceHold* hold) {
  std::vector<std::string> victims;
  for (const auto& victim : candidate.victims) victims.push_back(victim->key);
  return {{PluginStatus::Code::kSuccess, {WaitingOn(victims, candidate.node->name(), hold)}},
          candidate.node->name(),
          victims.size()};
}

// "0/5 nodes are available: 2 No preemption victims found for incoming pod, ..."
std::string NotAvailable(std::size_t nodes, const std::map<std::string, std::size_t>& reasons) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, reason));
  }
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(parts, ", "));
}

}  // namespace

std::string DefaultPreemption::WhyNotEligible(const CycleState& state, const PodInfo& pod,
                                              World& world) const {
  if (world.NeverPreempts(*pod.pod)) {
    return "not eligible due to preemptionPolicy=Never.";
  }
  const std::string& nominated = pod.pod->status.nominated_node_name;
  if (nominated.empty()) return {};
  const NodeInfo* node = world.FindNode(nominated);
  if (node == nullptr) return {};
  // A nominated node that no removal can make fit is given up.
  const auto curable = what_if_.Curable(state);
  if (std::ranges::find(curable, node) == curable.end()) return {};
  const bool clearing = std::ranges::any_of(node->pods, [&](const auto& other) {
    return other->priority < pod.priority && TerminatingByPreemption(*other->pod);
  });
  return clearing ? "not eligible due to a terminating pod on the nominated node." : "";
}

std::size_t DefaultPreemption::CandidateLimit(std::size_t nodes) const {
  const std::size_t share =
      nodes * static_cast<std::size_t>(args_.min_candidate_nodes_percentage) / 100;
  const auto absolute = static_cast<std::size_t>(args_.min_candidate_nodes_absolute);
  return std::min(nodes, std::max(share, absolute));
}

std::optional<PostFilterResult> DefaultPreemption::Waits(CycleState& state, const PodInfo& pod,
                                                         World& world,
                                                         DevicePreemptionPlugin& devices) {
  const auto waiting = [](const DeviceHold& hold) {
    return PostFilterResult{.status = PluginStatus::Unschedulable(WaitingOn(hold))};
  };
  devices.Begin(state);
  if (const DeviceHold* hold = world.holds().Find(pod)) {
    const HoldState now = StateOf(*hold, world);
    if (now == HoldState::kPending) return waiting(*hold);
    // Others may still be leaving the node for a pod that was nominated beside this one.
    if (now == HoldState::kSettled) {
      if (std::string why = WhyNotEligible(state, pod, world); !why.empty()) return Refused(why);
    }
    world.holds().Remove(pod.key);
    return std::nullopt;
  }
  const DeviceHold* again = HoldAgain(state, pod, world, devices);
  devices.Begin(state);
  if (again != nullptr && StateOf(*again, world) == HoldState::kPending) return waiting(*again);
  world.holds().Remove(pod.key);
  return std::nullopt;
}

const DeviceHold* DefaultPreemption::HoldAgain(CycleState& state, const PodInfo& pod, World& world,
                                               DevicePreemptionPlugin& devices) {
  const std::string& nominated = pod.pod->status.nominated_node_name;
  const NodeInfo* node = nominated.empty() ? nullptr : world.FindNode(nominated);
  if (node == nullptr) return nullptr;
  const auto curable = what_if_.Curable(state);
  if (std::ranges::find(curable, node) == curable.end()) return nullptr;
  ThinnedNode thinned(what_if_, state, pod, *node, world);
  DevicePreemptionPlugin::Pods leaving;
  const auto take = [&](const auto& pods) {
    for (const auto& other : pods) {
      if (other->priority >= pod.priority || !TerminatingByPreemption(*other->pod)) continue;
      thinned.Take(other);
      leaving.push_back(other);
    }
  };
  take(node->pods);
  take(devices.Elsewhere(state, pod, *node));
  devices.TakeIdle(state, pod, *node);
  if (!thinned.Fits()) return nullptr;
  return devices.Hold(state, pod, *node, leaving);
}

DefaultPreemption::Search DefaultPreemption::Candidates(CycleState& state, const PodInfo& pod,
                                                        World& world,
                                                        DevicePreemptionPlugin* devices,
                                                        std::span<const NodeInfo* const> curable) {
  Search search;
  const std::size_t limit = CandidateLimit(curable.size());
  std::size_t without_victims = 0;
  std::size_t questions = args_.questions;
  bool mild = false;
  // Nodes on which nothing costs less than what is known count as candidates, too.
  std::size_t found = 0;
  VictimCost best;
  for (const NodeInfo* node : curable) {
    // Enough, with one among them that no budget minds.
    if (found >= limit && mild) break;
    DeviceSearch by_device;
    if (devices != nullptr) by_device.elsewhere = devices->Elsewhere(state, pod, *node);
    // Where pods are alike this is every node, for every pod that fits nowhere.
    if (node->lowest_priority >= pod.priority && by_device.elsewhere.empty()) {
      ++without_victims;
      continue;
    }
    ++nodes_searched_;
    std::string why;
    PreemptionCandidate candidate;
    if (devices == nullptr) {
      candidate = SelectVictims(what_if_, state, pod, *node, world, why);
    } else {
      by_device.below = search.candidates.empty() ? nullptr : &best;
      by_device.questions = &questions;
      candidate = SelectVictims(what_if_, state, pod, *node, world, by_device, why);
      if (candidate.victims.empty() && why.empty()) ++found;
    }
    if (!candidate.victims.empty()) {
      ++found;
      mild |= candidate.cost.violations == 0;
      if (search.candidates.empty() || candidate.cost < best) best = candidate.cost;
      search.candidates.push_back(std::move(candidate));
    } else if (!why.empty()) {
      ++search.reasons[why];
    }
  }
  questions_asked_ += args_.questions - questions;
  search.reasons["No preemption victims found for incoming pod"] = without_victims;
  return search;
}

const DeviceHold* DefaultPreemption::Hold(CycleState& state, const PodInfo& pod, World& world,
                                          DevicePreemptionPlugin& devices,
                                          const PreemptionCandidate& candidate) {
  ThinnedNode thinned(what_if_, state, pod, *candidate.node, world);
  for (const auto& victim : candidate.victims) thinned.Take(victim);
  return devices.Hold(state, pod, *candidate.node, candidate.victims);
}

PostFilterResult DefaultPreemption::PostFilter(CycleState& state, const PodInfo& pod,
                                               World& world) {
  DevicePreemptionPlugin* devices = what_if_.Devices(state);
  if (devices != nullptr && !world.NeverPreempts(*pod.pod)) {
    if (std::optional<PostFilterResult> waits = Waits(state, pod, world, *devices)) return *waits;
  }
  if (std::string why = WhyNotEligible(state, pod, world); !why.empty()) {
    return Refused(why);
  }
  const std::vector<const NodeInfo*> curable = what_if_.Curable(state);
  Search search = Candidates(state, pod, world, devices, curable);
  const PreemptionCandidate* cheapest = PickCheapest(search.candidates);
  if (cheapest == nullptr) {
    const std::size_t nodes = what_if_.NodeCount(state);
    // Nobody looked at a node, so that there is nothing to say about any.
    if (nodes == 0) return {{PluginStatus::Code::kUnschedulable, {}}, {}, 0};
    search.reasons["Preemption is not helpful for scheduling"] +=
        nodes - std::min(nodes, curable.size());
    return Refused(NotAvailable(nodes, search.reasons));
  }
  const DeviceHold* hold =
      devices == nullptr ? nullptr : Hold(state, pod, world, *devices, *cheapest);
  const Preemptor preemptor{.who = fmt::format("pod {}", pod.pod->metadata.uid),
                            .where = cheapest->node->name(),
                            .scheduler = pod.pod->spec.scheduler_name};
  const Status evicted =
      Evict(cluster_, clock_, world, preemptor, cheapest->victims,
            hold == nullptr ? std::span<const DeviceHold::Leaving>() : std::span(hold->leaving));
  if (!evicted.ok()) {
    world.holds().Remove(pod.key);
    return {PluginStatus::Error("preemption: " + std::string(base::Message(evicted))), {}, 0};
  }
  return Preempting(*cheapest, hold);
}

}  // namespace dray::scheduler

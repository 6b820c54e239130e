// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/preemption_victims.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace dray::scheduler {
namespace {

DevicePreemptionPlugin::Pods LowerOn(const NodeInfo& node, const PodInfo& pod) {
  DevicePreemptionPlugin::Pods lower;
  std::ranges::copy_if(node.pods, std::back_inserter(lower),
                       [&](const auto& other) { return other->priority < pod.priority; });
  return lower;
}

PreemptionCandidate CandidateOf(const NodeInfo& node, const Victims& victims) {
  PreemptionCandidate candidate{.node = &node, .cost = victims.cost};
  candidate.victims = EverybodyOf(victims.pods);
  return candidate;
}

}  // namespace

void ThinnedNode::Take(const std::shared_ptr<const PodInfo>& victim) {
  if (std::ranges::find(gone_, victim) != gone_.end()) return;
  const NodeInfo* on = NodeOf(*victim);
  if (on == &node_) {
    std::erase(copy_.pods, victim);
    copy_.requested.Subtract(victim->requests);
    copy_.non_zero.Subtract(victim->non_zero);
    for (const HostPort& port : victim->host_ports) {
      const auto at = std::ranges::find(copy_.ports, port);
      if (at != copy_.ports.end()) copy_.ports.erase(at);
    }
    CountAffinity(*victim, -1);
  }
  what_if_.Count(state_, pod_, *victim, *on, -1);
  gone_.push_back(victim);
}

void ThinnedNode::PutBack(const std::shared_ptr<const PodInfo>& victim) {
  // The caller's may be the one in the list.
  const std::shared_ptr<const PodInfo> back = victim;
  if (std::erase(gone_, back) == 0) return;
  const NodeInfo* on = NodeOf(*back);
  if (on == &node_) {
    copy_.pods.push_back(back);
    copy_.requested.Add(back->requests);
    copy_.non_zero.Add(back->non_zero);
    copy_.ports.insert(copy_.ports.end(), back->host_ports.begin(), back->host_ports.end());
    CountAffinity(*back, 1);
  }
  what_if_.Count(state_, pod_, *back, *on, 1);
}

bool ThinnedNode::Fits() {
  const PluginStatus status = what_if_.Filter(state_, pod_, copy_);
  if (!status.ok()) why_ = status.reasons.empty() ? std::string() : status.reasons.front().text;
  return status.ok();
}

// Victims are on this node, or known to be on another.
const NodeInfo* ThinnedNode::NodeOf(const PodInfo& victim) const {
  const std::string_view name = world_.NodeOf(victim.key);
  if (name.empty() || name == node_.name()) return &node_;
  const NodeInfo* other = world_.FindNode(name);
  return other == nullptr ? &node_ : other;
}

void ThinnedNode::CountAffinity(const PodInfo& victim, int delta) {
  if (victim.has_affinity) copy_.pods_with_affinity += delta;
  if (victim.has_required_anti_affinity) copy_.pods_with_anti_affinity += delta;
}

PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, World& world, std::string& why) {
  ThinnedNode thinned(what_if, state, pod, node, world);
  const auto in_order = InOrderOfReprieve(LowerOn(node, pod), pod.priority, world);
  const std::optional<Victims> victims = Reprieve(thinned, in_order);
  if (victims) return CandidateOf(node, *victims);
  why = thinned.why();
  return {};
}

PreemptionCandidate SelectVictims(WhatIf& what_if, CycleState& state, const PodInfo& pod,
                                  const NodeInfo& node, World& world, const DeviceSearch& search,
                                  std::string& why) {
  DevicePreemptionPlugin::Pods possible = LowerOn(node, pod);
  std::ranges::copy(search.elsewhere, std::back_inserter(possible));
  ThinnedNode thinned(what_if, state, pod, node, world);
  bool fits = false;
  const std::optional<Victims> victims =
      FewestVictims(thinned, InOrderOfReprieve(std::move(possible), pod.priority, world),
                    {.below = search.below, .questions = search.questions}, fits);
  if (victims) return CandidateOf(node, *victims);
  if (!fits) why = thinned.why();
  return {};
}

const PreemptionCandidate* PickCheapest(std::span<const PreemptionCandidate> candidates) {
  const auto cheapest =
      std::ranges::min_element(candidates, std::less<VictimCost>(), &PreemptionCandidate::cost);
  return cheapest == candidates.end() ? nullptr : &*cheapest;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/default_preemption.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/pod_conditions.h"
#include "fmt/format.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kPreemptionByScheduler = "PreemptionByScheduler";

// Of more victims only the first are named: events are to be read.
constexpr std::size_t kMostNamed = 3;

Reason Preemption(std::string_view text) {
  return {.code = "preemption", .text = fmt::format("preemption: {}", text)};
}

PostFilterResult Refused(std::string_view text) {
  return {PluginStatus::Unschedulable(Preemption(text)), {}, 0};
}

// Room is being made. Kubernetes says nothing of it until the pod is tried again while the others
// still end; here it is not tried before they are gone, so it is said at once.
PostFilterResult Preempting(const PreemptionCandidate& candidate) {
  const auto& victims = candidate.victims;
  std::vector<std::string_view> named;
  for (std::size_t i = 0; i < std::min(victims.size(), kMostNamed); ++i) {
    named.push_back(victims[i]->key);
  }
  const std::string more = victims.size() > named.size()
                               ? fmt::format(" and {} more", victims.size() - named.size())
                               : "";
  return {{PluginStatus::Code::kSuccess,
           {Preemption(fmt::format("waiting for {} pod{} of lower priority to leave node {}: {}{}.",
                                   victims.size(), victims.size() == 1 ? "" : "s",
                                   candidate.node->name(), fmt::join(named, ", "), more))}},
          candidate.node->name(),
          victims.size()};
}

bool TerminatingByPreemption(const api::Pod& pod) {
  return pod.metadata.deletion_timestamp.has_value() &&
         std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& c) {
           return c.type == api::kDisruptionTargetCondition && c.status == "True" &&
                  c.reason == kPreemptionByScheduler;
         });
}

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

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
  if (pod.pod->spec.preemption_policy == api::kPreemptNever) {
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

PostFilterResult DefaultPreemption::PostFilter(CycleState& state, const PodInfo& pod,
                                               World& world) {
  if (std::string why = WhyNotEligible(state, pod, world); !why.empty()) {
    return Refused(why);
  }
  const std::vector<const NodeInfo*> curable = what_if_.Curable(state);
  const std::size_t limit = CandidateLimit(curable.size());
  std::vector<PreemptionCandidate> candidates;
  std::map<std::string, std::size_t> reasons;
  std::size_t without_victims = 0;
  bool mild = false;
  for (const NodeInfo* node : curable) {
    // Enough, with one among them that no budget minds.
    if (candidates.size() >= limit && mild) break;
    // Where pods are alike this is every node, for every pod that fits nowhere.
    if (node->lowest_priority >= pod.priority) {
      ++without_victims;
      continue;
    }
    ++nodes_searched_;
    std::string why;
    PreemptionCandidate candidate = SelectVictims(what_if_, state, pod, *node, world, why);
    if (!candidate.victims.empty()) {
      mild |= candidate.violations == 0;
      candidates.push_back(std::move(candidate));
    } else if (!why.empty()) {
      ++reasons[why];
    }
  }
  const PreemptionCandidate* cheapest = PickCheapest(candidates);
  if (cheapest == nullptr) {
    const std::size_t nodes = what_if_.NodeCount(state);
    // Nobody looked at a node, so that there is nothing to say about any.
    if (nodes == 0) return {{PluginStatus::Code::kUnschedulable, {}}, {}, 0};
    reasons["No preemption victims found for incoming pod"] = without_victims;
    reasons["Preemption is not helpful for scheduling"] += nodes - std::min(nodes, curable.size());
    return Refused(NotAvailable(nodes, reasons));
  }
  if (const Status evicted = Evict(pod, *cheapest); !evicted.ok()) {
    return {PluginStatus::Error("preemption: " + std::string(base::Message(evicted))), {}, 0};
  }
  return Preempting(*cheapest);
}

Status DefaultPreemption::Evict(const PodInfo& pod, const PreemptionCandidate& candidate) {
  for (const auto& victim : candidate.victims) {
    if (victim->pod->metadata.deletion_timestamp.has_value()) continue;
    DRAY_RETURN_IF_ERROR(EvictOne(pod, *victim->pod, candidate.node->name()));
  }
  return {};
}

Status DefaultPreemption::EvictOne(const PodInfo& pod, const api::Pod& victim,
                                   std::string_view node) {
  const api::ObjectMeta& meta = victim.metadata;
  DRAY_ASSIGN_OR_RETURN(const auto stored, cluster_.Find(PodKind(), meta.namespace_, meta.name));
  // It may have gone by itself, or another of its name may have come.
  if (!stored.has_value() || stored->metadata().uid != meta.uid) return {};

  // The condition tells whoever waits for the pod why it ends.
  api::Object marked = *stored;
  api::SetCondition(marked.Mutable<api::Pod>()->status,
                    {.type = std::string(api::kDisruptionTargetCondition),
                     .status = "True",
                     .last_transition_time = clock_.Now().TruncateToSeconds(),
                     .reason = std::string(kPreemptionByScheduler),
                     .message = fmt::format("{}: preempting to accommodate a higher priority pod",
                                            pod.pod->spec.scheduler_name)});
  const auto written = cluster_.UpdateStatus(std::move(marked));
  if (!written.ok() && written.status().code() != StatusCode::kNotFound) return written.status();
  const Status deleted = cluster_.Delete(PodKind(), meta.namespace_, meta.name, meta.uid);
  if (!deleted.ok() && deleted.code() != StatusCode::kNotFound) return deleted;

  cluster_.Note(
      {.about = *stored,
       .type = "Normal",
       .reason = "Preempted",
       .message = fmt::format("Preempted by pod {} on node {}", pod.pod->metadata.uid, node),
       .component = pod.pod->spec.scheduler_name,
       .action = "Preempting"});
  return {};
}

}  // namespace dray::scheduler

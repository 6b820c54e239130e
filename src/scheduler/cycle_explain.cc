// SPDX-License-Identifier: Apache-2.0
//
// Cycle: what the nodes said, in groups.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "scheduler/cycle.h"
#include "scheduler/explain_groups.h"

namespace dray::scheduler {
namespace {

// Groups of equal devices and usage of which the allocator's explanation is made; the others keep
// the short reason.
constexpr std::size_t kDetails = 16;
// Nodes that all filters are asked about to find the closest miss.
constexpr std::size_t kCandidates = 8;

}  // namespace

const Refusal* Cycle::RefusalOf(const NodeInfo& node) const {
  if (!refused_by_others_.empty()) {
    const auto found = refused_by_others_.find(node.index);
    if (found != refused_by_others_.end()) return found->second.get();
  }
  return placement_->RefusalOf(node);
}

std::vector<std::string> Cycle::RefusedBy() {
  if (!refused_before_.empty()) return {refused_before_};
  if (nodes_asked_) AskOutdated();
  std::vector<bool> refused(env_.plugins.filters().size());
  if (nodes_asked_) {
    // Who was refused by other filters had been admitted by the local ones.
    placement_->MarkRefusing(refused);
    for (const auto& [node, refusal] : refused_by_others_) refused[refusal->filter] = true;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < refused.size(); ++i) {
    if (refused[i]) names.emplace_back(env_.plugins.filters()[i]->name());
  }
  return names;
}

// What is in the way on a node according to all filters, not only the first that refused it: the
// smallest change has to satisfy them all.
std::vector<Reason> Cycle::AllReasons(const NodeInfo& node, const Refusal& refusal,
                                      const std::vector<Reason>& detailed) {
  std::vector<Reason> reasons;
  const auto& filters = env_.plugins.filters();
  for (const auto* list : {&local_, &others_}) {
    for (const std::size_t i : *list) {
      if (i == refusal.filter) {
        reasons.insert(reasons.end(), detailed.begin(), detailed.end());
        continue;
      }
      PluginStatus status = filters[i]->Filter(state_, *pod_, node);
      if (status.ok()) continue;
      DetailPlugin* plugin = env_.plugins.DetailsOf(i);
      if (plugin != nullptr) status.reasons = plugin->Detail(state_, *pod_, node);
      reasons.insert(reasons.end(), status.reasons.begin(), status.reasons.end());
    }
  }
  return reasons;
}

// Which group a node belongs to may take as long as Filter took.
void Cycle::GroupDetails() {
  std::vector<const NodeInfo*> unknown;
  for (const NodeInfo* node : env_.world.nodes()) {
    const Refusal* refusal = placement_->RefusalOf(*node);
    if (refusal != nullptr && env_.plugins.DetailsOf(refusal->filter) != nullptr &&
        !placement_->DetailGroup(*node)) {
      unknown.push_back(node);
    }
  }
  if (!env_.sweep.Parallel(unknown.size())) return;
  env_.sweep.Run(state_, unknown, [&](CycleState& view, std::size_t place) {
    const NodeInfo& node = *unknown[place];
    placement_->DetailGroup(node) =
        env_.plugins.DetailsOf(placement_->RefusalOf(node)->filter)->DetailGroup(view, *pod_, node);
    return true;
  });
}

// Nodes by what refused them: by number, which costs nothing; GroupBuilder then looks at texts.
std::vector<Cycle::RefusedNodes> Cycle::RefusedAlike() {
  placement_->GroupAt(env_.world.global_version());
  GroupDetails();
  using Key = std::tuple<int, std::uint64_t, std::uint64_t>;
  std::map<Key, RefusedNodes> groups;
  std::uint64_t other = 0;
  // Neighbours mostly are of one group.
  std::pair<const Key, RefusedNodes>* last = nullptr;
  for (const NodeInfo* node : env_.world.nodes()) {
    const Refusal* refusal = RefusalOf(*node);
    if (refusal == nullptr) continue;
    const bool local = refusal == placement_->RefusalOf(*node);
    std::uint64_t detail = 0;
    DetailPlugin* const plugin =
        refusal->beside ? nullptr : env_.plugins.DetailsOf(refusal->filter);
    if (plugin != nullptr) {
      std::optional<std::uint64_t> anew;
      std::optional<std::uint64_t>& kept = local ? placement_->DetailGroup(*node) : anew;
      if (!kept) kept = plugin->DetailGroup(state_, *pod_, *node);
      detail = *kept;
    }
    const std::uint64_t number = local ? placement_->RefusalNumber(*node) : other++;
    const Key key{local ? 0 : 1, number, detail};
    if (last == nullptr || last->first != key) last = &*groups.try_emplace(key).first;
    last->second.refusal = refusal;
    last->second.nodes.push_back(node);
  }
  std::vector<RefusedNodes> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  // Not by number: with nothing remembered numbers are others.
  std::ranges::sort(list, [](const RefusedNodes& a, const RefusedNodes& b) {
    if (a.nodes.size() != b.nodes.size()) return a.nodes.size() > b.nodes.size();
    return a.nodes.front()->rank < b.nodes.front()->rank;
  });
  return list;
}

void Cycle::Explain(PodExplanation& explanation) {
  explanation.nodes = env_.world.nodes().size();
  if (!nodes_asked_) {
    explanation.before = status_.reasons;
    return;
  }
  struct Candidate {
    Distance distance;
    const NodeInfo* node = nullptr;
    const Refusal* refusal = nullptr;
    std::vector<Reason> reasons;
  };
  std::vector<Candidate> candidates;
  GroupBuilder builder;
  std::size_t detailed = 0;
  for (RefusedNodes& group : RefusedAlike()) {
    std::vector<Reason> reasons = group.refusal->reasons;
    DetailPlugin* const plugin =
        group.refusal->beside ? nullptr : env_.plugins.DetailsOf(group.refusal->filter);
    if (plugin != nullptr && detailed < kDetails) {
      ++detailed;
      reasons = plugin->Detail(state_, *pod_, *group.nodes.front());
      for (Reason& reason : reasons) {
        if (reason.plugin.empty()) reason.plugin = plugin->name();
      }
    }
    builder.Add(reasons, group.nodes);
    candidates.push_back(
        {DistanceOf(reasons), group.nodes.front(), group.refusal, std::move(reasons)});
  }
  explanation.groups = builder.Take();

  const auto closer = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.distance, a.node->rank) < std::tie(b.distance, b.node->rank);
  };
  const auto end =
      candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kCandidates));
  std::partial_sort(candidates.begin(), end, candidates.end(), closer);
  candidates.erase(end, candidates.end());
  for (Candidate& candidate : candidates) {
    candidate.reasons = AllReasons(*candidate.node, *candidate.refusal, candidate.reasons);
    candidate.distance = DistanceOf(candidate.reasons);
  }
  const auto best = std::ranges::min_element(candidates, closer);
  if (best != candidates.end()) {
    explanation.closest = {.node = best->node->name(),
                           .lacks = LacksOf(best->reasons),
                           .reasons = std::move(best->reasons)};
  }
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/node_affinity.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/cycle_data.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/normalize.h"
#include "scheduler/plugins/selection.h"

namespace dray::scheduler {
namespace {

const api::NodeAffinity* AffinityOf(const api::Pod& pod) {
  return pod.spec.affinity.has_value() ? pod.spec.affinity->node_affinity.get() : nullptr;
}

// The nodes that a term names, sorted; nothing when it names none.
std::optional<std::vector<std::string>> NamedBy(const api::NodeSelectorTerm& term) {
  std::optional<std::vector<std::string>> named;
  for (const api::NodeSelectorRequirement& r : term.match_fields) {
    if (r.key != "metadata.name" || r.operator_ != "In") continue;
    std::vector<std::string> values = r.values;
    std::ranges::sort(values);
    if (!named.has_value()) {
      named = std::move(values);
      continue;
    }
    std::vector<std::string> both;
    std::ranges::set_intersection(*named, values, std::back_inserter(both));
    named = std::move(both);
  }
  return named;
}

}  // namespace

bool NodeAffinity::Allows(const api::Node& node) const {
  if (added() == nullptr || !added()->required.has_value()) return true;
  return std::ranges::any_of(
      added()->required->node_selector_terms,
      [&](const api::NodeSelectorTerm& term) { return Matches(term, node); });
}

PluginStatus NodeAffinity::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  const bool enforced = added() != nullptr && added()->required.has_value();
  if (!HasRequiredAffinity(*pod.pod)) {
    return enforced ? PluginStatus::Success() : PluginStatus::Skip();
  }
  const api::NodeAffinity* affinity = AffinityOf(*pod.pod);
  if (affinity == nullptr || !affinity->required.has_value() ||
      affinity->required->node_selector_terms.empty()) {
    return PluginStatus::Success();
  }
  std::vector<std::string> names;
  for (const api::NodeSelectorTerm& term : affinity->required->node_selector_terms) {
    auto named = NamedBy(term);
    if (!named.has_value()) return PluginStatus::Success();  // this term may match any node
    names.insert(names.end(), named->begin(), named->end());
  }
  if (names.empty()) {
    return PluginStatus::Unresolvable(
        {.code = "node_affinity", .text = "pod affinity terms conflict"});
  }
  state.Get<CandidateNodes>().Restrict(std::move(names));
  return PluginStatus::Success();
}

PluginStatus NodeAffinity::Filter(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  if (!Allows(*node.node)) {
    return PluginStatus::Unresolvable(
        {.code = "scheduler_node_affinity",
         .text = "node(s) didn't match scheduler-enforced node affinity"});
  }
  if (MatchesRequiredAffinity(*pod.pod, *node.node)) return PluginStatus::Success();
  return PluginStatus::Unresolvable(
      {.code = "node_affinity", .text = "node(s) didn't match Pod's node affinity/selector"});
}

PluginStatus NodeAffinity::PreScore(CycleState&, const PodInfo& pod, World&) {
  const api::NodeAffinity* affinity = AffinityOf(*pod.pod);
  const bool any = (affinity != nullptr && !affinity->preferred.empty()) ||
                   (added() != nullptr && !added()->preferred.empty());
  return any ? PluginStatus::Success() : PluginStatus::Skip();
}

std::int64_t NodeAffinity::Score(CycleState&, const PodInfo& pod, const NodeInfo& node) {
  std::int64_t score = 0;
  for (const api::NodeAffinity* affinity : {added(), AffinityOf(*pod.pod)}) {
    if (affinity == nullptr) continue;
    for (const api::PreferredSchedulingTerm& term : affinity->preferred) {
      if (Matches(term.preference, *node.node)) score += term.weight;
    }
  }
  return score;
}

void NodeAffinity::Normalize(CycleState&, const PodInfo&, std::span<std::int64_t> scores) {
  NormalizeToMax(scores, /*reverse=*/false);
}

Hint NodeAffinity::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const NodeChange seen = ReadNodeChange(change, old);
  const auto matches = [&](const api::Node& node) {
    return Allows(node) && MatchesRequiredAffinity(*pod.pod, node);
  };
  if (seen.after == nullptr || !matches(*seen.after)) return Hint::kSkip;
  const bool matched = seen.before != nullptr && matches(*seen.before);
  return matched ? Hint::kSkip : Hint::kQueue;
}

}  // namespace dray::scheduler

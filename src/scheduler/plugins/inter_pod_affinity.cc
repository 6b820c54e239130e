// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/inter_pod_affinity.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/string_map.h"
#include "scheduler/plugins/changes.h"
#include "scheduler/plugins/selection.h"

namespace dray::scheduler {
namespace {

using Terms = std::vector<api::PodAffinityTerm>;
using WeightedTerms = std::vector<api::WeightedPodAffinityTerm>;

template <typename T>
const std::vector<T>& None() {
  static const std::vector<T> kNone;
  return kNone;
}

const Terms& RequiredAffinity(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  const bool any = affinity.has_value() && affinity->pod_affinity.has_value();
  return any ? affinity->pod_affinity->required : None<api::PodAffinityTerm>();
}
const Terms& RequiredAntiAffinity(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  const bool any = affinity.has_value() && affinity->pod_anti_affinity.has_value();
  return any ? affinity->pod_anti_affinity->required : None<api::PodAffinityTerm>();
}
const WeightedTerms& PreferredAffinity(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  const bool any = affinity.has_value() && affinity->pod_affinity.has_value();
  return any ? affinity->pod_affinity->preferred : None<api::WeightedPodAffinityTerm>();
}
const WeightedTerms& PreferredAntiAffinity(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  const bool any = affinity.has_value() && affinity->pod_anti_affinity.has_value();
  return any ? affinity->pod_anti_affinity->preferred : None<api::WeightedPodAffinityTerm>();
}

// Numbers by topology key and value.
struct ByTopology {
  std::vector<std::pair<std::string, base::StringMap<std::int64_t>>> keys;

  void Add(const api::Node& node, const std::string& key, std::int64_t amount) {
    const std::string* value = node.metadata.labels.Find(key);
    if (value == nullptr) return;
    auto at = std::ranges::find(
        keys, key, [](const auto& k) -> const auto& { return k.first; });
    if (at == keys.end()) at = keys.insert(at, {key, {}});
    at->second[*value] += amount;
  }
  std::int64_t At(const std::string& key, const std::string& value) const {
    for (const auto& [known, values] : keys) {
      if (known != key) continue;
      const auto found = values.find(value);
      return found == values.end() ? 0 : found->second;
    }
    return 0;
  }
};

// Written by PreFilter and Count, read by Filter: pods by domain.
struct AffinityFilterState {
  ByTopology wanted;       // pods that all affinity terms mean
  std::int64_t found = 0;  // the same, in all domains of all terms
  ByTopology unwanted;     // pods that an anti-affinity term means
  ByTopology unwelcome;    // pods with an anti-affinity term that means this one
};

// Written by PreScore, read by Score.
struct AffinityScoreState {
  ByTopology weights;
};

}  // namespace

bool InterPodAffinity::MatchesTerm(const api::Pod& owner, const api::PodAffinityTerm& term,
                                   const api::Pod& other) const {
  // Namespaces are looked up only for terms that ask for their labels.
  if (!term.namespace_selector.has_value()) return Matches(owner, term, other, nullptr);
  const auto space = world_.FindNamespace(other.metadata.namespace_);
  return Matches(owner, term, other, space == nullptr ? nullptr : &space->metadata.labels);
}

bool InterPodAffinity::MatchesAll(const api::Pod& owner, const Terms& terms,
                                  const api::Pod& other) const {
  return !terms.empty() && std::ranges::all_of(terms, [&](const auto& term) {
    return MatchesTerm(owner, term, other);
  });
}

bool InterPodAffinity::MatchesAny(const api::Pod& owner, const Terms& terms,
                                  const api::Pod& other) const {
  return std::ranges::any_of(terms,
                             [&](const auto& term) { return MatchesTerm(owner, term, other); });
}

void InterPodAffinity::Count(CycleState& state, const PodInfo& pod, const PodInfo& other,
                             const NodeInfo& node, int delta) {
  auto& counts = state.Get<AffinityFilterState>();
  const Terms& near = RequiredAffinity(*pod.pod);
  if (MatchesAll(*pod.pod, near, *other.pod)) {
    for (const auto& term : near) {
      counts.wanted.Add(*node.node, term.topology_key, delta);
      if (node.node->metadata.labels.contains(term.topology_key)) counts.found += delta;
    }
  }
  for (const auto& term : RequiredAntiAffinity(*pod.pod)) {
    if (MatchesTerm(*pod.pod, term, *other.pod)) {
      counts.unwanted.Add(*node.node, term.topology_key, delta);
    }
  }
  for (const auto& term : RequiredAntiAffinity(*other.pod)) {
    if (MatchesTerm(*other.pod, term, *pod.pod)) {
      counts.unwelcome.Add(*node.node, term.topology_key, delta);
    }
  }
}

PluginStatus InterPodAffinity::PreFilter(CycleState& state, const PodInfo& pod, World& world) {
  const bool has_terms =
      !RequiredAffinity(*pod.pod).empty() || !RequiredAntiAffinity(*pod.pod).empty();
  if (!has_terms && world.pods_with_anti_affinity() == 0) return PluginStatus::Skip();
  for (const NodeInfo* node : world.nodes()) {
    if (!has_terms && node->pods_with_anti_affinity == 0) continue;
    for (const auto& other : node->pods) {
      if (has_terms || other->has_required_anti_affinity) Count(state, pod, *other, *node, 1);
    }
  }
  const auto* counts = state.Find<AffinityFilterState>();
  const bool unwelcome = counts != nullptr && !counts->unwelcome.keys.empty();
  return has_terms || unwelcome ? PluginStatus::Success() : PluginStatus::Skip();
}

PluginStatus InterPodAffinity::Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) {
  const auto& counts = state.Get<AffinityFilterState>();
  const api::Map<std::string>& labels = node.node->metadata.labels;
  const auto any_at = [&](const ByTopology& pods, const std::string& key) {
    const std::string* value = labels.Find(key);
    return value != nullptr && pods.At(key, *value) > 0;
  };

  const Terms& near = RequiredAffinity(*pod.pod);
  const bool in_domains = std::ranges::all_of(
      near, [&](const auto& term) { return labels.contains(term.topology_key); });
  const bool near_them = std::ranges::all_of(
      near, [&](const auto& term) { return any_at(counts.wanted, term.topology_key); });
  // The first pod of a group that wants to be together may start anywhere.
  const bool first = !near_them && counts.found == 0 && MatchesAll(*pod.pod, near, *pod.pod);
  if (!in_domains || (!near_them && !first)) {
    return PluginStatus::Unresolvable(
        {.code = "pod_affinity", .text = "node(s) didn't match pod affinity rules"});
  }
  const bool near_unwanted = std::ranges::any_of(
      RequiredAntiAffinity(*pod.pod),
      [&](const auto& term) { return any_at(counts.unwanted, term.topology_key); });
  if (near_unwanted) {
    return PluginStatus::Unschedulable(
        {.code = "pod_anti_affinity", .text = "node(s) didn't match pod anti-affinity rules"});
  }
  const bool near_unwelcoming = std::ranges::any_of(
      counts.unwelcome.keys, [&](const auto& key) { return any_at(counts.unwelcome, key.first); });
  if (near_unwelcoming) {
    return PluginStatus::Unschedulable(
        {.code = "existing_anti_affinity",
         .text = "node(s) didn't satisfy existing pods anti-affinity rules"});
  }
  return PluginStatus::Success();
}

PluginStatus InterPodAffinity::PreScore(CycleState& state, const PodInfo& pod, World& world) {
  const bool has_terms =
      !PreferredAffinity(*pod.pod).empty() || !PreferredAntiAffinity(*pod.pod).empty();
  if (!has_terms && world.pods_with_affinity() == 0) return PluginStatus::Skip();
  ByTopology weights;
  const auto add = [&](const api::Pod& owner, const api::PodAffinityTerm& term,
                       const api::Pod& other, const NodeInfo& node, std::int64_t weight) {
    if (MatchesTerm(owner, term, other)) weights.Add(*node.node, term.topology_key, weight);
  };
  const auto add_all = [&](const api::Pod& owner, const api::Pod& other, const NodeInfo& node) {
    for (const auto& t : PreferredAffinity(owner)) {
      add(owner, t.pod_affinity_term, other, node, t.weight);
    }
    for (const auto& t : PreferredAntiAffinity(owner)) {
      add(owner, t.pod_affinity_term, other, node, -t.weight);
    }
  };
  for (const NodeInfo* node : world.nodes()) {
    if (!has_terms && node->pods_with_affinity == 0) continue;
    for (const auto& there : node->pods) {
      if (has_terms) add_all(*pod.pod, *there->pod, *node);
      if (!there->has_affinity) continue;
      add_all(*there->pod, *pod.pod, *node);
      for (const auto& term : RequiredAffinity(*there->pod)) {
        add(*there->pod, term, *pod.pod, *node, kHardPodAffinityWeight);
      }
    }
  }
  if (weights.keys.empty()) return PluginStatus::Skip();
  state.Get<AffinityScoreState>().weights = std::move(weights);
  return PluginStatus::Success();
}

std::int64_t InterPodAffinity::Score(CycleState& state, const PodInfo&, const NodeInfo& node) {
  const auto& weights = state.Get<AffinityScoreState>().weights;
  std::int64_t score = 0;
  for (const auto& [key, values] : weights.keys) {
    const std::string* value = node.node->metadata.labels.Find(key);
    if (value != nullptr) score += weights.At(key, *value);
  }
  return score;
}

void InterPodAffinity::Normalize(CycleState&, const PodInfo&, std::span<std::int64_t> scores) {
  if (scores.empty()) return;
  const auto [min, max] = std::ranges::minmax(scores);
  const auto width = static_cast<double>(max - min);
  for (std::int64_t& score : scores) {
    const auto above = static_cast<double>(score - min);
    score = width > 0 ? static_cast<std::int64_t>(kMaxNodeScore * (above / width)) : 0;
  }
}

bool InterPodAffinity::MayHelp(const PodInfo& waiting, const PodChange& change) const {
  const api::Pod& pod = *waiting.pod;
  const Terms& near = RequiredAffinity(pod);
  const Terms& away = RequiredAntiAffinity(pod);
  switch (change.kind) {
    case PodChange::Kind::kOwn:
      return change.before != nullptr && change.after != nullptr &&
             change.before->metadata.labels != change.after->metadata.labels;
    case PodChange::Kind::kPlaced:
      return MatchesAll(pod, near, *change.after);
    case PodChange::Kind::kChanged:
      return (!MatchesAll(pod, near, *change.before) && MatchesAll(pod, near, *change.after)) ||
             (MatchesAny(pod, away, *change.before) && !MatchesAny(pod, away, *change.after));
    case PodChange::Kind::kGone:
      // The last of those that it wants to be near may have been where it cannot be: without it the
      // pod is the first of its group.
      return MatchesAny(pod, away, *change.before) || MatchesAll(pod, near, *change.before) ||
             MatchesAny(*change.before, RequiredAntiAffinity(*change.before), pod);
    case PodChange::Kind::kNone:
      return false;
  }
  return false;
}

Hint InterPodAffinity::Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) {
  const auto hint = [](bool queue) { return queue ? Hint::kQueue : Hint::kSkip; };
  const PodChange seen = ReadPodChange(pod, change, old);
  if (seen.kind != PodChange::Kind::kNone) return hint(MayHelp(pod, seen));
  // Labels of namespaces decide which pods are meant.
  if (const auto* space = change.object.As<api::Namespace>(); space != nullptr) {
    const auto* before = old == nullptr ? nullptr : old->As<api::Namespace>();
    return hint(before == nullptr || before->metadata.labels != space->metadata.labels);
  }
  const NodeChange node = ReadNodeChange(change, old);
  if (node.after == nullptr) return Hint::kSkip;
  const auto value = [](const api::Node* n, const api::PodAffinityTerm& term) {
    return n == nullptr ? nullptr : n->metadata.labels.Find(term.topology_key);
  };
  const auto moved = [&](const api::PodAffinityTerm& term) {
    const std::string* before = value(node.before, term);
    const std::string* after = value(node.after, term);
    if (before == nullptr || after == nullptr) return before != after;
    return *before != *after;
  };
  const auto joins = [&](const api::PodAffinityTerm& term) {
    return value(node.after, term) != nullptr && moved(term);
  };
  const auto leaves = [&](const api::PodAffinityTerm& term) {
    return value(node.before, term) != nullptr && moved(term);
  };
  if (std::ranges::any_of(RequiredAffinity(*pod.pod), joins)) return Hint::kQueue;
  if (std::ranges::any_of(RequiredAntiAffinity(*pod.pod), leaves)) return Hint::kQueue;
  // Pods that do not want this one near may have terms of any key.
  if (node.before == nullptr) return Hint::kQueue;
  return hint(RequiredAffinity(*pod.pod).empty() &&
              node.before->metadata.labels != node.after->metadata.labels);
}

}  // namespace dray::scheduler

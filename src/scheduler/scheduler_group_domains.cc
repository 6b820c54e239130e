// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods that must be in one domain of a topology key: a rack, a zone. Each domain is a cluster of
// its own, where the group is tried; of those where it fits the best is taken.
//
// Spec: KEP-5732, docs/spec. The best has the highest sum of how full the group makes it (cpu and memory,
// MostAllocated) and how much of the group is placed; a domain that can get no higher than what was
// found is not tried.
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "fmt/format.h"
#include "scheduler/internal/group_try.h"
#include "scheduler/plugins/resource_scoring.h"

namespace dray::scheduler {
namespace {

// So many domains are told of by name; the rest by their number.
constexpr std::size_t kMostTold = 8;

// How full the pods make the domain, nothing of them being there yet.
std::int64_t FillOf(const World& world, const base::BitSet& nodes,
                    std::span<const PodInfo* const> pods) {
  std::vector<ResourceLoad> loads(2);
  const auto add = [&](const Resources& from, std::int64_t ResourceLoad::*to) {
    loads[0].*to += from.milli_cpu;
    loads[1].*to += from.memory;
  };
  nodes.ForEach([&](std::size_t rank) {
    add(world.nodes()[rank]->allocatable, &ResourceLoad::allocatable);
    add(world.nodes()[rank]->non_zero, &ResourceLoad::used);
  });
  for (const PodInfo* pod : pods) add(pod->non_zero, &ResourceLoad::wanted);
  return MostAllocated(loads);
}

}  // namespace

std::string Scheduler::Impl::FindDomains(const GroupTry& group,
                                         std::vector<GroupDomain>& domains) const {
  const std::string& key = group.object->spec.scheduling_constraints->topology.front().key;
  std::map<std::string, base::BitSet, std::less<>> by_value;
  for (std::size_t rank = 0; rank < world.nodes().size(); ++rank) {
    const std::string* value = world.nodes()[rank]->node->metadata.labels.Find(key);
    if (value == nullptr) continue;
    auto [it, fresh] = by_value.try_emplace(*value);
    if (fresh) it->second = base::BitSet(world.nodes().size());
    it->second.Set(rank);
  }
  // Where pods of the group are already is where the others go.
  std::map<std::string, std::string> of_pods;  // value, the first pod there
  for (const std::string& pod : GroupOf(group)->pods) {
    const std::string_view name = world.NodeOf(pod);
    const NodeInfo* node = name.empty() ? nullptr : world.FindNode(name);
    if (node == nullptr) continue;
    const std::string* value = node->node->metadata.labels.Find(key);
    if (value == nullptr) {
      return fmt::format(
          "cannot determine domain for already scheduled pods: pod {} is on node {}, which has no "
          "label {}",
          pod, name, key);
    }
    of_pods.emplace(*value, pod);
  }
  if (of_pods.size() > 1) {
    return fmt::format(
        "cannot determine domain for already scheduled pods: more than 1 domain found for key {}: "
        "{} is in {}, {} is in {}",
        key, of_pods.begin()->second, of_pods.begin()->first, of_pods.rbegin()->second,
        of_pods.rbegin()->first);
  }
  std::vector<const PodInfo*> pods;
  for (const QueuedPod& member : group.members) pods.push_back(member.pod.get());
  for (auto& [value, nodes] : by_value) {
    if (!of_pods.empty() && !of_pods.contains(value)) continue;
    GroupDomain& domain = domains.emplace_back();
    domain.label = fmt::format("{}={}", key, value);
    domain.at_most = FillOf(world, nodes, pods);
    domain.nodes = std::move(nodes);
  }
  std::ranges::stable_sort(domains, std::greater<>(), &GroupDomain::at_most);
  return {};
}

void Scheduler::Impl::PlaceInDomains(GroupTry& group) {
  std::vector<GroupDomain> domains;
  if (std::string wrong = FindDomains(group, domains); !wrong.empty()) {
    group.error = PluginStatus::Error(std::move(wrong));
    return;
  }
  group.domains = domains.size();
  group.refused_by.insert("TopologyPlacement");
  for (std::size_t i = 0; i < group.members.size() && domains.empty(); ++i) {
    group.unplaced.push_back(i);
  }
  struct Tried {
    const GroupDomain* domain = nullptr;
    std::size_t placed = 0;
    std::int64_t fill = 0;
  };
  std::vector<Tried> fitting;
  std::vector<std::pair<std::string, std::string>> told;  // label, why not
  GroupTry closest;                                       // of those that do not fit
  const GroupDomain* held = nullptr;
  for (const GroupDomain& domain : domains) {
    LetGo(group.placed);
    group.domain = held = &domain;
    PlaceIn(group);
    if (group.error) return;
    if (group.placed.size() < group.least || group.placed.empty()) {
      told.emplace_back(domain.label, group.joint);
      if (told.size() == 1 || group.could_run > closest.could_run) {
        closest.could_run = group.could_run;
        closest.remaining = group.remaining;
        closest.unplaced = group.unplaced;
        closest.explanations = group.explanations;
      }
      continue;
    }
    std::vector<const PodInfo*> pods;
    for (const Binding& binding : group.placed) pods.push_back(binding.pod.pod.get());
    // It is full with them already.
    fitting.push_back({&domain, pods.size(), FillOf(world, domain.nodes, {})});
    // None of those that come can get higher.
    if (pods.size() == group.members.size()) break;
  }
  group.domain = nullptr;
  if (fitting.empty()) {
    LetGo(group.placed);
    group.remaining = closest.remaining;
    if (!domains.empty()) group.unplaced = std::move(closest.unplaced);
    group.explanations = std::move(closest.explanations);
    group.could_run = closest.could_run;
    group.joint = domains.empty()
                      ? fmt::format("no feasible placements found: no node has label {}",
                                    group.object->spec.scheduling_constraints->topology[0].key)
                      : std::string();
    for (std::size_t i = 0; i < std::min(told.size(), kMostTold); ++i) {
      group.joint += fmt::format("{}{}: {}", i == 0 ? "" : ". ", told[i].first, told[i].second);
    }
    if (told.size() > kMostTold) {
      group.joint += fmt::format(". {} more placements", told.size() - kMostTold);
    }
    return;
  }
  const std::size_t most = group.scheduled + std::ranges::max(fitting, {}, &Tried::placed).placed;
  const auto total = [&](const Tried& tried) {
    return tried.fill + static_cast<std::int64_t>((group.scheduled + tried.placed) * 100 /
                                                  std::max<std::size_t>(1, most));
  };
  const Tried& best = *std::ranges::max_element(fitting, {}, total);
  group.domain = best.domain;
  if (held != best.domain) {
    LetGo(group.placed);
    PlaceIn(group);
  }
  group.domain = nullptr;
}

}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/device_reach.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "inventory/node_devices.h"
#include "inventory/node_matching.h"

namespace dray::scheduler {
namespace {

using base::BitSet;

// Every intersection of different selectors may be another set.
constexpr std::size_t kMostSets = 1024;

}  // namespace

DeviceReach::DeviceReach(World& world) : world_(world), optional_(world.nodes().size()) {
  for (std::size_t rank = 0; rank < world.nodes().size(); ++rank) {
    const api::Node& node = *world.nodes()[rank]->node;
    ranks_.emplace(node.metadata.name, rank);
    if (inventory::OperationsOptional(node, world.features())) optional_.Set(rank);
  }
}

StatusOr<BitSet> DeviceReach::OfChoice(const inventory::NodeChoice& choice) {
  const std::size_t nodes = world_.nodes().size();
  const inventory::Dictionary& dictionary = world_.expressions().dictionary();
  if (choice.has_node) {
    BitSet one(nodes);
    const auto found = ranks_.find(dictionary.View(choice.node));
    if (found != ranks_.end()) one.Set(found->second);
    return one;
  }
  if (choice.all_nodes) return BitSet(nodes, true);
  if (choice.selector == inventory::SelectionId::kNone) return BitSet(nodes);
  if (const auto known = selected_.find(choice.selector); known != selected_.end()) {
    return known->second;
  }
  BitSet matching(nodes);
  const api::NodeSelector& selector = dictionary.At(choice.selector);
  for (std::size_t rank = 0; rank < nodes; ++rank) {
    DRAY_ASSIGN_OR_RETURN(const bool matches,
                          inventory::Matches(selector, *world_.nodes()[rank]->node));
    if (matches) matching.Set(rank);
  }
  selected_[choice.selector] = matching;
  return matching;
}

StatusOr<BitSet> DeviceReach::Of(const inventory::SliceTable& slice,
                                 const inventory::DeviceRow& row) {
  DRAY_ASSIGN_OR_RETURN(
      BitSet reach,
      OfChoice(slice.per_device_node_selection() ? slice.choice(row) : slice.node_choice()));
  if (!slice.skip_node_operations().empty()) reach &= optional_;
  return reach;
}

StatusOr<DeviceReach::Domains> DeviceReach::FindDomains(const BitSet& among) {
  const std::size_t nodes = world_.nodes().size();
  const inventory::Snapshot& snapshot = world_.inventory().snapshot();
  const inventory::Dictionary& dictionary = world_.expressions().dictionary();
  Domains found;
  absl::flat_hash_set<BitSet> known;
  BitSet alone(nodes);
  const auto add = [&](BitSet set) {
    const std::size_t size = set.Count();
    if (size == 1) alone.Set(set.First());
    if (size < 2 || !known.insert(set).second) return;
    found.sets.push_back(std::move(set));
  };
  add(among);
  for (const auto& slice : snapshot.Unbound()) {
    BitSet last;
    for (const inventory::DeviceRow& row : slice->devices()) {
      DRAY_ASSIGN_OR_RETURN(BitSet reach, Of(*slice, row));
      reach &= among;
      // A device that binds to a node is one for it alone once it is given.
      if (row.binds_to_node) alone |= reach;
      if (reach == last) continue;
      add(reach);
      last = std::move(reach);
    }
  }
  for (std::size_t i = 1; i < found.sets.size() && found.complete; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      BitSet both = found.sets[i];
      both &= found.sets[j];
      add(std::move(both));
      if (found.sets.size() <= kMostSets) continue;
      found.complete = false;
      break;
    }
  }
  std::ranges::stable_sort(found.sets, [](const BitSet& a, const BitSet& b) {
    const std::size_t x = a.Count();
    const std::size_t y = b.Count();
    return x != y ? x > y : a.First() < b.First();
  });
  for (std::size_t rank = 0; rank < nodes; ++rank) {
    const auto name = dictionary.Find(world_.nodes()[rank]->name());
    if (name && !snapshot.OfNode(*name).empty()) alone.Set(rank);
    if (!alone.Test(rank) || !among.Test(rank)) continue;
    found.sets.emplace_back(nodes).Set(rank);
  }
  return found;
}

}  // namespace dray::scheduler

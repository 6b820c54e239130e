// SPDX-License-Identifier: Apache-2.0
//
// World: nodes and their devices.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "scheduler/internal/world_impl.h"

namespace dray::scheduler {
namespace {

using inventory::NameId;
using inventory::PoolId;

// A pool on more nodes than this is treated as if it were on all of them.
constexpr std::size_t kFewNodes = 16;

// Heartbeats come every few seconds from every node and change nothing that is decided on.
bool SameForScheduling(const api::Node& a, const api::Node& b) {
  const auto same_conditions = [](const api::NodeCondition& x, const api::NodeCondition& y) {
    return x.type == y.type && x.status == y.status;
  };
  return a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations && a.metadata.uid == b.metadata.uid &&
         a.spec == b.spec && a.status.allocatable == b.status.allocatable &&
         a.status.declared_features == b.status.declared_features &&
         a.status.images == b.status.images &&
         std::ranges::equal(a.status.conditions, b.status.conditions, same_conditions);
}

bool HasSoftTaint(const api::Node& node) {
  return std::ranges::any_of(node.spec.taints, [](const api::Taint& taint) {
    return taint.effect == api::kTaintEffectPreferNoSchedule;
  });
}

}  // namespace

std::size_t World::nodes_with_soft_taints() const { return impl_->nodes_with_soft_taints; }

World::Impl::NodeEntry& World::Impl::EntryOf(std::string_view name) {
  if (const auto found = nodes_by_name.find(name); found != nodes_by_name.end()) {
    return *found->second;
  }
  if (free_indices.empty()) {
    free_indices.push_back(static_cast<NodeIndex>(nodes.size()));
    nodes.emplace_back();
  }
  const NodeIndex index = free_indices.back();
  free_indices.pop_back();
  nodes[index] = std::make_unique<NodeEntry>();
  NodeEntry& entry = *nodes[index];
  entry.info.index = index;
  entry.name = name;
  entry.name_id = world.dictionary_->Intern(name);
  nodes_by_name.emplace(entry.name, &entry);
  nodes_by_id.emplace(entry.name_id, &entry);
  return entry;
}

void World::Impl::DropIfUnused(NodeEntry& entry) {
  if (entry.info.node != nullptr || !entry.info.pods.empty()) return;
  const NodeIndex index = entry.info.index;
  nodes_by_id.erase(entry.name_id);
  nodes_by_name.erase(std::string(entry.name));
  nodes[index] = nullptr;
  free_indices.push_back(index);
}

void World::Impl::PutNode(std::shared_ptr<const api::Node> node) {
  NodeEntry& entry = EntryOf(node->metadata.name);
  NodeInfo& info = entry.info;
  const std::shared_ptr<const api::Node> before = std::exchange(info.node, std::move(node));
  if (before == nullptr) {
    sorted.push_back(&info);
    sorted_stale = true;
    ++world.nodes_version_;
  } else if (SameForScheduling(*before, *info.node)) {
    return;
  }
  nodes_with_soft_taints += HasSoftTaint(*info.node) ? 1 : 0;
  nodes_with_soft_taints -= before != nullptr && HasSoftTaint(*before) ? 1 : 0;
  // Which slices are the node's depends on its labels and what it says it can do.
  if (before == nullptr || before->metadata.labels != info.node->metadata.labels ||
      before->status.declared_features != info.node->status.declared_features) {
    entry.devices_stale = true;
  }
  info.allocatable = Resources::From(info.node->status.allocatable, world.resource_names_);
  info.names = world.resource_names_.Pin({&info.allocatable});
  Touch(info);
}

void World::Impl::RemoveNode(std::string_view name) {
  const auto found = nodes_by_name.find(name);
  if (found == nodes_by_name.end() || found->second->info.node == nullptr) return;
  NodeEntry& entry = *found->second;
  std::erase(sorted, &entry.info);
  sorted_stale = true;
  ++world.nodes_version_;
  Touch(entry.info);
  nodes_with_soft_taints -= HasSoftTaint(*entry.info.node) ? 1 : 0;
  entry.info.node = nullptr;
  entry.info.allocatable = {};
  entry.info.names = nullptr;
  entry.info.devices = nullptr;
  entry.info.usage = {};
  entry.devices_stale = true;
  DropIfUnused(entry);
}

void World::Impl::Sort() const {
  if (!sorted_stale) return;
  sorted_stale = false;
  std::ranges::sort(sorted, {},
                    [](const NodeInfo* node) -> const std::string& { return node->name(); });
  for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
    sorted[rank]->rank = static_cast<std::uint32_t>(rank);
  }
}

World::Impl::PoolNodes World::Impl::NodesOf(PoolId pool) const {
  PoolNodes found;
  for (const auto& slice : world.inventory_.snapshot().OfPool(pool)) {
    const inventory::NodeChoice& choice = slice->node_choice();
    if (!choice.has_node) {
      return {.all = true};
    }
    if (std::ranges::find(found.nodes, choice.node) == found.nodes.end()) {
      found.nodes.push_back(choice.node);
    }
    if (found.nodes.size() > kFewNodes) return {.all = true};
  }
  return found;
}

// A pool's slices for other nodes tell whether it is complete, so that a change of one concerns
// every node of the pool, those before the change and those after it.
void World::Impl::Take(const inventory::Change& change) {
  const auto stale = [this](NameId name) {
    const auto found = nodes_by_id.find(name);
    if (found == nodes_by_id.end()) return;
    found->second->devices_stale = true;
    Touch(found->second->info);
  };
  // Taint rules are nobody's.
  bool all = change.unbound && change.pools.empty();
  if (all) TouchAll();
  for (const PoolId pool : change.pools) {
    const auto index = static_cast<std::size_t>(pool);
    if (index >= pool_nodes.size()) pool_nodes.resize(index + 1);
    const PoolNodes before = std::exchange(pool_nodes[index], NodesOf(pool));
    const PoolNodes& after = pool_nodes[index];
    std::ranges::for_each(before.nodes, stale);
    std::ranges::for_each(after.nodes, stale);
    if (!before.all && !after.all) continue;
    all = true;
    TouchAllFor(pool, before.empty() ? PoolChange::Kind::kNew : PoolChange::Kind::kSlices);
  }
  if (all) {
    ++all_stale;
  } else {
    std::ranges::for_each(change.nodes, stale);
  }
}

void World::Impl::TouchPools(const ledger::Change& change) {
  for (const PoolId pool : change.pools) {
    const auto index = static_cast<std::size_t>(pool);
    if (index >= pool_nodes.size()) continue;  // nobody publishes it
    if (pool_nodes[index].all) {
      TouchAllFor(pool, PoolChange::Kind::kUsage);
      continue;
    }
    for (const NameId name : pool_nodes[index].nodes) {
      const auto found = nodes_by_id.find(name);
      if (found != nodes_by_id.end()) Touch(found->second->info, !change.only_taken);
    }
  }
}

Status World::Impl::RefreshDevices(NodeInfo& info) {
  NodeEntry& entry = *nodes[info.index];
  if (DevicesStale(entry)) {
    DRAY_ASSIGN_OR_RETURN(
        info.devices, inventory::Gather(world.inventory_.snapshot(), *info.node, world.features_));
    entry.devices_stale = false;
    entry.gathered = all_stale;
  }
  info.usage.Update(info.devices, world.ledger_.snapshot());
  return {};
}

void World::Impl::Reclaim() {
  world.ledger_.Reclaim();
  world.resource_names_.Reclaim();
  if (!world.dictionary_->CollectionDue()) return;
  world.dictionary_->Collect([this](inventory::Marker& marker) {
    world.inventory_.Mark(marker);
    world.ledger_.Mark(marker);
    for (const auto& entry : nodes) {
      if (entry == nullptr) continue;
      marker.Mark(entry->name_id);
      // Slices that are gone would be kept for it, and it is gathered anew before it is used.
      if (DevicesStale(*entry)) {
        entry->info.devices = nullptr;
        entry->info.usage = {};
      }
      if (entry->info.devices != nullptr) entry->info.devices->Mark(marker);
    }
    for (const PoolNodes& pool : pool_nodes) {
      for (const NameId node : pool.nodes) marker.Mark(node);
    }
  });
}

void World::Reclaim() { impl_->Reclaim(); }

bool World::IsWide(PoolId pool) const {
  const auto index = static_cast<std::size_t>(pool);
  if (index >= impl_->pool_nodes.size()) return false;
  return impl_->pool_nodes[index].all || impl_->pool_nodes[index].nodes.size() > 1;
}

std::vector<PoolId> World::WidePools() const {
  std::vector<PoolId> wide;
  for (std::size_t index = 0; index < impl_->pool_nodes.size(); ++index) {
    const PoolId pool{static_cast<std::underlying_type_t<PoolId>>(index)};
    if (IsWide(pool)) wide.push_back(pool);
  }
  return wide;
}

}  // namespace dray::scheduler

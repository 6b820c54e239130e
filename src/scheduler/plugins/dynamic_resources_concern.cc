// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: which changes of devices that every node may use can have changed an answer.
//
// A fabric's slice, or what is taken of it, concerns every node, and yet hardly any pod. What is
// remembered of the others' nodes stays.
#include <span>

#include "absl/container/flat_hash_set.h"
#include "scheduler/plugins/dynamic_resources.h"

namespace dray::scheduler {
namespace {

// Plans that are remembered; when there are more, the next pods of each ask about all nodes once.
constexpr std::size_t kMostConcerns = 4096;

// Whether nothing of the pool matters to who cannot use its devices: a node selector that cannot be
// read is everybody's error, and a pool that contradicts itself is one for whoever is refused.
bool OnlyDevicesMatter(const inventory::Slices& pool) {
  absl::flat_hash_set<inventory::NameId> names;
  for (const auto& slice : pool) {
    const inventory::NodeChoice& choice = slice->node_choice();
    if (choice.selector != inventory::SelectionId::kNone ||
        slice->mentions_per_device_node_selection() || slice->has_shared_counters() ||
        slice->has_consumption() || slice->has_groups()) {
      return false;
    }
    for (const inventory::DeviceRow& row : slice->devices()) {
      if (!names.insert(row.name).second) return false;
    }
  }
  return true;
}

}  // namespace

bool DynamicResources::Concerns(std::span<const World::PoolChange> changes,
                                const allocator::Plan& plan, Concern& concern) {
  using Kind = World::PoolChange::Kind;
  bool concerns = false;
  absl::flat_hash_set<inventory::PoolId> looked;
  for (const World::PoolChange& change : changes) {
    const auto known = concern.usable.find(change.pool);
    const bool is_known = known != concern.usable.end();
    const bool before = is_known ? known->second : change.kind == Kind::kSlices;
    bool after = before;
    if (!is_known || (change.kind != Kind::kUsage && looked.insert(change.pool).second)) {
      after = !OnlyDevicesMatter(world_.inventory().snapshot().OfPool(change.pool)) ||
              AnyUsableIn(change.pool, plan);
      concern.usable[change.pool] = after;
    }
    concerns |= before || after;
  }
  return concerns;
}

std::uint64_t DynamicResources::ConcernedAt(const CycleState& state, const PodInfo&) {
  const State* data = state.Find<State>();
  if (data == nullptr || data->claims.empty()) return 0;
  const std::uint64_t now = world_.global_version();
  // With extended resources a node may have a plan of its own; mode All and admin access look at
  // pools before they look at devices.
  if (!data->resources.empty() || data->variants.empty()) return now;
  const KnownPlan& known = data->variants.front()->plan;
  if (known.plan == nullptr || !known.plan->simple()) return now;
  if (concerns_.size() >= kMostConcerns) concerns_.clear();
  Concern& concern =
      concerns_.try_emplace(known.number, Concern{.seen = now, .concerned = now}).first->second;
  if (concern.seen == now) return concern.concerned;
  const auto changes = world_.PoolChangesSince(concern.seen);
  if (!changes) concern.usable.clear();
  if (!changes || Concerns(*changes, *known.plan, concern)) concern.concerned = now;
  concern.seen = now;
  return concern.concerned;
}

}  // namespace dray::scheduler

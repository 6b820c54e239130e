// SPDX-License-Identifier: Apache-2.0
#include "ledger/node_usage.h"

#include <algorithm>
#include <utility>

#include "inventory/capacity_names.h"
#include "ledger/pool_draw.h"

namespace dray::ledger {

using inventory::CounterOnNode;
using inventory::CounterSetOnNode;
using inventory::NodeDevice;
using inventory::PoolOnNode;
using inventory::SetUse;

bool NodeUsage::Update(const std::shared_ptr<const inventory::NodeDevices>& devices,
                       const Snapshot& snapshot) {
  bool changed = false;
  if (devices != devices_) {
    TakeAnew(devices);
    changed = true;
  }
  if (names_ != snapshot.holders()) names_ = snapshot.holders();
  const std::span<const PoolOnNode> pools = devices_->pools();
  for (std::uint32_t pool = 0; pool < pools.size(); ++pool) {
    // What was seen is kept alive, so an equal address is the same usage.
    if (snapshot.Find(pools[pool].id) == seen_[pool].get()) continue;
    changed = true;
    seen_[pool] = snapshot.Share(pools[pool].id);
    UpdatePool(pool);
  }
  return changed;
}

void NodeUsage::TakeAnew(std::shared_ptr<const inventory::NodeDevices> devices) {
  devices_ = std::move(devices);
  const std::size_t pools = devices_->pools().size();
  const std::size_t count = devices_->devices().size();
  seen_.assign(pools, nullptr);
  in_use_.resize(pools);
  for (auto& indices : in_use_) indices.clear();
  taken_ = base::BitSet(count);
  shared_ = base::BitSet(count);
  usage_.assign(count, nullptr);
  consumed_.clear();
  counters_.clear();
  for (const CounterOnNode& counter : devices_->counters()) counters_.push_back(counter.value);
  groups_.assign(devices_->counter_sets().size(), {});
  overdrawn_.assign(pools, 0);
  for (std::uint32_t pool = 0; pool < pools; ++pool) SumOverdrawn(pool);
}

void NodeUsage::UpdatePool(std::uint32_t pool) {
  for (const std::uint32_t device : in_use_[pool]) {
    taken_.Reset(device);
    shared_.Reset(device);
    usage_[device] = nullptr;
    if (!consumed_.empty()) consumed_[device].clear();
  }
  in_use_[pool].clear();
  not_here_.clear();
  const bool shared = devices_->shared_counters(pool) != nullptr;
  if (seen_[pool] != nullptr) {
    if (shared || seen_[pool]->devices.size() > devices_->pools()[pool].devices) {
      MarkOwn(pool);
    } else {
      for (const DeviceUsage& usage : seen_[pool]->devices) {
        if (const auto device = devices_->FindDevice(pool, usage.device)) {
          in_use_[pool].push_back(*device);
          Mark(*device, usage);
        } else {
          not_here_.push_back(&usage);
        }
      }
    }
  }
  if (devices_->pools()[pool].sets == 0) return;
  shared ? UpdateSharedCounters(pool) : UpdateCounters(pool);
}

// Of a pool with more devices in use than the node has of it, by the node's own.
void NodeUsage::MarkOwn(std::uint32_t pool) {
  const PoolOnNode& in = devices_->pools()[pool];
  const PoolUsage& usage = *seen_[pool];
  std::size_t marked = 0;
  for (std::uint32_t device = in.first_device; device < in.first_device + in.devices; ++device) {
    const DeviceUsage* found = usage.Find(devices_->devices()[device].row->name);
    if (found == nullptr) continue;
    in_use_[pool].push_back(device);
    Mark(device, *found);
    ++marked;
  }
  if (in.sets == 0 || devices_->shared_counters(pool) != nullptr) return;
  // Counters want to know of the others, too.
  if (marked == usage.devices.size()) return;
  for (const DeviceUsage& one : usage.devices) {
    if (!devices_->FindDevice(pool, one.device)) not_here_.push_back(&one);
  }
}

void NodeUsage::Mark(std::uint32_t device, const DeviceUsage& usage) {
  usage_[device] = &usage;
  const NodeDevice& on_node = devices_->devices()[device];
  if (!devices_->features().consumable_capacity) {
    taken_.Set(device);
    return;
  }
  // [differs] KEP-5075: a device that has shares and is dedicated now is not given again before
  // they are gone; Kubernetes gives it if the capacity fits. docs/decisions.md #35.
  const bool dedicated = !on_node.row->allow_multiple_allocations;
  if (usage.exclusive > 0 || dedicated) taken_.Set(device);
  if (usage.shares > 0) shared_.Set(device);
  if (usage.consumed.empty()) return;
  if (consumed_.empty()) consumed_.resize(usage_.size());
  std::vector<Amount>& amounts = consumed_[device];
  const auto entries = on_node.slice->capacities(*on_node.row);
  // A claim recorded the name that the capacity had then. The driver may publish it with its domain
  // or without, and change its mind: it is the same capacity (docs/decisions.md #36).
  for (const ConsumedCapacity& consumed : usage.consumed) {
    const auto at =
        inventory::FindCapacity(consumed.capacity, *on_node.slice, entries, devices_->dictionary());
    if (!at) continue;
    if (amounts.empty()) amounts.resize(entries.size(), Amount(0));
    amounts[*at] += consumed.amount;
  }
}

// Spec: docs/spec/allocator.md chapters 8 and 9. Every device in use counts once; one that is no
// longer in the slices consumes nothing, but the groups that its claims recorded still stand.
void NodeUsage::UpdateCounters(std::uint32_t pool) {
  const PoolOnNode& in = devices_->pools()[pool];
  for (std::uint32_t set = in.first_set; set < in.first_set + in.sets; ++set) {
    groups_[set].kind = GroupState::Kind::kNothing;
    groups_[set].groups.clear();
    const CounterSetOnNode& counters = devices_->counter_sets()[set];
    for (std::uint32_t c = counters.first_counter; c < counters.first_counter + counters.counters;
         ++c) {
      counters_[c] = devices_->counters()[c].value;
    }
  }
  for (const std::uint32_t device : in_use_[pool]) {
    const NodeDevice& on_node = devices_->devices()[device];
    for (const auto& use : devices_->counter_uses(on_node)) counters_[use.counter] -= use.amount;
    PlaceGroups(pool, *usage_[device], devices_->set_uses(on_node));
  }
  // Gone from the slices: they draw on nothing, but the groups that were recorded stand.
  for (const DeviceUsage* usage : not_here_) PlaceGroups(pool, *usage, {});
  SumOverdrawn(pool);
}

// The same for a pool that spans nodes: what all nodes see alike has been summed up for all of
// them, and only the node's own devices are looked at.
void NodeUsage::UpdateSharedCounters(std::uint32_t pool) {
  const inventory::PoolCounters& counters = *devices_->shared_counters(pool);
  const PoolOnNode& in = devices_->pools()[pool];
  const std::shared_ptr<const PoolDraw> draw =
      seen_[pool] == nullptr
          ? nullptr
          : DrawOf(*seen_[pool], devices_->shared_slices(pool), counters, devices_->dictionary());
  const bool with_groups = devices_->features().compatibility_groups;
  for (std::uint32_t set = in.first_set; set < in.first_set + in.sets; ++set) {
    const CounterSetOnNode& on_node = devices_->counter_sets()[set];
    const std::uint32_t number = *counters.FindSet(on_node.name);
    // The counters of a set are in the same order here and there.
    const std::uint32_t first = counters.sets()[number].first_counter;
    for (std::uint32_t c = 0; c < on_node.counters; ++c) {
      counters_[on_node.first_counter + c] =
          draw == nullptr ? devices_->counters()[on_node.first_counter + c].value
                          : draw->left[first + c];
    }
    groups_[set] = draw != nullptr && with_groups ? draw->sets[number].state : GroupState();
    if (draw != nullptr && !with_groups && draw->sets[number].recorded) {
      groups_[set].kind = GroupState::Kind::kClosed;
    }
  }
  overdrawn_[pool] = draw != nullptr && draw->overdrawn ? 1 : 0;
  for (const std::uint32_t device : in_use_[pool]) {
    // Another device of that name was counted instead: the node's own goes before those of others.
    const inventory::DeviceRow* own = devices_->devices()[device].row;
    const inventory::DeviceRow* counted = counters.Find(own->name);
    if (counted == own || counted == nullptr) continue;
    Draw(pool, counted->consumption, 1);
    Draw(pool, own->consumption, -1);
  }
}

void NodeUsage::Draw(std::uint32_t pool, inventory::ConsumptionId consumption, int sign) {
  for (const auto& use : devices_->dictionary().At(consumption)) {
    const auto set = devices_->FindSet(pool, use.counter_set);
    if (!set) continue;
    for (const inventory::CounterAmount& counter : use.counters) {
      if (const auto number = devices_->FindCounter(*set, counter.counter)) {
        counters_[*number] += sign * counter.amount;
      }
    }
  }
}

void NodeUsage::SumOverdrawn(std::uint32_t pool) {
  const PoolOnNode& in = devices_->pools()[pool];
  overdrawn_[pool] = 0;
  for (const CounterSetOnNode& set : devices_->counter_sets().subspan(in.first_set, in.sets)) {
    const auto counters = std::span(counters_).subspan(set.first_counter, set.counters);
    if (std::ranges::any_of(counters, [](Amount amount) { return amount < 0; })) {
      overdrawn_[pool] = 1;
    }
  }
}

std::span<const Holder> NodeUsage::holders(std::size_t device) const {
  if (usage_[device] == nullptr) return {};
  return usage_[device]->holders;
}

}  // namespace dray::ledger

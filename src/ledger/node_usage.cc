// SPDX-License-Identifier: Apache-2.0
#include "ledger/node_usage.h"

#include <algorithm>
#include <utility>

#include "inventory/capacity_names.h"

namespace dray::ledger {

using inventory::CounterOnNode;
using inventory::CounterSetOnNode;
using inventory::NodeDevice;
using inventory::PoolOnNode;
using inventory::SetUse;

bool NodeUsage::Update(std::shared_ptr<const inventory::NodeDevices> devices,
                       const Snapshot& snapshot) {
  bool changed = false;
  if (devices != devices_) {
    TakeAnew(std::move(devices));
    changed = true;
  }
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
  if (seen_[pool] != nullptr) {
    for (const DeviceUsage& usage : seen_[pool]->devices) {
      if (const auto device = devices_->FindDevice(pool, usage.device)) {
        in_use_[pool].push_back(*device);
        Mark(*device, usage);
      } else {
        not_here_.push_back(&usage);
      }
    }
  }
  if (devices_->pools()[pool].sets > 0) UpdateCounters(pool);
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

// Spec: chapters 8 and 9. Every device in use counts once, on this node or elsewhere; a device that
// is no longer in the slices consumes nothing, but the groups that its claims recorded still stand.
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
  for (const DeviceUsage* usage : not_here_) {
    live_.clear();
    if (const auto* row = devices_->FindElsewhere(pool, usage->device); row != nullptr) {
      Subtract(pool, *row);
    }
    PlaceGroups(pool, *usage, live_);
  }
  SumOverdrawn(pool);
}

// Also lists the sets that the row draws on, in live_.
void NodeUsage::Subtract(std::uint32_t pool, const inventory::DeviceRow& row) {
  for (const auto& consumption : devices_->dictionary().At(row.consumption)) {
    const auto set = devices_->FindSet(pool, consumption.counter_set);
    if (!set) continue;
    live_.push_back({*set, consumption.groups});
    for (const inventory::CounterAmount& use : consumption.counters) {
      if (const auto counter = devices_->FindCounter(*set, use.counter)) {
        counters_[*counter] -= use.amount;
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

std::span<const Amount> NodeUsage::consumed(std::size_t device) const {
  if (consumed_.empty()) return {};
  return consumed_[device];
}

std::span<const Holder> NodeUsage::holders(std::size_t device) const {
  if (usage_[device] == nullptr) return {};
  return usage_[device]->holders;
}

}  // namespace dray::ledger

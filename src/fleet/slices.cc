// SPDX-License-Identifier: Apache-2.0
//
// Slices of a pool to devices: which there are, on which node and card, and what is wrong with the pool.
#include <algorithm>
#include <utility>

#include "fleet/fleet.h"
#include "fmt/format.h"
#include "inventory/pool_counters.h"

namespace dray::fleet {

using inventory::DeviceRow;
using inventory::SliceTable;

std::int32_t Fleet::CardOf(Id pool, const SliceTable& /*slice*/, const DeviceRow& row) {
  const auto uses = dictionary_->At(row.consumption);
  if (uses.empty()) return kNone;
  const std::uint32_t name = strings_.Of(dictionary_->View(uses.front().counter_set));
  const auto [it, fresh] =
      card_ids_.try_emplace({pool, name}, static_cast<std::int32_t>(cards_.size()));
  if (fresh) cards_.push_back({pool, name});
  return it->second;
}

void Fleet::SetPoolNodes(Pool& pool, std::vector<Id> nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const Id id : nodes) {
    Node& node = nodes_[id];
    if (node.pools++ == 0 && (node.flags & kNodeRemoved) != 0) SetNode(id, kNoSuchNode, 0);
  }
  for (const Id id : pool.nodes) {
    Node& node = nodes_[id];
    if (--node.pools == 0 && !node.object) SetNode(id, kNodeRemoved, 0);
  }
  pool.nodes = std::move(nodes);
}

void Fleet::ReduceSlices(Id id) {
  Pool& pool = pools_[id];
  const inventory::Slices& slices = inventory_.snapshot().OfPool(pool.id);
  for (const Id device : pool.devices) {
    Device& known = devices_[device];
    if (known.slice == nullptr) continue;
    CountAttributes(*known.slice, known.slice->devices()[known.row], -1);
    known.slice = nullptr;
  }
  // Those that were there keep being looked at: they may be gone, or removed.
  std::vector<Id> devices = std::move(pool.devices);
  pool.by_name.clear();
  pool.tables.clear();
  std::uint8_t flags = 0;
  std::string why;
  const std::int64_t generation = slices.empty() ? 0 : slices.summary().newest_generation;
  std::vector<Id> nodes;
  std::int32_t node = kNone;
  bool first = true;
  bool per_device = false;
  for (const auto& slice : slices) {
    if (slice->generation() != generation) continue;
    if (first && static_cast<std::int64_t>(slices.summary().newest) != slice->slice_count()) {
      flags |= kIncomplete;
      why = fmt::format("the pool has {} of {} slices of generation {}", slices.summary().newest,
                        slice->slice_count(), generation);
    }
    const inventory::NodeChoice& choice = slice->node_choice();
    const std::int32_t at =
        choice.has_node ? static_cast<std::int32_t>(NodeOf(dictionary_->View(choice.node))) : kNone;
    node = first || node == at ? at : kNone;
    first = false;
    per_device |= slice->per_device_node_selection();
    if (at != kNone) nodes.push_back(static_cast<Id>(at));
    pool.tables.push_back(slice);
    // Slices that share counters have no devices, whatever they say.
    if (features_.partitionable_devices && slice->has_shared_counters()) continue;
    for (std::uint32_t row = 0; row < slice->devices().size(); ++row) {
      const DeviceRow& of = slice->devices()[row];
      const std::string_view name = dictionary_->View(of.name);
      const Id device = DeviceOf(id, name);
      const auto [it, fresh] = pool.by_name.try_emplace(of.name, device);
      if (!fresh) {
        flags |= kInvalid;
        why = fmt::format("two devices of the pool are named {}", name);
        continue;
      }
      Device& known = devices_[device];
      known.slice = slice.get();
      known.row = row;
      const inventory::NodeChoice& own = slice->choice(of);
      const std::int32_t its =
          own.has_node ? static_cast<std::int32_t>(NodeOf(dictionary_->View(own.node))) : kNone;
      if (its != kNone) nodes.push_back(static_cast<Id>(its));
      const std::int32_t card = CardOf(id, *slice, of);
      if (its != known.node || card != known.card) Announce(device);
      known.node = its;
      known.card = card;
      CountAttributes(*slice, of, 1);
      devices.push_back(device);
    }
  }
  if (features_.partitionable_devices && !slices.empty() && slices.summary().counters) {
    const std::string& fault = slices.counters(*dictionary_).why();
    if (!fault.empty()) {
      flags |= kInvalid;
      why = fault;
    }
  }
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const Id device : devices) {
    Device& known = devices_[device];
    if (known.slice != nullptr || known.card == kNone) continue;
    known.card = kNone;
    Announce(device);
  }
  pool.devices = std::move(devices);
  if (per_device) {
    per_device_pools_.insert(id);
  } else {
    per_device_pools_.erase(id);
  }
  if (!slices.empty()) {
    SetPoolNodes(pool, std::move(nodes));
  } else {
    // Devices that are gone stay where they were.
    flags = pool.flags & kPoolRemoved;
    node = pool.node;
  }
  const auto count = static_cast<std::uint32_t>(pool.tables.size());
  if (flags != pool.flags || node != pool.node || count != pool.slices ||
      generation != pool.generation) {
    StampPool(id);
  }
  pool.flags = flags;
  pool.why = std::move(why);
  pool.node = node;
  pool.slices = count;
  pool.generation = generation;
  dirty_pools_.insert(id);
}

}  // namespace dray::fleet

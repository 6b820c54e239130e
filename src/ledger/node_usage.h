// SPDX-License-Identifier: Apache-2.0
//
// NodeUsage: the ledger as one node's devices see it, by their numbers. Costs what is in use on the
// node's pools, and only for pools that have changed since.
//
// Spec: docs/spec/allocator.md chapters 6, 8, 9 and 10.3; docs/decisions.md for groups.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bit_set.h"
#include "inventory/node_devices.h"
#include "ledger/group_state.h"
#include "ledger/ledger.h"

namespace dray::ledger {

// Values are by the indices of NodeDevices. Thread-compatible: Update belongs to one thread.
class NodeUsage {
 public:
  // Brings this up to date with `snapshot`. True if anything changed. The first call after
  // construction, or one with other devices, takes everything anew.
  bool Update(const std::shared_ptr<const inventory::NodeDevices>& devices,
              const Snapshot& snapshot);

  const inventory::NodeDevices& devices() const { return *devices_; }

  // Exclusively in use: not for any request without admin access. With consumable capacity off
  // also every device with a share; with it on also every device that has shares although it is
  // not (any more) for multiple allocations.
  const base::BitSet& taken() const { return taken_; }
  // Has at least one share.
  const base::BitSet& shared() const { return shared_; }
  // What is left of each counter; below zero when more was given than there is now.
  std::span<const Amount> counters() const { return counters_; }
  // Whether some counter of the pool is below zero: then no device of it that consumes counters
  // can be had.
  bool overdrawn(std::size_t pool) const { return overdrawn_[pool] != 0; }
  std::span<const GroupState> groups() const { return groups_; }  // by counter set
  // Consumed of a device, by the order of its row's capacities; empty when nothing is.
  std::span<const Amount> consumed(std::size_t device) const {
    if (consumed_.empty()) return {};
    return consumed_[device];
  }
  // False: nothing is consumed of any device.
  bool any_consumed() const { return !consumed_.empty(); }
  // Who has the device; empty when free. For explanations.
  std::span<const Holder> holders(std::size_t device) const;
  // "namespace/name" of a claim that holders() lists.
  std::string_view NameOf(Holder holder) const { return names_->NameOf(holder); }

 private:
  void TakeAnew(std::shared_ptr<const inventory::NodeDevices> devices);
  void UpdatePool(std::uint32_t pool);
  void Mark(std::uint32_t device, const DeviceUsage& usage);
  void UpdateCounters(std::uint32_t pool);
  void SumOverdrawn(std::uint32_t pool);
  void MarkOwn(std::uint32_t pool);
  void UpdateSharedCounters(std::uint32_t pool);
  void PlaceGroups(std::uint32_t pool, const DeviceUsage& usage,
                   std::span<const inventory::SetUse> live);
  void Draw(std::uint32_t pool, inventory::ConsumptionId consumption, int sign);

  std::shared_ptr<const inventory::NodeDevices> devices_;
  std::vector<std::shared_ptr<const PoolUsage>> seen_;  // per pool
  std::shared_ptr<const Holders> names_;
  std::vector<std::vector<std::uint32_t>> in_use_;  // per pool: devices
  base::BitSet taken_;
  base::BitSet shared_;
  std::vector<Amount> counters_;
  std::vector<std::uint8_t> overdrawn_;
  std::vector<GroupState> groups_;
  std::vector<std::vector<Amount>> consumed_;  // per device; none at all until one is needed
  std::vector<const DeviceUsage*> usage_;      // per device; null when free
  // Kept from call to call for their memory.
  std::vector<const DeviceUsage*> not_here_;
};

}  // namespace dray::ledger

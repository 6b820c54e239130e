// SPDX-License-Identifier: Apache-2.0
//
// NodeDevices: what one node can use, in the order in which it is searched. Depends on the
// inventory, the node's name, labels and declared features, and the features; not on what is taken.
//
// Spec: docs/spec/allocator.md chapter 2.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "base/bit_set.h"
#include "base/status.h"
#include "inventory/features.h"
#include "inventory/inventory.h"
#include "inventory/pool_counters.h"

namespace dray::inventory {

enum class PoolState : std::uint8_t { kComplete, kIncomplete, kInvalid };

struct PoolOnNode {
  PoolId id = PoolId::kNone;
  NameId driver;
  NameId name;
  PoolState state = PoolState::kComplete;
  std::string why;                 // unless complete
  std::uint32_t first_device = 0;  // of NodeDevices::devices()
  std::uint32_t devices = 0;       // none unless complete
  std::uint32_t first_set = 0;     // of NodeDevices::counter_sets()
  std::uint32_t sets = 0;
};

struct CounterSetOnNode {
  NameId name;
  std::uint32_t pool = 0;
  std::uint32_t first_counter = 0;  // of NodeDevices::counters()
  std::uint32_t counters = 0;
};
struct CounterOnNode {
  NameId name;
  std::uint32_t set = 0;
  Amount value;  // as published, nothing taken off
};

// How a device draws on counters, by index.
struct CounterUse {
  std::uint32_t counter = 0;
  Amount amount;
};
struct SetUse {
  std::uint32_t set = 0;
  GroupsId groups = GroupsId::kNone;
};

struct NodeDevice {
  const SliceTable* slice = nullptr;
  const DeviceRow* row = nullptr;
  std::uint32_t pool = 0;  // of NodeDevices::pools()
  std::uint32_t first_use = 0;
  std::uint32_t first_set = 0;
  std::uint32_t uses = 0;             // of NodeDevices::counter_uses()
  std::uint32_t sets = 0;             // of NodeDevices::set_uses()
  TaintsId taints = TaintsId::kNone;  // the slice's, then the rules'
  // Not for another node (only with per-device node selection can it be false).
  bool on_node : 1 = true;
  // The slice skips node operations and this node or the features do not allow that.
  bool operations_missing : 1 = false;
  // It declares compatibility groups, and the feature is off.
  bool groups_off : 1 = false;
  // It consumes counters, and partitionable devices are off.
  bool counters_off : 1 = false;
  std::uint32_t range = 0;  // of NodeDevices::slices()

  // Whether the node or what is taken there could have something against it. Nothing can against a
  // device that is here, lacks nothing, draws on no counters and has no taints.
  bool notable() const {
    return !on_node || operations_missing || groups_off || counters_off || uses > 0 ||
           taints != TaintsId::kNone;
  }
};

// Immutable; thread-safe. Keeps the slices that it points into.
class NodeDevices {
 public:
  std::string_view node_name() const { return node_name_; }
  const Features& features() const { return features_; }
  Dictionary& dictionary() const { return *dictionary_; }

  // In search order. Devices of incomplete and invalid pools are not among devices().
  std::span<const PoolOnNode> pools() const { return pools_; }
  std::span<const NodeDevice> devices() const { return devices_; }
  // Of a pool that spans nodes those that a device of this node draws on, of others all.
  std::span<const CounterSetOnNode> counter_sets() const { return counter_sets_; }
  std::span<const CounterOnNode> counters() const { return counters_; }
  std::span<const CounterUse> counter_uses(const NodeDevice& device) const {
    return std::span(counter_uses_).subspan(device.first_use, device.uses);
  }
  std::span<const SetUse> set_uses(const NodeDevice& device) const {
    return std::span(set_uses_).subspan(device.first_set, device.sets);
  }
  // The slices whose devices are in devices(), each with its first device. A slice's devices lie
  // together, in row order.
  struct SliceRange {
    const SliceTable* slice = nullptr;
    std::uint32_t first_device = 0;
  };
  std::span<const SliceRange> slices() const { return slices_; }
  // Of devices(): those that are notable(), and those for multiple allocations.
  const base::BitSet& notable() const { return notable_; }
  const base::BitSet& shareable() const { return shareable_; }

  // The device of that name in the pool: its index in devices(), or nothing.
  std::optional<std::uint32_t> FindDevice(std::uint32_t pool, NameId device) const;
  // Of a pool that has slices for other nodes only, and counters: who draws on them, all nodes
  // together; what devices elsewhere consume is gone from the pool's counters too. Else null.
  const PoolCounters* shared_counters(std::uint32_t pool) const { return shared_[pool].counters; }
  // Keeps the above.
  const std::shared_ptr<const Slices>& shared_slices(std::uint32_t pool) const {
    return shared_[pool].slices;
  }
  // A device of the pool's other slices, those that are for other nodes only. Null when there is
  // none or it consumes nothing.
  const DeviceRow* FindElsewhere(std::uint32_t pool, NameId device) const;
  // The counter and the counter set of a pool by name, or nothing.
  std::optional<std::uint32_t> FindSet(std::uint32_t pool, NameId counter_set) const;
  std::optional<std::uint32_t> FindCounter(std::uint32_t set, NameId counter) const;

  bool any_incomplete() const { return any_incomplete_; }
  bool any_invalid() const { return any_invalid_; }

  // The numbers that its slices do not have: taints with those of rules.
  void Mark(Marker& marker) const;

  std::size_t MemoryBytes() const;

 private:
  friend class Gatherer;
  std::string node_name_;
  Features features_;
  std::shared_ptr<Dictionary> dictionary_;
  std::vector<std::shared_ptr<const SliceTable>> keep_;
  std::vector<PoolOnNode> pools_;
  std::vector<NodeDevice> devices_;
  std::vector<CounterSetOnNode> counter_sets_;
  std::vector<CounterOnNode> counters_;
  std::vector<CounterUse> counter_uses_;
  std::vector<SetUse> set_uses_;
  std::vector<SliceRange> slices_;
  base::BitSet notable_;
  base::BitSet shareable_;
  // Pool by pool as devices_ and counter_sets_, their indices sorted by NameId: to find by name.
  std::vector<std::uint32_t> devices_by_name_;
  std::vector<std::uint32_t> sets_by_name_;
  struct Shared {
    std::shared_ptr<const Slices> slices;
    const PoolCounters* counters = nullptr;  // of `slices`
  };
  std::vector<Shared> shared_;  // per pool
  bool any_incomplete_ = false;
  bool any_invalid_ = false;
};

// An error (a node selector that cannot be parsed, in any slice that had to be looked at) stops the
// allocation on every node.
StatusOr<std::shared_ptr<const NodeDevices>> Gather(const Snapshot& snapshot, const api::Node& node,
                                                    const Features& features);
// What any of several nodes can use, for questions about claims of pods on all of them; it has no node
// name. Which of them can use a device is for whoever asks to say.
StatusOr<std::shared_ptr<const NodeDevices>> GatherTogether(const Snapshot& snapshot,
                                                            std::span<const api::Node* const> nodes,
                                                            const Features& features);
// Whether the node says that its kubelet can do without node operations, and it counts.
bool OperationsOptional(const api::Node& node, const Features& features);

}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
//
// SliceTable: one ResourceSlice as rows of numbers. The unit of change: a slice that is written
// again becomes another SliceTable, and nothing else is touched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/resource_slice.h"
#include "inventory/dictionary.h"

namespace dray::inventory {

// Which nodes a slice or a device is for. Precedence: name, all, selector.
struct NodeChoice {
  NameId node{};  // valid if has_node
  bool has_node = false;
  bool all_nodes = false;
  SelectionId selector = SelectionId::kNone;
  friend bool operator==(const NodeChoice&, const NodeChoice&) = default;
};

struct AttributeEntry {
  NameId name;  // as published: "model" or "domain/model"
  ValueId value;
  friend bool operator==(const AttributeEntry&, const AttributeEntry&) = default;
};
struct CapacityEntry {
  NameId name;
  CapacityId capacity;
  friend bool operator==(const CapacityEntry&, const CapacityEntry&) = default;
};

struct DeviceRow {
  NameId name;
  std::uint32_t first_attribute = 0;
  std::uint32_t first_capacity = 0;
  std::uint32_t attributes = 0;
  std::uint32_t capacities = 0;
  ConsumptionId consumption = ConsumptionId::kNone;
  TaintsId taints = TaintsId::kNone;  // the slice's own; rules come in Gather
  ConditionsId conditions = ConditionsId::kNone;
  std::uint32_t node_choice = 0;  // of SliceTable::device_choices, with per_device_node_selection
  bool allow_multiple_allocations : 1 = false;
  bool binds_to_node : 1 = false;
  bool has_binding_conditions : 1 = false;
  bool has_groups : 1 = false;
  // An attribute has no value, or a version that is none: no expression can be evaluated.
  bool unreadable : 1 = false;
  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

struct CounterSetRow {
  NameId name;
  std::span<const CounterAmount> counters;  // sorted by NameId; lies in the table
};

// Immutable; thread-safe.
class SliceTable {
 public:
  static std::shared_ptr<const SliceTable> Create(const api::ResourceSlice& slice,
                                                  Dictionary& dictionary);

  // Differs from that of every other table of the same dictionary.
  std::uint64_t serial() const { return serial_; }
  const std::string& object_name() const { return object_name_; }
  NameId driver() const { return driver_; }
  PoolId pool() const { return pool_; }
  std::int64_t generation() const { return generation_; }
  std::int64_t slice_count() const { return slice_count_; }
  const NodeChoice& node_choice() const { return node_choice_; }
  bool per_device_node_selection() const { return per_device_node_selection_; }
  // perDeviceNodeSelection was given, with either value.
  bool mentions_per_device_node_selection() const { return mentions_per_device_; }
  bool has_shared_counters() const { return has_shared_counters_; }
  bool has_groups() const { return has_groups_; }
  bool has_binding_conditions() const { return has_binding_conditions_; }
  // A device consumes counters.
  bool has_consumption() const { return has_consumption_; }
  std::span<const std::string> skip_node_operations() const { return skip_node_operations_; }

  std::span<const DeviceRow> devices() const { return devices_; }
  std::span<const AttributeEntry> attributes(const DeviceRow& row) const;  // sorted by NameId
  std::span<const CapacityEntry> capacities(const DeviceRow& row) const;   // in key order
  const NodeChoice& choice(const DeviceRow& row) const;
  std::span<const CounterSetRow> counter_sets() const { return counter_sets_; }
  // What the device takes of the node's own resources, or null: few devices do.
  const api::Map<api::NodeAllocatableResource>* FindNodeAllocatable(const DeviceRow& row) const;
  bool has_node_allocatable() const { return !node_allocatable_.empty(); }

  // Spec notes 7.2: exactly `name`, or, when it is "<this driver>/id", the key "id".
  // `bare` is the id of the part behind the driver's domain, if `name` has that form.
  ValueId FindAttribute(const DeviceRow& row, NameId name, std::optional<NameId> bare) const;
  // Exactly `name`, or kNone.
  ValueId FindAttribute(const DeviceRow& row, NameId name) const;

  // Whether nobody could tell the two apart. Both of one dictionary.
  bool SameContent(const SliceTable& other) const;

  // Every number that the table has.
  void Mark(Marker& marker) const;

  std::size_t MemoryBytes() const;

 private:
  SliceTable() = default;
  void AddDevices(std::span<const api::Device> devices, Dictionary& dictionary);
  struct Before;
  void AddDevice(const api::Device& device, Before& before, Dictionary& dictionary);
  void AddAttributes(const api::Device& device, Before& before, DeviceRow& row,
                     Dictionary& dictionary);
  void AddCapacities(const api::Device& device, const Before& before, DeviceRow& row,
                     Dictionary& dictionary);
  void AddCounterSets(std::span<const api::CounterSet> sets, Dictionary& dictionary);

  std::uint64_t serial_ = 0;
  std::string object_name_;
  NameId driver_;
  PoolId pool_ = PoolId::kNone;
  std::int64_t generation_ = 0;
  std::int64_t slice_count_ = 0;
  NodeChoice node_choice_;
  bool per_device_node_selection_ = false;
  bool mentions_per_device_ = false;
  bool has_shared_counters_ = false;
  bool has_groups_ = false;
  bool has_binding_conditions_ = false;
  bool has_consumption_ = false;
  std::vector<std::string> skip_node_operations_;
  std::vector<DeviceRow> devices_;
  std::vector<AttributeEntry> attributes_;
  std::vector<CapacityEntry> capacities_;
  std::vector<NodeChoice> device_choices_;
  std::vector<CounterSetRow> counter_sets_;
  std::vector<CounterAmount> counters_;
  struct NodeAllocatable {
    std::uint32_t row = 0;  // of devices_
    api::Map<api::NodeAllocatableResource> resources;
    friend bool operator==(const NodeAllocatable&, const NodeAllocatable&) = default;
  };
  std::vector<NodeAllocatable> node_allocatable_;  // by row
};

}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
//
// resource.k8s.io ResourceSlice: what a driver says about its devices. v1 is the hub; v1beta2 has
// the same fields, v1beta1 another nesting (versions.h).
//
// Spec: KEP-4381 (base), 4815 (counters), 5055 (taints), 5007 (binding conditions), 5075 (capacity
// policies), 5491 (lists), 5963 (compatibility groups).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/node_selector.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::size_t kDriverNameMaxLength = 63;
inline constexpr std::size_t kPoolNameMaxLength = 253;
inline constexpr std::size_t kDeviceMaxDomainLength = 63;
inline constexpr std::size_t kDeviceMaxIDLength = 32;
inline constexpr std::size_t kResourceSliceMaxDevices = 128;
inline constexpr std::size_t kResourceSliceMaxDevicesWithAdvancedFeatures = 64;
inline constexpr std::size_t kResourceSliceMaxAttributesAndCapacitiesPerDevice = 32;
inline constexpr std::size_t kResourceSliceMaxAttributeValuesPerDevice = 48;
inline constexpr std::size_t kDeviceAttributeMaxValueLength = 64;
inline constexpr std::size_t kDeviceTaintsMaxLength = 16;
inline constexpr std::size_t kBindingConditionsMaxSize = 4;
inline constexpr std::size_t kBindingFailureConditionsMaxSize = 4;
inline constexpr std::size_t kResourceSliceMaxCounterSets = 8;
inline constexpr std::size_t kResourceSliceMaxCountersPerCounterSet = 32;
inline constexpr std::size_t kResourceSliceMaxDeviceCounterConsumptionsPerDevice = 2;
inline constexpr std::size_t kResourceSliceMaxCountersPerDeviceCounterConsumption = 32;
inline constexpr std::size_t kDeviceCompatibilityGroupsMaxSize = 2;
inline constexpr std::size_t kCapacityRequestPolicyDiscreteMaxOptions = 10;
// KEP-5491's own form of lists.
inline constexpr std::size_t kListAttributeMaxItems = 64;

inline constexpr std::string_view kTaintEffectNone = "None";
inline constexpr std::string_view kTaintEffectNoSchedule = "NoSchedule";
inline constexpr std::string_view kTaintEffectNoExecute = "NoExecute";

inline constexpr std::string_view kSkipNodePrepareResources = "NodePrepareResources";
inline constexpr std::string_view kSkipNodeUnprepareResources = "NodeUnprepareResources";
inline constexpr std::string_view kSkipAllNodeOperations = "*";

// KEP-5491's form of a list value: `list: {string: [...]}`.
struct ListAttribute {
  Box<std::vector<std::int64_t>> int_value;
  Box<std::vector<BoolItem>> bool_value;
  Box<std::vector<std::string>> string_value;
  Box<std::vector<std::string>> version_value;
  UnknownFields unknown;
  friend bool operator==(const ListAttribute&, const ListAttribute&) = default;
};
const StructInfo& InfoOf(const ListAttribute*);

// The list members of a device attribute: Kubernetes's forms and the proposal's. A list that is set
// but empty differs from an unset one.
struct AttributeLists {
  Box<std::vector<std::int64_t>> int_values;
  Box<std::vector<BoolItem>> bool_values;
  Box<std::vector<std::string>> string_values;
  Box<std::vector<std::string>> version_values;
  Box<ListAttribute> list_value;
  UnknownFields unknown;
  friend bool operator==(const AttributeLists&, const AttributeLists&) = default;
};

// A union: validation wants exactly one of the members. Lists come in two forms, Kubernetes's
// (`strings: [...]`) and the proposal's (`list: {string: [...]}`); each is returned as it was
// written. There are more attributes than anything else in a cluster, so what few of them have
// (lists, unknown fields) shares one pointer.
struct DeviceAttribute {
  std::optional<std::int64_t> int_value;
  base::OptionalText string_value;
  base::OptionalText version_value;
  std::optional<bool> bool_value;
  Box<AttributeLists> lists;

  // The lists, or a value without any.
  const AttributeLists& Lists() const;
  AttributeLists& MutableLists() {
    if (!lists.has_value()) lists.emplace();
    return *lists;
  }
  friend bool operator==(const DeviceAttribute& a, const DeviceAttribute& b) {
    return a.int_value == b.int_value && a.string_value == b.string_value &&
           a.version_value == b.version_value && a.bool_value == b.bool_value &&
           a.Lists() == b.Lists();
  }
};
const StructInfo& InfoOf(const DeviceAttribute*);

struct CapacityRequestPolicyRange {
  std::optional<base::Quantity> min;
  std::optional<base::Quantity> max;
  std::optional<base::Quantity> step;
  UnknownFields unknown;
  friend bool operator==(const CapacityRequestPolicyRange&,
                         const CapacityRequestPolicyRange&) = default;
};
const StructInfo& InfoOf(const CapacityRequestPolicyRange*);

struct CapacityRequestPolicy {
  std::optional<base::Quantity> default_value;
  std::vector<base::Quantity> valid_values;
  Box<CapacityRequestPolicyRange> valid_range;
  UnknownFields unknown;
  friend bool operator==(const CapacityRequestPolicy&, const CapacityRequestPolicy&) = default;
};
const StructInfo& InfoOf(const CapacityRequestPolicy*);

struct DeviceCapacity {
  base::Quantity value;
  Box<CapacityRequestPolicy> request_policy;
  UnknownFields unknown;
  friend bool operator==(const DeviceCapacity&, const DeviceCapacity&) = default;
};
const StructInfo& InfoOf(const DeviceCapacity*);

struct Counter {
  base::Quantity value;
  UnknownFields unknown;
  friend bool operator==(const Counter&, const Counter&) = default;
};
const StructInfo& InfoOf(const Counter*);

struct CounterSet {
  std::string name;
  Map<Counter> counters;
  UnknownFields unknown;
  friend bool operator==(const CounterSet&, const CounterSet&) = default;
};
const StructInfo& InfoOf(const CounterSet*);

struct DeviceCounterConsumption {
  std::string counter_set;
  Map<Counter> counters;
  std::vector<std::string> compatibility_groups;  // none and empty mean the same: no groups
  UnknownFields unknown;
  friend bool operator==(const DeviceCounterConsumption&,
                         const DeviceCounterConsumption&) = default;
};
const StructInfo& InfoOf(const DeviceCounterConsumption*);

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;
  std::optional<base::Time> time_added;
  UnknownFields unknown;
  friend bool operator==(const DeviceTaint&, const DeviceTaint&) = default;
};
const StructInfo& InfoOf(const DeviceTaint*);

struct NodeAllocatableMapping {
  std::optional<std::string> capacity_key;
  std::optional<base::Quantity> capacity_multiplier;
  std::optional<base::Quantity> device_multiplier;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableMapping&, const NodeAllocatableMapping&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableMapping*);

struct NodeAllocatableOverhead {
  std::optional<base::Quantity> per_pod;
  std::optional<base::Quantity> per_container;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableOverhead&, const NodeAllocatableOverhead&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableOverhead*);

struct NodeAllocatableResource {
  Box<NodeAllocatableMapping> mapping;
  Box<NodeAllocatableOverhead> overhead;
  UnknownFields unknown;
  friend bool operator==(const NodeAllocatableResource&, const NodeAllocatableResource&) = default;
};
const StructInfo& InfoOf(const NodeAllocatableResource*);

struct Device {
  std::string name;
  Map<DeviceAttribute> attributes;
  Map<DeviceCapacity> capacity;
  std::vector<DeviceCounterConsumption> consumes_counters;
  Box<std::string> node_name;
  Box<NodeSelector> node_selector;
  std::optional<bool> all_nodes;
  std::vector<DeviceTaint> taints;
  std::optional<bool> binds_to_node;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<bool> allow_multiple_allocations;
  Map<NodeAllocatableResource> node_allocatable_resources;
  UnknownFields unknown;
  friend bool operator==(const Device&, const Device&) = default;
};
const StructInfo& InfoOf(const Device*);

struct ResourcePool {
  std::string name;
  std::int64_t generation = 0;
  std::int64_t resource_slice_count = 0;
  UnknownFields unknown;
  friend bool operator==(const ResourcePool&, const ResourcePool&) = default;
};
const StructInfo& InfoOf(const ResourcePool*);

struct ResourceSliceSpec {
  std::string driver;
  ResourcePool pool;
  std::optional<std::string> node_name;
  Box<NodeSelector> node_selector;
  std::optional<bool> all_nodes;
  // Set but empty differs from unset: a slice has devices or shared counters, not both.
  std::optional<std::vector<Device>> devices;
  std::optional<bool> per_device_node_selection;
  std::optional<std::vector<CounterSet>> shared_counters;
  std::optional<std::string> partition_type_attribute;
  std::vector<std::string> skip_node_operations;
  UnknownFields unknown;
  friend bool operator==(const ResourceSliceSpec&, const ResourceSliceSpec&) = default;
};
const StructInfo& InfoOf(const ResourceSliceSpec*);

struct ResourceSlice {
  ObjectMeta metadata;
  ResourceSliceSpec spec;
  UnknownFields unknown;
  friend bool operator==(const ResourceSlice&, const ResourceSlice&) = default;
};
const StructInfo& InfoOf(const ResourceSlice*);

}  // namespace dray::api

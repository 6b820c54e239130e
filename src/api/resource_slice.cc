// SPDX-License-Identifier: Apache-2.0
#include "api/resource_slice.h"

namespace dray::api {

const StructInfo& InfoOf(const ListAttribute*) {
  using T = ListAttribute;
  static const StructInfo info = Struct<T>("ListAttribute", {
                                                                Field<&T::int_value>("int"),
                                                                Field<&T::bool_value>("bool"),
                                                                Field<&T::string_value>("string"),
                                                                Field<&T::version_value>("version"),
                                                            });
  return info;
}

namespace {

// A member of AttributeLists as a field of the attribute itself.
template <auto Member>
FieldInfo ListField(std::string_view name) {
  FieldInfo field = Field<Member>(name, {.gate = Gate::kDRAListTypeAttributes});
  field.plain_member = false;
  field.get = [](const void* object) -> const void* {
    const auto& lists = static_cast<const DeviceAttribute*>(object)->lists;
    return lists.has_value() ? static_cast<const void*>(&((*lists).*Member)) : nullptr;
  };
  field.mut = [](void* object) -> void* {
    return &(static_cast<DeviceAttribute*>(object)->MutableLists().*Member);
  };
  return field;
}

}  // namespace

const AttributeLists& DeviceAttribute::Lists() const {
  static const AttributeLists none;
  return lists.has_value() ? *lists : none;
}

const StructInfo& InfoOf(const DeviceAttribute*) {
  using T = DeviceAttribute;
  static const StructInfo info = [] {
    StructInfo table =
        Struct<T>("DeviceAttribute", {
                                         Field<&T::int_value>("int"),
                                         Field<&T::bool_value>("bool"),
                                         Field<&T::string_value>("string"),
                                         Field<&T::version_value>("version"),
                                         ListField<&AttributeLists::int_values>("ints"),
                                         ListField<&AttributeLists::bool_values>("bools"),
                                         ListField<&AttributeLists::string_values>("strings"),
                                         ListField<&AttributeLists::version_values>("versions"),
                                         ListField<&AttributeLists::list_value>("list"),
                                     });
    table.unknown = [](const void* object) {
      return &static_cast<const T*>(object)->Lists().unknown;
    };
    table.mutable_unknown = [](void* object) {
      return &static_cast<T*>(object)->MutableLists().unknown;
    };
    return table;
  }();
  return info;
}

const StructInfo& InfoOf(const CapacityRequestPolicyRange*) {
  using T = CapacityRequestPolicyRange;
  static const StructInfo info =
      Struct<T>("CapacityRequestPolicyRange", {
                                                  Field<&T::min>("min"),
                                                  Field<&T::max>("max"),
                                                  Field<&T::step>("step"),
                                              });
  return info;
}

const StructInfo& InfoOf(const CapacityRequestPolicy*) {
  using T = CapacityRequestPolicy;
  static const StructInfo info =
      Struct<T>("CapacityRequestPolicy",
                {
                    Field<&T::default_value>("default", {.presence = Presence::kAlways}),
                    Field<&T::valid_values>("validValues"),
                    Field<&T::valid_range>("validRange"),
                });
  return info;
}

const StructInfo& InfoOf(const DeviceCapacity*) {
  using T = DeviceCapacity;
  static const StructInfo info = Struct<T>(
      "DeviceCapacity",
      {
          Field<&T::value>("value", {.presence = Presence::kAlways}),
          Field<&T::request_policy>("requestPolicy", {.gate = Gate::kDRAConsumableCapacity}),
      });
  return info;
}

const StructInfo& InfoOf(const Counter*) {
  using T = Counter;
  static const StructInfo info =
      Struct<T>("Counter", {
                               Field<&T::value>("value", {.presence = Presence::kAlways}),
                           });
  return info;
}

const StructInfo& InfoOf(const CounterSet*) {
  using T = CounterSet;
  static const StructInfo info =
      Struct<T>("CounterSet", {
                                  Field<&T::name>("name", {.presence = Presence::kAlways}),
                                  Field<&T::counters>("counters"),
                              });
  return info;
}

const StructInfo& InfoOf(const DeviceCounterConsumption*) {
  using T = DeviceCounterConsumption;
  static const StructInfo info =
      Struct<T>("DeviceCounterConsumption",
                {
                    Field<&T::counter_set>("counterSet", {.presence = Presence::kAlways}),
                    Field<&T::counters>("counters"),
                    Field<&T::compatibility_groups>("compatibilityGroups",
                                                    {.gate = Gate::kDRADeviceCompatibilityGroups}),
                });
  return info;
}

const StructInfo& InfoOf(const DeviceTaint*) {
  using T = DeviceTaint;
  static const StructInfo info =
      Struct<T>("DeviceTaint", {
                                   Field<&T::key>("key", {.presence = Presence::kAlways}),
                                   Field<&T::value>("value"),
                                   Field<&T::effect>("effect", {.presence = Presence::kAlways}),
                                   Field<&T::time_added>("timeAdded"),
                               });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableMapping*) {
  using T = NodeAllocatableMapping;
  static const StructInfo info =
      Struct<T>("NodeAllocatableMapping", {
                                              Field<&T::capacity_key>("capacityKey"),
                                              Field<&T::capacity_multiplier>("capacityMultiplier"),
                                              Field<&T::device_multiplier>("deviceMultiplier"),
                                          });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableOverhead*) {
  using T = NodeAllocatableOverhead;
  static const StructInfo info =
      Struct<T>("NodeAllocatableOverhead", {
                                               Field<&T::per_pod>("perPod"),
                                               Field<&T::per_container>("perContainer"),
                                           });
  return info;
}

const StructInfo& InfoOf(const NodeAllocatableResource*) {
  using T = NodeAllocatableResource;
  static const StructInfo info =
      Struct<T>("NodeAllocatableResource", {
                                               Field<&T::mapping>("mapping"),
                                               Field<&T::overhead>("overhead"),
                                           });
  return info;
}

const StructInfo& InfoOf(const Device*) {
  using T = Device;
  static const StructInfo info = Struct<T>(
      "Device",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::attributes>("attributes"),
          Field<&T::capacity>("capacity"),
          Field<&T::consumes_counters>("consumesCounters",
                                       {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::node_name>("nodeName", {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::node_selector>("nodeSelector", {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::all_nodes>("allNodes", {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::taints>("taints", {.gate = Gate::kDRADeviceTaints}),
          Field<&T::binds_to_node>("bindsToNode", {.gate = Gate::kDRADeviceBindingConditions}),
          Field<&T::binding_conditions>("bindingConditions",
                                        {.gate = Gate::kDRADeviceBindingConditions}),
          Field<&T::binding_failure_conditions>("bindingFailureConditions",
                                                {.gate = Gate::kDRADeviceBindingConditions}),
          Field<&T::allow_multiple_allocations>("allowMultipleAllocations",
                                                {.gate = Gate::kDRAConsumableCapacity}),
          Field<&T::node_allocatable_resources>("nodeAllocatableResources",
                                                {.gate = Gate::kDRANodeAllocatableResources}),
      });
  return info;
}

const StructInfo& InfoOf(const ResourcePool*) {
  using T = ResourcePool;
  static const StructInfo info = Struct<T>(
      "ResourcePool",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::generation>("generation", {.presence = Presence::kAlways}),
          Field<&T::resource_slice_count>("resourceSliceCount", {.presence = Presence::kAlways}),
      });
  return info;
}

const StructInfo& InfoOf(const ResourceSliceSpec*) {
  using T = ResourceSliceSpec;
  static const StructInfo info = Struct<T>(
      "ResourceSliceSpec",
      {
          Field<&T::driver>("driver", {.presence = Presence::kAlways}),
          Field<&T::pool>("pool", {.presence = Presence::kAlways}),
          Field<&T::node_name>("nodeName"),
          Field<&T::node_selector>("nodeSelector"),
          Field<&T::all_nodes>("allNodes"),
          Field<&T::devices>("devices"),
          Field<&T::per_device_node_selection>("perDeviceNodeSelection",
                                               {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::shared_counters>("sharedCounters", {.gate = Gate::kDRAPartitionableDevices}),
          Field<&T::partition_type_attribute>("partitionTypeAttribute",
                                              {.gate = Gate::kDRAPartitionableDevicesType}),
          Field<&T::skip_node_operations>("skipNodeOperations",
                                          {.list = ListKind::kSet,
                                           .gate = Gate::kDRAOptionalNodeOperations,
                                           .patch_key = kPatchReplaces}),
      });
  return info;
}

const StructInfo& InfoOf(const ResourceSlice*) {
  using T = ResourceSlice;
  static const StructInfo info =
      Struct<T>("ResourceSlice", {
                                     Field<&T::metadata>("metadata"),
                                     Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                                 });
  return info;
}

}  // namespace dray::api

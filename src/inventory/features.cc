// SPDX-License-Identifier: Apache-2.0
#include "inventory/features.h"

namespace dray::inventory {

Features Features::From(const api::FeatureGates& gates) {
  using enum api::Gate;
  return {
      .admin_access = gates.Enabled(kDRAAdminAccess),
      .compatibility_groups = gates.Enabled(kDRADeviceCompatibilityGroups),
      .consumable_capacity = gates.Enabled(kDRAConsumableCapacity),
      .derived_attributes = gates.Enabled(kDRADerivedAttributes),
      // A condition is reported in the claim's status: without that field it would never be met.
      .device_binding_and_status = gates.Enabled(kDRADeviceBindingConditions) &&
                                   gates.Enabled(kDRAResourceClaimDeviceStatus),
      .device_taints = gates.Enabled(kDRADeviceTaints),
      .fractional_capacity_range = gates.Enabled(kDRAFractionalCapacityRange),
      .list_type_attributes = gates.Enabled(kDRAListTypeAttributes),
      .optional_node_operations = gates.Enabled(kDRAOptionalNodeOperations),
      .partitionable_devices = gates.Enabled(kDRAPartitionableDevices),
      .prioritized_list = gates.Enabled(kDRAPrioritizedList),
  };
}

Features Features::All() {
  return {.admin_access = true,
          .compatibility_groups = true,
          .consumable_capacity = true,
          .derived_attributes = true,
          .device_binding_and_status = true,
          .device_taints = true,
          .fractional_capacity_range = true,
          .list_type_attributes = true,
          .optional_node_operations = true,
          .partitionable_devices = true,
          .prioritized_list = true};
}

}  // namespace dray::inventory

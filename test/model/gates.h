// SPDX-License-Identifier: Apache-2.0
//
// The gates with which a server and a scheduler do what the model does with all of its features.
#pragma once

#include "api/gates.h"

namespace dray::model {

inline api::FeatureGates AllDeviceGates() {
  using enum api::Gate;
  api::FeatureGates gates;
  for (const api::Gate gate :
       {kDRAAdminAccess, kDRAConsumableCapacity, kDRADerivedAttributes, kDRADeviceBindingConditions,
        kDRADeviceCompatibilityGroups, kDRADeviceTaintRules, kDRADeviceTaints, kDRAExtendedResource,
        kDRAFractionalCapacityRange, kDRAListTypeAttributes, kNodeDeclaredFeatures,
        kDRAOptionalNodeOperations, kDRAPartitionableDevices, kDRAPrioritizedList,
        kDRAResourceClaimDeviceStatus}) {
    gates.Set(gate, true);
  }
  return gates;
}

}  // namespace dray::model

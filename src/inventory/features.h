// SPDX-License-Identifier: Apache-2.0
//
// The feature gates that decide which devices can be given away and how.
#pragma once

#include "api/gates.h"

namespace dray::inventory {

// What each one being off means: spec notes on the allocator, chapter 13, and docs/decisions.md.
struct Features {
  bool admin_access = false;
  bool compatibility_groups = false;
  bool consumable_capacity = false;
  bool derived_attributes = false;
  bool device_binding_and_status = false;
  bool device_taints = false;
  bool fractional_capacity_range = false;
  bool list_type_attributes = false;
  bool optional_node_operations = false;
  bool partitionable_devices = false;
  bool prioritized_list = false;

  static Features From(const api::FeatureGates& gates);
  static Features All();
  friend bool operator==(const Features&, const Features&) = default;
};

}  // namespace dray::inventory

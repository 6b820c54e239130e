// SPDX-License-Identifier: Apache-2.0
//
// What allocated claims hold, as a scheduler derives it from their statuses.
// Spec: docs/spec/allocator.md 1; KEP-5963 for the groups that a result remembers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "model/instance.h"

namespace dray::model {

struct Taken {
  std::set<DeviceId> exclusive;
  std::set<DeviceId> shared;  // devices that have a share
  std::map<DeviceId, std::map<std::string, base::Quantity>> consumed;
  // Every result that counts, per device, in the order of the claims.
  std::map<DeviceId, std::vector<const api::DeviceRequestAllocationResult*>> results;

  bool Holds(const DeviceId& id) const { return exclusive.contains(id) || shared.contains(id); }
};

// Points into the instance.
Taken WhatIsTaken(const Instance& instance);

}  // namespace dray::model

// SPDX-License-Identifier: Apache-2.0
#include "model/taken.h"

namespace dray::model {

Taken WhatIsTaken(const Instance& instance) {
  Taken taken;
  for (const api::ResourceClaim& claim : instance.allocated_claims) {
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.admin_access.value_or(false)) continue;
      const DeviceId id{result.driver, result.pool, result.device};
      taken.results[id].push_back(&result);
      if (!instance.features.consumable_capacity || !result.share_id) {
        taken.exclusive.insert(id);
        continue;
      }
      taken.shared.insert(id);
      for (const auto& [name, amount] : result.consumed_capacity) {
        taken.consumed[id][name.str()] += amount;
      }
    }
  }
  return taken;
}

}  // namespace dray::model

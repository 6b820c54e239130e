// SPDX-License-Identifier: Apache-2.0
//
// What metrics ask about claims.
#pragma once

#include <algorithm>

#include "api/resource_claim.h"

namespace dray::plane::internal {

inline bool AsksForAdminAccess(const api::ResourceClaim& claim) {
  return std::ranges::any_of(claim.spec.devices.requests, [](const api::DeviceRequest& request) {
    return request.exactly.has_value() && request.exactly->admin_access.value_or(false);
  });
}

}  // namespace dray::plane::internal

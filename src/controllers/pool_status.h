// SPDX-License-Identifier: Apache-2.0
//
// What a pool of devices has and what is left of it, as a ResourcePoolStatusRequest is answered.
// Pure.
//
// Spec: KEP-5677.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/device_class.h"
#include "api/pool_status_request.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::controllers {

// The machine-readable beginning of PoolStatus::validation_error for a pool that is being published.
inline constexpr std::string_view kPoolIncomplete = "PoolIncomplete:";

struct PoolContents {
  std::span<const api::ResourceSlice* const> slices;   // of this pool, of any generation
  std::span<const api::ResourceClaim* const> claims;   // those that have devices of it, and others
  std::span<const api::DeviceTaintRule* const> rules;  // all that count
};
// `partition_attribute`: tells partitions apart where no slice of the pool names an attribute.
api::PoolStatus PoolStatusOf(std::string_view driver, std::string_view pool,
                             const PoolContents& contents,
                             const std::optional<std::string>& partition_attribute);

}  // namespace dray::controllers

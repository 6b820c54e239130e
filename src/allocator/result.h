// SPDX-License-Identifier: Apache-2.0
//
// Results: chosen devices as the API's AllocationResult.
//
// Spec: docs/spec/allocator.md chapter 12; KEP-5963 for the snapshot of groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocator/allocator.h"

namespace dray::allocator {

// `placed` in the order of the search; `chosen` the alternative of each request.
StatusOr<std::vector<api::AllocationResult>> BuildResults(const Attempt& attempt,
                                                          std::span<const PlacedDevice> placed,
                                                          std::span<const std::uint32_t> chosen,
                                                          ShareIds& share_ids);

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// How much of a device's capacity a request consumes, and whether the device's policy allows it.
//
// Spec: KEP-5075 "API enhancement"; docs/spec/allocator.md chapter 10. Pure arithmetic; knows
// neither claims nor ledgers.
#pragma once

#include <optional>

#include "api/resource_slice.h"
#include "base/quantity.h"

namespace dray::allocator {

// Whether steps of the range are counted in thousandths instead of whole units: every bound is
// exact in 64 bits of thousandths, and the feature is on.
bool CountsInMilli(const api::CapacityRequestPolicyRange& range, bool fractional_capacity_range);

// Whether what a request for `requested` (null: no request) consumes would have to be counted in
// steps of nothing or less. Validation does not let them in, and Kubernetes divides by them.
bool NeedsBrokenStep(const base::Quantity* requested, const api::DeviceCapacity& capacity);

// What a request for `requested` (null: no request) consumes of the capacity: rounded up as the
// policy says, never down and never clamped to its maximum. Nothing when the amount leaves the 64
// bits that steps are counted in.
std::optional<base::Quantity> ConsumedAmount(const base::Quantity* requested,
                                             const api::DeviceCapacity& capacity,
                                             bool fractional_capacity_range);

// Whether a consumed amount is one that the policy (null: none) does not have. The default is
// always allowed.
bool ViolatesPolicy(const base::Quantity& amount, const api::CapacityRequestPolicy* policy,
                    bool fractional_capacity_range);

}  // namespace dray::allocator

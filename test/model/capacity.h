// SPDX-License-Identifier: Apache-2.0
//
// Consumable capacity: what one request takes of a device, and whether that is allowed.
// Spec: docs/spec/allocator.md 10; KEP-5075 "API enhancement". Where Kubernetes gives up on the
// whole attempt (an amount that its arithmetic cannot hold, a negative one), dray's device is not
// eligible; the answers stay apart here so that both can be seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/quantity.h"

namespace dray::model {

using Amounts = std::map<std::string, base::Quantity>;

// The amount in thousandths, if it is a whole number of them and fits in 64 bits.
std::optional<std::int64_t> ExactMilli(const base::Quantity& amount);
// Whether steps are counted in thousandths instead of whole units.
bool CountsInMilli(const api::CapacityRequestPolicyRange& range, bool fractional);

// What is consumed of one capacity; `request` may be null. Nothing: cannot be held. Throws Abort
// for a step that is not positive.
std::optional<base::Quantity> ConsumedOf(const base::Quantity* request,
                                         const api::DeviceCapacity& capacity, bool fractional);
bool ViolatesPolicy(const base::Quantity& amount, const api::CapacityRequestPolicy* policy,
                    bool fractional);

// The requested amounts by the device's own names: a name is taken literally if the device has it,
// else with the driver's domain added or removed. Nothing: the device has no such capacity.
std::optional<Amounts> RequestedAmounts(const api::CapacityRequirements* request,
                                        std::string_view driver,
                                        const api::Map<api::DeviceCapacity>& capacity);

// What the device calls the capacity that a claim recorded as `name`: the same, or with the
// driver's domain added or removed if it was published so then.
std::string PublishedName(const std::string& name, std::string_view driver,
                          const api::Map<api::DeviceCapacity>& capacity);

enum class Fit : std::uint8_t { kFits, kDoesNotFit, kNotRepresentable };
struct FitResult {
  Fit fit = Fit::kFits;
  Amounts consumed;  // per capacity of the device, when it fits
};
// Throws Abort, before anything else is decided, when one of the capacities has a step that is not
// positive and would be needed: Kubernetes, which takes capacities in any order, may crash then.
FitResult Fits(const api::CapacityRequirements* request, std::string_view driver,
               const api::Map<api::DeviceCapacity>& capacity, const Amounts& already,
               bool fractional);

}  // namespace dray::model

// SPDX-License-Identifier: Apache-2.0
#include "allocator/capacity.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "absl/numeric/int128.h"

namespace dray::allocator {
namespace {

using base::Quantity;

// A quantity in the unit of steps: whole numbers, or thousandths. Rounded up in the first case as
// Kubernetes does, exact in the second. Nothing when it does not fit.
std::optional<std::int64_t> InUnits(const Quantity& quantity, bool milli) {
  if (milli) return quantity.ExactScaled(Quantity::kMilli);
  Quantity whole = quantity;
  whole.RoundUp(0);
  return whole.ExactInt64();
}

Quantity FromUnits(std::int64_t units, bool milli, Quantity::Format format) {
  if (!milli) return Quantity::FromInt(units, format);
  if (units % 1000 == 0) return Quantity::FromInt(units / 1000, format);
  return Quantity::FromMilli(units, format);
}

std::optional<Quantity> RoundUpToStep(const Quantity& requested,
                                      const api::CapacityRequestPolicyRange& range, bool milli) {
  // KEP-5075: up to the nearest valid amount. All bounds are whole thousandths, so the next one of
  // these does not pass any of them. [differs] Kubernetes refuses a finer request. #74.
  Quantity wanted = requested;
  if (milli) wanted.RoundUp(Quantity::kMilli);
  const auto amount = InUnits(wanted, milli);
  const auto min = InUnits(*range.min, milli);
  const auto step = InUnits(*range.step, milli);
  if (!amount || !min || !step || *step <= 0) return std::nullopt;
  const absl::int128 above = absl::int128(*amount) - *min;
  const absl::int128 steps = (above + *step - 1) / *step;
  const absl::int128 rounded = *min + steps * *step;
  if (rounded > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return FromUnits(static_cast<std::int64_t>(rounded), milli, range.step->format());
}

std::optional<Quantity> RoundUpInRange(const Quantity& requested,
                                       const api::CapacityRequestPolicyRange& range,
                                       bool fractional) {
  if (requested < *range.min) return *range.min;
  if (!range.step.has_value()) return requested;
  return RoundUpToStep(requested, range, CountsInMilli(range, fractional));
}

bool ViolatesRange(const Quantity& amount, const api::CapacityRequestPolicyRange& range,
                   bool fractional) {
  if (range.max.has_value() && amount > *range.max) return true;
  if (!range.step.has_value()) return false;
  const bool milli = CountsInMilli(range, fractional);
  const auto units = InUnits(amount, milli);
  const auto step = InUnits(*range.step, milli);
  const auto min = range.min.has_value() ? InUnits(*range.min, milli) : 0;
  if (!units || !min || !step || *step <= 0) return true;
  return (absl::int128(*units) - *min) % *step != 0;
}

}  // namespace

bool CountsInMilli(const api::CapacityRequestPolicyRange& range, bool fractional_capacity_range) {
  if (!fractional_capacity_range) return false;
  const auto fits = [](const std::optional<Quantity>& bound) {
    return !bound.has_value() || bound->ExactScaled(Quantity::kMilli).has_value();
  };
  if (!fits(range.min) || !fits(range.max) || !fits(range.step)) return false;
  return !range.step.has_value() || *range.step->ExactScaled(Quantity::kMilli) >= 1;
}

bool NeedsBrokenStep(const Quantity* requested, const api::DeviceCapacity& capacity) {
  if (!capacity.request_policy.has_value() || !capacity.request_policy->valid_range.has_value()) {
    return false;
  }
  const api::CapacityRequestPolicyRange& range = *capacity.request_policy->valid_range;
  if (!range.step.has_value() || range.step->Sign() > 0) return false;
  // To round up takes steps; so does looking at an amount, unless something else settles it first.
  if (requested != nullptr && range.min.has_value() && *requested >= *range.min) return true;
  const Quantity amount = *ConsumedAmount(requested, capacity, false);
  const std::optional<Quantity>& usual = capacity.request_policy->default_value;
  return !(usual.has_value() && amount == *usual) &&
         !(range.max.has_value() && amount > *range.max);
}

std::optional<Quantity> ConsumedAmount(const Quantity* requested,
                                       const api::DeviceCapacity& capacity,
                                       bool fractional_capacity_range) {
  const api::CapacityRequestPolicy* policy =
      capacity.request_policy.has_value() ? &*capacity.request_policy : nullptr;
  if (requested == nullptr) {
    return policy != nullptr && policy->default_value.has_value() ? *policy->default_value
                                                                  : capacity.value;
  }
  if (policy == nullptr) return *requested;
  if (policy->valid_range.has_value() && policy->valid_range->min.has_value()) {
    return RoundUpInRange(*requested, *policy->valid_range, fractional_capacity_range);
  }
  const auto it = std::ranges::find_if(policy->valid_values,
                                       [&](const Quantity& value) { return *requested <= value; });
  return it != policy->valid_values.end() ? *it : *requested;
}

bool ViolatesPolicy(const Quantity& amount, const api::CapacityRequestPolicy* policy,
                    bool fractional_capacity_range) {
  if (policy == nullptr) return false;
  if (policy->default_value.has_value() && amount == *policy->default_value) return false;
  if (policy->valid_range.has_value()) {
    return ViolatesRange(amount, *policy->valid_range, fractional_capacity_range);
  }
  return !policy->valid_values.empty() &&
         std::ranges::find(policy->valid_values, amount) == policy->valid_values.end();
}

}  // namespace dray::allocator

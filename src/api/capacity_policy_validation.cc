// SPDX-License-Identifier: Apache-2.0
//
// The request policy of a capacity (KEP-5075): which amounts a device gives away.
//
// With DRAFractionalCapacityRange a range that has a fraction anywhere is reckoned in thousandths,
// otherwise in whole units, rounded up, within 64 bits.
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "api/internal/device_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

using base::Quantity;

const Quantity& MaxInt64() {
  static const Quantity max = Quantity::FromInt(std::numeric_limits<std::int64_t>::max());
  return max;
}

// One of the amounts that make up a range.
struct Bound {
  std::string_view field;
  const Quantity* amount;  // null: not set
};
using Bounds = std::array<Bound, 4>;

Bounds BoundsOf(const Quantity& default_value, const CapacityRequestPolicyRange& range) {
  const auto amount = [](const std::optional<Quantity>& q) { return q ? &*q : nullptr; };
  return {{{"default", &default_value},
           {"min", amount(range.min)},
           {"max", amount(range.max)},
           {"step", amount(range.step)}}};
}

void CheckAscending(Report& report, const Path& at, const std::vector<Quantity>& values) {
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i - 1] > values[i]) {
      report.InvalidQuantity(at.Index(i), values[i], "must not be less than the value before it");
    }
  }
}

// Without the gate 100m and 200m are both 1, as Kubernetes rounds them.
void CheckDistinct(Report& report, const Path& at, const std::vector<Quantity>& values,
                   bool fractional) {
  base::StringSet seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Quantity& value = values[i];
    if (!seen.insert(fractional ? value.DecimalKey() : std::to_string(value.Value())).second) {
      report.Duplicate(at.Index(i), value.ToString());
    }
  }
}

// The proposal wants amounts of at least zero; Kubernetes only looks at ranges with a step.
// Whether it is one.
bool CheckNotNegative(Report& report, const Path& at, const Quantity& amount) {
  if (!report.OwnRules() || amount.Sign() >= 0) return true;
  report.InvalidQuantity(at, amount, "must be at least 0");
  return false;
}

void CheckValidValues(Report& report, const Path& at, const Quantity& capacity,
                      const Quantity& default_value, const std::vector<Quantity>& values) {
  CheckAscending(report, at, values);
  bool has_default = false;
  if (CheckSize(report, at, values.size(), kCapacityRequestPolicyDiscreteMaxOptions)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      CheckNotNegative(report, at.Index(i), values[i]);
      if (values[i] > capacity) {
        report.InvalidQuantity(
            at.Index(i), values[i],
            fmt::format("must be at most the capacity's value {}", capacity.ToString()));
      }
      has_default = has_default || values[i] == default_value;
    }
    CheckDistinct(report, at, values, report.Enabled(Gate::kDRAFractionalCapacityRange));
  }
  if (!has_default) {
    report.InvalidQuantity(at, default_value, "must contain the default");
  }
}

void CheckLimits(Report& report, const Path& at, const Quantity& capacity,
                 const Quantity& default_value, const CapacityRequestPolicyRange& range) {
  const auto at_most = [](std::string_view what, const Quantity& limit) {
    return fmt::format("must be at most {} {}", what, limit.ToString());
  };
  if (*range.min > capacity) {
    report.InvalidQuantity(at.Child("min"), *range.min, at_most("the capacity's value", capacity));
  }
  if (default_value < *range.min) {
    report.InvalidQuantity(at.Child("default"), default_value,
                           fmt::format("must be at least min {}", range.min->ToString()));
  }
  if (!range.max) return;
  if (*range.min > *range.max) {
    report.InvalidQuantity(at.Child("max"), *range.max,
                           fmt::format("must be at least min {}", range.min->ToString()));
  }
  if (*range.max > capacity) {
    report.InvalidQuantity(at.Child("max"), *range.max, at_most("the capacity's value", capacity));
  }
  if (default_value > *range.max) {
    report.InvalidQuantity(at.Child("default"), default_value, at_most("max", *range.max));
  }
}

// Whether every bound is a whole number of thousandths that fits in 64 bits.
bool CheckMilli(Report& report, const Path& at, const Bounds& bounds) {
  bool fits = true;
  for (const Bound& bound : bounds) {
    if (bound.amount == nullptr || bound.amount->ExactScaled(Quantity::kMilli)) continue;
    report.InvalidQuantity(at.Child(bound.field), *bound.amount,
                           "must be a whole number of thousandths below 2^63, as all of a range "
                           "with fractions");
    fits = false;
  }
  return fits;
}

bool CheckInt64(Report& report, const Path& at, const Bounds& bounds) {
  bool fits = true;
  for (const Bound& bound : bounds) {
    if (bound.amount == nullptr) continue;
    if (bound.amount->Sign() >= 0 && *bound.amount <= MaxInt64()) continue;
    report.InvalidQuantity(at.Child(bound.field), *bound.amount,
                           "must be from 0 to 9223372036854775807 in a range with a step");
    fits = false;
  }
  return fits;
}

std::int64_t InUnits(const Quantity& amount, bool milli) {
  return milli ? amount.MilliValue() : amount.Value();
}

void CheckOnGrid(Report& report, const Path& at, const Quantity& value,
                 const CapacityRequestPolicyRange& range, bool milli) {
  // Within 64 bits each, so that their difference fits in 128.
  const __int128 distance =
      static_cast<__int128>(InUnits(value, milli)) - InUnits(*range.min, milli);
  if (distance % InUnits(*range.step, milli) == 0) return;
  report.InvalidQuantity(at, value,
                         fmt::format("must be a whole number of steps of {} above min {}",
                                     range.step->ToString(), range.min->ToString()));
}

void CheckStep(Report& report, const Path& at, const Quantity& capacity,
               const Quantity& default_value, const CapacityRequestPolicyRange& range, bool milli) {
  const Path step = at.Child("step");
  if (range.step->Sign() <= 0) {
    report.InvalidQuantity(step, *range.step, "must be greater than zero");
    return;
  }
  if (*range.min + *range.step > capacity) {
    report.InvalidQuantity(step, *range.step,
                           fmt::format("min and one step must be at most the capacity's value {}",
                                       capacity.ToString()));
  }
  if (!milli && !CheckInt64(report, at, BoundsOf(default_value, range))) return;
  CheckOnGrid(report, step, default_value, range, milli);
  if (range.max) CheckOnGrid(report, step, *range.max, range, milli);
}

bool HasFraction(const Bounds& bounds) {
  for (const Bound& bound : bounds) {
    if (bound.amount != nullptr && !bound.amount->IsInteger()) return true;
  }
  return false;
}

void CheckValidRange(Report& report, const Path& at, const Quantity& capacity,
                     const Quantity& default_value, const CapacityRequestPolicyRange& range) {
  if (!range.min) {
    report.Required(at.Child("min"), "a range needs its smallest amount");
    return;
  }
  if (!CheckNotNegative(report, at.Child("min"), *range.min)) return;
  CheckLimits(report, at, capacity, default_value, range);
  const Bounds bounds = BoundsOf(default_value, range);
  const bool milli = report.Enabled(Gate::kDRAFractionalCapacityRange) && HasFraction(bounds);
  if (milli && !CheckMilli(report, at, bounds)) return;
  if (range.step) CheckStep(report, at, capacity, default_value, range, milli);
}

}  // namespace

void ValidateRequestPolicy(Report& report, const Path& at, const Quantity& capacity,
                           const CapacityRequestPolicy& policy) {
  const bool values = !policy.valid_values.empty();
  if (values && policy.valid_range) {
    report.Forbidden(at, "must not have both validValues and validRange");
    return;
  }
  // Where values or the range's ends say more about the default, that is said below.
  const bool has_smallest = values || policy.valid_range;
  const bool has_largest = values || (policy.valid_range && policy.valid_range->max);
  if (report.OwnRules() && policy.default_value) {
    if (!has_smallest) CheckNotNegative(report, at.Child("default"), *policy.default_value);
    if (!has_largest && *policy.default_value > capacity) {
      report.InvalidQuantity(
          at.Child("default"), *policy.default_value,
          fmt::format("must be at most the capacity's value {}", capacity.ToString()));
    }
  }
  if (!values && !policy.valid_range) return;
  if (!policy.default_value) {
    report.Required(at.Child("default"),
                    values ? "validValues needs a default" : "validRange needs a default");
    return;
  }
  if (values) {
    CheckValidValues(report, at.Child("validValues"), capacity, *policy.default_value,
                     policy.valid_values);
  } else {
    CheckValidRange(report, at.Child("validRange"), capacity, *policy.default_value,
                    *policy.valid_range);
  }
}

}  // namespace dray::api::internal

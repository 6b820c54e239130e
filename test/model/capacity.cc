// SPDX-License-Identifier: Apache-2.0
#include "model/capacity.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/abort.h"

namespace dray::model {
namespace {

using base::Quantity;

// Up to the next whole unit.
Quantity Whole(Quantity amount) {
  amount.RoundUp(0);
  return amount;
}

void CheckStep(const Quantity& step) {
  if (step.Sign() <= 0) throw Abort{fmt::format("a step of {}", step.ToString())};
}

std::optional<Quantity> RoundUpToStep(const Quantity& request,
                                      const api::CapacityRequestPolicyRange& range,
                                      bool fractional) {
  CheckStep(*range.step);
  const bool milli = CountsInMilli(range, fractional);
  Quantity wanted = milli ? request : Whole(request);
  if (milli) wanted.RoundUp(Quantity::kMilli);
  const Quantity min = milli ? *range.min : Whole(*range.min);
  const Quantity step = milli ? *range.step : Whole(*range.step);
  const auto fits = [&](const Quantity& q) {
    return q.ExactScaled(milli ? Quantity::kMilli : 0).has_value();
  };
  if (!fits(wanted)) return std::nullopt;
  const std::optional<std::int64_t> steps = (wanted - min).DivCeil(step);
  if (!steps) return std::nullopt;
  Quantity product = step;
  product.Mul(*steps);
  Quantity rounded = min + product;
  if (!fits(rounded)) return std::nullopt;
  rounded.set_format(range.step->format());
  return rounded;
}

bool ViolatesRange(const Quantity& amount, const api::CapacityRequestPolicyRange& range,
                   bool fractional) {
  if (range.max && amount > *range.max) return true;
  if (!range.step) return false;
  CheckStep(*range.step);
  const Quantity min = range.min.value_or(Quantity());
  if (CountsInMilli(range, fractional)) {
    return !ExactMilli(amount) || !(amount - min).IsMultipleOf(*range.step);
  }
  return !(Whole(amount) - Whole(min)).IsMultipleOf(Whole(*range.step));
}

}  // namespace

std::optional<std::int64_t> ExactMilli(const Quantity& amount) {
  return amount.ExactScaled(Quantity::kMilli);
}

bool CountsInMilli(const api::CapacityRequestPolicyRange& range, bool fractional) {
  if (!fractional) return false;
  for (const auto* bound : {&range.min, &range.max, &range.step}) {
    if (*bound && !ExactMilli(**bound)) return false;
  }
  return !range.step || *ExactMilli(*range.step) >= 1;
}

std::optional<Quantity> ConsumedOf(const Quantity* request, const api::DeviceCapacity& capacity,
                                   bool fractional) {
  const api::CapacityRequestPolicy* policy = capacity.request_policy.get();
  if (request == nullptr) {
    return policy != nullptr && policy->default_value ? *policy->default_value : capacity.value;
  }
  if (policy == nullptr) return *request;
  if (policy->valid_range && policy->valid_range->min) {
    if (*request < *policy->valid_range->min) return *policy->valid_range->min;
    if (!policy->valid_range->step) return *request;
    return RoundUpToStep(*request, *policy->valid_range, fractional);
  }
  for (const Quantity& value : policy->valid_values) {
    if (*request <= value) return value;
  }
  return *request;
}

bool ViolatesPolicy(const Quantity& amount, const api::CapacityRequestPolicy* policy,
                    bool fractional) {
  if (policy == nullptr) return false;
  if (policy->default_value && amount == *policy->default_value) return false;
  if (policy->valid_range) return ViolatesRange(amount, *policy->valid_range, fractional);
  if (policy->valid_values.empty()) return false;
  return std::ranges::find(policy->valid_values, amount) == policy->valid_values.end();
}

std::optional<Amounts> RequestedAmounts(const api::CapacityRequirements* request,
                                        std::string_view driver,
                                        const api::Map<api::DeviceCapacity>& capacity) {
  Amounts amounts;
  if (request == nullptr) return amounts;
  // Literal names first, so that another spelling of the same name does not replace them.
  for (const auto& [name, amount] : request->requests) {
    if (capacity.contains(name)) amounts.emplace(name.str(), amount);
  }
  const std::string domain = fmt::format("{}/", driver);
  for (const auto& [name, amount] : request->requests) {
    if (capacity.contains(name)) continue;
    std::string other;
    if (name.starts_with(domain)) {
      other = name.substr(domain.size());
    } else if (name.find('/') == std::string_view::npos) {
      other = domain + name.str();
    }
    if (other.empty() || !capacity.contains(other)) return std::nullopt;
    amounts.emplace(other, amount);
  }
  return amounts;
}

std::string PublishedName(const std::string& name, std::string_view driver,
                          const api::Map<api::DeviceCapacity>& capacity) {
  const std::string domain = fmt::format("{}/", driver);
  const std::string other =
      name.starts_with(domain) ? name.substr(domain.size()) : fmt::format("{}{}", domain, name);
  return capacity.contains(name) || !capacity.contains(other) ? name : other;
}

// Throws when what is consumed of a capacity would have to be counted in steps that are none.
void CheckSteps(const Quantity* request, const api::DeviceCapacity& capacity) {
  const api::CapacityRequestPolicy* policy = capacity.request_policy.get();
  if (policy == nullptr || !policy->valid_range || !policy->valid_range->step) return;
  // Rounding itself throws.
  const std::optional<Quantity> amount = ConsumedOf(request, capacity, false);
  if (policy->valid_range->step->Sign() <= 0) (void)ViolatesPolicy(*amount, policy, false);
}

FitResult Fits(const api::CapacityRequirements* request, std::string_view driver,
               const api::Map<api::DeviceCapacity>& capacity, const Amounts& already,
               bool fractional) {
  const std::optional<Amounts> requested = RequestedAmounts(request, driver, capacity);
  if (!requested) return {.fit = Fit::kDoesNotFit};
  FitResult result;
  const auto asked_of = [&](const std::string& name) {
    const auto asked = requested->find(name);
    return asked == requested->end() ? nullptr : &asked->second;
  };
  for (const auto& [name, entry] : capacity) CheckSteps(asked_of(name.str()), entry);
  for (const auto& [name, entry] : capacity) {
    const auto consumed = ConsumedOf(asked_of(name.str()), entry, fractional);
    if (!consumed || consumed->Sign() < 0) return {.fit = Fit::kNotRepresentable};
    result.consumed.emplace(name.str(), *consumed);
  }
  for (const auto& [name, entry] : capacity) {
    const Quantity& amount = result.consumed.at(name.str());
    if (ViolatesPolicy(amount, entry.request_policy.get(), fractional)) {
      return {.fit = Fit::kDoesNotFit};
    }
    const auto before = already.find(name.str());
    const Quantity sum = before == already.end() ? amount : before->second + amount;
    if (sum > entry.value) return {.fit = Fit::kDoesNotFit};
  }
  return result;
}

}  // namespace dray::model

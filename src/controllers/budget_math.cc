// SPDX-License-Identifier: Apache-2.0
#include "controllers/budget_math.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <variant>

namespace dray::controllers {
namespace {

bool IsShare(const api::IntOrString& amount) {
  return std::holds_alternative<std::string>(amount.value);
}

// Shares are rounded up, as everything in budgets.
std::int32_t Amount(const api::IntOrString& amount, std::int64_t of) {
  if (const auto* number = std::get_if<std::int32_t>(&amount.value)) return *number;
  const std::string& text = std::get<std::string>(amount.value);
  std::int64_t percent = 0;
  std::from_chars(text.data(), text.data() + text.size(), percent);
  return static_cast<std::int32_t>((of * percent + 99) / 100);
}

}  // namespace

BudgetSizes SizesOf(const api::PodDisruptionBudgetSpec& spec, std::int32_t selected,
                    std::int32_t wanted) {
  if (spec.max_unavailable) {
    return {.expected = wanted,
            .desired = std::max(wanted - Amount(*spec.max_unavailable, wanted), 0)};
  }
  if (!spec.min_available) return {.expected = selected, .desired = 0};
  if (IsShare(*spec.min_available)) {
    return {.expected = wanted, .desired = Amount(*spec.min_available, wanted)};
  }
  return {.expected = selected, .desired = Amount(*spec.min_available, selected)};
}

std::int32_t DisruptionsAllowed(const BudgetSizes& sizes, std::int32_t healthy) {
  return sizes.expected <= 0 ? 0 : std::max(healthy - sizes.desired, 0);
}

}  // namespace dray::controllers

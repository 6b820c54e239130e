// SPDX-License-Identifier: Apache-2.0
#include "allocator/policy.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "allocator/best_fit.h"

namespace dray::allocator {
namespace {

constexpr std::array kPolicies = std::to_array<PolicyRow>({
    {Policy::kFirstFit, "first-fit", nullptr},
    {Policy::kBestFit, "best-fit", TightestFirst},
    {Policy::kFragmentation, "fragmentation", TightestFirst},
});

constexpr bool PoliciesAreInOrder() {
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    if (static_cast<std::size_t>(kPolicies[i].policy) != i) return false;
  }
  return true;
}
static_assert(PoliciesAreInOrder());

}  // namespace

std::span<const PolicyRow> Policies() { return kPolicies; }

const PolicyRow& RowOf(Policy policy) { return kPolicies[static_cast<std::size_t>(policy)]; }

std::optional<Policy> FindPolicy(std::string_view name) {
  const auto* const found = std::ranges::find(kPolicies, name, &PolicyRow::name);
  if (found == kPolicies.end()) return std::nullopt;
  return found->policy;
}

std::string PolicyNames(std::string_view between) {
  std::string names;
  for (const PolicyRow& row : kPolicies) {
    if (!names.empty()) names += between;
    names += row.name;
  }
  return names;
}

}  // namespace dray::allocator

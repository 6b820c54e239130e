// SPDX-License-Identifier: Apache-2.0
//
// Bounds of a cost or of a size (characters, bytes, entries).
#pragma once

#include <cstdint>

namespace dray::cel {

// Sums and products stop at the largest number. A value.
struct CostRange {
  std::uint64_t min = 0;
  std::uint64_t max = 0;

  static constexpr std::uint64_t kLargest = 0xffffffffffffffff;
  static constexpr CostRange Exactly(std::uint64_t n) { return {n, n}; }
  static constexpr CostRange Unknown() { return {0, kLargest}; }

  // Rounds up; goes through double, as upstream does.
  CostRange Times(double factor) const;
  // Smallest minimum, largest maximum.
  CostRange Union(const CostRange& other) const;

  friend CostRange operator+(const CostRange& a, const CostRange& b);
  friend CostRange operator*(const CostRange& a, const CostRange& b);
  friend bool operator==(const CostRange&, const CostRange&) = default;
};

}  // namespace dray::cel

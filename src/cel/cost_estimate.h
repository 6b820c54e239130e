// SPDX-License-Identifier: Apache-2.0
//
// The estimated cost of an expression: between which bounds the work of one evaluation lies, from
// the tree alone. Spec: kubernetes-cel.md chapter 7. Kubernetes refuses expressions by these
// numbers, so every rule, odd ones included, is part of the interface.
#pragma once

#include <cstdint>

#include "cel/checker.h"

namespace dray::cel {

// Bounds of a cost or of a size (characters, bytes, entries). Sums and products stop at the largest
// number. A value.
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

CostRange EstimateCost(const CheckedExpr& expr);

}  // namespace dray::cel

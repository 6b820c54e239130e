// SPDX-License-Identifier: Apache-2.0
#include "cel/cost_range.h"

#include <algorithm>
#include <cmath>

namespace dray::cel {
namespace {

// Stops at the largest number. Upstream's conversion of 2^64 depends on the machine and no recorded
// case shows it; this one never guesses too low.
std::uint64_t Scaled(std::uint64_t n, double factor) {
  const double up = std::ceil(static_cast<double>(n) * factor);
  return up >= 0x1p64 ? CostRange::kLargest : static_cast<std::uint64_t>(up);
}

std::uint64_t Sum(std::uint64_t a, std::uint64_t b) {
  return a > CostRange::kLargest - b ? CostRange::kLargest : a + b;
}

std::uint64_t Product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > CostRange::kLargest / b ? CostRange::kLargest : a * b;
}

}  // namespace

CostRange CostRange::Times(double factor) const {
  return {Scaled(min, factor), Scaled(max, factor)};
}

CostRange CostRange::Union(const CostRange& other) const {
  return {std::min(min, other.min), std::max(max, other.max)};
}

CostRange operator+(const CostRange& a, const CostRange& b) {
  return {Sum(a.min, b.min), Sum(a.max, b.max)};
}

CostRange operator*(const CostRange& a, const CostRange& b) {
  return {Product(a.min, b.min), Product(a.max, b.max)};
}

}  // namespace dray::cel

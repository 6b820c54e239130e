// SPDX-License-Identifier: Apache-2.0
#include "metrics/instruments.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace dray::metrics {

namespace internal {

unsigned NextCell() {
  static std::atomic<unsigned> threads = 0;
  return threads.fetch_add(1, std::memory_order_relaxed) % kCells + 1;
}

}  // namespace internal

std::uint64_t Counter::value() const {
  std::uint64_t sum = 0;
  for (const Cell& cell : cells_) sum += cell.value.load(std::memory_order_relaxed);
  return sum;
}

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), cells_(std::make_unique<Cell[]>(internal::kCells)) {
  DRAY_CHECK(std::ranges::is_sorted(bounds_), "bounds of a histogram rise");
  for (std::size_t i = 0; i < internal::kCells; ++i) {
    cells_[i].counts = std::vector<std::atomic<std::uint64_t>>(bounds_.size() + 1);
  }
}

void Histogram::Observe(double value, std::uint64_t times) {
  const auto bucket =
      static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  Cell& cell = cells_[internal::ThisCell()];
  cell.counts[bucket].fetch_add(times, std::memory_order_relaxed);
  cell.sum.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
}

Histogram::Reading Histogram::Read() const {
  Reading reading;
  reading.up_to.resize(bounds_.size());
  for (std::size_t bucket = 0; bucket <= bounds_.size(); ++bucket) {
    for (std::size_t i = 0; i < internal::kCells; ++i) {
      reading.count += cells_[i].counts[bucket].load(std::memory_order_relaxed);
    }
    if (bucket < bounds_.size()) reading.up_to[bucket] = reading.count;
  }
  for (std::size_t i = 0; i < internal::kCells; ++i) {
    reading.sum += cells_[i].sum.load(std::memory_order_relaxed);
  }
  return reading;
}

std::vector<double> ExponentialBounds(double first, double factor, std::size_t count) {
  std::vector<double> bounds;
  for (double bound = first; bounds.size() < count; bound *= factor) bounds.push_back(bound);
  return bounds;
}

}  // namespace dray::metrics

// SPDX-License-Identifier: Apache-2.0
//
// What is counted and measured: counters, gauges and histograms. Writing one takes no lock and some
// nanoseconds, whoever else writes it; reading adds up.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dray::metrics {

namespace internal {

// Threads write cells of their own as far as there are enough, so that they do not wait for each
// other's cache lines.
inline constexpr std::size_t kCells = 4;
inline constexpr std::size_t kCacheLine = 64;

// 1 to kCells; one after the other, for threads in the order in which they come.
unsigned NextCell();

inline std::size_t ThisCell() {
  constinit thread_local unsigned cell = 0;
  if (cell == 0) [[unlikely]]
    cell = NextCell();
  return cell - 1;
}

}  // namespace internal

// Only grows. Thread-safe.
class Counter {
 public:
  void Add(std::uint64_t by = 1) {
    cells_[internal::ThisCell()].value.fetch_add(by, std::memory_order_relaxed);
  }
  std::uint64_t value() const;

 private:
  struct alignas(internal::kCacheLine) Cell {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<Cell, internal::kCells> cells_;
};

// Goes up and down. Thread-safe.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double by) { value_.fetch_add(by, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// How often values were at most as large as each of some bounds, and their sum. Thread-safe.
class Histogram {
 public:
  struct Reading {
    std::vector<std::uint64_t> up_to;  // by bound: all values that are not greater
    std::uint64_t count = 0;
    double sum = 0;
  };

  // Bounds rise.
  explicit Histogram(std::vector<double> bounds);

  void Observe(double value) { Observe(value, 1); }
  // As if it had been observed so many times.
  void Observe(double value, std::uint64_t times);

  const std::vector<double>& bounds() const { return bounds_; }
  Reading Read() const;

 private:
  struct alignas(internal::kCacheLine) Cell {
    std::atomic<double> sum{0};
    std::vector<std::atomic<std::uint64_t>> counts;  // by bound, then those beyond all of them
  };

  const std::vector<double> bounds_;
  const std::unique_ptr<Cell[]> cells_;
};

// first, first * factor, ...: so many bounds.
std::vector<double> ExponentialBounds(double first, double factor, std::size_t count);

}  // namespace dray::metrics

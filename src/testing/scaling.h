// SPDX-License-Identifier: Apache-2.0
//
// How the work for something grows with its size, for tests that must fail when it grows with the
// square. Processor time of this thread, so that other processes do not count, and the smallest of
// a few tries, so that neither does what they do to caches.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace dray::testing {

inline double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What four times the size costs, as a multiple: 4 when the work is proportional to the size, 16
// when it is to the square. `run(size)` does the work and returns what it took in seconds, without
// what it took to prepare.
template <typename Run>
double CostOfFourTimes(int size, Run run) {
  double small = std::numeric_limits<double>::infinity();
  double large = small;
  for (int i = 0; i < 3; ++i) {
    small = std::min(small, run(size));
    large = std::min(large, run(4 * size));
  }
  return large / small;
}

// Between the two above.
inline constexpr double kMoreThanProportional = 8;

}  // namespace dray::testing

// SPDX-License-Identifier: Apache-2.0
//
// Seconds that somebody has written into an object: any number of 64 bits, of which most are more
// nanoseconds than can be counted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dray::base {

// A hundred years: nobody sees them end, and added to any clock they are still a time that it can show.
inline constexpr std::chrono::seconds kLongestTime = std::chrono::hours(24 * 36'525);

// So many seconds, from a hundred years back to a hundred years on.
constexpr std::chrono::seconds BoundedSeconds(std::int64_t seconds) {
  return std::chrono::seconds(
      std::clamp<std::int64_t>(seconds, -kLongestTime.count(), kLongestTime.count()));
}
// The same of a time that was computed, from one that an object has say, and is to be added to a clock.
constexpr std::chrono::nanoseconds Bounded(std::chrono::nanoseconds time) {
  return std::clamp<std::chrono::nanoseconds>(time, -kLongestTime, kLongestTime);
}

}  // namespace dray::base

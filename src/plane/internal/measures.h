// SPDX-License-Identifier: Apache-2.0
//
// What the metrics of this room share.
#pragma once

#include <chrono>
#include <cstdint>

#include "metrics/instruments.h"

namespace dray::plane::internal {

inline double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// Brings a counter, which nobody else writes, up to a sum that is kept elsewhere.
inline void Raise(metrics::Counter& counter, std::uint64_t to) {
  const std::uint64_t now = counter.value();
  if (to > now) counter.Add(to - now);
}

}  // namespace dray::plane::internal

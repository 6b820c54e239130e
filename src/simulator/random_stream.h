// SPDX-License-Identifier: Apache-2.0
//
// RandomStream: chance for one part of a simulation. Each part has its own, so that a workload that
// is added does not change when the pods of another come.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/uuid.h"
#include "simulator/scenario.h"

namespace dray::simulator {

// One thread.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view part) : random_(Mixed(seed, part)) {}

  // In [0, 1).
  double Uniform() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }
  // In [0, n); n must not be 0.
  std::uint64_t Below(std::uint64_t n) { return random_.Next() % n; }
  // At least a nanosecond, so that time goes on.
  Duration Draw(const Interval& interval) {
    if (!interval.random) return interval.mean;
    const double drawn = -std::log1p(-Uniform()) * static_cast<double>(interval.mean.count());
    return Duration(static_cast<std::int64_t>(drawn) + 1);
  }

 private:
  // FNV-1a over the name.
  static std::uint64_t Mixed(std::uint64_t seed, std::string_view part) {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
    for (const char c : part) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    return hash;
  }

  base::SeededRandomSource random_;
};

}  // namespace dray::simulator

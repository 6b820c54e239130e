// SPDX-License-Identifier: Apache-2.0
//
// Random choices, the same for the same seed on every machine: the standard's engines are fixed,
// its distributions are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace dray::model {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  bool Chance(double p) {
    return static_cast<double>(engine_() >> 11) < p * static_cast<double>(1ULL << 53);
  }
  // Both ends included.
  int Range(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(engine_() % from.size())];
  }
  const char* Pick(std::initializer_list<const char*> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(engine_() % from.size()));
  }
  template <typename T>
  void Shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<std::size_t>(engine_() % i)]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dray::model

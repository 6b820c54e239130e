// SPDX-License-Identifier: Apache-2.0
#include "allocator/packing.h"

#include <algorithm>

namespace dray::allocator {

bool Packing::Reset(std::span<const std::uint32_t> needs, std::size_t most_states) {
  needs_.assign(needs.begin(), needs.end());
  stride_.assign(needs.size(), 0);
  std::size_t states = 1;
  for (std::size_t k = 0; k + 1 < needs.size(); ++k) {
    stride_[k] = states;
    states *= needs[k] + 1;
    if (states > most_states) return false;
  }
  most_.assign(states, kImpossible);
  most_[0] = 0;
  spent_ = 0;
  return true;
}

bool Packing::Add(std::span<const std::uint32_t> options, std::uint64_t limit) {
  const std::size_t kinds = needs_.size();
  next_ = most_;
  at_.assign(kinds, 0);
  for (std::size_t state = 0; state < most_.size(); ++state) {
    if (most_[state] != kImpossible) {
      for (std::size_t first = 0; first < options.size(); first += kinds) {
        std::size_t to = state;
        for (std::size_t k = 0; k + 1 < kinds; ++k) {
          to += std::min(options[first + k], needs_[k] - at_[k]) * stride_[k];
        }
        next_[to] = std::max(next_[to], most_[state] + options[first + kinds - 1]);
      }
      spent_ += options.size() / 3 + 1;
      if (spent_ > limit) return false;
    }
    // The next number in mixed radix.
    for (std::size_t k = 0; k + 1 < kinds && ++at_[k] > needs_[k]; ++k) at_[k] = 0;
  }
  spent_ += most_.size() / 4;
  most_.swap(next_);
  return true;
}

}  // namespace dray::allocator

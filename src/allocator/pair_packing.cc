// SPDX-License-Identifier: Apache-2.0
#include "allocator/pair_packing.h"

#include <algorithm>

namespace dray::allocator {

void PairPacking::Add(std::span<const std::uint32_t> room) {
  const std::size_t last = most_.size() - 1;
  next_.assign(most_.size(), kImpossible);
  for (std::size_t before = 0; before <= last; ++before) {
    if (most_[before] == kImpossible) continue;
    for (std::size_t here = 0; here < room.size(); ++here) {
      std::int64_t& most = next_[std::min(before + here, last)];
      most = std::max(most, most_[before] + room[here]);
    }
  }
  most_.swap(next_);
}

}  // namespace dray::allocator

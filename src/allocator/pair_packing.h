// SPDX-License-Identifier: Apache-2.0
//
// PairPacking: can places that each take some of two kinds of things take all of them together?
// What a place takes of one kind leaves less room for the other; how much less, the caller says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dray::allocator {

// Exact, by dynamic programming: most_[x] is how many of the second kind fit at most beside at
// least x of the first in the places so far. Reused: Reset starts another question. One thread.
class PairPacking {
 public:
  // `first` things of the first kind are to be placed.
  void Reset(std::size_t first) { most_.assign(first + 1, kImpossible), most_[0] = 0; }

  // A place: room[x] of the second kind fit beside x of the first; it takes no more than
  // room.size() - 1 of the first. Never empty.
  void Add(std::span<const std::uint32_t> room);

  // All of the first kind fit, and so many of the second beside them.
  bool Fits(std::size_t second) const {
    return most_.back() != kImpossible && most_.back() >= static_cast<std::int64_t>(second);
  }

 private:
  static constexpr std::int64_t kImpossible = -1;
  std::vector<std::int64_t> most_;
  std::vector<std::int64_t> next_;
};

}  // namespace dray::allocator

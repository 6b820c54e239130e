// SPDX-License-Identifier: Apache-2.0
//
// Packing: can places that each take some of several kinds of things take all of them together?
// What a place takes of one kind leaves less room for the others: its options are the largest
// collections that it can take. Exact, by dynamic programming over the places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/work.h"

namespace dray::allocator {

// most_[x] is how many of the last kind fit at most beside at least x of each other kind, in the
// places so far; x counts in mixed radix. Reused: Reset starts another question. One thread.
class Packing {
 public:
  // So many of each kind are to be placed; never empty. False: too many combinations to look at.
  bool Reset(std::span<const std::uint32_t> needs, std::size_t most_states);

  // A place. `options` are collections, one after the other, each with a number per kind; it may
  // also take less. False: `limit` units of work are used up.
  bool Add(std::span<const std::uint32_t> options, std::uint64_t limit);

  // Everything fits into the places so far.
  bool Fits() const { return most_.back() >= static_cast<std::int64_t>(needs_.back()); }
  std::uint64_t spent() const { return spent_; }

 private:
  static constexpr std::int64_t kImpossible = -1;
  std::vector<std::uint32_t> needs_;
  std::vector<std::size_t> stride_;
  std::vector<std::int64_t> most_;
  std::vector<std::int64_t> next_;
  std::vector<std::uint32_t> at_;
  std::uint64_t spent_ = 0;
};

}  // namespace dray::allocator

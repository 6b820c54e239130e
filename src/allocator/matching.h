// SPDX-License-Identifier: Apache-2.0
//
// Matching: how many pairs of joined vertices a graph has at most, when no vertex is in two of them.
// Exact, by augmenting paths; circles of odd length on the way are shrunk to a point (Edmonds).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// Reused: Reset starts another graph. One thread.
class Matching {
 public:
  void Reset(std::size_t vertices);
  // Joins all of `clique` to each other.
  void Join(const base::BitSet& clique);
  const base::BitSet& joined(std::size_t vertex) const { return joined_[vertex]; }

  // At least `pairs` of them among `among`. Also true when `limit` units of work were not enough.
  bool AtLeast(const base::BitSet& among, std::size_t pairs, std::uint64_t limit, WorkMeter& work);

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  // A way from a vertex without a partner to another one; the end of it, or kNone.
  std::uint32_t FindWay(std::uint32_t start, const base::BitSet& among);
  std::uint32_t Meet(std::uint32_t a, std::uint32_t b);
  void MarkWay(std::uint32_t from, std::uint32_t base, std::uint32_t child);

  std::vector<base::BitSet> joined_;  // never with itself
  std::vector<std::uint32_t> partner_;
  std::vector<std::uint32_t> came_from_;
  std::vector<std::uint32_t> base_;  // of the circle that a vertex was shrunk to
  std::vector<std::uint32_t> queue_;
  std::vector<bool> seen_;
  std::vector<bool> in_circle_;
  std::vector<bool> on_way_;
  base::BitSet next_;
  std::uint64_t spent_ = 0;
};

}  // namespace dray::allocator

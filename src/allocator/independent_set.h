// SPDX-License-Identifier: Apache-2.0
//
// IndependentSet: does a graph have so many vertices of which no two are joined? Exact, by branch
// and bound, as far as a limit of work goes.
//
// - Simplicial vertices, whose neighbours are all joined to each other, are taken at once: a set
//   that has none of them can take one, and one that has one of the neighbours can exchange it.
// - A cover by cliques bounds: a clique has at most one vertex of the set.
// - Vertices with few neighbours come first: their cliques are small whatever happens, and the others
//   then share cliques.
// - Branching: with cliques K1 to Km, a set of n vertices has one in Kn to Km, because K1 to K(n-1)
//   have at most n - 1 of them. So only the vertices there are tried, each without those before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// Reused: Reset starts another graph. One thread.
class IndependentSet {
 public:
  enum class Answer : std::uint8_t { kYes, kNo, kUnknown };

  void Reset(std::size_t vertices);
  std::size_t vertices() const { return edges_.size(); }
  // Joins all of `clique` to each other.
  void Join(const base::BitSet& clique);
  bool Joined(std::size_t a, std::size_t b) const { return edges_[a].Test(b); }

  // At least `size` vertices among `among`. kUnknown: `limit` units of work were not enough.
  Answer AtLeast(const base::BitSet& among, std::size_t size, std::uint64_t limit, WorkMeter& work);

 private:
  struct Node {
    base::BitSet among;
    std::size_t size = 0;
  };
  // Takes simplicial vertices. Returns the number.
  std::size_t TakeSimplicial(base::BitSet& among, std::uint64_t& spent);
  // Cliques that cover `among`; those from number `size` on are in `rest_`. Returns their number,
  // or `size` when there are at least as many and `rest_` is not needed.
  std::size_t Cover(const base::BitSet& among, std::size_t size, std::uint64_t& spent);

  // Numbers the vertices of `among` anew, by their neighbours in it, with the edges in between.
  void Order(const base::BitSet& among, std::uint64_t& spent);

  std::vector<base::BitSet> edges_;   // never with itself
  std::vector<base::BitSet> joined_;  // the same of the vertices that are asked about, in order
  std::vector<std::uint32_t> order_;
  std::vector<Node> stack_;
  std::size_t depth_ = 0;
  base::BitSet left_;
  base::BitSet clique_;
  base::BitSet neighbours_;
  base::BitSet rest_;
};

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// The bound of disjoint lists. Devices under distinctAttribute have no value in common. Join two
// devices when they have one, whichever of the covered alternatives they are taken for: then the
// devices of any completion are an independent set of that graph, which must have as many vertices
// as the covered requests need. Lists of several values make this more than a matching of devices
// to values: pairs of devices exclude each other without any value that all of them have.
//
// A device for multiple allocations that has a value for certain excludes itself, so it counts once
// like any other. One whose values depend on who takes it may be taken twice; where there is one,
// nothing is said.
#pragma once

#include <vector>

#include "allocator/bound.h"
#include "allocator/independent_set.h"

namespace dray::allocator {

class DisjointBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  struct Graph {
    bool ready = false;
    bool joined = false;  // has edges at all
    IndependentSet set;
    base::BitSet once;  // devices that can be taken once at most
  };
  void Build(std::size_t constraint, Graph& graph) const;
  bool TooMany(Graph& graph, const base::BitSet& among, std::size_t need);

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<Graph> graphs_;  // by constraint, the first of those that see the same
  base::BitSet among_;
  base::BitSet several_;
};

}  // namespace dray::allocator

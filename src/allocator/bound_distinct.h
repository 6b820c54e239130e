// SPDX-License-Identifier: Apache-2.0
//
// The bound of distinct values. Devices under distinctAttribute have disjoint sets of values, so
// each can be given one value that stands for it and for no other: a matching of needed devices to
// values that are not used yet, a maximum flow. A device that has a used value is no longer a
// candidate.
//
// And with lists: where values hang together through devices that have several, let f be the fewest
// values that a device there has; then v values there serve at most v / f devices.
#pragma once

#include <vector>

#include "allocator/bound.h"
#include "allocator/transport.h"

namespace dray::allocator {

class DistinctBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  bool TooFew(const State& state, Demands& demands, std::size_t claim, std::size_t constraint);
  bool TooFewDisjoint(std::span<const Covered> covered, std::size_t constraint);

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  Transport flow_;
  base::BitSet used_;                       // elements
  std::vector<base::BitSet> allowed_;       // by covered demands: elements
  std::vector<std::uint32_t> fewest_;       // by device
  std::vector<std::uint32_t> seen_;         // by device
  std::vector<std::uint32_t> first_value_;  // by device
  std::vector<std::uint32_t> root_;         // by element
  base::BitSet scratch_;
};

}  // namespace dray::allocator

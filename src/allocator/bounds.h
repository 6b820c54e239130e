// SPDX-License-Identifier: Apache-2.0
//
// Bounds: every proof that a partial choice cannot be completed, asked one after the other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "allocator/bound.h"

namespace dray::allocator {

// One thread. Reused.
class Bounds {
 public:
  Bounds();

  void Reset(const Attempt& attempt, WorkMeter& work);
  // True: what is still to be found cannot be had (bound.h).
  bool Hopeless(const State& state, const Position& position);

  // As the last call of Hopeless left them when it was not.
  std::span<const Demand> demands() const { return demands_.all(); }
  // Of Plan::requests(): those that made the last call say so. Empty: not known.
  std::span<const std::size_t> blamed() const { return demands_.blamed(); }
  const ConstraintValues& values() const { return values_; }
  const Supply& supply() const { return supply_; }
  // For a bound that is asked behind all others, of what the last call of Hopeless left.
  Demands& open_demands() { return demands_; }

 private:
  ConstraintValues values_;
  Supply supply_;
  Demands demands_;
  WorkMeter* work_ = nullptr;
  std::vector<std::unique_ptr<Bound>> bounds_;
};

}  // namespace dray::allocator

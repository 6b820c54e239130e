// SPDX-License-Identifier: Apache-2.0
//
// Bound: a proof that a partial choice cannot be completed. Each is a relaxation, an easier problem
// that every completion of the real one solves; when it has no solution, neither has the real one.
// Rules are monotonic (a device that is placed leaves less of every counter and capacity, fewer
// values to match and fewer groups), so a bound may look at the present state and speak about
// everything behind it.
//
// To add one: a class in bound_x.{h,cc} with the proof at its head, and its row in bounds.cc.
// LookAhead.NothingThatCanBeCompletedIsCalledHopeless then judges it.
#pragma once

#include "allocator/attempt.h"
#include "allocator/constraint_values.h"
#include "allocator/demand.h"
#include "allocator/state.h"
#include "allocator/supply.h"
#include "allocator/work.h"

namespace dray::allocator {

// What every bound is given for an attempt; outlives it.
struct BoundInput {
  const Attempt& attempt;
  const ConstraintValues& values;
  const Supply& supply;
  WorkMeter& work;
};

// One thread. Reused.
class Bound {
 public:
  virtual ~Bound() = default;
  // Once per attempt, before the first question.
  virtual void Reset(const BoundInput& input) = 0;
  // True: what is demanded cannot be had. It never says so of what can be completed; it may well
  // miss what cannot. May be asked at any place and in any order, and may take devices out of masks
  // that no completion gives to the demand: bounds behind it then see less.
  virtual bool Hopeless(const State& state, Demands& demands) = 0;
};

}  // namespace dray::allocator

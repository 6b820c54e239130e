// SPDX-License-Identifier: Apache-2.0
//
// The bound of common values. Devices under matchAttribute have a value in common, so of some value
// each covered request has as many devices as it needs; requests that see the same dedicated
// devices need that many together. A value for which that fails is dead, and so is one that the
// devices placed so far do not have. When all are dead, nothing can be completed. Otherwise a
// device that has dead values only is no longer a candidate of the covered requests. With lists a
// device counts for each of its values, which can only make the bound weaker.
#pragma once

#include <vector>

#include "allocator/bound.h"

namespace dray::allocator {

class ValuesBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  bool NoneAlive(const State& state, Demands& demands, std::size_t claim, std::size_t constraint);

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<ElementId> decisive_;
  std::vector<std::size_t> alive_;
  base::BitSet with_;
};

}  // namespace dray::allocator

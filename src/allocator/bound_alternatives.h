// SPDX-License-Identifier: Apache-2.0
//
// The bound of alternatives. Of requests with the same alternatives each gets one of them. As many
// can have the first as the devices (or shares) for it serve, as many the second, and so on; added
// up that must be all of them. A device that serves two alternatives counts for both, which only
// makes the bound weaker.
#pragma once

#include "allocator/bound.h"

namespace dray::allocator {

class AlternativesBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  const Attempt* attempt_ = nullptr;
  const Supply* supply_ = nullptr;
  WorkMeter* work_ = nullptr;
};

}  // namespace dray::allocator

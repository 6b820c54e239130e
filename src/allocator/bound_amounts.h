// SPDX-License-Identifier: Apache-2.0
//
// The bounds of amounts.
#pragma once

#include "allocator/bound.h"
#include "allocator/transport.h"

namespace dray::allocator {

// Sums. Each request takes at least the least that one of its devices uses of a pool's counters of
// one name; together that must not be more than all counter sets of the pool have left. Devices for
// multiple allocations pay once however many have a share, so requests that may have one are left
// out.
class SumsBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  const Attempt* attempt_ = nullptr;
  const Supply* supply_ = nullptr;
  WorkMeter* work_ = nullptr;
};

// Flow. All requests together: each device for one of them (or as many as it has shares left, by
// the smallest share that anybody takes), and from each counter set as many devices as fit when
// those that draw the least come first. Every completion is a flow in that network, so when the
// maximum flow is less than what is needed, there is none. Requests with admin access take what
// others have, so they are not counted at all.
class FlowBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  const Attempt* attempt_ = nullptr;
  const Supply* supply_ = nullptr;
  WorkMeter* work_ = nullptr;
  Transport flow_;
};

}  // namespace dray::allocator

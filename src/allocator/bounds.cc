// SPDX-License-Identifier: Apache-2.0
#include "allocator/bounds.h"

#include <algorithm>
#include <array>

#include "allocator/bound_alternatives.h"
#include "allocator/bound_amounts.h"
#include "allocator/bound_common.h"
#include "allocator/bound_disjoint.h"
#include "allocator/bound_distinct.h"
#include "allocator/bound_equal_claims.h"
#include "allocator/bound_packing.h"
#include "allocator/bound_pairs.h"
#include "allocator/bound_values.h"

namespace dray::allocator {
namespace {

template <typename Made>
std::unique_ptr<Bound> Make() {
  return std::make_unique<Made>();
}

// In the order of asking: first those that take devices out of masks, then from the cheapest to
// the most expensive.
constexpr std::array kBounds = {
    &Make<ValuesBound>,        //
    &Make<DistinctBound>,      //
    &Make<EqualClaimsBound>,   //
    &Make<CommonBound>,        //
    &Make<SumsBound>,          //
    &Make<FlowBound>,          //
    &Make<AlternativesBound>,  //
    &Make<PairsBound>,         //
    &Make<DisjointBound>,      //
    &Make<PackingBound>,       //
};

}  // namespace

Bounds::Bounds() {
  for (const auto& make : kBounds) bounds_.push_back(make());
}

void Bounds::Reset(const Attempt& attempt, WorkMeter& work) {
  values_.Reset(attempt, work);
  work_ = &work;
  supply_.Reset(attempt, work);
  demands_.Reset(attempt, values_, work);
  const BoundInput input{attempt, values_, supply_, work};
  for (const auto& bound : bounds_) {
    if (!work.exhausted()) bound->Reset(input);
  }
}

bool Bounds::Hopeless(const State& state, const Position& position) {
  if (!demands_.Make(state, position)) return true;
  return std::ranges::any_of(bounds_, [&](const auto& bound) {
    // What is not asked is not hopeless; the search ends soon.
    return !work_->exhausted() && bound->Hopeless(state, demands_);
  });
}

}  // namespace dray::allocator

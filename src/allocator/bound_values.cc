// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_values.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

void ValuesBound::Reset(const BoundInput& input) {
  attempt_ = &input.attempt;
  values_ = &input.values;
  work_ = &input.work;
}

bool ValuesBound::Hopeless(const State& state, Demands& demands) {
  return values_->usable() && demands.AnyConstraint([&](std::size_t claim, std::size_t constraint) {
    const ConstraintType& type = *attempt_->plan().constraints()[constraint].type;
    return type.promise() == Promise::kCommonElement &&
           NoneAlive(state, demands, claim, constraint);
  });
}

bool ValuesBound::NoneAlive(const State& state, Demands& demands, std::size_t claim,
                            std::size_t constraint) {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  const std::span<const Covered> covered = demands.CoveredBy(constraint, claim);
  if (covered.empty()) return false;
  const Accepted accepted = state.accepted(constraint);
  const ConstraintType& type = *attempt_->plan().constraints()[constraint].type;
  decisive_.clear();
  if (accepted.state.devices > 0) type.AddDecisive(accepted, decisive_);
  std::ranges::sort(decisive_);
  alive_.clear();
  for (std::size_t e = 0; e < carriers.elements.size(); ++e) {
    if (accepted.state.devices > 0 &&
        !std::ranges::binary_search(decisive_, carriers.elements[e])) {
      continue;
    }
    if (std::ranges::all_of(covered, [&](const Covered& c) {
          const Demand& demand = *c.demands.front();
          const bool once = !demand.mask.Intersects(attempt_->multi());
          return demands.CountWith(demand, constraint, e) >= (once ? c.sum : c.most);
        })) {
      alive_.push_back(e);
    }
  }
  const std::size_t words = 1 + attempt_->device_count() / 64;
  work_->Spend(carriers.elements.size() * (2 + covered.size() * words));
  if (alive_.empty()) {
    demands.BlameCovered(constraint, claim);
    return true;
  }
  for (const Covered& c : covered) {
    if (with_.size() != attempt_->device_count()) with_ = BitSet(attempt_->device_count());
    with_.ResetAll();
    for (const Candidates* candidates : c.demands.front()->candidates) {
      for (const std::size_t e : alive_) with_ |= (*carriers.Find(candidates))[e];
    }
    for (Demand* demand : c.demands) demand->mask &= with_;
    work_->Spend(words * (alive_.size() + c.demands.size()));
  }
  return false;
}

}  // namespace dray::allocator

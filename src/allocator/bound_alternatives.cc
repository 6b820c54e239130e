// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_alternatives.h"

#include <algorithm>

namespace dray::allocator {

void AlternativesBound::Reset(const BoundInput& input) {
  supply_ = &input.supply;
  attempt_ = &input.attempt;
  work_ = &input.work;
}

bool AlternativesBound::Hopeless(const State& state, Demands& demands) {
  const auto same = [](const Demand& x, const Demand& y) {
    return std::ranges::equal(x.candidates, y.candidates,
                              [](const Candidates* p, const Candidates* q) {
                                // A filter says nothing of tolerations: candidates may differ all
                                // the same.
                                return p->alternative->filter == q->alternative->filter &&
                                       p->need == q->need && p->devices == q->devices;
                              });
  };
  const std::span<const Demand> all = demands.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Demand& demand = all[i];
    if (demand.admin || demand.need == 0 || demand.candidates.size() < 2) continue;
    std::size_t equal = 1;
    bool first = true;
    if (work_->exhausted()) return false;
    work_->Spend(all.size() * 2);
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (j == i || !same(demand, all[j])) continue;
      first &= j > i;
      ++equal;
    }
    if (!first) continue;
    std::size_t served = 0;
    for (const Candidates* candidates : demand.candidates) {
      std::size_t supply = 0;
      candidates->devices.ForEach([&](std::size_t d) {
        if (!demands.free().Test(d)) return;
        supply +=
            attempt_->multi(d) ? supply_->SharesLeft(static_cast<std::uint32_t>(d), state) : 1;
      });
      served += supply / static_cast<std::size_t>(std::max<std::int64_t>(candidates->need, 1));
    }
    if (served < equal) return true;
  }
  return false;
}

}  // namespace dray::allocator

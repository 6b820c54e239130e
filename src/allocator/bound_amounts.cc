// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_amounts.h"

#include <algorithm>

namespace dray::allocator {

using inventory::CounterUse;
using inventory::NodeDevice;

void SumsBound::Reset(const BoundInput& input) {
  supply_ = &input.supply;
  attempt_ = &input.attempt;
  work_ = &input.work;
}

bool SumsBound::Hopeless(const State& state, Demands& demands) {
  const inventory::NodeDevices& devices = attempt_->devices();
  if (devices.counters().empty()) return false;
  std::vector<Amount> left(supply_->totals());
  for (std::size_t c = 0; c < devices.counters().size(); ++c) {
    left[supply_->total_of(c)] += std::max(Amount(0), state.counters()[c]);
  }
  std::vector<Amount> least(supply_->totals());
  std::vector<Amount> uses(supply_->totals());
  for (const Demand& demand : demands.all()) {
    if (demand.need == 0 || demand.admin || demand.mask.Intersects(attempt_->multi())) continue;
    bool first = true;
    work_->Spend(demand.mask.Count() * (4 + 2 * supply_->totals()));
    demand.mask.ForEach([&](std::size_t d) {
      std::ranges::fill(uses, Amount(0));
      for (const CounterUse& use : devices.counter_uses(devices.devices()[d])) {
        uses[supply_->total_of(use.counter)] += use.amount;
      }
      for (std::size_t t = 0; t < supply_->totals(); ++t) {
        least[t] = first ? uses[t] : std::min(least[t], uses[t]);
      }
      first = false;
    });
    if (first) continue;
    for (std::size_t t = 0; t < supply_->totals(); ++t) left[t] -= least[t] * demand.need;
  }
  return std::ranges::any_of(left, [](const Amount& amount) { return amount < 0; });
}

void FlowBound::Reset(const BoundInput& input) {
  supply_ = &input.supply;
  attempt_ = &input.attempt;
  work_ = &input.work;
}

bool FlowBound::Hopeless(const State& state, Demands& demands) {
  const inventory::NodeDevices& devices = attempt_->devices();
  const std::size_t n = attempt_->device_count();
  const std::size_t sets = devices.counter_sets().size();
  flow_.Reset(n, sets);
  for (std::size_t s = 0; s < sets; ++s)
    flow_.SetBucket(s, supply_->RoomInSet(s, state, demands.free()));
  for (std::uint32_t d = 0; d < n; ++d) {
    if (!demands.free().Test(d)) continue;
    const bool multi = attempt_->multi(d);
    const NodeDevice& device = devices.devices()[d];
    const bool in_set = !multi && device.sets > 0;
    flow_.SetItem(d, multi ? supply_->SharesLeft(d, state) : 1,
                  in_set ? devices.set_uses(device).front().set : Transport::kNoBucket);
  }
  std::uint32_t needed = 0;
  for (const Demand& demand : demands.all()) {
    if (demand.admin || demand.need == 0) continue;
    needed += demand.need;
    flow_.AddGroup(demand.need, demand.mask);
  }
  if (needed == 0) return false;
  const bool feasible = flow_.Feasible();
  work_->Spend(flow_.spent() + n);
  return !feasible;
}

}  // namespace dray::allocator

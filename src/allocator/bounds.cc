// SPDX-License-Identifier: Apache-2.0
#include "allocator/bounds.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;

void Bounds::Clear(BitSet& set, std::size_t size) {
  if (set.size() != size) set = BitSet(size);
  set.ResetAll();
}

void Bounds::Reset(const Attempt& attempt, WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  const Plan& plan = attempt.plan();
  const inventory::NodeDevices& devices = attempt.devices();
  const std::size_t n = attempt.device_count();
  carriers_.Reset(attempt);
  disjoint_.Reset(attempt, carriers_, work);
  packing_bound_.Reset(attempt, carriers_, work);
  claim_of_.clear();
  for (std::uint32_t c = 0; c < plan.claims().size(); ++c) {
    claim_of_.resize(plan.claims()[c].first_request + plan.claims()[c].requests, c);
  }

  counters_.assign(devices.counters().size(), {});
  for (std::uint32_t d = 0; d < n; ++d) {
    for (const CounterUse& use : devices.counter_uses(devices.devices()[d])) {
      counters_[use.counter].entries.push_back({use.amount, d});
    }
  }
  for (CounterList& list : counters_) {
    std::ranges::sort(list.entries, {}, &CounterList::Entry::amount);
  }
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> totals;
  total_of_.clear();
  for (const inventory::CounterOnNode& counter : devices.counters()) {
    const std::pair key(devices.counter_sets()[counter.set].pool, counter.name.id());
    total_of_.push_back(
        totals.try_emplace(key, static_cast<std::uint32_t>(totals.size())).first->second);
  }
  totals_ = totals.size();

  set_devices_.resize(devices.counter_sets().size());
  for (BitSet& set : set_devices_) Clear(set, n);
  Clear(loose_, n);
  for (std::uint32_t d = 0; d < n; ++d) {
    if (attempt.multi(d)) continue;
    const auto uses = devices.set_uses(devices.devices()[d]);
    (uses.empty() ? loose_ : set_devices_[uses.front().set]).Set(d);
  }

  first_small_.assign(n + 1, 0);
  smallest_.clear();
  for (std::uint32_t d = 0; d < n; ++d) {
    first_small_[d] = static_cast<std::uint32_t>(smallest_.size());
    if (!attempt.multi(d)) continue;
    const std::size_t capacities = devices.devices()[d].row->capacities;
    const std::size_t first = smallest_.size();
    smallest_.resize(first + capacities, absl::Int128Max());
    for (std::size_t a = 0; a < plan.alternatives().size(); ++a) {
      const Candidates& candidates = attempt.candidates(a);
      if (!candidates.devices.Test(d)) continue;
      const Amount* wanted = attempt.consumed(candidates, d);
      for (std::size_t i = 0; i < capacities; ++i) {
        smallest_[first + i] = std::min(smallest_[first + i], wanted[i]);
      }
    }
  }
  first_small_[n] = static_cast<std::uint32_t>(smallest_.size());
}

Demand& Bounds::NextDemand() {
  if (demand_count_ == demands_.size()) demands_.emplace_back();
  Demand& demand = demands_[demand_count_++];
  demand.candidates.clear();
  demand.admin = false;
  Clear(demand.mask, attempt_->device_count());
  return demand;
}

bool Bounds::Hopeless(const State& state, const Position& position) {
  blamed_.clear();
  FindOpen(state);
  if (!MakeDemands(state, position)) return true;
  if (carriers_.usable() && ConstraintsHopeless(state, position)) return true;
  return SumsHopeless(state) || FlowHopeless(state) || AlternativesHopeless(state) ||
         PairsHopeless(state, position) || disjoint_.Hopeless(state, demands(), open_) ||
         packing_bound_.Hopeless(state, demands(), open_);
}

void Bounds::FindOpen(const State& state) {
  const std::size_t n = attempt_->device_count();
  Clear(open_, n);
  for (std::uint32_t d = 0; d < n; ++d) {
    if (!state.chosen().Test(d) && state.CountersAndGroupsAdmit(d)) open_.Set(d);
  }
}

// False: one of them alone is more than there is.
bool Bounds::MakeDemands(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  demand_count_ = 0;
  if (position.current != nullptr && position.remaining > 0) {
    Demand& demand = NextDemand();
    demand.request = Demand::kCurrent;
    demand.claim = position.claim;
    demand.need = static_cast<std::uint32_t>(position.remaining);
    demand.candidates.push_back(position.current);
    demand.admin = position.current->alternative->admin;
    demand.mask = position.current->devices;
    if (position.after != nullptr) demand.mask &= *position.after;
    if (!Narrow(demand, state)) return false;
  }
  for (std::size_t r = position.open->First(); r != BitSet::kNone; r = position.open->Next(r)) {
    const RequestPlan& request = plan.requests()[r];
    Demand& demand = NextDemand();
    demand.request = r;
    demand.claim = claim_of_[r];
    const std::uint32_t decided =
        position.decided.empty() ? Position::kUndecided : position.decided[r];
    std::int64_t need = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
      if (decided != Position::kUndecided && decided != a) continue;
      const Candidates& candidates = attempt_->candidates(a);
      if (candidates.alternative->all && (candidates.impossible || candidates.need == 0)) continue;
      need = std::min(need, candidates.need);
      demand.candidates.push_back(&candidates);
      demand.admin |= candidates.alternative->admin;
      demand.mask |= candidates.devices;
    }
    if (demand.candidates.empty()) return false;
    demand.need = static_cast<std::uint32_t>(std::min<std::int64_t>(need, kUnlimited));
    if (!Narrow(demand, state)) {
      blamed_.push_back(r);
      return false;
    }
  }
  return true;
}

// Leaves the devices that still have room. False: too few.
bool Bounds::Narrow(Demand& demand, const State& state) const {
  if (demand.admin) {
    return demand.mask.Count() >= demand.need;
  }
  demand.mask &= open_;
  if (demand.mask.Intersects(attempt_->multi())) {
    BitSet full = demand.mask;
    full &= attempt_->multi();
    full.ForEach([&](std::size_t d) {
      const bool room = std::ranges::any_of(demand.candidates, [&](const Candidates* candidates) {
        return candidates->devices.Test(d) &&
               state.HasRoom(*candidates, static_cast<std::uint32_t>(d));
      });
      if (!room) demand.mask.Reset(d);
    });
  }
  return demand.mask.Count() >= demand.need;
}

}  // namespace dray::allocator

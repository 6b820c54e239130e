// SPDX-License-Identifier: Apache-2.0
#include "allocator/demand.h"

#include <algorithm>
#include <limits>

namespace dray::allocator {

using base::BitSet;

void Demands::Reset(const Attempt& attempt, const ConstraintValues& values, WorkMeter& work) {
  attempt_ = &attempt;
  values_ = &values;
  work_ = &work;
  const Plan& plan = attempt.plan();
  claim_of_.clear();
  for (std::uint32_t c = 0; c < plan.claims().size(); ++c) {
    claim_of_.resize(plan.claims()[c].first_request + plan.claims()[c].requests, c);
  }
}

Demand& Demands::Next() {
  if (count_ == demands_.size()) demands_.emplace_back();
  Demand& demand = demands_[count_++];
  demand.candidates.clear();
  demand.admin = false;
  if (demand.mask.size() != attempt_->device_count()) {
    demand.mask = BitSet(attempt_->device_count());
  }
  demand.mask.ResetAll();
  return demand;
}

void Demands::FindFree(const State& state) {
  const std::size_t n = attempt_->device_count();
  if (free_.size() != n) free_ = BitSet(n);
  free_.ResetAll();
  for (std::uint32_t d = 0; d < n; ++d) {
    if (!state.chosen().Test(d) && state.CountersAndGroupsAdmit(d)) free_.Set(d);
  }
  work_->Spend(n * 4);
}

bool Demands::Make(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  position_ = &position;
  blamed_.clear();
  count_ = 0;
  FindFree(state);
  for (const Position* at = &position; at != nullptr; at = at->put_off) {
    if (at->current == nullptr || at->remaining == 0) continue;
    Demand& demand = Next();
    demand.request = at == &position ? Demand::kCurrent : Demand::kPutOff;
    demand.claim = at->claim;
    demand.need = static_cast<std::uint32_t>(at->remaining);
    demand.candidates.push_back(at->current);
    demand.admin = at->current->alternative->admin;
    demand.mask = at->current->devices;
    if (at->after != nullptr) demand.mask &= *at->after;
    if (!Narrow(demand, state)) return false;
  }
  for (std::size_t r = position.open->First(); r != BitSet::kNone; r = position.open->Next(r)) {
    const RequestPlan& request = plan.requests()[r];
    Demand& demand = Next();
    demand.request = r;
    demand.claim = claim_of_[r];
    const std::uint32_t decided =
        position.decided.empty() ? Position::kUndecided : position.decided[r];
    std::int64_t need = std::numeric_limits<std::int32_t>::max();
    for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
      if (decided != Position::kUndecided && decided != a) continue;
      const Candidates& candidates = attempt_->candidates(a);
      if (candidates.alternative->all && (candidates.impossible || candidates.need == 0)) continue;
      need = std::min(need, candidates.need);
      demand.candidates.push_back(&candidates);
      demand.admin |= candidates.alternative->admin;
      demand.mask |= candidates.devices;
    }
    demand.need = static_cast<std::uint32_t>(need);
    work_->Spend(request.count * (2 + attempt_->device_count() / 64));
    if (demand.candidates.empty() || !Narrow(demand, state)) {
      Blame(r);
      return false;
    }
  }
  return true;
}

// Leaves the devices that still have room. False: too few.
bool Demands::Narrow(Demand& demand, const State& state) const {
  work_->Spend(8 + attempt_->device_count() / 16);
  if (demand.admin) return demand.mask.Count() >= demand.need;
  demand.mask &= free_;
  if (demand.mask.Intersects(attempt_->multi())) {
    BitSet shared = demand.mask;
    shared &= attempt_->multi();
    work_->Spend(shared.Count() * 8);
    shared.ForEach([&](std::size_t d) {
      const bool room = std::ranges::any_of(demand.candidates, [&](const Candidates* candidates) {
        return candidates->devices.Test(d) &&
               state.HasRoom(*candidates, static_cast<std::uint32_t>(d));
      });
      if (!room) demand.mask.Reset(d);
    });
  }
  return demand.mask.Count() >= demand.need;
}

bool Demands::Covers(const Demand& demand, std::size_t constraint) const {
  return !demand.admin && demand.need > 0 &&
         std::ranges::all_of(demand.candidates, [&](const Candidates* candidates) {
           return (*values_)[constraint].Find(candidates) != nullptr;
         });
}

std::size_t Demands::CountWith(const Demand& demand, std::size_t constraint,
                               std::size_t element) const {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  if (demand.candidates.size() == 1) {
    return demand.mask.IntersectionCount((*carriers.Find(demand.candidates.front()))[element]);
  }
  BitSet any(attempt_->device_count());
  for (const Candidates* candidates : demand.candidates) {
    any |= (*carriers.Find(candidates))[element];
  }
  return demand.mask.IntersectionCount(any);
}

std::span<const Covered> Demands::CoveredBy(std::size_t constraint, std::size_t claim) {
  const ConstraintValues::Carriers& carriers = (*values_)[constraint];
  covered_.clear();
  work_->Spend(all().size() / 4 + 1);
  for (Demand& demand : all()) {
    if (demand.claim != claim || !Covers(demand, constraint)) continue;
    const auto known = std::ranges::find_if(covered_, [&](const Covered& other) {
      const Demand& first = *other.demands.front();
      return demand.candidates.size() == 1 && first.candidates.size() == 1 &&
             carriers.Find(demand.candidates.front()) == carriers.Find(first.candidates.front()) &&
             demand.mask == first.mask;
    });
    work_->Spend(4 + covered_.size());
    if (known == covered_.end()) {
      covered_.push_back({.demands = {&demand}, .sum = demand.need, .most = demand.need});
      continue;
    }
    known->demands.push_back(&demand);
    known->sum += demand.need;
    known->most = std::max(known->most, demand.need);
  }
  return covered_;
}

void Demands::BlameCovered(std::size_t constraint, std::size_t claim) {
  for (const Demand& demand : all()) {
    if (demand.claim == claim && Covers(demand, constraint)) Blame(demand.request);
  }
}

}  // namespace dray::allocator

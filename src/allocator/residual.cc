// SPDX-License-Identifier: Apache-2.0
#include "allocator/residual.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

namespace {

// Spreads a number over 64 bits, so that sums of such numbers stand for collections.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

void Residual::Reset(const Attempt& attempt, const State& initial, const ConstraintValues& values,
                     WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  usable_ = values.usable();
  const Plan& plan = attempt.plan();
  symmetry_.Reset(attempt, initial, values, work);
  claim_of_.clear();
  limited_.assign(plan.claims().size(), false);
  request_of_.assign(plan.alternatives().size(), 0);
  for (std::uint32_t c = 0; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    std::int64_t most = 0;
    for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
      claim_of_.push_back(c);
      std::int64_t need = 0;
      for (std::uint32_t i = 0; i < plan.requests()[r].count; ++i) {
        request_of_[plan.requests()[r].first + i] = r;
        need = std::max(need, attempt.candidates(plan.requests()[r].first + i).need);
      }
      most += need;
    }
    limited_[c] = most > kMaxDevicesPerClaim;
  }
  usable_ &= !work.exhausted();
  if (!usable_) return;
  components_.Reset(attempt, initial, symmetry_, work);
  usable_ = !work.exhausted();
}

Fingerprint Residual::Of(const State& state, const Position& position) {
  whole_.Clear();
  several_ = position.put_off != nullptr;
  DescribeRequests(state, position);
  ListMet(state);
  parts_.clear();
  for (std::uint32_t i = 0; i < components_.all().size(); ++i) {
    const auto& classes = components_.all()[i].classes;
    if (std::ranges::any_of(classes, [&](std::uint32_t c) { return wanted_.Test(c); })) {
      parts_.push_back(DescribeComponent(i, state));
    }
  }
  std::ranges::sort(parts_);
  for (const Fingerprint& part : parts_) whole_.Add(part);
  work_->Spend(whole_.size() + parts_.size() * 4 + components_.all().size());
  return whole_.Hash();
}

// What is still to be found, by classes of requests: how many of each, and which of their
// alternatives are decided.
void Residual::DescribeRequests(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  if (wanted_.size() != symmetry_.classes()) wanted_ = BitSet(symmetry_.classes());
  wanted_.ResetAll();
  claims_.clear();
  // Sums of spread numbers: the order of requests does not matter.
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15ULL;
  std::uint64_t sum = 0;
  std::uint64_t other = 0;
  std::uint64_t count = 0;
  position.open->ForEach([&](std::size_t r) {
    const std::uint32_t decided =
        position.decided.empty() ? Position::kUndecided : position.decided[r];
    // One that has a single alternative is as good as decided.
    const std::uint64_t which = plan.requests()[r].count == 1 ? 0
                                : decided == Position::kUndecided
                                    ? Symmetry::kNone
                                    : decided - plan.requests()[r].first;
    const std::uint64_t asked = std::uint64_t{symmetry_.request_class(r)} << 32 | which;
    sum += Mix(asked);
    other += Mix(asked ^ kOther);
    ++count;
    wanted_ |= symmetry_.wanted_by(r);
    if (claims_.empty() || claims_.back() != claim_of_[r]) claims_.push_back(claim_of_[r]);
  });
  work_->Spend(count * 4);
  whole_.Add(sum);
  whole_.Add(other);
  whole_.Add(count);
  for (BitSet* available : {&available_, &put_off_}) {
    if (available->size() != attempt_->device_count())
      *available = BitSet(attempt_->device_count());
    available->ResetAll();
  }
  for (const Position* at = &position; at != nullptr; at = at->put_off) {
    whole_.Add(Symmetry::kNone);
    if (at->current == nullptr || at->remaining == 0) continue;
    const auto alternative = static_cast<std::uint32_t>(at->current - &attempt_->candidates(0));
    const std::uint32_t request = request_of_[alternative];
    whole_.Add(symmetry_.request_class(request));
    whole_.Add(alternative - plan.requests()[request].first);
    whole_.Add(static_cast<std::uint64_t>(at->remaining));
    BitSet& available = at == &position ? available_ : put_off_;
    available = at->current->devices;
    if (at->after != nullptr) available &= *at->after;
    available.AndNot(state.blocked(*at->current->alternative));
    available.ForEach([&](std::size_t d) { wanted_.Set(symmetry_.class_of(d)); });
    work_->Spend(available.size() / 16);
    if (std::ranges::find(claims_, at->claim) == claims_.end()) {
      claims_.push_back(static_cast<std::uint32_t>(at->claim));
    }
  }
  whole_.Add(Symmetry::kNone);
  for (const std::uint32_t c : claims_) {
    if (limited_[c]) whole_.Add(state.chosen_in_claim(c));
  }
}

// Which values the constraints of these claims have met, component by component.
void Residual::ListMet(const State& state) {
  const Plan& plan = attempt_->plan();
  met_.clear();
  for (const std::uint32_t c : claims_) {
    const ClaimPlan& claim = plan.claims()[c];
    for (std::uint32_t i = 0; i < claim.constraints; ++i) {
      const std::uint32_t constraint = claim.first_constraint + i;
      const ConstraintPlan& planned = plan.constraints()[constraint];
      const Accepted accepted = state.accepted(constraint);
      if (accepted.state.devices == 0) continue;
      // That something was met matters even if the value is of no component.
      whole_.Add(constraint);
      decisive_.clear();
      planned.type->AddDecisive(accepted, decisive_);
      for (const ElementId element : decisive_) {
        const Components::Place* place = components_.Find({planned.name, element});
        if (place == nullptr) continue;
        met_.emplace_back(place->component, std::uint64_t{constraint} << 32 | place->number);
      }
    }
  }
  whole_.Add(Symmetry::kNone);
  std::ranges::sort(met_);
  work_->Spend(met_.size() * 8);
}

Fingerprint Residual::DescribeComponent(std::uint32_t index, const State& state) {
  const Component& component = components_.all()[index];
  part_.Clear();
  part_.Add(component.type);
  for (const std::uint32_t c : component.classes) {
    const BitSet& members = symmetry_.members(c);
    if (!wanted_.Test(c)) {
      part_.Add(Symmetry::kNone);
      continue;
    }
    if (components_.OneByOne(static_cast<std::uint32_t>(members.First()))) continue;
    const std::size_t free = members.Count() - members.IntersectionCount(state.chosen());
    part_.Add(free << 32 | members.IntersectionCount(available_));
    if (several_) DescribePutOff(members);
  }
  DescribeDevices(component, state);
  const inventory::NodeDevices& devices = attempt_->devices();
  for (const std::uint32_t s : component.sets) {
    const auto& set = devices.counter_sets()[s];
    for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      part_.Add(symmetry_.CounterLeft(state, c));
    }
    const ledger::GroupState& groups = state.group(s);
    part_.Add(static_cast<std::uint64_t>(groups.kind));
    part_.Add(groups.groups.size());
    for (const inventory::NameId name : groups.groups) part_.Add(name.id());
  }
  const auto first =
      std::ranges::lower_bound(met_, index, {}, [](const auto& m) { return m.first; });
  for (auto it = first; it != met_.end() && it->first == index; ++it) part_.Add(it->second);
  work_->Spend(part_.size() + component.classes.size() * (state.chosen().size() / 32 + 1));
  return part_.Hash();
}

// Of a class only numbers count: how many devices are for the request that was put off, and how
// many of these also for the one that is being filled.
void Residual::DescribePutOff(const BitSet& members) {
  both_ = put_off_;
  both_ &= available_;
  part_.Add(members.IntersectionCount(put_off_) << 32 | members.IntersectionCount(both_));
}

void Residual::DescribeDevices(const Component& component, const State& state) {
  if (component.devices.empty()) return;
  devices_.clear();
  for (const std::uint32_t d : component.devices) {
    const std::uint32_t c = symmetry_.class_of(d);
    if (!wanted_.Test(c)) continue;
    device_.Clear();
    // The class stands for the device; its number must be the component's own.
    device_.Add(static_cast<std::uint64_t>(std::ranges::find(component.classes, c) -
                                           component.classes.begin()));
    device_.Add(static_cast<std::uint64_t>(available_.Test(d)) |
                static_cast<std::uint64_t>(state.shared().Test(d)) << 1 |
                static_cast<std::uint64_t>(state.chosen().Test(d)) << 2 |
                static_cast<std::uint64_t>(put_off_.Test(d)) << 3);
    if (symmetry_.admin()) {
      for (const std::uint32_t claim : claims_) {
        if (state.in_claim(claim).Test(d)) device_.Add(claim);
      }
    }
    for (std::size_t i = 0; i < state.consumed(d).size(); ++i) {
      device_.Add(symmetry_.ShareLeft(state, d, i));
    }
    work_->Spend(device_.size() + component.classes.size() / 2);
    devices_.push_back(device_.Hash());
  }
  std::ranges::sort(devices_);
  for (const Fingerprint& f : devices_) part_.Add(f);
  part_.Add(Symmetry::kNone);
}

}  // namespace dray::allocator

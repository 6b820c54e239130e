// SPDX-License-Identifier: Apache-2.0
#include "allocator/symmetry.h"

#include <algorithm>
#include <utility>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;
using inventory::SetUse;

void Symmetry::Reset(const Attempt& attempt, const State& initial, const ConstraintValues& values,
                     WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  const Plan& plan = attempt.plan();
  const auto alternatives = plan.alternatives();
  admin_ = std::ranges::any_of(alternatives, &Alternative::admin);
  attributes_.resize(alternatives.size());
  for (const ClaimPlan& claim : plan.claims()) {
    for (const RequestPlan& request : plan.requests(claim)) {
      for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
        attributes_[a].clear();
        for (const ConstraintUse& use : alternatives[a].constraints) {
          attributes_[a].push_back(plan.constraints(claim)[use.constraint].name);
        }
      }
    }
  }
  linking_.clear();
  for (std::size_t c = 0; c < plan.constraints().size(); ++c) {
    const ConstraintValues::Carriers& carriers = values[c];
    // Those of the same kind and name are in already.
    if (carriers.same_as != c &&
        plan.constraints()[carriers.same_as].name == plan.constraints()[c].name) {
      continue;
    }
    work_->Spend(carriers.elements.size());
    carriers.linking.ForEach([&](std::size_t e) {
      linking_.try_emplace({plan.constraints()[c].name, carriers.elements[e]}, true);
    });
  }
  FindRepresentatives();
  FindDeviceClasses(initial);
  FindRequestClasses();
  FindUnits();
}

// Alternatives with one filter read the same of a device; if they have the same candidates too, one
// of them tells devices apart as well as all of them.
void Symmetry::FindRepresentatives() {
  representatives_.clear();
  representative_of_.clear();
  absl::flat_hash_map<std::uint32_t, std::vector<std::uint32_t>> by_filter;
  const auto alternatives = attempt_->plan().alternatives();
  for (std::uint32_t a = 0; a < alternatives.size(); ++a) {
    std::vector<std::uint32_t>& known = by_filter[alternatives[a].filter];
    work_->Spend(4 + known.size() * (1 + attempt_->device_count() / 64));
    if (work_->exhausted()) known.clear();
    const auto seen = std::ranges::find_if(known, [&](std::uint32_t other) {
      return attempt_->candidates(representatives_[other]).devices ==
             attempt_->candidates(a).devices;
    });
    if (seen != known.end()) {
      representative_of_.push_back(*seen);
      continue;
    }
    const auto next = static_cast<std::uint32_t>(representatives_.size());
    known.push_back(next);
    representatives_.push_back(a);
    representative_of_.push_back(next);
  }
}

void Symmetry::Describe(std::uint32_t index, const State& initial, Local* local,
                        Description& into) const {
  const auto& dictionary = attempt_->devices().dictionary();
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  const bool multi = attempt_->multi(index);
  into.Add(static_cast<std::uint64_t>(multi) * 2 +
           static_cast<std::uint64_t>(initial.shared().Test(index)));
  const auto capacity = initial.capacity(index);
  for (const std::uint32_t a : representatives_) {
    const Candidates& candidates = attempt_->candidates(a);
    const bool candidate = candidates.devices.Test(index);
    into.Add(static_cast<std::uint64_t>(candidate));
    if (!candidate) continue;
    for (std::size_t use = 0; use < candidates.alternative->constraints.size(); ++use) {
      const ValueId value = attempt_->value(candidates, use, index);
      if (local == nullptr || value == ValueId::kNone) {
        into.Add(static_cast<std::uint64_t>(value));
        continue;
      }
      const auto elements = dictionary.At(value).elements;
      into.Add(static_cast<std::uint64_t>(elements.empty()));
      for (const ElementId element : elements) {
        const AttributeElement key{attributes_[a][use], element};
        if (!Linking(key)) continue;
        const auto next = static_cast<std::uint32_t>(local->elements.size());
        into.Add(local->elements.try_emplace(key, next).first->second);
      }
      into.Add(kNone);
    }
    if (!capacity.empty()) {
      const Amount* wanted = attempt_->consumed(candidates, index);
      for (std::size_t i = 0; i < capacity.size(); ++i) into.Add(wanted[i]);
    }
  }
  into.Add(capacity.size());
  // What a device to share has left changes; it is looked at whenever states are compared.
  if (!multi) {
    for (const Amount& amount : capacity) into.Add(amount);
    for (const Amount& amount : initial.consumed(index)) into.Add(amount);
  }
  const auto name_of = [&](std::uint32_t set) -> std::uint64_t {
    if (local == nullptr) return set;
    const auto next = static_cast<std::uint32_t>(local->sets.size());
    return local->sets.try_emplace(set, next).first->second;
  };
  for (const SetUse& use : devices.set_uses(device)) {
    into.Add(name_of(use.set));
    into.Add(static_cast<std::uint64_t>(use.groups));
    into.Add(devices.counter_sets()[use.set].counters);
  }
  for (const CounterUse& use : devices.counter_uses(device)) {
    const std::uint32_t set = devices.counters()[use.counter].set;
    into.Add(name_of(set));
    into.Add(use.counter - devices.counter_sets()[set].first_counter);
    into.Add(use.amount);
  }
}

void Symmetry::FindDeviceClasses(const State& initial) {
  const std::size_t n = attempt_->device_count();
  class_of_.assign(n, kNone);
  members_.clear();
  BitSet relevant(n);
  for (const std::uint32_t a : representatives_) relevant |= attempt_->candidates(a).devices;
  absl::flat_hash_map<Fingerprint, std::uint32_t> classes;
  relevant.ForEach([&](std::size_t d) {
    scratch_.Clear();
    if (!work_->exhausted()) Describe(static_cast<std::uint32_t>(d), initial, nullptr, scratch_);
    work_->Spend(scratch_.size() + 8 + n / 64);
    const auto next = static_cast<std::uint32_t>(members_.size());
    const auto [it, fresh] = classes.try_emplace(scratch_.Hash(), next);
    if (fresh) members_.emplace_back(n);
    class_of_[d] = it->second;
    members_[it->second].Set(d);
  });
}

void Symmetry::FindRequestClasses() {
  const Plan& plan = attempt_->plan();
  wanted_of_.assign(representatives_.size(), BitSet(members_.size()));
  for (std::size_t i = 0; i < representatives_.size(); ++i) {
    if (work_->exhausted()) return;
    work_->Spend(members_.size() / 64 + attempt_->device_count() / 4 + 1);
    attempt_->candidates(representatives_[i]).devices.ForEach([&](std::size_t d) {
      wanted_of_[i].Set(class_of_[d]);
    });
  }
  absl::flat_hash_map<Fingerprint, std::uint32_t> classes;
  request_class_.assign(plan.requests().size(), 0);
  wanted_by_.clear();
  for (std::size_t c = 0; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
      const RequestPlan& request = plan.requests()[r];
      BitSet wanted(members_.size());
      work_->Spend(8 + request.count * (2 + members_.size() / 64));
      scratch_.Clear();
      scratch_.Add(c);
      for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
        const Alternative& alternative = plan.alternatives()[a];
        const Candidates& candidates = attempt_->candidates(a);
        scratch_.Add(representative_of_[a]);
        scratch_.Add(static_cast<std::uint64_t>(alternative.all) << 1 |
                     static_cast<std::uint64_t>(alternative.admin));
        scratch_.Add(static_cast<std::uint64_t>(candidates.need));
        for (const ConstraintUse& use : alternative.constraints) scratch_.Add(use.constraint);
        scratch_.Add(kNone);
        wanted |= wanted_of_[representative_of_[a]];
      }
      const auto next = static_cast<std::uint32_t>(wanted_by_.size());
      const auto [it, fresh] = classes.try_emplace(scratch_.Hash(), next);
      if (fresh) wanted_by_.push_back(std::move(wanted));
      request_class_[r] = it->second;
    }
  }
}

Amount Symmetry::Rounded(const Amount& left, const Amount& unit) {
  // Below zero nothing fits, not even what needs nothing.
  if (left < 0) return -1;
  if (unit == 0) return 0;
  return left - left % unit;
}

void Symmetry::FindUnits() {
  const auto into = [](Amount& unit, Amount amount) {
    while (amount != 0) unit = std::exchange(amount, unit % amount);
  };
  const inventory::NodeDevices& devices = attempt_->devices();
  counter_units_.assign(devices.counters().size(), Amount(0));
  class_units_.assign(members_.size(), {});
  for (std::uint32_t d = 0; d < class_of_.size(); ++d) {
    if (class_of_[d] == kNone) continue;
    const NodeDevice& device = devices.devices()[d];
    for (const CounterUse& use : devices.counter_uses(device)) {
      into(counter_units_[use.counter], use.amount);
    }
    if (!attempt_->multi(d)) continue;
    std::vector<Amount>& units = class_units_[class_of_[d]];
    units.resize(device.row->capacities, Amount(0));
    if (work_->exhausted()) continue;
    work_->Spend(representatives_.size() * (1 + 2 * units.size()));
    for (const std::uint32_t a : representatives_) {
      const Candidates& candidates = attempt_->candidates(a);
      if (!candidates.devices.Test(d)) continue;
      const Amount* wanted = attempt_->consumed(candidates, d);
      for (std::size_t i = 0; i < units.size(); ++i) into(units[i], wanted[i]);
    }
  }
}

Amount Symmetry::CounterLeft(const State& state, std::uint32_t counter) const {
  return Rounded(state.counters()[counter], counter_units_[counter]);
}

Amount Symmetry::ShareLeft(const State& state, std::uint32_t device, std::size_t capacity) const {
  const Amount left = state.capacity(device)[capacity] - state.consumed(device)[capacity];
  return attempt_->multi(device) ? Rounded(left, class_units_[class_of_[device]][capacity]) : left;
}

bool Symmetry::SameLeft(const State& state, std::uint32_t a, std::uint32_t b) const {
  const std::size_t n = state.consumed(a).size();
  if (n != state.consumed(b).size()) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (ShareLeft(state, a, i) != ShareLeft(state, b, i)) return false;
  }
  return true;
}

bool Symmetry::Twins(const State& state, std::uint32_t a, std::uint32_t b) const {
  const auto alike = [&](const BitSet& set) { return set.Test(a) == set.Test(b); };
  if (class_of_[a] != class_of_[b] || !alike(state.chosen()) || !alike(state.shared())) {
    return false;
  }
  // With admin access it matters which claim has a device that is chosen.
  if (admin_ && (state.chosen().Test(a) || !alike(state.in_claim()))) return false;
  return SameLeft(state, a, b);
}

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/bounds.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;

namespace {

constexpr std::uint32_t kUnlimited = 1 << 20;

void Fit(BitSet& set, std::size_t size) {
  if (set.size() != size) set = BitSet(size);
  set.ResetAll();
}

}  // namespace

void Bounds::Reset(const Attempt& attempt) {
  attempt_ = &attempt;
  const Plan& plan = attempt.plan();
  const inventory::NodeDevices& devices = attempt.devices();
  const std::size_t n = attempt.device_count();
  constraints_usable_ = true;
  carriers_.assign(plan.constraints().size(), {});
  for (const ClaimPlan& claim : plan.claims()) {
    for (const RequestPlan& request : plan.requests(claim)) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const Choices& choices = attempt.choices(request.first + i);
        const auto& uses = choices.alternative->constraints;
        for (std::size_t use = 0; use < uses.size(); ++use) {
          AddCarriers(claim.first_constraint + uses[use].constraint, choices, use);
        }
      }
    }
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

  first_small_.assign(n + 1, 0);
  smallest_.clear();
  for (std::uint32_t d = 0; d < n; ++d) {
    first_small_[d] = static_cast<std::uint32_t>(smallest_.size());
    if (!attempt.multi(d)) continue;
    const std::size_t capacities = devices.devices()[d].row->capacities;
    const std::size_t first = smallest_.size();
    smallest_.resize(first + capacities, absl::Int128Max());
    for (std::size_t a = 0; a < plan.alternatives().size(); ++a) {
      const Choices& choices = attempt.choices(a);
      if (!choices.candidates.Test(d)) continue;
      const Amount* wanted = attempt.consumed(choices, d);
      for (std::size_t i = 0; i < capacities; ++i) {
        smallest_[first + i] = std::min(smallest_[first + i], wanted[i]);
      }
    }
  }
  first_small_[n] = static_cast<std::uint32_t>(smallest_.size());
}

void Bounds::AddCarriers(std::size_t constraint, const Choices& choices, std::size_t use) {
  const auto& dictionary = attempt_->devices().dictionary();
  Carriers& carriers = carriers_[constraint];
  const bool sets = attempt_->plan().features().list_type_attributes;
  std::vector<BitSet>& mine = carriers.by_alternative[&choices];
  mine.resize(carriers.elements.size(), BitSet(attempt_->device_count()));
  choices.candidates.ForEach([&](std::size_t device) {
    const ValueId value = attempt_->value(choices, use, device);
    if (value == ValueId::kNone) return;
    const inventory::AttributeValue& attribute = dictionary.At(value);
    // A list where lists do not count is accepted only from the first device: no bound knows that.
    if (!sets && (attribute.is_list || attribute.elements.size() != 1)) {
      constraints_usable_ = false;
      return;
    }
    for (const ElementId element : attribute.elements) {
      auto it = std::ranges::find(carriers.elements, element);
      if (it == carriers.elements.end()) {
        carriers.elements.push_back(element);
        it = carriers.elements.end() - 1;
      }
      const auto at = static_cast<std::size_t>(it - carriers.elements.begin());
      if (at >= mine.size()) mine.resize(at + 1, BitSet(attempt_->device_count()));
      mine[at].Set(device);
    }
  });
  for (auto& [other, sets_of] : carriers.by_alternative) {
    sets_of.resize(carriers.elements.size(), BitSet(attempt_->device_count()));
  }
}

Bounds::Demand& Bounds::NextDemand() {
  if (demand_count_ == demands_.size()) demands_.emplace_back();
  Demand& demand = demands_[demand_count_++];
  demand.choices.clear();
  demand.admin = false;
  Fit(demand.mask, attempt_->device_count());
  return demand;
}

bool Bounds::Hopeless(const State& state, const Position& position) {
  FindOpen(state);
  if (!MakeDemands(state, position)) return true;
  if (constraints_usable_ && ConstraintsHopeless(state, position)) return true;
  return SumsHopeless(state) || FlowHopeless(state);
}

void Bounds::FindOpen(const State& state) {
  const std::size_t n = attempt_->device_count();
  Fit(open_, n);
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
    demand.claim = position.claim;
    demand.need = static_cast<std::uint32_t>(position.remaining);
    demand.choices.push_back(position.current);
    demand.admin = position.current->alternative->admin;
    demand.mask = position.current->candidates;
    if (position.after != nullptr) demand.mask &= *position.after;
    if (!Narrow(demand, state)) return false;
  }
  for (std::size_t c = position.claim; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    const std::size_t begin =
        c == position.claim ? position.request : std::size_t{claim.first_request};
    for (std::size_t r = begin; r < claim.first_request + claim.requests; ++r) {
      const RequestPlan& request = plan.requests()[r];
      Demand& demand = NextDemand();
      demand.claim = c;
      std::int64_t need = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const Choices& choices = attempt_->choices(request.first + i);
        if (choices.alternative->all && (choices.impossible || choices.need == 0)) continue;
        need = std::min(need, choices.need);
        demand.choices.push_back(&choices);
        demand.admin |= choices.alternative->admin;
        demand.mask |= choices.candidates;
      }
      if (demand.choices.empty()) return false;
      demand.need = static_cast<std::uint32_t>(std::min<std::int64_t>(need, kUnlimited));
      if (!Narrow(demand, state)) return false;
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
      const bool room = std::ranges::any_of(demand.choices, [&](const Choices* choices) {
        return choices->candidates.Test(d) &&
               state.HasRoom(*choices, static_cast<std::uint32_t>(d));
      });
      if (!room) demand.mask.Reset(d);
    });
  }
  return demand.mask.Count() >= demand.need;
}

bool Bounds::ConstraintsHopeless(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  for (std::size_t c = position.claim; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    for (std::size_t i = 0; i < claim.constraints; ++i) {
      const std::size_t constraint = claim.first_constraint + i;
      if (plan.constraints()[constraint].distinct ? DistinctHopeless(constraint, c, state)
                                                  : MatchHopeless(constraint, c, state)) {
        return true;
      }
    }
  }
  return EqualClaimsHopeless(position);
}

bool Bounds::Covers(const Demand& demand, std::size_t constraint) const {
  return !demand.admin && demand.need > 0 &&
         std::ranges::all_of(demand.choices, [&](const Choices* choices) {
           return carriers_[constraint].Find(choices) != nullptr;
         });
}

std::size_t Bounds::CountWith(const Demand& demand, std::size_t constraint,
                              std::size_t element) const {
  const Carriers& carriers = carriers_[constraint];
  if (demand.choices.size() == 1) {
    return demand.mask.IntersectionCount((*carriers.Find(demand.choices.front()))[element]);
  }
  BitSet any(attempt_->device_count());
  for (const Choices* choices : demand.choices) any |= (*carriers.Find(choices))[element];
  return demand.mask.IntersectionCount(any);
}

bool Bounds::MatchHopeless(std::size_t constraint, std::size_t claim, const State& state) {
  const Carriers& carriers = carriers_[constraint];
  std::vector<Demand*> covered;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    if (demands_[i].claim == claim && Covers(demands_[i], constraint)) {
      covered.push_back(&demands_[i]);
    }
  }
  if (covered.empty()) return false;
  const ConstraintState& met = state.constraint(constraint);
  const auto possible = [&](ElementId element) {
    if (met.devices == 0) return true;
    if (attempt_->plan().features().list_type_attributes) {
      return std::ranges::binary_search(state.common(met), element);
    }
    const auto& first = attempt_->devices().dictionary().At(state.met(constraint).front());
    return std::ranges::find(first.elements, element) != first.elements.end();
  };
  std::vector<std::size_t> alive;
  for (std::size_t e = 0; e < carriers.elements.size(); ++e) {
    if (!possible(carriers.elements[e])) continue;
    if (std::ranges::all_of(covered, [&](const Demand* demand) {
          return CountWith(*demand, constraint, e) >= demand->need;
        })) {
      alive.push_back(e);
    }
  }
  if (alive.empty()) return true;
  // Nothing else can be chosen; the bounds behind this one see less.
  for (Demand* demand : covered) {
    Fit(scratch_, attempt_->device_count());
    for (const Choices* choices : demand->choices) {
      for (const std::size_t e : alive) scratch_ |= (*carriers.Find(choices))[e];
    }
    demand->mask &= scratch_;
  }
  return false;
}

bool Bounds::DistinctHopeless(std::size_t constraint, std::size_t claim, const State& state) {
  const Carriers& carriers = carriers_[constraint];
  const std::size_t elements = carriers.elements.size();
  const auto& dictionary = attempt_->devices().dictionary();
  BitSet used(elements);
  for (const ValueId value : state.met(constraint)) {
    for (const ElementId element : dictionary.At(value).elements) {
      const auto it = std::ranges::find(carriers.elements, element);
      if (it != carriers.elements.end()) {
        used.Set(static_cast<std::size_t>(it - carriers.elements.begin()));
      }
    }
  }
  // One value stands for a device: no two devices have it.
  std::vector<BitSet> allowed;
  std::vector<std::uint32_t> needs;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    Demand& demand = demands_[i];
    if (demand.claim != claim || !Covers(demand, constraint)) continue;
    BitSet values(elements);
    if (used.Any()) {
      BitSet clash(attempt_->device_count());
      used.ForEach([&](std::size_t e) {
        for (const Choices* choices : demand.choices) clash |= (*carriers.Find(choices))[e];
      });
      // Seen by one alternative only, a clash says nothing about the others.
      if (demand.choices.size() == 1) demand.mask.AndNot(clash);
    }
    for (std::size_t e = 0; e < elements; ++e) {
      if (!used.Test(e) && CountWith(demand, constraint, e) > 0) values.Set(e);
    }
    allowed.push_back(std::move(values));
    needs.push_back(demand.need);
  }
  if (allowed.empty()) return false;
  distinct_flow_.Reset(elements, 0);
  for (std::size_t e = 0; e < elements; ++e) distinct_flow_.SetItem(e, 1, Transport::kNoBucket);
  for (std::size_t i = 0; i < allowed.size(); ++i) distinct_flow_.AddGroup(needs[i], allowed[i]);
  return !distinct_flow_.Feasible();
}

// Claims that ask for the same, none of them begun: those that settle on one value take their
// devices from the same few.
bool Bounds::EqualClaimsHopeless(const Position& position) {
  const Plan& plan = attempt_->plan();
  const auto claims = plan.claims();
  for (std::size_t c = position.claim + 1; c < claims.size(); ++c) {
    const auto same = [&](const ClaimPlan& other) { return other.shape == claims[c].shape; };
    const auto begin = claims.begin() + static_cast<std::ptrdiff_t>(position.claim) + 1;
    const auto here = claims.begin() + static_cast<std::ptrdiff_t>(c);
    if (std::find_if(begin, here, same) != here) continue;
    const auto equal = static_cast<std::size_t>(std::count_if(here, claims.end(), same));
    if (equal < 2) continue;
    for (std::size_t i = 0; i < claims[c].constraints; ++i) {
      const std::size_t constraint = claims[c].first_constraint + i;
      if (plan.constraints()[constraint].distinct) continue;
      std::size_t room = 0;
      bool covered = false;
      for (std::size_t e = 0; e < carriers_[constraint].elements.size(); ++e) {
        std::size_t times = kUnlimited;
        for (std::size_t d = 0; d < demand_count_; ++d) {
          const Demand& demand = demands_[d];
          if (demand.claim != c || !Covers(demand, constraint)) continue;
          // A device for multiple allocations can serve several claims.
          if (demand.mask.Intersects(attempt_->multi())) continue;
          covered = true;
          times = std::min(times, CountWith(demand, constraint, e) / demand.need);
        }
        room += times;
      }
      if (covered && room < equal) return true;
    }
  }
  return false;
}

// What each request needs of a pool's counters of one name at least, against what is left of them in
// all counter sets.
bool Bounds::SumsHopeless(const State& state) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  if (devices.counters().empty()) return false;
  std::vector<Amount> left(totals_);
  for (std::size_t c = 0; c < total_of_.size(); ++c) {
    left[total_of_[c]] += std::max(Amount(0), state.counters()[c]);
  }
  std::vector<Amount> least(totals_);
  std::vector<Amount> uses(totals_);
  for (std::size_t i = 0; i < demand_count_; ++i) {
    const Demand& demand = demands_[i];
    if (demand.need == 0 || demand.admin || demand.mask.Intersects(attempt_->multi())) continue;
    bool first = true;
    demand.mask.ForEach([&](std::size_t d) {
      std::ranges::fill(uses, Amount(0));
      for (const CounterUse& use : devices.counter_uses(devices.devices()[d])) {
        uses[total_of_[use.counter]] += use.amount;
      }
      for (std::size_t t = 0; t < totals_; ++t) {
        least[t] = first ? uses[t] : std::min(least[t], uses[t]);
      }
      first = false;
    });
    if (first) continue;
    for (std::size_t t = 0; t < totals_; ++t) left[t] -= least[t] * demand.need;
  }
  return std::ranges::any_of(left, [](const Amount& amount) { return amount < 0; });
}

std::uint32_t Bounds::RoomInSet(std::size_t s, const State& state) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  const auto& set = devices.counter_sets()[s];
  std::uint32_t room = kUnlimited;
  for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
    Amount left = state.counters()[c];
    std::uint32_t fit = 0;
    std::uint32_t listed = 0;
    bool stopped = false;
    for (const CounterList::Entry& entry : counters_[c].entries) {
      if (!open_.Test(entry.device) || attempt_->multi(entry.device)) continue;
      ++listed;
      if (stopped) continue;
      if (entry.amount > left) {
        stopped = true;
        continue;
      }
      left -= entry.amount;
      ++fit;
    }
    // Devices of the set that leave this counter alone are not limited by it.
    if (stopped && listed > 0) {
      std::uint32_t others = 0;
      open_.ForEach([&](std::size_t d) {
        const NodeDevice& device = devices.devices()[d];
        if (device.sets == 0 || devices.set_uses(device).front().set != s) return;
        const auto uses = devices.counter_uses(device);
        others += static_cast<std::uint32_t>(
            std::ranges::none_of(uses, [&](const CounterUse& use) { return use.counter == c; }));
      });
      room = std::min(room, fit + others);
    }
  }
  return room;
}

std::uint32_t Bounds::SharesLeft(std::uint32_t d, const State& state) const {
  const auto consumed = state.consumed(d);
  const auto capacity = state.capacity(d);
  std::uint32_t shares = kUnlimited;
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    const Amount each = smallest_[first_small_[d] + i];
    if (each <= 0) continue;
    const Amount fit = (capacity[i] - consumed[i]) / each;
    if (fit < shares) shares = fit < 0 ? 0 : static_cast<std::uint32_t>(fit);
  }
  return shares;
}

bool Bounds::FlowHopeless(const State& state) {
  const inventory::NodeDevices& devices = attempt_->devices();
  const std::size_t n = attempt_->device_count();
  const std::size_t sets = devices.counter_sets().size();
  flow_.Reset(n, sets);
  for (std::size_t s = 0; s < sets; ++s) flow_.SetBucket(s, RoomInSet(s, state));
  for (std::uint32_t d = 0; d < n; ++d) {
    if (!open_.Test(d)) continue;
    const bool multi = attempt_->multi(d);
    const NodeDevice& device = devices.devices()[d];
    const bool in_set = !multi && device.sets > 0;
    flow_.SetItem(d, multi ? SharesLeft(d, state) : 1,
                  in_set ? devices.set_uses(device).front().set : Transport::kNoBucket);
  }
  std::uint32_t needed = 0;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    if (demands_[i].admin || demands_[i].need == 0) continue;
    needed += demands_[i].need;
    flow_.AddGroup(demands_[i].need, demands_[i].mask);
  }
  return needed > 0 && !flow_.Feasible();
}

}  // namespace dray::allocator

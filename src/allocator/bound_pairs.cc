// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_pairs.h"

#include <algorithm>
#include <utility>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;

namespace {

// More kinds than this are not looked at: pairs of them would cost more than the search.
constexpr std::size_t kMostPairKinds = 12;

}  // namespace

void PairsBound::Clear(BitSet& set, std::size_t size) {
  if (set.size() != size) set = BitSet(size);
  set.ResetAll();
}

void PairsBound::Reset(const BoundInput& input) {
  attempt_ = &input.attempt;
  supply_ = &input.supply;
  work_ = &input.work;
}

// Requests with the same filter see devices alike and are one kind. The request that is being
// filled may not take all that the others may; it is a kind of its own as well.
void PairsBound::FindKinds(std::span<const Demand> demands) {
  kind_count_ = 0;
  const auto add = [&](const Demand& demand) -> Kind& {
    if (kind_count_ == kinds_.size()) kinds_.emplace_back();
    Kind& kind = kinds_[kind_count_++];
    kind.candidates = demand.candidates.front();
    kind.need = demand.need;
    kind.requests = 1;
    kind.begun = false;
    kind.mask = demand.mask;
    return kind;
  };
  for (const Demand& demand : demands) {
    if (kind_count_ == kMostPairKinds) break;
    if (demand.admin || demand.need == 0 || demand.candidates.size() != 1) continue;
    const std::uint32_t filter = demand.candidates.front()->alternative->filter;
    const auto end = kinds_.begin() + static_cast<std::ptrdiff_t>(kind_count_);
    const auto known = std::find_if(kinds_.begin(), end, [&](const Kind& kind) {
      return kind.candidates->alternative->filter == filter;
    });
    if (known == end) {
      add(demand);
      continue;
    }
    known->need += demand.need;
    ++known->requests;
    known->mask |= demand.mask;
  }
  if (kind_count_ > 0 && demands[0].request >= Demand::kPutOff && kinds_[0].requests > 1 &&
      !demands[0].admin) {
    add(demands[0]).begun = true;
  }
  for (std::size_t k = 0; k < kind_count_; ++k) {
    Clear(kinds_[k].sets, supply_->set_devices().size());
    for (std::size_t s = 0; s < supply_->set_devices().size(); ++s) {
      if (kinds_[k].mask.Intersects(supply_->set_devices()[s])) kinds_[k].sets.Set(s);
    }
  }
}

bool PairsBound::Hopeless(const State& state, Demands& demands) {
  FindKinds(demands.all());
  for (std::size_t a = 0; a < kind_count_; ++a) {
    bool alone = true;
    for (std::size_t b = 0; b < kind_count_; ++b) {
      if (a == b) continue;
      if (kinds_[a].begun && kinds_[b].candidates == kinds_[a].candidates) continue;
      if (kinds_[b].begun && kinds_[b].candidates == kinds_[a].candidates) continue;
      if (!kinds_[a].mask.Intersects(kinds_[b].mask) &&
          !kinds_[a].sets.Intersects(kinds_[b].sets)) {
        continue;
      }
      alone = false;
      if (a < b && TooMany(kinds_[a], kinds_[b], state)) return true;
    }
    if (alone && TooMany(kinds_[a], {}, state)) return true;
  }
  return false;
}

bool PairsBound::TooMany(const Kind& a, const Kind& b, const State& state) {
  const bool pair = b.candidates != nullptr;
  packing_.Reset(a.need);
  work_->Spend(16 + supply_->set_devices().size() + attempt_->device_count() / 16);
  AddLoose(a, b);
  for (std::size_t s = 0; s < supply_->set_devices().size(); ++s) {
    if (a.sets.Test(s) || (pair && b.sets.Test(s))) AddSet(a, b, s, state);
  }
  Clear(scratch_, attempt_->device_count());
  scratch_ |= a.mask;
  if (pair) scratch_ |= b.mask;
  scratch_ &= attempt_->multi();
  scratch_.ForEach([&](std::size_t d) { AddShared(a, b, static_cast<std::uint32_t>(d), state); });
  return !packing_.Fits(b.need);
}

// Dedicated devices that draw on nothing.
void PairsBound::AddLoose(const Kind& a, const Kind& b) {
  const bool pair = b.candidates != nullptr;
  const auto mine = static_cast<std::uint32_t>(a.mask.IntersectionCount(supply_->loose()));
  const auto theirs = pair ? static_cast<std::uint32_t>(b.mask.IntersectionCount(supply_->loose()))
                           : std::uint32_t{0};
  std::uint32_t either = mine;
  if (pair) {
    Clear(scratch_, attempt_->device_count());
    scratch_ |= a.mask;
    scratch_ |= b.mask;
    either = static_cast<std::uint32_t>(scratch_.IntersectionCount(supply_->loose()));
  }
  if (either == 0) return;
  room_.clear();
  for (std::uint32_t x = 0; x <= std::min(mine, a.need); ++x) {
    room_.push_back(std::min(theirs, either - x));
  }
  packing_.Add(room_);
}

// The least that so many of a kind's devices draw on a counter, by their number.
void PairsBound::LeastDrawn(const Kind& kind, std::size_t set, std::size_t counter,
                            std::size_t count, std::vector<Amount>& least) const {
  least.assign(1, Amount(0));
  if (count == 0) return;
  const auto& entries = supply_->entries(counter);
  std::size_t drawing = 0;
  const auto counts = [&](const Supply::Entry& entry) {
    return kind.mask.Test(entry.device) && supply_->set_devices()[set].Test(entry.device);
  };
  for (const Supply::Entry& entry : entries) drawing += counts(entry) ? 1 : 0;
  least.resize(1 + count - std::min(count, drawing), Amount(0));
  for (const Supply::Entry& entry : entries) {
    if (counts(entry)) least.push_back(least.back() + entry.amount);
  }
}

// Dedicated devices that draw on the counter set.
void PairsBound::AddSet(const Kind& a, const Kind& b, std::size_t s, const State& state) {
  const bool pair = b.candidates != nullptr;
  const auto& set = attempt_->devices().counter_sets()[s];
  const BitSet& here = supply_->set_devices()[s];
  const auto mine = static_cast<std::uint32_t>(a.mask.IntersectionCount(here));
  const auto theirs =
      pair ? static_cast<std::uint32_t>(b.mask.IntersectionCount(here)) : std::uint32_t{0};
  std::uint32_t either = mine;
  if (pair && theirs > 0) {
    Clear(scratch_, attempt_->device_count());
    scratch_ |= a.mask;
    scratch_ |= b.mask;
    either = static_cast<std::uint32_t>(scratch_.IntersectionCount(here));
  }
  work_->Spend((set.counters * 4 + a.need + 1) * (std::min(mine, a.need) + 1) / 2 + 16);
  const bool together = mine == 0 || theirs == 0 || GroupsAgree(a, b, s, state);
  room_.clear();
  for (std::uint32_t x = 0; x <= std::min(mine, a.need); ++x) {
    room_.push_back(x > 0 && !together ? 0 : std::min(theirs, either - x));
  }
  for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
    const Amount left = state.counters()[c];
    LeastDrawn(a, s, c, mine, least_a_);
    LeastDrawn(b, s, c, theirs, least_b_);
    std::size_t y = least_b_.size() - 1;
    for (std::size_t x = 0; x < room_.size(); ++x) {
      if (x > 0 && least_a_[x] > left) {
        room_.resize(x);
        break;
      }
      while (y > 0 && least_a_[x] + least_b_[y] > left) --y;
      room_[x] = std::min(room_[x], static_cast<std::uint32_t>(y));
    }
  }
  packing_.Add(room_);
}

// Whether some device of one kind can be on the counter set together with some device of the other.
bool PairsBound::GroupsAgree(const Kind& a, const Kind& b, std::size_t s,
                             const State& state) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  if (!attempt_->plan().features().compatibility_groups) return true;
  const auto groups_of = [&](std::size_t d) {
    for (const inventory::SetUse& use : devices.set_uses(devices.devices()[d])) {
      if (use.set == s) return use.groups;
    }
    return inventory::GroupsId::kNone;
  };
  // Few different ones, as a rule one per kind.
  const auto list = [&](const Kind& kind) {
    absl::InlinedVector<inventory::GroupsId, 4> list;
    kind.mask.ForEach([&](std::size_t d) {
      if (!supply_->set_devices()[s].Test(d)) return;
      const inventory::GroupsId groups = groups_of(d);
      if (std::ranges::find(list, groups) == list.end()) list.push_back(groups);
    });
    return list;
  };
  const auto names = [&](inventory::GroupsId groups) -> std::span<const inventory::NameId> {
    if (groups == inventory::GroupsId::kNone) return {};
    return devices.dictionary().At(groups);
  };
  const auto theirs = list(b);
  for (const inventory::GroupsId mine : list(a)) {
    ledger::GroupState placed = state.group(s);
    placed.Place(names(mine));
    for (const inventory::GroupsId other : theirs) {
      if (placed.Admits(names(other))) return true;
    }
  }
  return false;
}

// Shares of one device, of which a request takes one at most.
void PairsBound::AddShared(const Kind& a, const Kind& b, std::uint32_t d, const State& state) {
  const auto consumed = state.consumed(d);
  const auto capacity = state.capacity(d);
  const bool mine = a.mask.Test(d);
  const bool theirs = b.candidates != nullptr && b.mask.Test(d);
  const Amount* wanted_a = mine ? attempt_->consumed(*a.candidates, d) : nullptr;
  const Amount* wanted_b = theirs ? attempt_->consumed(*b.candidates, d) : nullptr;
  room_.clear();
  work_->Spend((consumed.size() * 4 + a.need + 1) * (mine ? a.need + 1 : 1) / 2 + 8);
  for (std::uint32_t x = 0; x <= (mine ? std::min(a.requests, a.need) : 0); ++x) {
    std::uint32_t y = theirs ? b.requests : 0;
    bool fits = true;
    for (std::size_t i = 0; i < consumed.size() && fits; ++i) {
      Amount left = capacity[i] - consumed[i];
      if (x > 0) left -= wanted_a[i] * x;
      fits = x == 0 || left >= 0;
      if (!fits || y == 0 || wanted_b[i] <= 0) continue;
      if (wanted_b[i] * y > left) {
        y = left <= 0 ? 0 : static_cast<std::uint32_t>(left / wanted_b[i]);
      }
    }
    if (!fits) break;
    room_.push_back(y);
  }
  packing_.Add(room_);
}

}  // namespace dray::allocator

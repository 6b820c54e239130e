// SPDX-License-Identifier: Apache-2.0
#include "packing/prices.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace dray::packing {

DemandClass ClassOf(const Demand& demand) {
  DemandClass of{.kinds = KindsOf(demand)};
  of.whole = std::ranges::all_of(demand.options, &Option::whole);
  of.matched = demand.match >= 0 && demand.count > 1;
  of.count = of.whole ? demand.count : 1;
  return of;
}

std::int64_t RoomOf(Kinds kinds, bool whole, const NodeState& state) {
  std::int64_t room = 0;
  for (const Unit& unit : state.units) {
    if ((kinds & KindBit(unit.kind)) == 0) continue;
    if (whole) {
      room += Untouched(state, unit) ? kWhole : 0;
    } else {
      room += FreeOf(state, unit);
    }
  }
  return room;
}

std::int64_t RoomFor(const DemandClass& demand, const NodeState& state) {
  if (!demand.whole) return RoomOf(demand.kinds, false, state);
  const std::int64_t set = std::int64_t{demand.count} * kWhole;
  if (!demand.matched) return RoomOf(demand.kinds, true, state) / set * set;
  absl::InlinedVector<std::pair<std::uint16_t, std::int64_t>, 8> groups;
  for (const Unit& unit : state.units) {
    if ((demand.kinds & KindBit(unit.kind)) == 0 || !Untouched(state, unit)) continue;
    auto at = std::ranges::find(groups, unit.group, [](const auto& g) { return g.first; });
    if (at == groups.end()) at = groups.insert(groups.end(), {unit.group, 0});
    at->second += kWhole;
  }
  std::int64_t room = 0;
  for (const auto& [group, untouched] : groups) room += untouched / set * set;
  return room;
}

void Prices::Shares(const History& history) {
  for (Class& of : classes_) of.share = 0;
  double total = 0;
  for (std::size_t i = 0; i < history.entries().size(); ++i) {
    const History::Entry& entry = history.entries()[i];
    const double seen = history.SeenOf(entry);
    for (std::size_t d = 0; d < entry.request.demands.size(); ++d) {
      const double asked = seen * static_cast<double>(WeightOf(entry.request.demands[d]));
      classes_[of_entry_[i][d]].share += asked;
      total += asked;
    }
  }
  if (total <= 0) return;
  for (Class& of : classes_) of.share /= total;
}

void Prices::Reset(const History& history) {
  version_ = history.version();
  classes_.clear();
  of_entry_.assign(history.entries().size(), {});
  for (std::size_t i = 0; i < history.entries().size(); ++i) {
    for (const Demand& demand : history.entries()[i].request.demands) {
      const DemandClass wanted = ClassOf(demand);
      auto at = std::ranges::find(classes_, wanted, &Class::demand);
      if (at == classes_.end()) at = classes_.insert(at, {.demand = wanted});
      of_entry_[i].push_back(static_cast<std::uint32_t>(at - classes_.begin()));
    }
  }
  // Kinds that are exchangeable for somebody, and what is exchangeable with those.
  for (Class& of : classes_) {
    of.among = of.demand.kinds;
    for (bool grown = true; grown;) {
      grown = false;
      for (const Class& other : classes_) {
        if ((other.demand.kinds & of.among) == 0 || (other.demand.kinds & ~of.among) == 0) continue;
        of.among |= other.demand.kinds;
        grown = true;
      }
    }
  }
  Shares(history);
}

bool Prices::Update(const History& history) {
  if (version_ != history.version()) return false;
  Shares(history);
  return true;
}

void Prices::Count(const NodeState& state, int sign) {
  if (state.units.empty()) return;
  for (Class& of : classes_) {
    of.room += sign * RoomFor(of.demand, state);
    of.rest += sign * RoomOf(of.among, of.demand.whole, state);
  }
}

void Prices::Renew() {
  priced_.clear();
  for (const Class& of : classes_) {
    if (of.room <= 0) continue;  // nobody can have any, so nothing can be kept for them
    const double rarer = static_cast<double>(of.rest) / static_cast<double>(of.room) - 1;
    if (rarer <= 0 || of.share <= 0) continue;
    priced_.push_back({of.demand, of.share * rarer});
  }
}

double Prices::WorthOf(const NodeState& state) const {
  double worth = 0;
  for (const Priced& of : priced_) {
    worth += of.price * static_cast<double>(RoomFor(of.demand, state));
  }
  return worth;
}

}  // namespace dray::packing

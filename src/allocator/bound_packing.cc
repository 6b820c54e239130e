// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_packing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;
using inventory::SetUse;

void PackingBound::Reset(const BoundInput& input) {
  const Attempt& attempt = input.attempt;
  attempt_ = &attempt;
  work_ = &input.work;
  known_.clear();
  const inventory::NodeDevices& devices = attempt.devices();
  const std::size_t n = attempt.device_count();
  // Sets that a device draws on together are one place.
  std::vector<std::uint32_t> root(devices.counter_sets().size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::uint32_t s) {
    while (root[s] != s) s = root[s] = root[root[s]];
    return s;
  };
  for (std::uint32_t d = 0; d < n; ++d) {
    if (attempt.multi(d)) continue;
    const auto uses = devices.set_uses(devices.devices()[d]);
    for (const SetUse& use : uses) root[find(use.set)] = find(uses.front().set);
  }
  places_.assign(devices.counter_sets().size(), {});
  if (loose_.size() != n) loose_ = BitSet(n);
  loose_.ResetAll();
  for (std::uint32_t d = 0; d < n; ++d) {
    if (attempt.multi(d)) continue;
    const auto uses = devices.set_uses(devices.devices()[d]);
    if (uses.empty()) {
      loose_.Set(d);
    } else {
      places_[find(uses.front().set)].push_back(d);
    }
  }
  std::erase_if(places_, [](const auto& place) { return place.empty(); });
}

// Alternatives of one filter see devices alike; what one demand may not take any more another may,
// so all that any of them may take counts.
void PackingBound::FindKinds(std::span<const Demand> demands) {
  const auto same = [](const Demand& x, const Demand& y) {
    return std::ranges::equal(x.candidates, y.candidates, [](const auto* p, const auto* q) {
      return p->alternative->filter == q->alternative->filter;
    });
  };
  kind_count_ = 0;
  for (const Demand& demand : demands) {
    if (demand.admin || demand.need == 0) continue;
    const auto end = kinds_.begin() + static_cast<std::ptrdiff_t>(kind_count_);
    auto known = std::find_if(kinds_.begin(), end,
                              [&](const Kind& kind) { return same(*kind.demand, demand); });
    if (known == end) {
      if (kind_count_ == kinds_.size()) kinds_.emplace_back();
      known = kinds_.begin() + static_cast<std::ptrdiff_t>(kind_count_++);
      known->demand = &demand;
      known->need = 0;
      known->requests = 0;
      known->mask = demand.mask;
    }
    known->need += demand.need;
    ++known->requests;
    known->mask |= demand.mask;
  }
  work_->Spend(demands.size() * (kind_count_ + attempt_->device_count() / 32 + 1));
  // Those that need the most matter the most, and the largest is the cheapest as the last one.
  const auto begin = kinds_.begin();
  std::sort(begin, begin + static_cast<std::ptrdiff_t>(kind_count_),
            [](const Kind& x, const Kind& y) { return x.need > y.need; });
  kind_count_ = std::min(kind_count_, kMostKinds);
  std::size_t states = 1;
  for (std::size_t k = 1; k < kind_count_; ++k) {
    states *= kinds_[k].need + 1;
    if (states > kMostStates) kind_count_ = k;
  }
  std::reverse(begin, begin + static_cast<std::ptrdiff_t>(kind_count_));
}

bool PackingBound::Hopeless(const State& state, Demands& demands) {
  FindKinds(demands.all());
  return kind_count_ > 0 && !Pack(state);
}

std::uint64_t PackingBound::KindsOf(std::uint32_t device) const {
  std::uint64_t kinds = 0;
  for (std::size_t k = 0; k < kind_count_; ++k) {
    kinds |= static_cast<std::uint64_t>(kinds_[k].mask.Test(device)) << k;
  }
  return kinds;
}

// True also when it is not known.
bool PackingBound::Pack(const State& state) {
  taken_.assign(kind_count_, 0);
  for (std::size_t k = 0; k < kind_count_; ++k) taken_[k] = kinds_[k].need;
  if (!packing_.Reset(taken_, kMostStates)) return true;
  const auto add = [&](const Options& options) {
    return options.empty() || (packing_.Add(options, kMostWork) && !packing_.Fits());
  };
  const auto end = [&](bool fits) {
    work_->Spend(packing_.spent());
    return fits;
  };
  for (std::uint32_t d = 0; d < attempt_->device_count(); ++d) {
    if (attempt_->multi(d) && KindsOf(d) != 0 && !add(OfShared(state, d))) return end(true);
  }
  for (const auto& place : places_) {
    if (!add(OfSets(state, place))) return end(true);
  }
  // Devices that draw on nothing: each for one of the kinds that may have it.
  absl::flat_hash_map<std::uint64_t, std::uint32_t> loose;
  loose_.ForEach([&](std::size_t d) {
    if (const std::uint64_t kinds = KindsOf(static_cast<std::uint32_t>(d)); kinds != 0) {
      ++loose[kinds];
    }
  });
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted(loose.begin(), loose.end());
  std::ranges::sort(sorted);
  for (const auto& [kinds, count] : sorted) {
    const bool one = (kinds & (kinds - 1)) == 0;
    options_.clear();
    for (std::size_t k = 0; k < kind_count_; ++k) {
      if ((kinds >> k & 1) == 0) continue;
      taken_.assign(kind_count_, 0);
      taken_[k] = one ? count : 1;
      options_.insert(options_.end(), taken_.begin(), taken_.end());
    }
    for (std::uint32_t i = 0; i < (one ? 1 : count); ++i) {
      if (!add(options_)) return end(true);
    }
  }
  return end(packing_.Fits());
}

// Keeps a collection, unless one that is kept has all of it.
void PackingBound::Keep(std::span<const std::uint32_t> taken) {
  options_.insert(options_.end(), taken.begin(), taken.end());
  if (options_.size() > kMostOptions * kind_count_) complete_ = false;
}

// From the largest down: what has all of a collection comes before it in the order of words, so each is
// compared with those that are kept alone.
void PackingBound::KeepLargest() {
  const std::size_t n = kind_count_;
  using Taken = std::span<const std::uint32_t>;
  std::vector<Taken> all;
  for (std::size_t i = 0; i < options_.size(); i += n) all.push_back(Taken(options_).subspan(i, n));
  std::ranges::sort(all,
                    [](Taken x, Taken y) { return std::ranges::lexicographical_compare(y, x); });
  Options largest;
  std::uint64_t compared = 0;
  for (const Taken taken : all) {
    bool covered = false;
    for (std::size_t j = 0; j < largest.size() && !covered; j += n) {
      ++compared;
      covered = std::ranges::equal(taken, Taken(largest).subspan(j, n), std::ranges::less_equal());
    }
    if (!covered) largest.insert(largest.end(), taken.begin(), taken.end());
  }
  work_->Spend(all.size() * 4 + compared * n / 4);
  options_.swap(largest);
}

// Shares of one device, of which a request takes one at most.
const PackingBound::Options& PackingBound::OfShared(const State& state, std::uint32_t d) {
  const auto consumed = state.consumed(d);
  const auto capacity = state.capacity(d);
  capacities_ = consumed.size();
  std::vector<Amount> left(capacities_);
  for (std::size_t i = 0; i < capacities_; ++i) left[i] = capacity[i] - consumed[i];
  wanted_.assign(kind_count_ * capacities_, Amount(0));
  description_.Clear();
  description_.Add(0);  // a device to share
  description_.Add(KindsOf(d));
  for (const Amount& amount : left) description_.Add(amount);
  for (std::size_t k = 0; k < kind_count_; ++k) {
    description_.Add(std::min(kinds_[k].requests, kinds_[k].need));
    if (!kinds_[k].mask.Test(d)) continue;
    bool first = true;
    for (const Candidates* candidates : kinds_[k].demand->candidates) {
      if (!candidates->devices.Test(d)) continue;
      const Amount* wanted = capacities_ > 0 ? attempt_->consumed(*candidates, d) : nullptr;
      for (std::size_t i = 0; i < capacities_; ++i) {
        Amount& least = wanted_[k * capacities_ + i];
        least = first ? wanted[i] : std::min(least, wanted[i]);
      }
      first = false;
    }
    for (std::size_t i = 0; i < capacities_; ++i) description_.Add(wanted_[k * capacities_ + i]);
  }
  const auto [it, fresh] = known_.try_emplace(description_.Hash());
  work_->Spend(description_.size() + 16);
  if (!fresh) return it->second;
  options_.clear();
  complete_ = true;
  taken_.assign(kind_count_, 0);
  // One collection at a time: as many as fit of each kind in turn.
  const std::uint64_t kinds = KindsOf(d);
  const auto fits = [&](std::size_t k) {
    for (std::size_t i = 0; i < capacities_; ++i) {
      if (wanted_[k * capacities_ + i] > left[i]) return false;
    }
    return true;
  };
  const auto change = [&](std::size_t k, std::uint32_t by, int sign) {
    for (std::size_t i = 0; i < capacities_; ++i) {
      left[i] -= wanted_[k * capacities_ + i] * by * sign;
    }
  };
  const auto most = [&](std::size_t k) -> std::uint32_t {
    if ((kinds >> k & 1) == 0) return 0;
    return std::min(kinds_[k].requests, kinds_[k].need);
  };
  // Counts like an odometer: the last kind takes as many as fit, then the one before takes less.
  const auto fill = [&](std::size_t from) {
    for (std::size_t k = from; k < kind_count_; ++k) {
      taken_[k] = 0;
      while (taken_[k] < most(k) && fits(k)) {
        change(k, 1, 1);
        ++taken_[k];
      }
    }
  };
  fill(0);
  while (complete_) {
    Keep(taken_);
    // The last kind has no other choice: give it up, then the latest one that can take less.
    std::size_t k = kind_count_;
    while (k > 0) {
      --k;
      const bool last = k + 1 == kind_count_;
      if (taken_[k] > 0 && !last) break;
      change(k, taken_[k], -1);
      taken_[k] = 0;
      if (k == 0) break;
    }
    if (taken_[k] == 0) break;
    change(k, 1, -1);
    --taken_[k];
    fill(k + 1);
  }
  if (!complete_) {
    // Too many: every kind as if it were alone.
    options_.clear();
    for (std::size_t k = 0; k < kind_count_; ++k) taken_[k] = most(k);
    options_.insert(options_.end(), taken_.begin(), taken_.end());
  } else {
    KeepLargest();
  }
  work_->Spend(options_.size() * 16 + 64);
  it->second = options_;
  return it->second;
}

// Dedicated devices that draw on counter sets which have to do with each other.
const PackingBound::Options& PackingBound::OfSets(const State& state,
                                                  std::span<const std::uint32_t> devices) {
  const inventory::NodeDevices& on_node = attempt_->devices();
  // Devices that are the same in what they draw, their groups and who may have them.
  groups_.clear();
  absl::flat_hash_map<Fingerprint, std::uint32_t> group_of;
  std::vector<Fingerprint> names;
  std::vector<std::uint32_t> sets;
  for (const std::uint32_t d : devices) {
    const std::uint64_t kinds = KindsOf(d);
    if (kinds == 0) continue;
    description_.Clear();
    description_.Add(kinds);
    const NodeDevice& device = on_node.devices()[d];
    for (const SetUse& use : on_node.set_uses(device)) {
      description_.Add(use.set);
      description_.Add(static_cast<std::uint64_t>(use.groups));
      sets.push_back(use.set);
    }
    for (const CounterUse& use : on_node.counter_uses(device)) {
      description_.Add(use.counter);
      description_.Add(use.amount);
    }
    const Fingerprint name = description_.Hash();
    const auto next = static_cast<std::uint32_t>(groups_.size());
    const auto [it, fresh] = group_of.try_emplace(name, next);
    if (fresh) {
      groups_.push_back({.devices = {}, .kinds = kinds});
      names.push_back(name);
    }
    groups_[it->second].devices.push_back(d);
    work_->Spend(description_.size() + kind_count_ + 8);
  }
  std::ranges::sort(sets);
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  // Everything that the options depend on. Sets and counters go by their places here, so that equal
  // sets are looked at once.
  description_.Clear();
  description_.Add(1);  // counter sets
  const auto local = [&](std::uint32_t set) {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(sets, set) - sets.begin());
  };
  for (const Group& group : groups_) {
    description_.Add(group.kinds);
    description_.Add(group.devices.size());
    const NodeDevice& device = on_node.devices()[group.devices.front()];
    for (const SetUse& use : on_node.set_uses(device)) {
      description_.Add(local(use.set));
      description_.Add(static_cast<std::uint64_t>(use.groups));
    }
    for (const CounterUse& use : on_node.counter_uses(device)) {
      const std::uint32_t set = on_node.counters()[use.counter].set;
      description_.Add(local(set));
      description_.Add(use.counter - on_node.counter_sets()[set].first_counter);
      description_.Add(use.amount);
    }
  }
  for (const std::uint32_t s : sets) {
    const auto& set = on_node.counter_sets()[s];
    for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      description_.Add(state.counters()[c]);
    }
    const ledger::GroupState& placed = state.group(s);
    description_.Add(static_cast<std::uint64_t>(placed.kind));
    description_.Add(placed.groups.size());
    for (const inventory::NameId name : placed.groups) description_.Add(name.id());
  }
  for (std::size_t k = 0; k < kind_count_; ++k) description_.Add(kinds_[k].need);
  const auto [it, fresh] = known_.try_emplace(description_.Hash());
  work_->Spend(description_.size() + 16);
  if (!fresh) return it->second;
  options_.clear();
  if (groups_.empty()) return it->second;
  complete_ = true;
  tried_ = 0;
  counters_.assign(state.counters().begin(), state.counters().end());
  placed_groups_.resize(on_node.counter_sets().size());
  for (const std::uint32_t s : sets) placed_groups_[s] = state.group(s);
  taken_.assign(kind_count_, 0);
  FillSets(state, 0, 0, 0);
  if (!complete_) {
    options_.clear();
    std::ranges::fill(taken_, 0);
    for (const Group& group : groups_) {
      for (std::size_t k = 0; k < kind_count_; ++k) {
        if ((group.kinds >> k & 1) != 0) {
          taken_[k] += static_cast<std::uint32_t>(group.devices.size());
        }
      }
    }
    options_.insert(options_.end(), taken_.begin(), taken_.end());
  } else {
    KeepLargest();
  }
  work_->Spend(tried_ * 16 + 64);
  it->second = options_;
  return it->second;
}

// From the group on, for the kind on: as many of its devices as fit, then fewer. Depth is at most
// groups times kinds, which `complete_` bounds.
void PackingBound::FillSets(const State& state, std::size_t g, std::size_t k, std::size_t used) {
  constexpr std::size_t kMostTried = 20'000;
  constexpr std::size_t kDeepest = 256;
  if (!complete_) return;
  if (++tried_ > kMostTried || groups_.size() * kind_count_ > kDeepest) {
    complete_ = false;
    return;
  }
  if (g == groups_.size()) {
    Keep(taken_);
    return;
  }
  if (k == kind_count_) {
    FillSets(state, g + 1, 0, 0);
    return;
  }
  const Group& group = groups_[g];
  if ((group.kinds >> k & 1) == 0) {
    FillSets(state, g, k + 1, used);
    return;
  }
  const inventory::NodeDevices& on_node = attempt_->devices();
  const NodeDevice& device = on_node.devices()[group.devices.front()];
  const auto names = [&](inventory::GroupsId groups) -> std::span<const inventory::NameId> {
    if (groups == inventory::GroupsId::kNone) return {};
    return on_node.dictionary().At(groups);
  };
  // None of them, one, two, and so on. Counters are put back at the end.
  std::vector<std::pair<std::uint32_t, ledger::GroupState>> before;
  std::uint32_t count = 0;
  FillSets(state, g, k + 1, used);
  while (complete_ && used + count < group.devices.size() && taken_[k] < kinds_[k].need) {
    bool fits = std::ranges::all_of(on_node.counter_uses(device), [&](const CounterUse& use) {
      return use.amount <= counters_[use.counter];
    });
    if (attempt_->plan().features().compatibility_groups) {
      fits = fits && std::ranges::all_of(on_node.set_uses(device), [&](const SetUse& use) {
               return placed_groups_[use.set].Admits(names(use.groups));
             });
    }
    if (!fits) break;
    if (count == 0) {
      for (const SetUse& use : on_node.set_uses(device)) {
        before.emplace_back(use.set, placed_groups_[use.set]);
      }
    }
    for (const CounterUse& use : on_node.counter_uses(device)) {
      counters_[use.counter] -= use.amount;
    }
    if (attempt_->plan().features().compatibility_groups) {
      for (const SetUse& use : on_node.set_uses(device)) {
        placed_groups_[use.set].Place(names(use.groups));
      }
    }
    ++count;
    ++taken_[k];
    FillSets(state, g, k + 1, used + count);
  }
  for (const CounterUse& use : on_node.counter_uses(device)) {
    counters_[use.counter] += use.amount * count;
  }
  for (auto& [set, groups] : before) placed_groups_[set] = std::move(groups);
  taken_[k] -= count;
}

}  // namespace dray::allocator

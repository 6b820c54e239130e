// SPDX-License-Identifier: Apache-2.0
#include "allocator/supply.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;

void Supply::Reset(const Attempt& attempt, WorkMeter& work) {
  attempt_ = &attempt;
  work_ = &work;
  const Plan& plan = attempt.plan();
  const inventory::NodeDevices& devices = attempt.devices();
  const std::size_t n = attempt.device_count();
  entries_.assign(devices.counters().size(), {});
  for (std::uint32_t d = 0; d < n; ++d) {
    for (const CounterUse& use : devices.counter_uses(devices.devices()[d])) {
      entries_[use.counter].push_back({use.amount, d});
    }
  }
  for (auto& entries : entries_) {
    std::ranges::sort(entries, {}, &Entry::amount);
    work.Spend(entries.size() * 8);
  }
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> totals;
  total_of_.clear();
  for (const inventory::CounterOnNode& counter : devices.counters()) {
    const std::pair key(devices.counter_sets()[counter.set].pool, counter.name.id());
    total_of_.push_back(
        totals.try_emplace(key, static_cast<std::uint32_t>(totals.size())).first->second);
  }
  totals_ = totals.size();

  work.Spend(devices.counter_sets().size() * (1 + n / 64));
  set_devices_.resize(devices.counter_sets().size());
  for (BitSet& set : set_devices_) set = BitSet(n);
  loose_ = BitSet(n);
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
    work.Spend(plan.alternatives().size() * (1 + capacities));
    if (work.exhausted()) continue;
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

std::uint32_t Supply::RoomInSet(std::size_t s, const State& state, const BitSet& free) const {
  const inventory::NodeDevices& devices = attempt_->devices();
  const auto& set = devices.counter_sets()[s];
  std::uint32_t room = kUnlimited;
  for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
    work_->Spend(entries_[c].size() * 2);
    Amount left = state.counters()[c];
    std::uint32_t fit = 0;
    std::uint32_t listed = 0;
    bool stopped = false;
    for (const Entry& entry : entries_[c]) {
      if (!free.Test(entry.device) || attempt_->multi(entry.device)) continue;
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
      free.ForEach([&](std::size_t d) {
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

std::uint32_t Supply::SharesLeft(std::uint32_t d, const State& state) const {
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

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// What counters and capacities leave: sums, and flow over all requests.
#include <algorithm>
#include <utility>

#include "allocator/bounds.h"

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;

// What each request needs of a pool's counters of one name at least, against what is left of them
// in all counter sets.
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

// SPDX-License-Identifier: Apache-2.0
//
// Supply: what counter sets and devices to share have to give, for the bounds that count it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/state.h"
#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// One thread. Reused.
class Supply {
 public:
  static constexpr std::uint32_t kUnlimited = 1 << 20;

  // What a device draws on a counter.
  struct Entry {
    Amount amount;
    std::uint32_t device = 0;
  };

  void Reset(const Attempt& attempt, WorkMeter& work);

  // Who draws on a counter, the least first.
  std::span<const Entry> entries(std::size_t counter) const { return entries_[counter]; }
  // Counters of one name in one pool have one number.
  std::size_t totals() const { return totals_; }
  std::uint32_t total_of(std::size_t counter) const { return total_of_[counter]; }
  // A dedicated device is in exactly one of these: by the first counter set that it draws on, or
  // among those that draw on nothing.
  std::span<const base::BitSet> set_devices() const { return set_devices_; }
  const base::BitSet& loose() const { return loose_; }

  // How many dedicated devices of a counter set fit at most: the smallest first, per counter.
  std::uint32_t RoomInSet(std::size_t set, const State& state, const base::BitSet& free) const;
  // How many shares of a device fit at most, by the smallest share that anybody takes.
  std::uint32_t SharesLeft(std::uint32_t device, const State& state) const;

 private:
  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<std::vector<Entry>> entries_;  // by counter
  std::vector<std::uint32_t> total_of_;      // by counter
  std::size_t totals_ = 0;
  std::vector<Amount> smallest_;            // per device and capacity: the least that anybody takes
  std::vector<std::uint32_t> first_small_;  // by device
  std::vector<base::BitSet> set_devices_;
  base::BitSet loose_;
};

}  // namespace dray::allocator

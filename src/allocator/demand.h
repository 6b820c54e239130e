// SPDX-License-Identifier: Apache-2.0
//
// What is still to be found from some place of a search on, and the interface of the proofs that it
// cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/constraint_values.h"
#include "allocator/state.h"
#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// What is still to be found: `remaining` more devices of `current`, from those in `after`, and what
// the requests in `open` ask for.
struct Position {
  const base::BitSet* open = nullptr;  // of Plan::requests(): those that are not begun
  // By request: the alternative that it is to be, kUndecided: any of them. Empty: any of all.
  std::span<const std::uint32_t> decided;
  std::size_t claim = 0;  // of `current`
  const Candidates* current = nullptr;
  std::int64_t remaining = 0;
  const base::BitSet* after = nullptr;  // null: all

  static constexpr std::uint32_t kUndecided = 0xffffffff;
};

// Devices that something still needs.
struct Demand {
  static constexpr std::size_t kCurrent = static_cast<std::size_t>(-1);

  std::size_t request = kCurrent;  // of Plan::requests(), if it is not begun
  std::size_t claim = 0;
  std::uint32_t need = 0;
  std::vector<const Candidates*> candidates;  // any of them
  base::BitSet mask;                          // devices that still have room
  bool admin = false;
};

// A relaxation: an easier problem that every completion of the real one solves. When it has no
// solution, neither has the real one. A bound never says "hopeless" of what can be completed; it
// may well miss what is hopeless. One thread; reused.
class Bound {
 public:
  virtual ~Bound() = default;
  // Once per attempt. What is given outlives the calls of Hopeless.
  virtual void Reset(const Attempt& attempt, const ConstraintValues& values, WorkMeter& work) = 0;
  // `free`: devices that nobody has and that counters and groups admit. May be asked at any place
  // and in any order.
  virtual bool Hopeless(const State& state, std::span<const Demand> demands,
                        const base::BitSet& free) = 0;
};

}  // namespace dray::allocator

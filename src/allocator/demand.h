// SPDX-License-Identifier: Apache-2.0
//
// What is still to be found from some place of a search on: demands, each with the devices that
// could still serve it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
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
  // Of this one too `current` and what belongs to it: a request that was begun and put off.
  const Position* put_off = nullptr;

  static constexpr std::uint32_t kUndecided = 0xffffffff;
};

// Devices that something still needs.
struct Demand {
  static constexpr std::size_t kCurrent = static_cast<std::size_t>(-1);
  static constexpr std::size_t kPutOff = static_cast<std::size_t>(-2);

  std::size_t request = kCurrent;  // of Plan::requests(), if it is not begun
  std::size_t claim = 0;
  std::uint32_t need = 0;                     // the least of any alternative
  std::vector<const Candidates*> candidates;  // any of them
  base::BitSet mask;                          // devices that could still serve it
  bool admin = false;
};

// Demands of one claim that a constraint covers and that see the same values of the same devices.
struct Covered {
  absl::InlinedVector<Demand*, 4> demands;
  std::uint32_t sum = 0;   // of what they need
  std::uint32_t most = 0;  // that one of them needs
};

// The demands of a position. Those of one claim lie together, but for the current one, which is the
// first. One thread. Reused.
class Demands {
 public:
  void Reset(const Attempt& attempt, const ConstraintValues& values, WorkMeter& work);

  // False: one of them alone is more than there is; the request is blamed.
  bool Make(const State& state, const Position& position);

  std::span<Demand> all() { return std::span(demands_).first(count_); }
  std::span<const Demand> all() const { return std::span(demands_).first(count_); }
  const Position& position() const { return *position_; }
  // Devices that nobody has and that counters and groups admit.
  const base::BitSet& free() const { return free_; }

  // Whether the constraint covers the demand whichever alternative it gets.
  bool Covers(const Demand& demand, std::size_t constraint) const;
  // How many devices with the value the demand has, seen by any of its alternatives.
  std::size_t CountWith(const Demand& demand, std::size_t constraint, std::size_t element) const;
  std::span<const Covered> CoveredBy(std::size_t constraint, std::size_t claim);
  // Calls `ask` with each claim that has demands, and each of its constraints (of
  // Plan::constraints()), until it says true or there is no work left.
  template <typename Ask>
  bool AnyConstraint(const Ask& ask) const {
    std::size_t last = attempt_->plan().claims().size();
    for (const Demand& demand : all()) {
      if (demand.claim == last) continue;
      last = demand.claim;
      if (work_->exhausted()) return false;
      const ClaimPlan& claim = attempt_->plan().claims()[last];
      for (std::size_t i = 0; i < claim.constraints; ++i) {
        if (ask(last, claim.first_constraint + i)) return true;
      }
    }
    return false;
  }

  // Requests that made a bound say "hopeless"; empty: not known, which is to blame all of them.
  std::span<const std::size_t> blamed() const { return blamed_; }
  void Blame(std::size_t request) {
    if (request < Demand::kPutOff) blamed_.push_back(request);
  }
  void BlameCovered(std::size_t constraint, std::size_t claim);

 private:
  Demand& Next();
  void FindFree(const State& state);
  bool Narrow(Demand& demand, const State& state) const;

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  const Position* position_ = nullptr;
  std::vector<std::uint32_t> claim_of_;  // by request
  base::BitSet free_;
  std::vector<Demand> demands_;
  std::size_t count_ = 0;
  std::vector<Covered> covered_;
  std::vector<std::size_t> blamed_;
};

}  // namespace dray::allocator

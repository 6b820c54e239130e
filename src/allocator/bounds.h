// SPDX-License-Identifier: Apache-2.0
//
// Bounds: proofs that a partial choice cannot be completed. Each looks at a relaxed problem that is
// easy to answer exactly; when even that has no solution, neither has the real one. A bound never
// says "hopeless" of something that can be completed; it may well miss what is hopeless.
//
// - Counting: a request needs as many devices as it has candidates that still have room.
// - Values: devices under matchAttribute share a value, so some value must have enough of each.
// - Distinctness: devices under distinctAttribute have a value each that no other has.
// - Equal claims: each takes its devices from those of one value; the values have room for so many.
// - Sums: what is needed of a counter or a capacity at least, against what is left in all.
// - Flow: all requests together, a device for one of them, as many from a counter set as fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/attempt.h"
#include "allocator/state.h"
#include "allocator/transport.h"
#include "base/bit_set.h"

namespace dray::allocator {

// Where the search stands: `remaining` more devices of `alternative`, from those in `after`; then
// the requests behind it.
struct Position {
  std::size_t claim = 0;
  std::size_t request = 0;  // of Plan::requests(): the first one that is not begun
  const Choices* current = nullptr;
  std::int64_t remaining = 0;
  const base::BitSet* after = nullptr;  // null: all
};

// One thread. Reused.
class Bounds {
 public:
  void Reset(const Attempt& attempt);
  bool Hopeless(const State& state, const Position& position);

 private:
  // The elements of a constraint and who has them, per alternative that it covers.
  struct Carriers {
    std::vector<ElementId> elements;  // sorted
    absl::flat_hash_map<const Choices*, std::vector<base::BitSet>> by_alternative;
    const std::vector<base::BitSet>* Find(const Choices* choices) const {
      const auto it = by_alternative.find(choices);
      return it == by_alternative.end() ? nullptr : &it->second;
    }
  };
  struct CounterList {
    struct Entry {
      Amount amount;
      std::uint32_t device = 0;
    };
    std::vector<Entry> entries;  // by amount
  };
  // Devices that something still needs.
  struct Demand {
    std::size_t claim = 0;
    std::uint32_t need = 0;
    std::vector<const Choices*> choices;  // any of them
    base::BitSet mask;
    bool admin = false;
  };

  void AddCarriers(std::size_t constraint, const Choices& choices, std::size_t use);
  bool MakeDemands(const State& state, const Position& position);
  Demand& NextDemand();
  void FindOpen(const State& state);
  bool Narrow(Demand& demand, const State& state) const;
  bool ConstraintsHopeless(const State& state, const Position& position);
  bool MatchHopeless(std::size_t constraint, std::size_t claim, const State& state);
  bool DistinctHopeless(std::size_t constraint, std::size_t claim, const State& state);
  bool EqualClaimsHopeless(const Position& position);
  bool SumsHopeless(const State& state) const;
  bool FlowHopeless(const State& state);
  std::uint32_t RoomInSet(std::size_t set, const State& state) const;
  std::uint32_t SharesLeft(std::uint32_t device, const State& state) const;
  bool Covers(const Demand& demand, std::size_t constraint) const;
  // Whether `demand` has enough devices with the element, and which.
  std::size_t CountWith(const Demand& demand, std::size_t constraint, std::size_t element) const;

  const Attempt* attempt_ = nullptr;
  bool constraints_usable_ = true;
  std::vector<Carriers> carriers_;         // by constraint
  std::vector<CounterList> counters_;      // by counter
  std::vector<std::uint32_t> total_of_;    // by counter: those of one pool and name together
  std::size_t totals_ = 0;
  std::vector<Amount> smallest_;           // per device and capacity: the least that anybody takes
  std::vector<std::uint32_t> first_small_;  // by device
  base::BitSet open_;
  std::vector<Demand> demands_;
  std::size_t demand_count_ = 0;
  base::BitSet scratch_;
  base::BitSet element_scratch_;
  Transport flow_;
  Transport distinct_flow_;
};

}  // namespace dray::allocator

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
// - Alternatives: of equal requests so many can have the first alternative, so many the second.
// - Pairs: two kinds of requests together, exactly, as far as one counter set or one shared device
//   goes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/attempt.h"
#include "allocator/bound_disjoint.h"
#include "allocator/bound_packing.h"
#include "allocator/constraint_values.h"
#include "allocator/demand.h"
#include "allocator/pair_packing.h"
#include "allocator/state.h"
#include "allocator/transport.h"
#include "allocator/work.h"
#include "base/bit_set.h"

namespace dray::allocator {

// One thread. Reused.
class Bounds {
 public:
  void Reset(const Attempt& attempt, WorkMeter& work);
  bool Hopeless(const State& state, const Position& position);

  // As the last call of Hopeless left them when it was not.
  std::span<const Demand> demands() const { return std::span(demands_).first(demand_count_); }
  // The demands that made the last call of Hopeless say so: of Plan::requests(). Empty: not known.
  std::span<const std::size_t> blamed() const { return blamed_; }
  const ConstraintValues& values() const { return carriers_; }

 private:
  using Carriers = ConstraintValues::Carriers;
  struct CounterList {
    struct Entry {
      Amount amount;
      std::uint32_t device = 0;
    };
    std::vector<Entry> entries;  // by amount
  };
  // Claims that ask for the same, none of them begun.
  struct Shape {
    std::size_t claim = 0;  // one of them
    std::size_t claims = 0;
    std::vector<const Demand*> demands;  // of that one, for dedicated devices
  };
  // Requests that see devices alike.
  struct Kind {
    const Candidates* candidates = nullptr;  // of one of them; null: no such kind
    std::uint32_t need = 0;
    std::uint32_t requests = 0;
    bool begun = false;  // the request that is being filled, alone
    base::BitSet mask;
    base::BitSet sets;  // counter sets that its dedicated devices draw on
  };

  static constexpr std::uint32_t kUnlimited = 1 << 20;
  static void Clear(base::BitSet& set, std::size_t size);
  bool MakeDemands(const State& state, const Position& position);
  Demand& NextDemand();
  void FindOpen(const State& state);
  bool Narrow(Demand& demand, const State& state) const;
  bool ConstraintsHopeless(const State& state, const Position& position);
  bool ConstraintHopeless(std::size_t constraint, std::size_t claim, const State& state);
  bool MatchHopeless(std::size_t constraint, std::size_t claim, const State& state);
  bool DistinctHopeless(std::size_t constraint, std::size_t claim, const State& state);
  bool TooFewDisjoint(std::size_t constraint, std::size_t claim, const base::BitSet& used);
  bool EqualClaimsHopeless(const State& state, const Position& position);
  bool SameOpen(std::size_t a, std::size_t b, const Position& position) const;
  std::size_t ClaimsOn(const Shape& shape, std::size_t constraint, std::size_t element) const;
  bool ShapeHopeless(const Shape& shape, std::size_t constraint) const;
  bool ShapesHopeless(const Shape& s, std::size_t constraint, const Shape& t, std::size_t other);
  bool SumsHopeless(const State& state) const;
  bool FlowHopeless(const State& state);
  bool AlternativesHopeless(const State& state) const;
  void FindKinds(const Position& position);
  bool PairsHopeless(const State& state, const Position& position);
  bool PairHopeless(const Kind& a, const Kind& b, const State& state);
  void AddLoose(const Kind& a, const Kind& b);
  void AddSet(const Kind& a, const Kind& b, std::size_t s, const State& state);
  void AddShared(const Kind& a, const Kind& b, std::uint32_t d, const State& state);
  void LeastDrawn(const Kind& kind, std::size_t set, std::size_t counter, std::size_t count,
                  std::vector<Amount>& least) const;
  bool GroupsAgree(const Kind& a, const Kind& b, std::size_t s, const State& state) const;
  std::uint32_t RoomInSet(std::size_t set, const State& state) const;
  std::uint32_t SharesLeft(std::uint32_t device, const State& state) const;
  bool Covers(const Demand& demand, std::size_t constraint) const;
  // Whether `demand` has enough devices with the element, and which.
  std::size_t CountWith(const Demand& demand, std::size_t constraint, std::size_t element) const;

  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  ConstraintValues carriers_;
  std::vector<CounterList> counters_;    // by counter
  std::vector<std::uint32_t> total_of_;  // by counter: those of one pool and name together
  std::size_t totals_ = 0;
  std::vector<Amount> smallest_;            // per device and capacity: the least that anybody takes
  std::vector<std::uint32_t> first_small_;  // by device
  base::BitSet open_;
  std::vector<Demand> demands_;
  std::size_t demand_count_ = 0;
  std::vector<std::size_t> blamed_;
  std::vector<std::uint32_t> claim_of_;  // by request
  base::BitSet scratch_;
  base::BitSet element_scratch_;
  Transport flow_;
  Transport distinct_flow_;
  // A dedicated device is in exactly one of these, by the first counter set that it draws on.
  std::vector<base::BitSet> set_devices_;
  base::BitSet loose_;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> values_;       // by device
  std::vector<std::uint32_t> seen_values_;  // by device
  std::vector<std::uint32_t> takers_;       // per device: placements that it could serve
  std::vector<std::uint32_t> first_value_;  // by device
  std::vector<std::uint32_t> root_;         // by value
  std::vector<Kind> kinds_;
  std::size_t kind_count_ = 0;
  PairPacking packing_;
  std::vector<std::uint32_t> room_;
  std::vector<Amount> least_a_;
  std::vector<Amount> least_b_;
  DisjointBound disjoint_;
  PackingBound packing_bound_;
};

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// The bound of pairs. Two kinds of requests at a time, exactly as far as one place goes: what one
// takes of a counter set, of a device's capacity or of the free devices is gone for the other. A
// packing over all places says whether both can have what they need; all other requests and all
// constraints are left out, which makes it a relaxation. Cheaper than bound_packing.h, and it also
// looks at the request that is being filled by itself.
#pragma once

#include <vector>

#include "allocator/bound.h"
#include "allocator/pair_packing.h"

namespace dray::allocator {

class PairsBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  // Requests that see devices alike.
  struct Kind {
    const Candidates* candidates = nullptr;  // of one of them; null: no such kind
    std::uint32_t need = 0;
    std::uint32_t requests = 0;
    bool begun = false;  // the request that is being filled, alone
    base::BitSet mask;
    base::BitSet sets;  // counter sets that its dedicated devices draw on
  };
  static void Clear(base::BitSet& set, std::size_t size);
  void FindKinds(std::span<const Demand> demands);
  bool TooMany(const Kind& a, const Kind& b, const State& state);
  void AddLoose(const Kind& a, const Kind& b);
  void AddSet(const Kind& a, const Kind& b, std::size_t s, const State& state);
  void AddShared(const Kind& a, const Kind& b, std::uint32_t d, const State& state);
  void LeastDrawn(const Kind& kind, std::size_t set, std::size_t counter, std::size_t count,
                  std::vector<Amount>& least) const;
  bool GroupsAgree(const Kind& a, const Kind& b, std::size_t s, const State& state) const;

  const Attempt* attempt_ = nullptr;
  const Supply* supply_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<Kind> kinds_;
  std::size_t kind_count_ = 0;
  PairPacking packing_;
  std::vector<std::uint32_t> room_;
  std::vector<Amount> least_a_;
  std::vector<Amount> least_b_;
  base::BitSet scratch_;
};

}  // namespace dray::allocator

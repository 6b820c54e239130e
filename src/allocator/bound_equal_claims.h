// SPDX-License-Identifier: Apache-2.0
//
// The bound of equal claims. Claims of one shape that are not begun each settle on one value of a
// matchAttribute and take their dedicated devices from those that have it; of a value with seven
// devices, claims that need two can have three. Added up over all values that must be enough. Two
// shapes that match the same attribute share the devices of a value: what is left beside x claims
// of one is room for so many of the other, and a packing over the values says whether all fit.
// Devices for multiple allocations can serve several claims and are left out.
#pragma once

#include <vector>

#include "allocator/bound.h"
#include "allocator/pair_packing.h"

namespace dray::allocator {

class EqualClaimsBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  // Claims that ask for the same, none of them begun.
  struct Shape {
    std::size_t claim = 0;  // one of them
    std::size_t claims = 0;
    std::vector<const Demand*> demands;  // of that one, for dedicated devices
  };
  void FindShapes(const State& state, const Demands& demands);
  bool SameOpen(std::size_t a, std::size_t b, const Position& position) const;
  bool Shares(std::size_t constraint) const;
  bool Covered(const Shape& shape, std::size_t constraint, const Demands& demands) const;
  // How many claims of the shape could settle on the value.
  std::size_t ClaimsOn(const Shape& shape, std::size_t constraint, std::size_t element,
                       const Demands& demands) const;
  bool TooMany(const Shape& shape, std::size_t constraint, const Demands& demands) const;
  bool TooManyTogether(const Shape& s, std::size_t constraint, const Shape& t, std::size_t other,
                       const Demands& demands);

  const Attempt* attempt_ = nullptr;
  const ConstraintValues* values_ = nullptr;
  WorkMeter* work_ = nullptr;
  std::vector<Shape> shapes_;
  PairPacking packing_;
  std::vector<std::uint32_t> room_;
  base::BitSet mine_;
  base::BitSet theirs_;
};

}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
//
// What all places together can give, weighed: the proof that a group cannot be placed.
//
// Give every kind a weight w >= 0. A place holds a load, so the pods on it weigh at most
// max over loads of w * load; all pods that are to be placed weigh at least w * wanted less the
// heaviest that may be left out. If that is more than the sum over places, no assignment exists,
// whatever the weights. Loads that cannot be added to suffice for the maximum, since weights are not
// negative; where places share something the sum is an upper bound all the same. The weights of the
// linear program's dual prove most: they are approached by raising the weights of kinds of which too
// little is offered. Weights are whole numbers, so that no rounding can prove what is not so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gang/classes.h"

namespace dray::gang {

using Weights = std::vector<std::uint64_t>;

std::uint64_t WeightOf(const Weights& weights, const Counts& counts);
// What pods of which `slack` may be left out weigh at least.
std::uint64_t LeastWeight(const Weights& weights, std::span<const std::uint32_t> wanted,
                          std::uint64_t slack);
// What a place of the class can hold.
std::uint64_t MostWeight(const Weights& weights, const PlaceClass& row);

// Weights that are worth asking: each kind alone, all alike, by room, and what was learned from the
// classes. The last is the one that proves it, if `proved`.
struct Bounds {
  std::vector<Weights> weights;
  bool proved = false;
};
Bounds MakeBounds(const std::vector<PlaceClass>& classes, std::span<const std::uint32_t> wanted,
                  std::uint64_t slack, Budget& budget);

}  // namespace dray::gang

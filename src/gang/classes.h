// SPDX-License-Identifier: Apache-2.0
//
// Places that nothing tells apart, and which loads fit on one of them, asked once for all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gang/places.h"

namespace dray::gang {

// What a search has spent. One thread.
class Budget {
 public:
  explicit Budget(std::uint64_t most) : most_(most) {}
  // False: used up.
  bool Spend(std::uint64_t steps = 1) {
    spent_ += steps;
    return spent_ <= most_;
  }
  bool empty() const { return spent_ >= most_; }
  std::uint64_t spent() const { return spent_; }

 private:
  std::uint64_t most_;
  std::uint64_t spent_ = 0;
};

struct PlaceClass {
  std::vector<std::size_t> members;  // ascending
  Counts caps;                       // by kind: how many fit alone, at most as many as are wanted
  // Loads that fit, within what is wanted: those that cannot be added to, or all where places share;
  // larger ones first. The empty one is not among them.
  std::vector<Counts> loads;
};

// The classes in order of their first place. Nothing: the budget was used up on the way.
std::optional<std::vector<PlaceClass>> MakeClasses(Places& places,
                                                   std::span<const std::uint32_t> wanted,
                                                   Budget& budget);
// Fills in the loads.
bool MakeLoads(Places& places, std::span<const std::uint32_t> wanted, Budget& budget,
               std::vector<PlaceClass>& classes);

}  // namespace dray::gang

// SPDX-License-Identifier: Apache-2.0
//
// Variety: how mixed the requests were that have come, and so how much is to be kept for those of
// which nothing is known yet. Where requests of all sorts alternate, what has been seen is what will
// come. Where they come sorted (all shares first, say, as a queue or a file may have them), it says
// little: whole devices and complete sets may be wanted next.
#pragma once

#include <cstdint>
#include <optional>

#include "packing/shape.h"

namespace dray::packing {

struct VarietyOptions {
  // What an untouched unit is worth that is part of a complete set, for each size of sets: so much
  // always, and so much more until requests for devices have come.
  double worth = 0.02;
  double more = 0.08;
  // After so many requests for devices half of `more` is left.
  double requests = 100;
  // After so many changes from one sort of request to another half of everything is left.
  double changes = 5;
  // Below this it is nothing: no node is preferred to another for it.
  double least = 2e-4;
  // After so many requests one that was seen counts half.
  double half_life = 50'000;
};

// One thread.
class Variety {
 public:
  explicit Variety(VarietyOptions options = {}) : options_(options) {}

  // `times` more than 1: so many come in any order.
  void Learn(const Request& request, double times = 1);
  // Of an untouched unit, in units, for each size of sets that it is part of.
  double Worth() const;

 private:
  VarietyOptions options_;
  std::optional<std::uint32_t> last_;  // the sort of the request before
  double changes_ = 0;                 // decayed
  double devices_ = 0;                 // decayed
};

// Sizes of sets that any workload may want: 1, 2, 4 and 8. The sum over them of the untouched units
// that are in complete sets, in millionths of a unit.
std::int64_t RoomForSets(const NodeState& state);

}  // namespace dray::packing

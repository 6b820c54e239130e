// SPDX-License-Identifier: Apache-2.0
//
// Fragmentation: the share of what is free that a request like those seen cannot use, expected over
// these requests. A unit is of use to a request when the node could take the whole request as it is
// and the unit alone could serve a part of it. So free devices beside no cpu are of use to nobody,
// and neither is the rest of a device that is smaller than what is asked for.
//
// After Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), for any number of kinds and
// dimensions, and as a share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packing/history.h"
#include "packing/shape.h"

namespace dray::packing {

struct Fragmentation {
  std::int64_t free = 0;  // millionths of a unit
  double unusable = 0;    // of that, expected
  double share() const { return free > 0 ? unusable / static_cast<double>(free) : 0; }
};

struct FragmentationByKind {
  std::array<Fragmentation, kMaxKinds> kinds;
  Fragmentation all;
};

// Requests without devices do not count. What nobody asks for at all is unusable.
class FragmentationMeter {
 public:
  explicit FragmentationMeter(const History& history);
  void Add(const NodeState& state, std::uint32_t nodes = 1);
  const FragmentationByKind& sum() const { return sum_; }

 private:
  const History& history_;
  double total_ = 0;
  FragmentationByKind sum_;
};

}  // namespace dray::packing

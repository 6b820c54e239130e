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
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// Which requests can use which units of states, for those who measure again and again: most nodes are
// as they were the last time. Keeps what the last two measurements have looked at.
class FragmentationMemory {
 public:
  std::uint64_t computed() const { return computed_; }  // answers that were not remembered

 private:
  friend class FragmentationMeter;
  using Units = std::uint64_t;                                         // as a set of bits
  using ByState = absl::flat_hash_map<NodeState, std::vector<Units>>;  // by place in the history
  std::vector<std::uint32_t> versions_;                                // of the history's entries
  ByState now_;
  ByState before_;
  std::uint64_t computed_ = 0;
};

// Requests without devices do not count. What nobody asks for at all is unusable.
class FragmentationMeter {
 public:
  // `memory`: of earlier measurements with the same history; outlives this.
  explicit FragmentationMeter(const History& history, FragmentationMemory* memory = nullptr);
  FragmentationMeter(const FragmentationMeter&) = delete;
  FragmentationMeter& operator=(const FragmentationMeter&) = delete;
  void Add(const NodeState& state, std::uint32_t nodes = 1);
  const FragmentationByKind& sum() const { return sum_; }

 private:
  using Units = FragmentationMemory::Units;
  const std::vector<Units>& UsableOf(const NodeState& state);

  const History& history_;
  FragmentationMemory own_;
  FragmentationMemory& memory_;
  std::vector<double> seen_;  // by place in the history; 0 without devices
  double total_ = 0;
  FragmentationByKind sum_;
};

}  // namespace dray::packing

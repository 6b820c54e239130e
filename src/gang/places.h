// SPDX-License-Identifier: Apache-2.0
//
// Places: what the search knows of where pods can go. Whoever uses it says what a place is (a node, or
// a group of nodes) and what fits there; pods come in kinds, and nothing tells two of a kind apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dray::gang {

// How many pods of each kind, in the order of kinds.
using Counts = std::vector<std::uint32_t>;

// What is put on a place.
struct Load {
  std::size_t place = 0;
  Counts counts;
  friend bool operator==(const Load&, const Load&) = default;
};

// One thread. What fits does not change while a search asks.
class Places {
 public:
  virtual ~Places() = default;

  virtual std::size_t size() const = 0;
  // Equal numbers: nothing tells the places apart, so that what fits on one fits on the other.
  virtual std::uint64_t ClassOf(std::size_t place) const = 0;
  // Whether all these pods together can be there, with nothing of the group elsewhere. Exact, and
  // monotonic: what fits still does with fewer pods. `counts` has a number for every kind.
  virtual bool Fits(std::size_t place, std::span<const std::uint32_t> counts) = 0;

  // Whether places have something in common, so that what is put on one leaves less on others.
  virtual bool Share() const { return false; }
  // Whether all loads can be there at once. Only asked if places share, and of loads that fit one by
  // one. Exact and monotonic, too.
  virtual bool FitTogether(std::span<const Load> loads) {
    static_cast<void>(loads);
    return true;
  }
};

}  // namespace dray::gang

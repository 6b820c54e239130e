// SPDX-License-Identifier: Apache-2.0
//
// Work: what a search costs, counted so that it is the same on every machine. A unit is about one
// word, device or value looked at; whatever loops says how much it has looked at. So the time of a
// search is bounded by the count whatever the instance is like, which a number of steps cannot do:
// one step of one instance may cost as much as thousands of another.
#pragma once

#include <cstdint>

namespace dray::allocator {

// What a search may use by default: at most about a second on one core of the 2020s (the families
// that were measured do 160 to 390 units in a microsecond), and some ten thousand times what real
// cases need.
inline constexpr std::uint64_t kDefaultWork = 160'000'000;

// Counts up to a limit. One thread.
class WorkMeter {
 public:
  explicit WorkMeter(std::uint64_t limit = kDefaultWork) : limit_(limit) {}

  void Spend(std::uint64_t units) { spent_ += units; }
  std::uint64_t spent() const { return spent_; }
  std::uint64_t left() const { return spent_ < limit_ ? limit_ - spent_ : 0; }
  // More was spent than allowed: what runs must stop soon and say so.
  bool exhausted() const { return spent_ > limit_; }

 private:
  std::uint64_t limit_;
  std::uint64_t spent_ = 0;
};

}  // namespace dray::allocator

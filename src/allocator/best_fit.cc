// SPDX-License-Identifier: Apache-2.0
#include "allocator/best_fit.h"

#include <algorithm>
#include <tuple>

namespace dray::allocator {

using inventory::CounterUse;
using inventory::NodeDevice;
using inventory::SetUse;

namespace {

// What share of a total would be left, in millionths: whole numbers sort the same everywhere. A
// total may be tiny beside what is drawn on it (it was lowered since), so the share is kept within
// what sums of many of them can hold.
std::int64_t Millionths(const Amount& left, const Amount& total) {
  if (total <= 0) return 0;
  constexpr double kMillion = 1e6;
  constexpr double kMost = 1e12;
  const double share = static_cast<double>(left) / static_cast<double>(total) * kMillion;
  return static_cast<std::int64_t>(std::clamp(share, -kMost, kMost));
}

struct Score {
  bool fresh = false;           // a device to share that nobody shares yet
  std::uint32_t untouched = 0;  // counter sets that nothing is drawn from yet
  std::int64_t left = 0;        // of capacities and counters
  std::uint32_t device = 0;
  friend auto operator<=>(const Score&, const Score&) = default;
};

Score ScoreOf(const Attempt& attempt, const State& state, const Candidates& candidates,
              std::uint32_t index) {
  const inventory::NodeDevices& devices = attempt.devices();
  const NodeDevice& device = devices.devices()[index];
  Score score{.device = index};
  score.fresh = attempt.multi(index) && !state.shared().Test(index);
  std::int64_t parts = 0;
  const auto capacity = state.capacity(index);
  if (!capacity.empty() && candidates.devices.Test(index)) {
    const auto consumed = state.consumed(index);
    // A dedicated device goes as a whole; what the request does not need of it is wasted.
    const Amount* wanted = attempt.consumed(candidates, index);
    for (std::size_t i = 0; i < capacity.size(); ++i, ++parts) {
      score.left += Millionths(capacity[i] - consumed[i] - wanted[i], capacity[i]);
    }
  }
  for (const SetUse& use : devices.set_uses(device)) {
    const auto& set = devices.counter_sets()[use.set];
    bool touched = false;
    for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      touched |= state.counters()[c] < devices.counters()[c].value;
    }
    score.untouched += static_cast<std::uint32_t>(!touched);
  }
  for (const CounterUse& use : devices.counter_uses(device)) {
    score.left += Millionths(state.counters()[use.counter] - use.amount,
                             devices.counters()[use.counter].value);
    ++parts;
  }
  if (parts > 1) score.left /= parts;
  return score;
}

}  // namespace

std::vector<std::uint32_t> TightestFirst(const Attempt& attempt, const State& state,
                                         const Candidates& candidates) {
  std::vector<Score> scores;
  for (std::uint32_t d = 0; d < attempt.device_count(); ++d) {
    if (candidates.devices.Test(d) || candidates.faulty.Test(d)) {
      scores.push_back(ScoreOf(attempt, state, candidates, d));
    }
  }
  std::ranges::sort(scores);
  std::vector<std::uint32_t> order;
  order.reserve(scores.size());
  for (const Score& score : scores) order.push_back(score.device);
  return order;
}

}  // namespace dray::allocator

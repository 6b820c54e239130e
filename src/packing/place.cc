// SPDX-License-Identifier: Apache-2.0
#include "packing/place.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace dray::packing {
namespace {

bool Fits(const NodeState& state, const Unit& unit, const Option& option) {
  if (unit.kind != option.kind) return false;
  if (option.whole) return Untouched(state, unit);
  for (std::size_t d = 0; d < unit.dims; ++d) {
    const Amount amount = d < option.amounts.size() ? option.amounts[d] : 0;
    if (state.free[unit.first + d] < amount) return false;
  }
  return true;
}

void Take(NodeState& state, const Unit& unit, const Option& option) {
  for (std::size_t d = 0; d < unit.dims; ++d) {
    const Amount amount = d < option.amounts.size() ? option.amounts[d] : 0;
    state.free[unit.first + d] -= option.whole ? state.free[unit.first + d] : amount;
  }
}

// How many untouched units the group has, which is asked of one group after the other and where
// units are many takes as long as all the rest.
class UntouchedByGroup {
 public:
  explicit UntouchedByGroup(const NodeState& state) : state_(state) {}
  std::size_t Of(std::uint16_t group) {
    for (const auto& [known, count] : counts_) {
      if (known == group) return count;
    }
    const auto count = std::ranges::count_if(state_.units, [&](const Unit& unit) {
      return unit.group == group && Untouched(state_, unit);
    });
    counts_.emplace_back(group, static_cast<std::size_t>(count));
    return counts_.back().second;
  }

 private:
  const NodeState& state_;
  absl::InlinedVector<std::pair<std::uint16_t, std::size_t>, 4> counts_;
};

// The fullest unit with room; of equally full ones that of the group with the fewest untouched ones.
std::optional<Start> Fullest(const NodeState& state, const Demand& demand,
                             std::optional<std::uint16_t> group) {
  std::optional<Start> best;
  std::pair<Amount, std::size_t> best_key;
  UntouchedByGroup untouched(state);
  for (std::uint32_t u = 0; u < state.units.size(); ++u) {
    const Unit& unit = state.units[u];
    if (group && unit.group != *group) continue;
    for (std::uint32_t o = 0; o < demand.options.size(); ++o) {
      const Option& option = demand.options[o];
      if (!Fits(state, unit, option)) continue;
      const std::pair key(FreeOf(state, unit) - WeightOf(option), untouched.Of(unit.group));
      if (!best || key < best_key) {
        best = Start{u, o};
        best_key = key;
      }
    }
  }
  return best;
}

// All units of one demand.
bool PlaceDemand(NodeState& state, const Demand& demand, std::optional<std::uint16_t> group,
                 std::optional<Start> start) {
  for (std::uint32_t i = 0; i < demand.count; ++i) {
    std::optional<Start> at = i == 0 && start ? start : Fullest(state, demand, group);
    if (!at) return false;
    const Unit unit = state.units[at->unit];
    if (!Fits(state, unit, demand.options[at->option])) return false;
    Take(state, unit, demand.options[at->option]);
  }
  return true;
}

bool PlaceMatched(NodeState& state, const Request& request, std::int8_t match, std::uint16_t group,
                  std::optional<Start> start) {
  for (const Demand& demand : request.demands) {
    if (demand.match != match) continue;
    const bool first = &demand == request.demands.begin();
    if (!PlaceDemand(state, demand, group, first ? start : std::nullopt)) return false;
  }
  return true;
}

// All demands with this number, in the fullest group that has room for them.
bool PlaceInSomeGroup(NodeState& state, const Request& request, std::int8_t match) {
  std::vector<std::pair<std::int64_t, std::uint16_t>> groups;
  for (const Unit& unit : state.units) {
    auto at = std::ranges::find(groups, unit.group, [](const auto& g) { return g.second; });
    if (at == groups.end()) at = groups.insert(groups.end(), {0, unit.group});
    at->first += FreeOf(state, unit);
  }
  std::ranges::sort(groups);
  for (const auto& [free, group] : groups) {
    NodeState tried = state;
    if (!PlaceMatched(tried, request, match, group, std::nullopt)) continue;
    state = std::move(tried);
    return true;
  }
  return false;
}

}  // namespace

bool Place(NodeState& state, const Request& request, std::optional<Start> start) {
  for (std::size_t i = 0; i < kScalars; ++i) {
    if (request.needs[i] > state.left[i]) return false;
    state.left[i] -= request.needs[i];
  }
  for (std::size_t i = 0; i < request.demands.size(); ++i) {
    const Demand& demand = request.demands[i];
    const bool begins = i == 0 && start;
    if (demand.match < 0) {
      if (!PlaceDemand(state, demand, std::nullopt, begins ? start : std::nullopt)) return false;
      continue;
    }
    const bool met_before =
        std::any_of(request.demands.begin(), request.demands.begin() + i,
                    [&](const Demand& other) { return other.match == demand.match; });
    if (met_before) continue;
    const bool fits =
        begins ? PlaceMatched(state, request, demand.match, state.units[start->unit].group, start)
               : PlaceInSomeGroup(state, request, demand.match);
    if (!fits) return false;
  }
  return true;
}

bool CouldServe(const NodeState& state, const Unit& unit, const Request& request) {
  return std::ranges::any_of(request.demands, [&](const Demand& demand) {
    return std::ranges::any_of(demand.options,
                               [&](const Option& option) { return Fits(state, unit, option); });
  });
}

std::vector<Successor> Successors(const NodeState& state, const Request& request) {
  std::vector<Successor> successors;
  const auto add = [&](std::optional<Start> start) {
    Successor next{state, start};
    if (!Place(next.state, request, start)) return;
    Normalize(next.state);
    const bool known = std::ranges::any_of(
        successors, [&](const Successor& other) { return other.state == next.state; });
    if (!known) successors.push_back(std::move(next));
  };
  for (std::size_t i = 0; i < kScalars; ++i) {
    if (request.needs[i] > state.left[i]) return successors;
  }
  if (request.demands.empty()) {
    add(std::nullopt);
    return successors;
  }
  const Demand& first = request.demands.front();
  for (std::uint32_t u = 0; u < state.units.size(); ++u) {
    // Normalized: units like the one before it lead to the same.
    const Unit& unit = state.units[u];
    if (u > 0) {
      const Unit& before = state.units[u - 1];
      if (before.kind == unit.kind && before.group == unit.group && before.dims == unit.dims &&
          std::ranges::equal(std::span(state.free).subspan(before.first, before.dims),
                             std::span(state.free).subspan(unit.first, unit.dims))) {
        continue;
      }
    }
    for (std::uint32_t o = 0; o < first.options.size(); ++o) {
      if (successors.size() == kMaxSuccessors) return successors;
      if (Fits(state, unit, first.options[o])) add(Start{u, o});
    }
  }
  return successors;
}

}  // namespace dray::packing

// SPDX-License-Identifier: Apache-2.0
#include "packing/fragmentation.h"

#include <vector>

#include "packing/place.h"
#include "packing/prices.h"

namespace dray::packing {
namespace {

// As Place says, for less where one demand is all.
bool FitsOn(const NodeState& state, const Request& request) {
  for (std::size_t i = 0; i < kScalars; ++i) {
    if (request.needs[i] > state.left[i]) return false;
  }
  const Demand& demand = request.demands.front();
  if (request.demands.size() == 1 && demand.match < 0 &&
      (demand.count == 1 || ClassOf(demand).whole)) {
    std::uint32_t able = 0;
    for (const Unit& unit : state.units) able += CouldServe(state, unit, request) ? 1 : 0;
    return able >= demand.count;
  }
  NodeState after = state;
  return Place(after, request);
}

}  // namespace

FragmentationMeter::FragmentationMeter(const History& history) : history_(history) {
  for (const History::Entry& entry : history.entries()) {
    if (!entry.request.demands.empty()) total_ += history.SeenOf(entry);
  }
}

void FragmentationMeter::Add(const NodeState& state, std::uint32_t nodes) {
  std::vector<double> usable(state.units.size());
  for (const History::Entry& entry : history_.entries()) {
    if (entry.request.demands.empty() || !FitsOn(state, entry.request)) continue;
    for (std::size_t u = 0; u < state.units.size(); ++u) {
      if (CouldServe(state, state.units[u], entry.request)) usable[u] += history_.SeenOf(entry);
    }
  }
  for (std::size_t u = 0; u < state.units.size(); ++u) {
    const std::int64_t free = std::int64_t{FreeOf(state, state.units[u])} * nodes;
    const double lost = total_ > 0 ? 1 - usable[u] / total_ : 1;
    for (Fragmentation* to : {&sum_.kinds[state.units[u].kind], &sum_.all}) {
      to->free += free;
      to->unusable += lost * static_cast<double>(free);
    }
  }
}

}  // namespace dray::packing

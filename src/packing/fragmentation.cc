// SPDX-License-Identifier: Apache-2.0
#include "packing/fragmentation.h"

#include <vector>

#include "packing/place.h"

namespace dray::packing {

FragmentationMeter::FragmentationMeter(const History& history) : history_(history) {
  for (const History::Entry& entry : history.entries()) {
    if (!entry.request.demands.empty()) total_ += history.SeenOf(entry);
  }
}

void FragmentationMeter::Add(const NodeState& state, std::uint32_t nodes) {
  std::vector<double> usable(state.units.size());
  for (const History::Entry& entry : history_.entries()) {
    if (entry.request.demands.empty()) continue;
    NodeState after = state;
    if (!Place(after, entry.request)) continue;
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

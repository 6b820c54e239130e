// SPDX-License-Identifier: Apache-2.0
#include "packing/variety.h"

#include <algorithm>
#include <cmath>

namespace dray::packing {
namespace {

// Without devices, a part of one, or so many whole ones.
std::uint32_t SortOf(const Request& request) {
  if (request.demands.empty()) return 0;
  const Demand& demand = request.demands.front();
  const bool whole = std::ranges::all_of(demand.options, &Option::whole);
  return whole ? 1 + demand.count : 1;
}

}  // namespace

void Variety::Learn(const Request& request, double times) {
  const double kept = std::exp2(-times / options_.half_life);
  const std::uint32_t sort = SortOf(request);
  changes_ = changes_ * kept + (last_ && *last_ != sort ? 1 : 0) + std::max(times - 1, 0.0);
  devices_ = devices_ * kept + (request.demands.empty() ? 0 : times);
  last_ = sort;
}

double Variety::Worth() const {
  const double first = options_.requests / (options_.requests + devices_);
  const double mixed = options_.changes / (options_.changes + changes_);
  const double worth = (options_.worth + options_.more * first) * mixed;
  return worth < options_.least ? 0 : worth;
}

std::int64_t RoomForSets(const NodeState& state) {
  std::int64_t untouched = 0;
  for (const Unit& unit : state.units) untouched += Untouched(state, unit) ? 1 : 0;
  std::int64_t room = 0;
  for (const std::int64_t size : {1, 2, 4, 8}) room += untouched / size * size;
  return room * kWhole;
}

}  // namespace dray::packing

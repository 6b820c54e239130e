// SPDX-License-Identifier: Apache-2.0
#include "packing/shape.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace dray::packing {
namespace {

std::span<const Amount> AmountsOf(const NodeState& state, const Unit& unit) {
  return std::span(state.free).subspan(unit.first, unit.dims);
}

}  // namespace

Amount WeightOf(const Option& option) {
  if (option.whole || option.amounts.empty()) return option.whole ? kWhole : 0;
  const auto sum = std::accumulate(option.amounts.begin(), option.amounts.end(), std::int64_t{0});
  return static_cast<Amount>(sum / static_cast<std::int64_t>(option.amounts.size()));
}

std::int64_t WeightOf(const Demand& demand) {
  std::int64_t heaviest = 0;
  for (const Option& option : demand.options) {
    heaviest = std::max<std::int64_t>(heaviest, WeightOf(option));
  }
  return heaviest * demand.count;
}

std::int64_t WeightOf(const Request& request) {
  std::int64_t weight = 0;
  for (const Demand& demand : request.demands) weight += WeightOf(demand);
  return weight;
}

std::int64_t LeastWeightOf(const Request& request) {
  std::int64_t weight = 0;
  for (const Demand& demand : request.demands) {
    if (demand.options.empty()) continue;
    Amount lightest = kWhole;
    for (const Option& option : demand.options) lightest = std::min(lightest, WeightOf(option));
    weight += std::int64_t{lightest} * demand.count;
  }
  return weight;
}

Kinds KindsOf(const Demand& demand) {
  Kinds kinds = 0;
  for (const Option& option : demand.options) kinds |= KindBit(option.kind);
  return kinds;
}

Amount FreeOf(const NodeState& state, const Unit& unit) {
  std::int64_t sum = unit.dims - 1;
  for (const Amount amount : AmountsOf(state, unit)) sum += amount;
  return static_cast<Amount>(sum / unit.dims);
}

bool Untouched(const NodeState& state, const Unit& unit) {
  return std::ranges::all_of(AmountsOf(state, unit), [](Amount a) { return a >= kWhole; });
}

std::int64_t FreeOf(const NodeState& state) {
  std::int64_t free = 0;
  for (const Unit& unit : state.units) free += FreeOf(state, unit);
  return free;
}

void Normalize(NodeState& state) {
  const auto before = [&](const Unit& a, const Unit& b) {
    const auto key_a = std::tie(a.kind, a.group, a.dims);
    const auto key_b = std::tie(b.kind, b.group, b.dims);
    if (key_a != key_b) return key_a < key_b;
    return std::ranges::lexicographical_compare(AmountsOf(state, a), AmountsOf(state, b));
  };
  if (std::ranges::is_sorted(state.units, before)) {
    // What they point to lies in their order, unless somebody has put it elsewhere.
    std::uint16_t first = 0;
    const bool packed = std::ranges::all_of(state.units, [&](const Unit& unit) {
      return std::exchange(first, first + unit.dims) == unit.first;
    });
    if (packed) return;
  }
  std::ranges::stable_sort(state.units, before);
  const auto old = state.free;
  state.free.clear();
  for (Unit& unit : state.units) {
    const auto from = old.begin() + unit.first;
    unit.first = static_cast<std::uint16_t>(state.free.size());
    state.free.insert(state.free.end(), from, from + unit.dims);
  }
}

}  // namespace dray::packing

// SPDX-License-Identifier: Apache-2.0
#include "packing/fragmentation.h"

#include <bit>
#include <utility>
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

// Beyond these units a set of bits has no place; nothing is remembered of such nodes.
constexpr std::size_t kRememberedUnits = 64;

}  // namespace

FragmentationMeter::FragmentationMeter(const History& history, FragmentationMemory* memory)
    : history_(history), memory_(memory != nullptr ? *memory : own_) {
  const auto entries = history.entries();
  bool others = memory_.versions_.size() > entries.size();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    seen_.push_back(entries[i].request.demands.empty() ? 0 : history.SeenOf(entries[i]));
    total_ += seen_.back();
    others = others || (i < memory_.versions_.size() && memory_.versions_[i] != entries[i].version);
  }
  memory_.before_ = others ? FragmentationMemory::ByState() : std::move(memory_.now_);
  memory_.now_.clear();
  memory_.versions_.clear();
  for (const History::Entry& entry : entries) memory_.versions_.push_back(entry.version);
}

const std::vector<FragmentationMeter::Units>& FragmentationMeter::UsableOf(const NodeState& state) {
  const auto [at, added] = memory_.now_.try_emplace(state);
  std::vector<Units>& usable = at->second;
  if (added) {
    if (const auto old = memory_.before_.find(state); old != memory_.before_.end()) {
      usable = std::move(old->second);
    }
  }
  for (std::size_t i = usable.size(); i < seen_.size(); ++i) {
    const Request& request = history_.entries()[i].request;
    Units units = 0;
    ++memory_.computed_;
    if (!request.demands.empty() && FitsOn(state, request)) {
      for (std::size_t u = 0; u < state.units.size(); ++u) {
        if (CouldServe(state, state.units[u], request)) units |= Units{1} << u;
      }
    }
    usable.push_back(units);
  }
  return usable;
}

void FragmentationMeter::Add(const NodeState& state, std::uint32_t nodes) {
  if (state.units.empty()) return;
  std::vector<double> usable(state.units.size());
  if (state.units.size() <= kRememberedUnits) {
    const std::vector<Units>& units = UsableOf(state);
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      for (Units left = units[i]; left != 0; left &= left - 1) {
        usable[static_cast<std::size_t>(std::countr_zero(left))] += seen_[i];
      }
    }
  } else {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const Request& request = history_.entries()[i].request;
      if (request.demands.empty() || !FitsOn(state, request)) continue;
      for (std::size_t u = 0; u < state.units.size(); ++u) {
        if (CouldServe(state, state.units[u], request)) usable[u] += seen_[i];
      }
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

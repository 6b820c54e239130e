// SPDX-License-Identifier: Apache-2.0
#include "inventory/pool_counters.h"

#include <algorithm>

#include "inventory/internal/pool_slices.h"

namespace dray::inventory {

PoolCounters::PoolCounters(const Slices& slices, const Dictionary& dictionary) {
  const std::int64_t generation = slices.summary().newest_generation;
  std::vector<const SliceTable*> consumers;
  internal::SetsByName by_name;
  for (const auto& slice : slices) {
    if (slice->generation() != generation) continue;
    if (!slice->has_shared_counters()) {
      if (slice->has_consumption()) consumers.push_back(slice.get());
      continue;
    }
    for (const CounterSetRow& set : slice->counter_sets()) {
      sets_.push_back({.row = &set, .arrival = static_cast<std::uint32_t>(sets_.size())});
    }
  }
  std::ranges::stable_sort(sets_, {}, [](const Set& set) { return set.row->name; });
  for (Set& set : sets_) {
    set.first_counter = static_cast<std::uint32_t>(counters_);
    counters_ += set.row->counters.size();
    by_name.push_back(set.row);
  }
  why_ = internal::CheckSets(by_name, dictionary);
  for (const SliceTable* slice : consumers) {
    if (why_.empty()) why_ = internal::CheckSlice(*slice, by_name, dictionary);
    for (const DeviceRow& row : slice->devices()) {
      if (row.consumption != ConsumptionId::kNone) consuming_.emplace(row.name, &row);
    }
  }
}

std::optional<std::uint32_t> PoolCounters::FindSet(NameId name) const {
  const auto it =
      std::ranges::lower_bound(sets_, name, {}, [](const Set& set) { return set.row->name; });
  if (it == sets_.end() || it->row->name != name) return std::nullopt;
  return static_cast<std::uint32_t>(it - sets_.begin());
}

std::optional<std::uint32_t> PoolCounters::FindCounter(std::uint32_t set, NameId counter) const {
  const auto counters = sets_[set].row->counters;
  const auto it = std::ranges::lower_bound(counters, counter, {}, &CounterAmount::counter);
  if (it == counters.end() || it->counter != counter) return std::nullopt;
  return sets_[set].first_counter + static_cast<std::uint32_t>(it - counters.begin());
}

const DeviceRow* PoolCounters::Find(NameId device) const {
  const auto it = consuming_.find(device);
  return it == consuming_.end() ? nullptr : it->second;
}

std::size_t PoolCounters::MemoryBytes() const {
  return sizeof(*this) + sets_.capacity() * sizeof(Set) +
         consuming_.capacity() * (sizeof(decltype(consuming_)::value_type) + 1);
}

}  // namespace dray::inventory

// SPDX-License-Identifier: Apache-2.0
#include "inventory/internal/pool_slices.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace dray::inventory::internal {
namespace {

bool SharesCounters(const SliceTable& slice, const Features& features) {
  return features.partitionable_devices && slice.has_shared_counters();
}

// Of names that occur twice the smallest; which one is reported must not depend on their numbers.
std::optional<std::string_view> FindTwice(std::vector<NameId> names, const Dictionary& dictionary) {
  std::ranges::sort(names);
  std::optional<std::string_view> found;
  for (auto it = std::ranges::adjacent_find(names); it != names.end();
       it = std::adjacent_find(it + 1, names.end())) {
    const std::string_view name = dictionary.View(*it);
    if (!found.has_value() || name < *found) found = name;
  }
  return found;
}

std::string CheckNames(const PoolSlices& pool, const Dictionary& dictionary) {
  std::vector<NameId> names;
  for (const SharedSlice* slice : pool.devices) {
    for (const DeviceRow& row : (*slice)->devices()) names.push_back(row.name);
  }
  const auto twice = FindTwice(std::move(names), dictionary);
  return twice.has_value() ? fmt::format("two devices are named \"{}\"", *twice) : std::string();
}

std::string CheckUse(NameId device, const SetConsumption& use, const SetsByName& sets,
                     const Dictionary& dictionary) {
  const auto set = std::ranges::lower_bound(sets, use.counter_set, {}, &CounterSetRow::name);
  if (set == sets.end() || (*set)->name != use.counter_set) {
    return fmt::format(
        "device \"{}\" consumes from counter set \"{}\", which the pool does not have",
        dictionary.View(device), dictionary.View(use.counter_set));
  }
  for (const CounterAmount& counter : use.counters) {
    if (std::ranges::binary_search((*set)->counters, counter.counter, {},
                                   &CounterAmount::counter)) {
      continue;
    }
    return fmt::format(
        "device \"{}\" consumes counter \"{}\", which counter set \"{}\" does not have",
        dictionary.View(device), dictionary.View(counter.counter),
        dictionary.View(use.counter_set));
  }
  return {};
}

// A node that sees the pool as a whole.
std::string CheckCounters(const PoolSlices& pool, const Dictionary& dictionary) {
  SetsByName sets;
  for (const SharedSlice* slice : pool.counters) {
    for (const CounterSetRow& set : (*slice)->counter_sets()) sets.push_back(&set);
  }
  std::ranges::sort(sets, {}, &CounterSetRow::name);
  std::string why = CheckSets(sets, dictionary);
  for (const SharedSlice* slice : pool.devices) {
    if (!why.empty()) break;
    why = CheckSlice(**slice, sets, dictionary);
  }
  return why;
}

// Something is wrong with the pool: of devices the node's own are named before the others.
std::string WhyInvalid(const PoolSlices& pool, const Dictionary& dictionary) {
  SetsByName sets;
  for (const PoolCounters::Set& set : pool.shared->sets()) sets.push_back(set.row);
  std::string why = CheckSets(sets, dictionary);
  for (const SharedSlice* slice : pool.devices) {
    if (!why.empty()) return why;
    why = CheckSlice(**slice, sets, dictionary);
  }
  return why.empty() ? pool.shared->why() : why;
}

}  // namespace

std::string CheckSets(const SetsByName& sets, const Dictionary& dictionary) {
  std::vector<NameId> names;
  names.reserve(sets.size());
  for (const CounterSetRow* set : sets) names.push_back(set->name);
  const auto twice = FindTwice(std::move(names), dictionary);
  return twice.has_value() ? fmt::format("two counter sets are named \"{}\"", *twice)
                           : std::string();
}

std::string CheckSlice(const SliceTable& slice, const SetsByName& sets,
                       const Dictionary& dictionary) {
  for (const DeviceRow& row : slice.devices()) {
    if (row.consumption == ConsumptionId::kNone) continue;
    for (const SetConsumption& use : dictionary.At(row.consumption)) {
      std::string why = CheckUse(row.name, use, sets, dictionary);
      if (!why.empty()) return why;
    }
  }
  return {};
}

bool PoolSlices::WaitsForBinding() const {
  return state == PoolState::kComplete &&
         std::ranges::any_of(
             devices, [](const SharedSlice* slice) { return (*slice)->has_binding_conditions(); });
}

PoolSlices Assess(const Snapshot& snapshot, PoolId id, std::span<const SharedSlice* const> relevant,
                  const Features& features) {
  PoolSlices pool{.id = id};
  const std::int64_t generation = (*std::ranges::max(relevant, {}, [](const SharedSlice* slice) {
                                    return (*slice)->generation();
                                  }))->generation();
  std::vector<const SharedSlice*> kept;
  for (const SharedSlice* slice : relevant) {
    if ((*slice)->generation() == generation) kept.push_back(slice);
  }

  // All slices should agree on how many there are; the first one decides.
  const std::int64_t wanted = (*kept[0])->slice_count();
  const bool all_here = static_cast<std::int64_t>(kept.size()) == wanted;
  // A newer generation that is only for other nodes goes unnoticed when all are here, as it does in
  // Kubernetes: this node's driver has not replaced anything.
  const Slices& all = snapshot.OfPool(id);
  const Slices::Summary& summary = all.summary();
  if (!all_here) {
    pool.obsolete = summary.newest_generation > generation;
    if (pool.obsolete) return pool;
    if (static_cast<std::int64_t>(summary.newest) != wanted) {
      pool.state = PoolState::kIncomplete;
      pool.why =
          fmt::format("has {} of {} slices of generation {}", summary.newest, wanted, generation);
      return pool;
    }
  }

  std::ranges::sort(kept, {}, [](const SharedSlice* slice) -> const std::string& {
    return (*slice)->object_name();
  });
  for (const SharedSlice* slice : kept) {
    (SharesCounters(**slice, features) ? pool.counters : pool.devices).push_back(slice);
  }
  const bool with_counters = features.partitionable_devices && summary.counters;
  const Dictionary& dictionary = snapshot.dictionary();
  if (with_counters && !all_here) pool.shared = &all.counters(dictionary);
  pool.why = CheckNames(pool, dictionary);
  if (pool.why.empty() && pool.shared != nullptr) {
    if (!pool.shared->why().empty()) pool.why = WhyInvalid(pool, dictionary);
  } else if (pool.why.empty() && with_counters) {
    pool.why = CheckCounters(pool, dictionary);
  }
  if (!pool.why.empty()) pool.state = PoolState::kInvalid;
  return pool;
}

}  // namespace dray::inventory::internal

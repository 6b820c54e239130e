// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks between the slices of a pool. A scheduler looks at a pool as a whole: a pool that is
// incomplete or contradicts itself gives nobody a device.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/cross_world.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

base::FieldPath SpecPath() { return base::FieldPath("spec"); }

// The pool's counter sets by name; of several with one name the first.
base::StringMap<const CounterSet*> CounterSetsOf(const GivenPool& pool) {
  base::StringMap<const CounterSet*> sets;
  for (const Given<ResourceSlice>& slice : pool.current) {
    if (!slice.object->spec.shared_counters) continue;
    for (const CounterSet& set : *slice.object->spec.shared_counters) sets.emplace(set.name, &set);
  }
  return sets;
}

template <typename Container>
std::vector<std::string_view> KeysOf(const Container& map) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : map) keys.push_back(std::string_view(key));
  return keys;
}

// Reports every item of `items` whose name an earlier slice of the pool has, too; repetition inside
// one slice is validation's.
template <typename Items>
void CheckNames(const GivenPool& pool, std::string_view field, std::string_view what,
                const Items& items, Findings& findings) {
  base::StringMap<std::size_t> first;
  for (const Given<ResourceSlice>& slice : pool.current) {
    const auto& list = items(slice.object->spec);
    if (!list) continue;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string& name = (*list)[i].name;
      const auto [it, added] = first.try_emplace(name, slice.index);
      if (added || it->second == slice.index) continue;
      findings.push_back(
          {.object = slice.index,
           .path = (SpecPath() / field).Index(i) / "name",
           .severity = Severity::kError,
           .reason = "DuplicateInPool",
           .message = fmt::format("another slice of pool \"{}\" already has a {} \"{}\"", pool.name,
                                  what, name),
           .hint = fmt::format("the name of a {} is unique in its pool", what),
           .related = it->second});
    }
  }
}

void CheckConsumption(const World& world, const base::StringMap<const CounterSet*>& sets,
                      const GivenPool& pool, const DeviceCounterConsumption& consumption,
                      std::size_t object, const base::FieldPath& path, Findings& findings) {
  const auto it = sets.find(consumption.counter_set);
  if (it == sets.end()) {
    std::string hint =
        HintAmong(world, consumption.counter_set, KeysOf(sets), "the pool's counter sets");
    if (hint.empty()) {
      hint =
          "a counter set stands in sharedCounters of a slice of its own in the same pool and "
          "generation";
    }
    findings.push_back({.object = object,
                        .path = path / "counterSet",
                        .severity = Severity::kError,
                        .reason = "UnknownCounterSet",
                        .message = fmt::format("pool \"{}\" has no counter set \"{}\"", pool.name,
                                               consumption.counter_set),
                        .hint = std::move(hint)});
    return;
  }
  for (const auto& [key, counter] : consumption.counters) {
    const std::string_view name(key);
    const Counter* have = it->second->counters.Find(name);
    if (have == nullptr) {
      findings.push_back(
          {.object = object,
           .path = (path / "counters").Key(name),
           .severity = Severity::kError,
           .reason = "UnknownCounter",
           .message = fmt::format("counter set \"{}\" has no counter \"{}\"",
                                  consumption.counter_set, name),
           .hint = HintAmong(world, name, KeysOf(it->second->counters), "its counters")});
    } else if (counter.value > have->value) {
      findings.push_back(
          {.object = object,
           .path = (path / "counters").Key(name) / "value",
           .severity = Severity::kError,
           .reason = "CounterExceeded",
           .message = fmt::format("{} is more than the {} that counter set \"{}\" has",
                                  counter.value.ToString(), have->value.ToString(),
                                  consumption.counter_set),
           .hint = "a device that does not fit into its counter set is never allocated"});
    }
  }
}

}  // namespace

void CheckPoolsAreComplete(const World& world, Findings& findings) {
  for (const GivenPool& pool : world.pools) {
    const Given<ResourceSlice>& first = pool.current.front();
    const std::int64_t want = first.object->spec.pool.resource_slice_count;
    const base::FieldPath path = SpecPath() / "pool" / "resourceSliceCount";
    bool agree = true;
    for (const Given<ResourceSlice>& slice : pool.current) {
      const std::int64_t count = slice.object->spec.pool.resource_slice_count;
      if (count == want) continue;
      agree = false;
      findings.push_back(
          {.object = slice.index,
           .path = path,
           .severity = Severity::kError,
           .reason = "PoolDisagrees",
           .message = fmt::format("{} here, but {} in another slice of pool \"{}\", generation {}",
                                  count, want, pool.name, pool.generation),
           .hint =
               fmt::format("all slices of a generation must name the same number; the input has {}",
                           pool.current.size()),
           .related = first.index});
    }
    const auto have = static_cast<std::int64_t>(pool.current.size());
    if (!agree || have == want || want <= 0) continue;
    // Too few may be elsewhere; too many never become right.
    findings.push_back(
        {.object = first.index,
         .path = path,
         .severity = have < want ? Severity::kWarning : Severity::kError,
         .reason = "IncompletePool",
         .message = fmt::format(
             "pool \"{}\" should have {} slice{} of generation {}, but the input has {}", pool.name,
             want, want == 1 ? "" : "s", pool.generation, have),
         .hint = "devices are allocated from a pool only when it has exactly that many slices"});
  }
}

void CheckStaleSlices(const World& world, Findings& findings) {
  for (const GivenPool& pool : world.pools) {
    for (const Given<ResourceSlice>& slice : pool.stale) {
      findings.push_back(
          {.object = slice.index,
           .path = SpecPath() / "pool" / "generation",
           .severity = Severity::kWarning,
           .reason = "StaleSlice",
           .message = fmt::format("generation {} is ignored, pool \"{}\" has generation {}",
                                  slice.object->spec.pool.generation, pool.name, pool.generation),
           .hint = "a driver deletes the slices of older generations",
           .related = pool.current.front().index});
    }
  }
}

void CheckDeviceNamesInPool(const World& world, Findings& findings) {
  for (const GivenPool& pool : world.pools) {
    CheckNames(
        pool, "devices", "device",
        [](const ResourceSliceSpec& spec) -> const auto& { return spec.devices; }, findings);
  }
}

void CheckCounterSetNamesInPool(const World& world, Findings& findings) {
  for (const GivenPool& pool : world.pools) {
    CheckNames(
        pool, "sharedCounters", "counter set",
        [](const ResourceSliceSpec& spec) -> const auto& { return spec.shared_counters; },
        findings);
  }
}

void CheckConsumedCounters(const World& world, Findings& findings) {
  for (const GivenPool& pool : world.pools) {
    if (!pool.IsComplete()) continue;  // the counter set may be in a slice that is not given
    const base::StringMap<const CounterSet*> sets = CounterSetsOf(pool);
    for (const Given<ResourceSlice>& slice : pool.current) {
      if (!slice.object->spec.devices) continue;
      const std::vector<Device>& devices = *slice.object->spec.devices;
      for (std::size_t i = 0; i < devices.size(); ++i) {
        for (std::size_t j = 0; j < devices[i].consumes_counters.size(); ++j) {
          const base::FieldPath path =
              ((SpecPath() / "devices").Index(i) / "consumesCounters").Index(j);
          CheckConsumption(world, sets, pool, devices[i].consumes_counters[j], slice.index, path,
                           findings);
        }
      }
    }
  }
}

}  // namespace dray::api::internal

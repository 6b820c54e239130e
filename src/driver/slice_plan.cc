// SPDX-License-Identifier: Apache-2.0
#include "driver/slice_plan.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::size_t kIndexDigits = 5;

std::size_t Digits(std::size_t count) {
  std::size_t digits = 1;
  for (std::size_t highest = count == 0 ? 0 : count - 1; highest >= 16; highest /= 16) ++digits;
  return std::max(kIndexDigits, digits);
}

const WantedSlice& NoDevices() {
  static const WantedSlice none;
  return none;
}

std::size_t CountOf(const WantedPool& pool) { return std::max<std::size_t>(1, pool.slices.size()); }

api::ResourceSliceSpec SpecOf(const Publisher& publisher, std::string_view pool,
                              const WantedPool& wanted, std::size_t index,
                              std::int64_t generation) {
  const WantedSlice& slice = wanted.slices.empty() ? NoDevices() : wanted.slices[index];
  api::ResourceSliceSpec spec;
  spec.driver = publisher.driver;
  spec.pool = {.name = std::string(pool),
               .generation = generation,
               .resource_slice_count = static_cast<std::int64_t>(CountOf(wanted))};
  if (slice.per_device_node_selection) {
    spec.per_device_node_selection = true;
  } else if (!publisher.node.empty()) {
    spec.node_name = publisher.node;
  } else if (wanted.node_selector.has_value()) {
    spec.node_selector = wanted.node_selector;
  } else if (wanted.all_nodes) {
    spec.all_nodes = true;
  }
  if (slice.shared_counters.empty()) {
    spec.devices = slice.devices;
  } else {
    spec.shared_counters = slice.shared_counters;
    if (!slice.devices.empty()) spec.devices = slice.devices;
  }
  spec.partition_type_attribute = slice.partition_type_attribute;
  spec.skip_node_operations = slice.skip_node_operations;
  return spec;
}

bool SameTaint(const api::DeviceTaint& a, const api::DeviceTaint& b) {
  return a.key == b.key && a.value == b.value && a.effect == b.effect;
}

// Times that a server gave to taints stay: a taint that is written again is not a new one.
void KeepTaintTimes(api::ResourceSliceSpec& spec, const api::ResourceSliceSpec& stored) {
  if (!spec.devices || !stored.devices) return;
  for (api::Device& device : *spec.devices) {
    if (device.taints.empty()) continue;
    const auto old = std::ranges::find(*stored.devices, device.name, &api::Device::name);
    if (old == stored.devices->end()) continue;
    for (api::DeviceTaint& taint : device.taints) {
      if (taint.time_added) continue;
      const auto same = std::ranges::find_if(
          old->taints, [&](const api::DeviceTaint& other) { return SameTaint(taint, other); });
      if (same != old->taints.end()) taint.time_added = same->time_added;
    }
  }
}

// What is stored with the times of taints as the wanted one has them, if they agree.
void AlignTaintTimes(std::vector<api::Device>& stored, const std::vector<api::Device>& wanted) {
  if (stored.size() != wanted.size()) return;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i].taints.size() != wanted[i].taints.size()) continue;
    for (std::size_t t = 0; t < stored[i].taints.size(); ++t) {
      std::optional<base::Time>& have = stored[i].taints[t].time_added;
      const std::optional<base::Time>& want = wanted[i].taints[t].time_added;
      const bool near = have && want && (*have - *want < std::chrono::seconds(1)) &&
                        (*want - *have < std::chrono::seconds(1));
      if (!want || near) have = want;
    }
  }
}

struct Match {
  const api::ResourceSlice* slice = nullptr;  // null: it is missing
  bool changed = false;
};

}  // namespace

std::string IndexText(std::size_t index, std::size_t count) {
  return fmt::format("{:0{}x}", index, Digits(count));
}

std::optional<std::size_t> IndexOf(std::string_view slice_name, std::size_t count) {
  const std::size_t end = slice_name.find('-');
  if (end == std::string_view::npos || end != Digits(count)) return std::nullopt;
  std::size_t index = 0;
  const auto [rest, error] = std::from_chars(slice_name.data(), slice_name.data() + end, index, 16);
  if (error != std::errc() || rest != slice_name.data() + end || index >= count) {
    return std::nullopt;
  }
  return index;
}

bool SaysTheSame(const api::ResourceSliceSpec& stored, const api::ResourceSliceSpec& wanted) {
  const bool taints = stored.devices && wanted.devices &&
                      std::ranges::any_of(*stored.devices, [](const api::Device& device) {
                        return !device.taints.empty();
                      });
  if (!taints) return api::SemanticEqual(stored, wanted);
  api::ResourceSliceSpec aligned = stored;
  AlignTaintTimes(*aligned.devices, *wanted.devices);
  return api::SemanticEqual(aligned, wanted);
}

PoolPlan PlanPool(const Publisher& publisher, std::string_view pool, const WantedPool* wanted,
                  const std::vector<const api::ResourceSlice*>& seen) {
  std::vector<const api::ResourceSlice*> slices = seen;
  std::ranges::sort(slices, {},
                    [](const auto* slice) -> const std::string& { return slice->metadata.name; });
  PoolPlan plan;
  const auto doom = [&](const api::ResourceSlice& slice) {
    plan.deletes.push_back({.name = slice.metadata.name, .uid = slice.metadata.uid});
  };
  if (wanted == nullptr) {
    for (const auto* slice : slices) doom(*slice);
    return plan;
  }
  std::int64_t highest = 0;
  for (const auto* slice : slices) highest = std::max(highest, slice->spec.pool.generation);
  std::vector<Match> matches(CountOf(*wanted));
  for (const auto* slice : slices) {
    const std::optional<std::size_t> index = IndexOf(slice->metadata.name, matches.size());
    if (slice->spec.pool.generation < highest || !index || matches[*index].slice != nullptr) {
      doom(*slice);
    } else {
      matches[*index].slice = slice;
    }
  }
  std::size_t missing = 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i].slice == nullptr) {
      ++missing;
    } else if (!SaysTheSame(matches[i].slice->spec, SpecOf(publisher, pool, *wanted, i, highest))) {
      matches[i].changed = true;
      ++changed;
    }
  }
  std::int64_t generation = highest;
  if (wanted->generation > highest) {
    generation = wanted->generation;
  } else if (missing > 0 || changed > 1) {
    generation = highest + 1;
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i].slice != nullptr && generation == highest && !matches[i].changed) continue;
    api::ResourceSlice slice;
    slice.spec = SpecOf(publisher, pool, *wanted, i, generation);
    if (matches[i].slice != nullptr) {
      slice.metadata = matches[i].slice->metadata;
      KeepTaintTimes(slice.spec, matches[i].slice->spec);
      plan.updates.push_back(std::move(slice));
      continue;
    }
    slice.metadata.generate_name =
        fmt::format("{}-{}-{}", IndexText(i, matches.size()), publisher.driver,
                    publisher.owner ? publisher.owner->name + "-" : "");
    if (publisher.owner) slice.metadata.owner_references.push_back(*publisher.owner);
    plan.creates.push_back(std::move(slice));
  }
  return plan;
}

}  // namespace dray::driver

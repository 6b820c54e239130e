// SPDX-License-Identifier: Apache-2.0
//
// What a node sees of the cluster, and which devices could serve a request at all.
#include <algorithm>

#include "model/checker_internal.h"
#include "model/node_match.h"

namespace dray::model::checker {
namespace {

bool IsCounterSlice(const Instance& instance, const api::ResourceSlice& slice) {
  return instance.features.partitionable_devices && slice.spec.shared_counters &&
         !slice.spec.shared_counters->empty();
}

bool Seen(const Instance& instance, const api::ResourceSlice& slice) {
  const bool partitions = slice.spec.per_device_node_selection.has_value() ||
                          (slice.spec.shared_counters && !slice.spec.shared_counters->empty());
  if (partitions && !instance.features.partitionable_devices) return false;
  const std::string name = slice.spec.node_name.value_or("");
  return (name.empty() || name == instance.node.metadata.name) &&
         SliceMatchesNode(instance.node, slice);
}

void CheckContent(const Instance& instance, View& view,
                  const std::vector<const api::ResourceSlice*>& counter_slices) {
  std::set<std::string> names;
  for (const auto* slice : view.near) {
    for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
      if (!names.insert(device.name).second) view.why_not = "two devices of one name";
    }
  }
  if (!instance.features.partitionable_devices) return;
  for (const auto* slice : counter_slices) {
    for (const api::CounterSet& set : *slice->spec.shared_counters) {
      if (view.counters.contains(set.name)) view.why_not = "two counter sets of one name";
      for (const auto& [name, counter] : set.counters) {
        view.counters[set.name][name.str()] = counter.value;
      }
      view.counters[set.name];
    }
  }
  for (const auto* slices : {&view.near, &view.far}) {
    for (const auto* slice : *slices) {
      for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
        for (const auto& use : device.consumes_counters) {
          const auto set = view.counters.find(use.counter_set);
          const bool known = set != view.counters.end() &&
                             std::ranges::all_of(use.counters, [&](const auto& counter) {
                               return set->second.contains(counter.first.str());
                             });
          if (!known) view.why_not = "an unknown counter";
        }
      }
    }
  }
}

}  // namespace

View::Found View::Find(std::string_view name) const {
  for (const auto* slice : near) {
    if (!slice->spec.devices) continue;
    for (const api::Device& device : *slice->spec.devices) {
      if (device.name == name) return {slice, &device};
    }
  }
  return {};
}

std::map<PoolId, View> ViewsOf(const Instance& instance) {
  // What the node sees, by pool and generation.
  std::map<PoolId, std::map<std::int64_t, std::vector<const api::ResourceSlice*>>> seen;
  std::map<PoolId, std::map<std::int64_t, std::vector<const api::ResourceSlice*>>> all;
  for (const api::ResourceSlice& slice : instance.slices) {
    const PoolId id{slice.spec.driver, slice.spec.pool.name};
    all[id][slice.spec.pool.generation].push_back(&slice);
    if (Seen(instance, slice)) seen[id][slice.spec.pool.generation].push_back(&slice);
  }
  std::map<PoolId, View> views;
  for (auto& [id, generations] : seen) {
    const std::int64_t generation = generations.rbegin()->first;
    auto mine = generations.rbegin()->second;
    // Slices of the node say first how many there are.
    const auto own = std::ranges::find_if(
        mine, [](const auto* slice) { return !slice->spec.node_name.value_or("").empty(); });
    const std::int64_t count =
        (own == mine.end() ? mine.front() : *own)->spec.pool.resource_slice_count;
    View view;
    const auto& known = all[id][generation];
    const bool complete = static_cast<std::int64_t>(mine.size()) == count;
    if (!complete && all[id].rbegin()->first > generation) continue;  // being replaced
    if (!complete && static_cast<std::int64_t>(known.size()) != count) {
      view.why_not = "incomplete";
      views.emplace(id, view);
      continue;
    }
    std::ranges::stable_sort(mine, {}, [](const auto* slice) { return slice->metadata.name; });
    std::vector<const api::ResourceSlice*> counter_slices;
    for (const auto* slice : mine) {
      (IsCounterSlice(instance, *slice) ? counter_slices : view.near).push_back(slice);
    }
    for (const auto* slice : known) {
      if (complete || std::ranges::find(mine, slice) != mine.end()) continue;
      (IsCounterSlice(instance, *slice) ? counter_slices : view.far).push_back(slice);
    }
    CheckContent(instance, view, counter_slices);
    view.usable = view.why_not.empty();
    views.emplace(id, std::move(view));
  }
  return views;
}

std::vector<Held> HeldOf(const Instance& instance) {
  std::vector<Held> held;
  for (const api::ResourceClaim& claim : instance.allocated_claims) {
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.admin_access == true) continue;
      held.push_back({{result.driver, result.pool, result.device},
                      &result,
                      instance.features.consumable_capacity && result.share_id.has_value()});
    }
  }
  return held;
}

std::optional<std::string> NotACandidate(const Context& context, const RequestView& view,
                                         const api::ResourceSlice& slice,
                                         const api::Device& device) {
  const Features& features = context.instance.features;
  if (!device.binding_conditions.empty() && !features.device_binding_and_status) {
    return "has binding conditions, which are off";
  }
  for (const auto& use : device.consumes_counters) {
    if (!use.compatibility_groups.empty() && !features.compatibility_groups) {
      return "declares compatibility groups, which are off";
    }
  }
  for (const api::DeviceClass& c : context.instance.classes) {
    if (c.metadata.name != view.class_name) continue;
    if (!context.expressions.Match(c.spec.selectors, slice.spec.driver, device)) {
      return "is not of the class";
    }
  }
  if (!context.expressions.Match(*view.selectors, slice.spec.driver, device)) {
    return "does not match the request's selectors";
  }
  if (slice.spec.per_device_node_selection == true &&
      !DeviceMatchesNode(context.instance.node, device)) {
    return "is not for this node";
  }
  return std::nullopt;
}

std::set<DeviceId> AllOf(const Context& context, const RequestView& view) {
  std::set<DeviceId> ids;
  for (const auto& [id, pool] : context.pools) {
    if (!pool.usable) {
      context.Complain(fmt::format("request {} wants all devices while pool {} is {}",
                                   view.full_name(), id.second, pool.why_not));
      continue;
    }
    for (const auto* slice : pool.near) {
      if (!slice->spec.devices) continue;
      for (const api::Device& device : *slice->spec.devices) {
        if (NotACandidate(context, view, *slice, device)) continue;
        if (context.instance.features.consumable_capacity) {
          const auto asked = AskedOf(view.capacity, id.first, device);
          if (!asked) continue;
          const bool can = std::ranges::all_of(device.capacity, [&](const auto& entry) {
            const auto found = asked->find(entry.first.str());
            const auto least =
                LeastAmount(found == asked->end() ? nullptr : &found->second, entry.second,
                            context.instance.features.fractional_capacity_range);
            return least && *least <= entry.second.value;
          });
          if (!can) continue;
        }
        ids.insert({id.first, id.second, device.name});
      }
    }
  }
  return ids;
}

}  // namespace dray::model::checker

// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite's checks of slices.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "api/node.h"
#include "driver/internal/conformance_run.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

using namespace std::chrono_literals;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

std::string Text(const Status& status) {
  return status.ok() ? "" : std::string(base::Message(status));
}

// One pool of one driver and node.
std::string PoolFault(const std::vector<const api::ResourceSlice*>& slices) {
  std::int64_t highest = 0;
  for (const auto* slice : slices) highest = std::max(highest, slice->spec.pool.generation);
  std::set<std::string> devices;
  std::size_t current = 0;
  std::int64_t count = 0;
  for (const auto* slice : slices) {
    if (slice->spec.pool.generation != highest) {
      return fmt::format("slice {} is of generation {}, others of {}", slice->metadata.name,
                         slice->spec.pool.generation, highest);
    }
    ++current;
    if (count != 0 && count != slice->spec.pool.resource_slice_count) {
      return fmt::format("slice {} says that there are {} slices, another one {}",
                         slice->metadata.name, slice->spec.pool.resource_slice_count, count);
    }
    count = slice->spec.pool.resource_slice_count;
    for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
      if (!devices.insert(device.name).second) {
        return fmt::format("device {} appears twice", device.name);
      }
    }
  }
  if (count != static_cast<std::int64_t>(current)) {
    return fmt::format("there are {} slices, and they say {}", current, count);
  }
  return "";
}

// Counters of one pool: declared once, and only such as are declared are consumed.
std::string CounterFault(const std::vector<const api::ResourceSlice*>& slices) {
  std::map<std::string, std::set<std::string>> sets;
  for (const auto* slice : slices) {
    for (const api::CounterSet& set :
         slice->spec.shared_counters.value_or(std::vector<api::CounterSet>())) {
      auto [it, fresh] = sets.try_emplace(set.name);
      if (!fresh) return fmt::format("counter set {} appears twice", set.name);
      for (const auto& [name, counter] : set.counters) it->second.insert(std::string(name.view()));
    }
  }
  for (const auto* slice : slices) {
    for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
      for (const auto& consumes : device.consumes_counters) {
        const auto set = sets.find(consumes.counter_set);
        if (set == sets.end()) {
          return fmt::format("device {} consumes counters of the set {}, which is not there",
                             device.name, consumes.counter_set);
        }
        for (const auto& [name, counter] : consumes.counters) {
          if (set->second.contains(std::string(name.view()))) continue;
          return fmt::format("device {} consumes the counter {} of the set {}, which has none",
                             device.name, name.view(), consumes.counter_set);
        }
      }
    }
  }
  return "";
}

std::set<std::string> DevicesOf(const std::vector<api::ResourceSlice>& slices) {
  std::set<std::string> devices;
  for (const api::ResourceSlice& slice : slices) {
    for (const api::Device& device : slice.spec.devices.value_or(std::vector<api::Device>())) {
      devices.insert(fmt::format("{}/{}", slice.spec.pool.name, device.name));
    }
  }
  return devices;
}

}  // namespace

StatusOr<std::vector<api::ResourceSlice>> Run::ListSlices() const {
  const auto listed = options_.cluster->List(KindOf<api::ResourceSlice>());
  if (!listed.ok()) return listed.status();
  std::vector<api::ResourceSlice> slices;
  for (const api::Object& object : *listed) {
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice == nullptr || slice->spec.driver != info_.name) continue;
    if (!options_.node.empty() && slice->spec.node_name.value_or("") != options_.node) continue;
    slices.push_back(*slice);
  }
  return slices;
}

void Run::Slices() {
  constexpr std::string_view kPools =
      "All slices of a pool have one generation and say how many there are; every device appears "
      "once";
  constexpr std::string_view kCounters =
      "Counter sets are there once in a pool, and devices consume counters that are there";
  constexpr std::string_view kThere = "A driver that has registered publishes slices";
  if (options_.cluster == nullptr) return Skip("slices/pools", kPools, "there is no API server");
  const auto listed = ListSlices();
  if (!listed.ok()) return Skip("slices/pools", kPools, Text(listed.status()));
  std::set<std::string> nodes;
  for (const api::ResourceSlice& slice : *listed) {
    if (slice.spec.node_name) nodes.insert(*slice.spec.node_name);
  }
  if (nodes.size() > 1) {
    return Skip("slices/pools", kPools,
                fmt::format("the driver has slices for {} nodes; --node-name says which is meant",
                            nodes.size()));
  }
  slices_ = *listed;
  node_ = nodes.empty() ? options_.node : *nodes.begin();
  Check("slices/there", kThere, slices_.empty() ? "there are none" : "");
  if (slices_.empty()) return;
  std::map<std::string, std::vector<const api::ResourceSlice*>> pools;
  for (const api::ResourceSlice& slice : slices_) {
    pools[slice.spec.pool.name].push_back(&slice);
  }
  std::string fault;
  std::string counters;
  for (const auto& [name, slices] : pools) {
    if (const std::string text = PoolFault(slices); !text.empty()) {
      fault = fmt::format("pool {}: {}", name, text);
    }
    if (const std::string text = CounterFault(slices); !text.empty()) {
      counters = fmt::format("pool {}: {}", name, text);
    }
  }
  Check("slices/pools", kPools, fault);
  Check("slices/counters", kCounters, counters);
  Owners();
}

void Run::Owners() {
  const auto node = options_.cluster->Find(KindOf<api::Node>(), "", node_);
  const std::string uid = node.ok() && node->has_value() ? (*node)->metadata().uid : std::string();
  std::string fault;
  for (const api::ResourceSlice& slice : slices_) {
    if (!slice.spec.node_name) continue;
    const api::OwnerReference* owner = api::FindController(slice.metadata);
    if (owner == nullptr || owner->api_version != "v1" || owner->kind != "Node" ||
        owner->name != node_) {
      fault = fmt::format("slice {} is not controlled by Node {}", slice.metadata.name, node_);
    } else if (!uid.empty() && owner->uid != uid) {
      fault = fmt::format(
          "slice {} is owned by a Node {} with UID {}; its UID is {}, so that the "
          "slice will be collected as garbage",
          slice.metadata.name, node_, owner->uid, uid);
    }
  }
  Check("slices/owner", "Slices of a node are controlled by its Node object, of v1 and by its UID",
        fault);
}

// At the end: what was written meanwhile.
void Run::QuietSlices() {
  if (slices_.empty()) return;
  const auto now = ListSlices();
  std::string fault = Text(now.status());
  if (now.ok()) {
    for (const api::ResourceSlice& before : slices_) {
      const auto after = std::ranges::find(
          *now, before.metadata.uid, [](const api::ResourceSlice& s) { return s.metadata.uid; });
      if (after == now->end() || after->spec != before.spec ||
          after->metadata.resource_version == before.metadata.resource_version) {
        continue;
      }
      fault = fmt::format("slice {} was written during the test, and says what it said before",
                          before.metadata.name);
    }
  }
  Check("slices/quiet", "Slices are written when something has changed, and only then", fault);
}

void Run::Repair() {
  constexpr std::string_view kRule =
      "A slice that is deleted is published again: agents delete those of drivers that were "
      "away";
  if (slices_.empty()) return;
  if (options_.repair_patience <= 0ns) {
    return Skip("slices/repaired", kRule,
                "a slice would have to be deleted, and drivers wait half a minute; --slow does it");
  }
  const api::ResourceSlice& doomed = slices_.front();
  const Status deleted = options_.cluster->Delete(KindOf<api::ResourceSlice>(), "",
                                                  doomed.metadata.name, doomed.metadata.uid);
  if (!deleted.ok()) return Skip("slices/repaired", kRule, Text(deleted));
  const std::set<std::string> wanted = DevicesOf(slices_);
  const auto until = std::chrono::steady_clock::now() + options_.repair_patience;
  std::string fault = "?";
  while (!fault.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms);
    const auto now = ListSlices();
    if (!now.ok()) {
      fault = Text(now.status());
      continue;
    }
    std::map<std::string, std::vector<const api::ResourceSlice*>> pools;
    for (const api::ResourceSlice& slice : *now) pools[slice.spec.pool.name].push_back(&slice);
    fault = DevicesOf(*now) == wanted
                ? ""
                : fmt::format("after {} there are {} devices of {}",
                              base::GoDurationToString(options_.repair_patience),
                              DevicesOf(*now).size(), wanted.size());
    for (const auto& [name, slices] : pools) {
      if (fault.empty()) fault = PoolFault(slices);
    }
  }
  Check("slices/repaired", kRule, fault);
  if (const auto now = ListSlices(); now.ok()) slices_ = *now;
}

}  // namespace dray::driver::internal

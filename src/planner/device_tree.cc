// SPDX-License-Identifier: Apache-2.0
#include "planner/device_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "allocator/explain_words.h"
#include "api/device_class.h"
#include "api/json.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/nodes.h"
#include "planner/internal/outcomes.h"
#include "scheduler/world.h"

namespace dray::planner {
namespace {

using controllers::KindOf;
using inventory::NodeDevice;
using inventory::NodeDevices;

// driver, pool, device
using DeviceKey = std::tuple<std::string, std::string, std::string>;

struct Held {
  std::vector<DeviceHolder> holders;
  std::string node;  // of the allocation; empty: several
  bool seen = false;
};

std::string TaintText(const api::DeviceTaint& taint) {
  return taint.value.empty() ? fmt::format("{}:{}", taint.key, taint.effect)
                             : fmt::format("{}={}:{}", taint.key, taint.value, taint.effect);
}

std::string AttributeText(const api::DeviceAttribute& attribute) {
  if (attribute.int_value) return std::to_string(*attribute.int_value);
  if (attribute.bool_value) return *attribute.bool_value ? "true" : "false";
  if (attribute.string_value) return std::string(*attribute.string_value);
  if (attribute.version_value) return std::string(*attribute.version_value);
  std::string json = api::EncodeJson(attribute);  // a list
  return json;
}

bool IsReady(const api::Node& node) {
  const auto ready = std::ranges::find(node.status.conditions, "Ready", &api::NodeCondition::type);
  return ready == node.status.conditions.end() || ready->status == "True";
}

}  // namespace

struct DeviceTreeBuilder::Impl {
  explicit Impl(const api::FeatureGates& gates) : world({.gates = gates}) {}

  std::map<DeviceKey, Held> HeldDevices() const;
  DeviceEntry EntryOf(const NodeDevices& devices, const ledger::NodeUsage& usage, std::size_t index,
                      std::map<DeviceKey, Held>& held) const;
  std::vector<CounterSetEntry> CounterSetsOf(const NodeDevices& devices,
                                             const ledger::NodeUsage& usage,
                                             std::size_t pool) const;
  void AddPools(scheduler::NodeInfo& info, NodeEntry& node, std::map<DeviceKey, Held>& held,
                std::map<std::pair<std::string, std::string>, PoolEntry>& shared);

  scheduler::World world;
  std::map<std::string, api::Object, std::less<>> claims;
  std::map<std::string, api::Object, std::less<>> pods;
};

std::string_view NameOf(DeviceState state) {
  constexpr std::string_view kNames[] = {"Free", "Held", "Shared", "Blocked", "Unusable", "Gone"};
  return kNames[static_cast<std::size_t>(state)];
}

std::size_t PoolEntry::Count(DeviceState state) const {
  return static_cast<std::size_t>(std::ranges::count(devices, state, &DeviceEntry::state));
}
std::size_t DeviceTree::Devices() const {
  std::size_t n = 0;
  for (const NodeEntry& node : nodes) {
    for (const PoolEntry& pool : node.pools) n += pool.devices.size();
  }
  for (const PoolEntry& pool : pools) n += pool.devices.size();
  return n;
}
std::size_t DeviceTree::Count(DeviceState state) const {
  std::size_t n = 0;
  for (const NodeEntry& node : nodes) {
    for (const PoolEntry& pool : node.pools) n += pool.Count(state);
  }
  for (const PoolEntry& pool : pools) n += pool.Count(state);
  return n;
}

std::map<DeviceKey, Held> DeviceTreeBuilder::Impl::HeldDevices() const {
  std::map<DeviceKey, Held> held;
  for (const auto& [key, object] : claims) {
    const auto& claim = *object.As<api::ResourceClaim>();
    if (!claim.status.allocation) continue;
    DeviceHolder holder{.claim = key};
    for (const auto& user : claim.status.reserved_for) {
      if (user.resource != "pods") continue;
      holder.pods.push_back(user.name);
      const auto found = pods.find(internal::KeyOf(claim.metadata.namespace_, user.name));
      if (found == pods.end()) continue;
      const api::Pod& pod = *found->second.As<api::Pod>();
      const auto& since =
          pod.status.start_time ? pod.status.start_time : pod.metadata.creation_timestamp;
      if (since && (!holder.since || *since < *holder.since)) holder.since = since;
      if (pod.spec.priority) {
        holder.priority =
            std::max(holder.priority.value_or(*pod.spec.priority), *pod.spec.priority);
      }
    }
    const std::string node = internal::NodeOf(claim);
    for (const auto& result : claim.status.allocation->devices.results) {
      Held& device = held[{result.driver, result.pool, result.device}];
      DeviceHolder& one = device.holders.emplace_back(holder);
      one.share_id = result.share_id.value_or("");
      one.admin_access = result.admin_access.value_or(false);
      for (const auto& [name, amount] : result.consumed_capacity) {
        one.consumed.emplace_back(name, amount.ToString());
      }
      device.node = node;
    }
  }
  return held;
}

DeviceEntry DeviceTreeBuilder::Impl::EntryOf(const NodeDevices& devices,
                                             const ledger::NodeUsage& usage, std::size_t index,
                                             std::map<DeviceKey, Held>& held) const {
  const NodeDevice& device = devices.devices()[index];
  const inventory::Dictionary& dictionary = devices.dictionary();
  const inventory::PoolOnNode& pool = devices.pools()[device.pool];
  DeviceEntry entry{.name = std::string(dictionary.View(device.row->name)),
                    .shareable = device.row->allow_multiple_allocations};
  const auto found = held.find({std::string(dictionary.View(pool.driver)),
                                std::string(dictionary.View(pool.name)), entry.name});
  if (found != held.end()) {
    found->second.seen = true;
    entry.holders = found->second.holders;
  }
  for (const api::DeviceTaint& taint : dictionary.At(device.taints)) {
    if (taint.effect != api::kTaintEffectNone) entry.taints.push_back(TaintText(taint));
  }
  const auto consumed = usage.consumed(index);
  const auto capacities = device.slice->capacities(*device.row);
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const inventory::Capacity& capacity = dictionary.At(capacities[i].capacity);
    entry.capacity.push_back({.name = std::string(dictionary.View(capacities[i].name)),
                              .value = capacity.capacity.value.ToString(),
                              .left = consumed.empty()
                                          ? capacity.capacity.value.ToString()
                                          : allocator::LeftText(capacity.amount - consumed[i])});
  }
  for (const inventory::AttributeEntry& attribute : device.slice->attributes(*device.row)) {
    entry.attributes.emplace_back(dictionary.View(attribute.name),
                                  AttributeText(dictionary.Attribute(attribute.value)));
  }
  if (usage.shared().Test(index)) {
    entry.state = DeviceState::kShared;
  } else if (usage.taken().Test(index)) {
    entry.state = DeviceState::kHeld;
    // One claim has all of it, whatever it needs.
    for (AmountLeft& amount : entry.capacity) amount.left = "0";
  } else {
    for (const inventory::CounterUse& use : devices.counter_uses(device)) {
      const auto left = usage.counters()[use.counter];
      if (left >= use.amount) continue;
      const inventory::CounterOnNode& counter = devices.counters()[use.counter];
      entry.blocked_by.push_back(
          fmt::format("{} of {}: {} needed, {} left", dictionary.View(counter.name),
                      dictionary.View(devices.counter_sets()[counter.set].name),
                      allocator::AmountText(use.amount), allocator::LeftText(left)));
    }
    for (const inventory::SetUse& use : devices.set_uses(device)) {
      if (usage.groups()[use.set].Admits(dictionary.At(use.groups))) continue;
      entry.blocked_by.push_back(
          fmt::format("cannot be mixed with what is in use on {}",
                      dictionary.View(devices.counter_sets()[use.set].name)));
    }
    if (entry.blocked_by.empty() && device.uses > 0 && usage.overdrawn(device.pool)) {
      entry.blocked_by.emplace_back("more of its pool's counters is in use than published");
    }
    if (!entry.blocked_by.empty()) entry.state = DeviceState::kBlocked;
  }
  return entry;
}

std::vector<CounterSetEntry> DeviceTreeBuilder::Impl::CounterSetsOf(const NodeDevices& devices,
                                                                    const ledger::NodeUsage& usage,
                                                                    std::size_t index) const {
  const inventory::Dictionary& dictionary = devices.dictionary();
  const inventory::PoolOnNode& pool = devices.pools()[index];
  std::vector<CounterSetEntry> sets;
  for (std::size_t s = pool.first_set; s < pool.first_set + pool.sets; ++s) {
    const inventory::CounterSetOnNode& set = devices.counter_sets()[s];
    CounterSetEntry& entry = sets.emplace_back();
    entry.name = dictionary.View(set.name);
    for (std::size_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      const inventory::CounterOnNode& counter = devices.counters()[c];
      entry.counters.push_back({.name = std::string(dictionary.View(counter.name)),
                                .value = allocator::AmountText(counter.value),
                                .left = allocator::LeftText(usage.counters()[c])});
    }
    for (const inventory::NameId group : usage.groups()[s].groups) {
      entry.groups.emplace_back(dictionary.View(group));
    }
    std::ranges::sort(entry.groups);
  }
  return sets;
}

void DeviceTreeBuilder::Impl::AddPools(
    scheduler::NodeInfo& info, NodeEntry& node, std::map<DeviceKey, Held>& held,
    std::map<std::pair<std::string, std::string>, PoolEntry>& shared) {
  const NodeDevices& devices = *info.devices;
  const inventory::Dictionary& dictionary = devices.dictionary();
  for (std::size_t p = 0; p < devices.pools().size(); ++p) {
    const inventory::PoolOnNode& pool = devices.pools()[p];
    PoolEntry entry{.driver = std::string(dictionary.View(pool.driver)),
                    .name = std::string(dictionary.View(pool.name))};
    if (pool.state != inventory::PoolState::kComplete) {
      entry.problem = fmt::format(
          "{}: {}", pool.state == inventory::PoolState::kInvalid ? "invalid" : "incomplete",
          pool.why);
      node.pools.push_back(std::move(entry));
      continue;
    }
    std::set<std::string> known;  // of the shared one
    PoolEntry* of_all = nullptr;
    for (std::size_t d = pool.first_device; d < pool.first_device + pool.devices; ++d) {
      const NodeDevice& device = devices.devices()[d];
      if (!device.on_node) continue;
      if (device.slice->choice(*device.row).has_node) {
        entry.devices.push_back(EntryOf(devices, info.usage, d, held));
        continue;
      }
      if (of_all == nullptr) {
        of_all = &shared[{entry.driver, entry.name}];
        of_all->driver = entry.driver;
        of_all->name = entry.name;
        if (of_all->counter_sets.empty()) {
          of_all->counter_sets = CounterSetsOf(devices, info.usage, p);
        }
        for (const DeviceEntry& one : of_all->devices) known.insert(one.name);
      }
      if (known.contains(std::string(dictionary.View(device.row->name)))) continue;
      of_all->devices.push_back(EntryOf(devices, info.usage, d, held));
    }
    if (entry.devices.empty()) continue;
    entry.counter_sets = CounterSetsOf(devices, info.usage, p);
    node.pools.push_back(std::move(entry));
  }
  std::ranges::stable_sort(node.pools, {}, [](const PoolEntry& pool) {
    return std::pair(std::string_view(pool.driver), std::string_view(pool.name));
  });
}

DeviceTreeBuilder::DeviceTreeBuilder(const api::FeatureGates& gates)
    : impl_(std::make_unique<Impl>(gates)) {}
DeviceTreeBuilder::~DeviceTreeBuilder() = default;

std::vector<const api::KindInfo*> DeviceTreeBuilder::Kinds() {
  return {&KindOf<api::Node>(), &KindOf<api::Pod>(), &KindOf<api::ResourceSlice>(),
          &KindOf<api::ResourceClaim>(), &KindOf<api::DeviceTaintRule>()};
}

void DeviceTreeBuilder::Apply(const api::Change& change) {
  const std::string key = internal::KeyOf(change.object.metadata());
  const auto keep = [&](auto& objects) {
    objects.erase(key);
    if (change.kind != api::Change::Kind::kDeleted) objects.emplace(key, change.object);
  };
  if (change.object.As<api::ResourceClaim>() != nullptr) keep(impl_->claims);
  if (change.object.As<api::Pod>() != nullptr) keep(impl_->pods);
  impl_->world.Apply(change);
}

bool DeviceTreeBuilder::HasNode(std::string_view name) const {
  const scheduler::NodeInfo* node = impl_->world.FindNode(name);
  return node != nullptr && node->node != nullptr;
}

std::vector<std::string> DeviceTreeBuilder::NodeNames() const {
  std::vector<std::string> names;
  for (const scheduler::NodeInfo* node : impl_->world.nodes()) names.push_back(node->name());
  return names;
}

StatusOr<DeviceTree> DeviceTreeBuilder::Build(const DeviceFilter& filter) {
  DeviceTree tree;
  std::map<DeviceKey, Held> held = impl_->HeldDevices();
  std::map<std::pair<std::string, std::string>, PoolEntry> shared;
  std::map<std::string, NodeEntry, std::less<>> nodes;
  for (scheduler::NodeInfo* info : impl_->world.nodes()) {
    DRAY_RETURN_IF_ERROR(impl_->world.RefreshDevices(*info));
    NodeEntry& node = nodes[info->name()];
    node.name = info->name();
    if (info->node->spec.unschedulable) node.marks.emplace_back("cordoned");
    if (!IsReady(*info->node)) node.marks.emplace_back("not ready");
    impl_->AddPools(*info, node, held, shared);
  }
  // Somebody has them, and no slice does any more.
  for (const auto& [key, device] : held) {
    if (device.seen) continue;
    const auto& [driver, pool, name] = key;
    std::vector<PoolEntry>* pools = nullptr;
    const auto node = nodes.find(device.node);
    if (node != nodes.end()) pools = &node->second.pools;
    const auto same = [&driver = driver, &pool = pool](const PoolEntry& entry) {
      return entry.driver == driver && entry.name == pool;
    };
    PoolEntry* entry = nullptr;
    if (pools == nullptr) {
      entry = &shared[{driver, pool}];
      entry->driver = driver;
      entry->name = pool;
    } else if (const auto found = std::ranges::find_if(*pools, same); found != pools->end()) {
      entry = &*found;
    } else {
      entry = &pools->emplace_back(PoolEntry{.driver = driver, .name = pool});
    }
    const bool unusable = !entry->problem.empty();
    entry->devices.push_back({.name = name,
                              .state = unusable ? DeviceState::kUnusable : DeviceState::kGone,
                              .holders = device.holders});
  }

  const auto wanted = [&](const DeviceEntry& device) {
    return filter.namespace_.empty() ||
           std::ranges::any_of(device.holders, [&](const DeviceHolder& holder) {
             return holder.namespace_() == filter.namespace_;
           });
  };
  const auto keep = [&](PoolEntry& pool) {
    std::erase_if(pool.devices, [&](const DeviceEntry& device) { return !wanted(device); });
    return !pool.devices.empty() || (filter.namespace_.empty() && !pool.problem.empty());
  };
  for (auto& [name, node] : nodes) {
    const scheduler::NodeInfo* info = impl_->world.FindNode(name);
    if (!filter.nodes.empty() && std::ranges::find(filter.nodes, name) == filter.nodes.end()) {
      continue;
    }
    if (!filter.labels.Matches(info->node->metadata.labels)) continue;
    std::erase_if(node.pools, [&](PoolEntry& pool) { return !keep(pool); });
    if (node.pools.empty()) {
      ++tree.nodes_without;
    } else {
      tree.nodes.push_back(std::move(node));
    }
  }
  if (filter.nodes.empty() && filter.labels.empty()) {
    for (auto& [key, pool] : shared) {
      if (keep(pool)) tree.pools.push_back(std::move(pool));
    }
  }
  return tree;
}

void ApplyObjects(std::vector<api::Object> objects, AssumeNodes assume,
                  std::vector<std::string>& notes, DeviceTreeBuilder& builder) {
  internal::CompleteNodes(assume, objects, notes);
  for (api::Object& object : objects) {
    builder.Apply({.kind = api::Change::Kind::kAdded, .object = std::move(object)});
  }
}

}  // namespace dray::planner

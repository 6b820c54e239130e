// SPDX-License-Identifier: Apache-2.0
#include "scheduler/world.h"

#include <algorithm>
#include <iterator>

#include "scheduler/internal/world_impl.h"

namespace dray::scheduler {
namespace {

// A pod's placement touches a node two or three times; a shape that was not asked for during this
// many changes compares the versions of all nodes instead.
constexpr std::size_t kLogSize = 16 * 1024;
// The same for pools of every node.
constexpr std::size_t kPoolLogSize = 1024;

// The value in an object, kept as long as anybody has it. Null when it is of another kind.
template <typename T>
std::shared_ptr<const T> Share(const api::Object& object) {
  const T* value = object.As<T>();
  if (value == nullptr) return nullptr;
  return {std::make_shared<const api::Object>(object), value};
}

}  // namespace

void World::Impl::Touch(NodeInfo& node, bool eases) {
  node.version = ++world.version_;
  if (eases) node.eased = node.version;
  // Several changes of one node in a row are one to everybody who has not looked in between, and
  // nobody who has can mistake it: the version is the new one.
  if (!log.empty() && log.back().second == node.index) {
    log.back().first = node.version;
    return;
  }
  log.emplace_back(node.version, node.index);
  if (log.size() > kLogSize) {
    log_begin = log.front().first;
    log.pop_front();
  }
}

void World::Impl::TouchAll() {
  world.global_version_ = ++world.version_;
  pool_log.clear();
  pool_log_begin = world.version_;
}

void World::Impl::TouchAllFor(inventory::PoolId pool, PoolChange::Kind kind) {
  world.global_version_ = ++world.version_;
  // Allocations of one pool in a row are one change to everybody who has not looked in between.
  if (kind == PoolChange::Kind::kUsage && !pool_log.empty() && pool_log.back().pool == pool) {
    pool_log.back().version = world.version_;
    return;
  }
  pool_log.push_back({world.version_, pool, kind});
  if (pool_log.size() > kPoolLogSize) {
    pool_log_begin = pool_log.front().version;
    pool_log.pop_front();
  }
}

std::optional<std::vector<World::PoolChange>> World::Impl::PoolChangesSince(
    std::uint64_t version) const {
  if (version < pool_log_begin) return std::nullopt;
  auto first = pool_log.end();
  while (first != pool_log.begin() && std::prev(first)->version > version) --first;
  return std::vector<PoolChange>(first, pool_log.end());
}

World::ChangedNodes World::Impl::ChangedSince(std::uint64_t version, std::size_t most) const {
  ChangedNodes changed;
  changed.all =
      version < log_begin || (log.size() > most && log[log.size() - most - 1].first > version);
  if (changed.all) return changed;
  for (auto it = log.rbegin(); it != log.rend() && it->first > version; ++it) {
    changed.nodes.push_back(it->second);
  }
  return changed;
}

World::World(WorldOptions options)
    : options_(std::move(options)),
      features_(inventory::Features::From(options_.gates)),
      dictionary_(std::make_shared<inventory::Dictionary>()),
      inventory_(dictionary_),
      ledger_(dictionary_),
      expressions_(dictionary_),
      impl_(std::make_unique<Impl>(*this)) {
  ledger_.Listen([this](const ledger::Change& change) { impl_->TouchPools(change); });
}

// Reservations may outlive what they would report to.
World::~World() { ledger_.Listen(nullptr); }

void World::Apply(const api::Change& change) {
  const bool gone = change.kind == api::Change::Kind::kDeleted;
  const api::Object& object = change.object;
  if (auto pod = Share<api::Pod>(object)) {
    gone ? impl_->RemovePod(KeyOf(*pod)) : impl_->PutPod(std::move(pod));
  } else if (auto claim = Share<api::ResourceClaim>(object)) {
    gone ? impl_->RemoveClaim(*claim) : impl_->PutClaim(std::move(claim));
  } else if (auto node = Share<api::Node>(object)) {
    gone ? impl_->RemoveNode(node->metadata.name) : impl_->PutNode(std::move(node));
  } else if (const auto* slice = object.As<api::ResourceSlice>()) {
    impl_->Take(gone ? inventory_.Remove(slice->metadata.name) : inventory_.Put(*slice));
  } else if (const auto* rule = object.As<api::DeviceTaintRule>()) {
    impl_->Take(gone ? inventory_.RemoveTaintRule(rule->metadata.name)
                     : inventory_.PutTaintRule(*rule));
  } else if (auto device_class = Share<api::DeviceClass>(object)) {
    PutClass(std::move(device_class), gone);
  } else if (auto space = Share<api::Namespace>(object)) {
    PutNamespace(std::move(space), gone);
  } else if (auto priority = Share<api::PriorityClass>(object)) {
    if (gone) {
      impl_->priorities.erase(priority->metadata.name);
    } else {
      impl_->priorities[priority->metadata.name] = std::move(priority);
    }
    impl_->PriorityClassesChanged();
  } else if (auto budget = Share<api::PodDisruptionBudget>(object)) {
    const std::pair key(budget->metadata.namespace_, budget->metadata.name);
    if (gone) {
      impl_->budgets.erase(key);
    } else {
      impl_->budgets[key] = std::move(budget);
    }
  } else if (auto group = Share<api::PodGroup>(object)) {
    std::string key = group->metadata.namespace_ + "/" + group->metadata.name;
    if (gone) {
      impl_->groups.erase(key);
    } else {
      impl_->groups[std::move(key)] = std::move(group);
    }
  } else {
    impl_->volumes.Apply(change);
  }
}

const Volumes& World::volumes() const { return impl_->volumes; }

World::Budgets World::BudgetsOf(std::string_view namespace_) const {
  Budgets found;
  for (auto at = impl_->budgets.lower_bound({std::string(namespace_), ""});
       at != impl_->budgets.end() && at->first.first == namespace_; ++at) {
    found.push_back(at->second);
  }
  return found;
}

void World::PutClass(std::shared_ptr<const api::DeviceClass> device_class, bool gone) {
  ++claims_version_;
  auto& known = impl_->classes[device_class->metadata.name];
  const bool same = !gone && known != nullptr && known->spec == device_class->spec &&
                    known->metadata.creation_timestamp == device_class->metadata.creation_timestamp;
  if (gone) {
    extended_resources_.OnDelete(*device_class);
    impl_->classes.erase(device_class->metadata.name);
  } else {
    extended_resources_.OnUpdate(*device_class);
    known = std::move(device_class);
  }
  if (!same) ++classes_version_;
}

void World::PutNamespace(std::shared_ptr<const api::Namespace> space, bool gone) {
  if (gone) {
    impl_->namespaces.erase(space->metadata.name);
  } else {
    impl_->namespaces[space->metadata.name] = std::move(space);
  }
}

std::span<NodeInfo* const> World::nodes() const {
  impl_->Sort();
  return impl_->sorted;
}
NodeInfo* World::FindNode(std::string_view name) const {
  const auto found = impl_->nodes_by_name.find(name);
  if (found == impl_->nodes_by_name.end()) return nullptr;
  NodeInfo& info = found->second->info;
  return info.node == nullptr ? nullptr : &info;
}
NodeInfo* World::node(NodeIndex index) const {
  if (index >= impl_->nodes.size() || impl_->nodes[index] == nullptr) return nullptr;
  NodeInfo& info = impl_->nodes[index]->info;
  return info.node == nullptr ? nullptr : &info;
}
std::size_t World::node_indices() const { return impl_->nodes.size(); }
Status World::RefreshDevices(NodeInfo& node) { return impl_->RefreshDevices(node); }
World::ChangedNodes World::ChangedSince(std::uint64_t version, std::size_t most) const {
  return impl_->ChangedSince(version, most);
}
std::optional<std::vector<World::PoolChange>> World::PoolChangesSince(std::uint64_t version) const {
  return impl_->PoolChangesSince(version);
}

std::shared_ptr<const api::DeviceClass> World::FindClass(std::string_view name) const {
  const auto found = impl_->classes.find(name);
  return found == impl_->classes.end() ? nullptr : found->second;
}
std::shared_ptr<const api::Namespace> World::FindNamespace(std::string_view name) const {
  const auto found = impl_->namespaces.find(name);
  return found == impl_->namespaces.end() ? nullptr : found->second;
}

}  // namespace dray::scheduler

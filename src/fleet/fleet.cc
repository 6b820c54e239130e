// SPDX-License-Identifier: Apache-2.0
//
// Objects in: what a change touches. Claims and pods: users.cc; what follows: reduction.cc.
#include "fleet/fleet.h"

#include <algorithm>
#include <utility>

#include "api/device_class.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

std::uint8_t FlagsOf(const api::Node& node) {
  std::uint8_t flags = node.spec.unschedulable ? kCordoned : 0;
  for (const api::NodeCondition& condition : node.status.conditions) {
    if (condition.type == api::kNodeReadyCondition && condition.status != "True") {
      flags |= kNotReady;
    }
  }
  return flags;
}

// Whether who selects devices by it would notice.
bool SameSelectors(const api::DeviceClass& a, const api::DeviceClass& b) {
  return a.spec.selectors == b.spec.selectors;
}

}  // namespace

std::string_view NameOf(State state) {
  switch (state) {
    case State::kFree:
      return "free";
    case State::kHeld:
      return "held";
    case State::kShared:
      return "shared";
    case State::kPartitioned:
      return "partitioned";
    case State::kBlocked:
      return "blocked";
    case State::kGone:
      return "gone";
    case State::kUnknown:
      return "unknown";
    case State::kRemoved:
      return "removed";
  }
  return "";
}

Fleet::Fleet(FleetOptions options)
    : options_(std::move(options)),
      features_(inventory::Features::From(options_.gates)),
      dictionary_(std::make_shared<inventory::Dictionary>()),
      inventory_(dictionary_),
      ledger_(dictionary_),
      expressions_(dictionary_),
      revision_(options_.first_revision),
      oldest_(options_.first_revision + 1) {
  label_sets_.emplace_back();
  label_ids_.emplace("", 0);
}

Fleet::~Fleet() = default;

std::span<const api::KindInfo* const> Fleet::Kinds() {
  static const std::vector<const api::KindInfo*> kKinds = [] {
    std::vector<const api::KindInfo*> kinds;
    for (const api::TypeInfo* type :
         {&api::TypeInfoOf<api::Node>(), &api::TypeInfoOf<api::Namespace>(),
          &api::TypeInfoOf<api::DeviceClass>(), &api::TypeInfoOf<api::ResourceSlice>(),
          &api::TypeInfoOf<api::DeviceTaintRule>(), &api::TypeInfoOf<api::ResourceClaim>(),
          &api::TypeInfoOf<api::Pod>(), &api::TypeInfoOf<api::ResourceQuota>()}) {
      kinds.push_back(&api::HubKind(*type));
    }
    return kinds;
  }();
  return kKinds;
}

void Fleet::Apply(const api::Change& change) {
  const api::Object& object = change.object;
  const bool gone = change.kind == api::Change::Kind::kDeleted;
  const std::string& name = object.metadata().name;
  const auto keep = [&](auto& map, auto key) {
    if (gone) {
      map.erase(key);
    } else {
      map.insert_or_assign(std::move(key), object);
    }
  };
  if (object.As<api::Node>() != nullptr) {
    PutNode(name, gone ? std::nullopt : std::optional(object));
  } else if (object.As<api::ResourceSlice>() != nullptr) {
    PutSlice(object, gone);
  } else if (object.As<api::ResourceClaim>() != nullptr) {
    PutClaim(object, gone);
  } else if (object.As<api::Pod>() != nullptr) {
    PutPod(object, gone);
  } else if (object.As<api::DeviceClass>() != nullptr) {
    PutClass(object, gone);
  } else if (object.As<api::DeviceTaintRule>() != nullptr) {
    PutRule(object, gone);
  } else if (object.As<api::ResourceQuota>() != nullptr) {
    keep(quotas_, Key(object.metadata().namespace_, name));
  } else if (object.As<api::Namespace>() != nullptr) {
    keep(namespaces_, name);
  }
}

void Fleet::SetClaimsUnknown(bool unknown) {
  if (options_.claims_unknown == unknown) return;
  options_.claims_unknown = unknown;
  all_dirty_ = true;
}

// --- Numbers.

Id Fleet::NodeOf(std::string_view name) {
  if (const auto it = node_ids_.find(name); it != node_ids_.end()) return it->second;
  const Id id = static_cast<Id>(nodes_.size());
  nodes_.push_back({.name = strings_.Of(name), .flags = kNoSuchNode});
  node_ids_.emplace(name, id);
  StampNode(id);
  return id;
}

Id Fleet::PoolOf(inventory::PoolId id) {
  if (const auto it = pool_ids_.find(id); it != pool_ids_.end()) return it->second;
  const inventory::PoolName names = dictionary_->At(id);
  const std::string_view driver = dictionary_->View(names.driver);
  const std::string_view name = dictionary_->View(names.pool);
  const auto [it, fresh] =
      pool_names_.try_emplace(fmt::format("{}/{}", driver, name), static_cast<Id>(pools_.size()));
  if (fresh) {
    pools_.emplace_back();
    pools_.back().driver = strings_.Of(driver);
    pools_.back().name = strings_.Of(name);
  }
  Pool& pool = pools_[it->second];
  pool.id = id;
  pool.flags &= static_cast<std::uint8_t>(~kPoolRemoved);
  StampPool(it->second);
  pool_ids_.emplace(id, it->second);
  return it->second;
}

Id Fleet::DeviceOf(Id pool, std::string_view name) {
  const Pool& in = pools_[pool];
  const std::string key =
      fmt::format("{}/{}/{}", strings_.At(in.driver), strings_.At(in.name), name);
  const auto [it, fresh] = device_ids_.try_emplace(key, static_cast<Id>(devices_.size()));
  if (fresh) {
    devices_.push_back({.pool = pool, .name = strings_.Of(name)});
  }
  return it->second;
}

std::optional<Id> Fleet::FindDevice(std::string_view driver, std::string_view pool,
                                    std::string_view device) const {
  const auto it = device_ids_.find(fmt::format("{}/{}/{}", driver, pool, device));
  if (it == device_ids_.end()) return std::nullopt;
  return it->second;
}

std::optional<Id> Fleet::FindNode(std::string_view name) const {
  const auto it = node_ids_.find(name);
  if (it == node_ids_.end() || (nodes_[it->second].flags & kNodeRemoved) != 0) return std::nullopt;
  return it->second;
}

std::optional<std::uint32_t> Fleet::FindClass(std::string_view name) const {
  const auto it = std::ranges::lower_bound(class_names_, name, std::less<>());
  if (it == class_names_.end() || *it != name) return std::nullopt;
  return static_cast<std::uint32_t>(it - class_names_.begin());
}

std::string Fleet::NameOf(const Device& device) const {
  const Pool& pool = pools_[device.pool];
  return fmt::format("{}/{}/{}", strings_.At(pool.driver), strings_.At(pool.name),
                     strings_.At(device.name));
}

// --- Changes.

void Fleet::TouchDevice(std::string_view key) {
  if (const auto it = device_ids_.find(key); it != device_ids_.end()) {
    dirty_devices_.insert(it->second);
  }
}

// Its devices look well or not.
void Fleet::TouchNode(Id node) {
  const std::string& name = strings_.At(nodes_[node].name);
  if (const auto known = dictionary_->Find(name)) {
    for (const auto& slice : inventory_.snapshot().OfNode(*known)) {
      dirty_pools_.insert(PoolOf(slice->pool()));
    }
  }
  for (const Id pool : per_device_pools_) dirty_pools_.insert(pool);
}

void Fleet::PutNode(const std::string& name, std::optional<api::Object> object) {
  const Id id = NodeOf(name);
  Node& node = nodes_[id];
  std::uint8_t flags = node.pools > 0 ? kNoSuchNode : kNodeRemoved;
  std::vector<std::uint32_t> labels;
  std::string text;
  if (object) {
    const auto& read = *object->As<api::Node>();
    flags = FlagsOf(read);
    for (const auto& [key, value] : read.metadata.labels) {
      // It says the node's name again, and so would make a set for each.
      if (key == api::kHostnameLabel && value == name) continue;
      labels.push_back(strings_.Of(key));
      labels.push_back(strings_.Of(value));
      text += fmt::format("{}.{}.", labels[labels.size() - 2], labels.back());
    }
  }
  const auto [it, fresh] = label_ids_.try_emplace(text, static_cast<Id>(label_sets_.size()));
  if (fresh) label_sets_.push_back(std::move(labels));
  const bool health = ((flags ^ node.flags) & kNotReady) != 0;
  node.object = std::move(object);
  SetNode(id, flags, it->second);
  if (health) TouchNode(id);
}

void Fleet::SetNode(Id id, std::uint8_t flags, Id labels) {
  Node& node = nodes_[id];
  if (flags == node.flags && labels == node.labels) return;
  node.flags = flags;
  node.labels = labels;
  StampNode(id);
}

void Fleet::PutSlice(const api::Object& object, bool gone) {
  const auto& slice = *object.As<api::ResourceSlice>();
  const std::string& name = slice.metadata.name;
  const inventory::Change change = gone ? inventory_.Remove(name) : inventory_.Put(slice);
  if (gone) {
    slice_objects_.erase(name);
  } else {
    slice_objects_.insert_or_assign(name, object);
  }
  for (const inventory::PoolId pool : change.pools) dirty_slices_.insert(PoolOf(pool));
}

void Fleet::PutClass(const api::Object& object, bool gone) {
  const std::string& name = object.metadata().name;
  const auto it = class_objects_.find(name);
  if (gone) {
    if (it == class_objects_.end()) return;
    class_objects_.erase(it);
    classes_changed_ = true;
    return;
  }
  const auto& now = *object.As<api::DeviceClass>();
  if (it == class_objects_.end() || !SameSelectors(*it->second.As<api::DeviceClass>(), now)) {
    classes_changed_ = true;
  }
  class_objects_.insert_or_assign(name, object);
}

void Fleet::TouchRule(const api::DeviceTaintSelector& selector) {
  for (Id id = 0; id < pools_.size(); ++id) {
    const Pool& pool = pools_[id];
    if ((pool.flags & kPoolRemoved) != 0) continue;
    if (selector.driver && *selector.driver != strings_.At(pool.driver)) continue;
    if (selector.pool && *selector.pool != strings_.At(pool.name)) continue;
    if (!selector.device) {
      dirty_pools_.insert(id);
      continue;
    }
    TouchDevice(fmt::format("{}/{}/{}", strings_.At(pool.driver), strings_.At(pool.name),
                            *selector.device));
  }
}

void Fleet::PutRule(const api::Object& object, bool gone) {
  const auto& rule = *object.As<api::DeviceTaintRule>();
  const auto touch = [&](const api::DeviceTaintRule& of) {
    if (of.spec.device_selector.has_value()) TouchRule(*of.spec.device_selector);
  };
  const auto it = rule_objects_.find(rule.metadata.name);
  if (it != rule_objects_.end()) touch(*it->second.As<api::DeviceTaintRule>());
  if (gone) {
    inventory_.RemoveTaintRule(rule.metadata.name);
    rule_objects_.erase(rule.metadata.name);
    return;
  }
  inventory_.PutTaintRule(rule);
  touch(rule);
  rule_objects_.insert_or_assign(rule.metadata.name, object);
}

}  // namespace dray::fleet

// SPDX-License-Identifier: Apache-2.0
//
// Objects in: what a change touches. What follows from that: reduction.cc.
#include "fleet/fleet.h"

#include <algorithm>

#include "api/device_class.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

std::string KeyOf(const api::DeviceRequestAllocationResult& result) {
  return fmt::format("{}/{}/{}", result.driver, result.pool, result.device);
}

std::string UidOf(const api::ResourceClaim& claim) {
  return claim.metadata.uid.empty()
             ? fmt::format("{}/{}", claim.metadata.namespace_, claim.metadata.name)
             : claim.metadata.uid;
}

bool IsOver(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool IsPending(const api::Pod& pod) {
  return pod.spec.node_name.empty() && !IsOver(pod) && !pod.metadata.deletion_timestamp;
}

std::uint8_t FlagsOf(const api::Node& node) {
  std::uint8_t flags = node.spec.unschedulable ? kCordoned : 0;
  for (const api::NodeCondition& condition : node.status.conditions) {
    if (condition.type == api::kNodeReadyCondition && condition.status != "True") {
      flags |= kNotReady;
    }
  }
  return flags;
}

// Devices of a claim that its status says are not well.
std::vector<std::string> UnhealthyOf(const api::ResourceClaim& claim) {
  std::vector<std::string> devices;
  for (const api::AllocatedDeviceStatus& device : claim.status.devices) {
    const bool bad = std::ranges::any_of(device.conditions, [](const api::Condition& condition) {
      return (condition.type == "Ready" || condition.type == "Healthy") &&
             condition.status == "False";
    });
    if (bad) devices.push_back(fmt::format("{}/{}/{}", device.driver, device.pool, device.device));
  }
  return devices;
}

}  // namespace

std::vector<std::string> PodsOf(const api::ResourceClaim& claim) {
  std::vector<std::string> pods;
  for (const api::ResourceClaimConsumerReference& user : claim.status.reserved_for) {
    if (user.api_group.empty() && user.resource == "pods") pods.push_back(user.name);
  }
  for (const api::OwnerReference& owner : claim.metadata.owner_references) {
    if (owner.kind == "Pod" && owner.api_version == "v1" &&
        std::ranges::find(pods, owner.name) == pods.end()) {
      pods.push_back(owner.name);
    }
  }
  return pods;
}

namespace {

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

void Fleet::TouchUsage(const ledger::Change& change) {
  for (const inventory::PoolId pool : change.pools) dirty_usage_.insert(PoolOf(pool));
}

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

void Fleet::SetHealth(std::vector<std::string>& list, std::vector<std::string> now) {
  if (list == now) return;
  for (const std::string& device : now) {
    if (++unhealthy_[device] == 1) TouchDevice(device);
  }
  for (const std::string& device : list) {
    const auto it = unhealthy_.find(device);
    if (--it->second > 0) continue;
    unhealthy_.erase(it);
    TouchDevice(device);
  }
  list = std::move(now);
}

void Fleet::PutClaim(const api::Object& object, bool gone) {
  const auto& claim = *object.As<api::ResourceClaim>();
  const Key key(claim.metadata.namespace_, claim.metadata.name);
  const auto it = claims_.find(key);
  if (it == claims_.end() && gone) return;
  Claim& known = it == claims_.end() ? claims_[key] : it->second;
  known.namespace_ = key.first;
  known.name = key.second;
  const auto results = [](const api::ResourceClaim& of, const auto& each) {
    if (!of.status.allocation.has_value()) return;
    for (const auto& result : of.status.allocation->devices.results) each(result, KeyOf(result));
  };
  if (known.object) {
    const auto& old = *known.object->As<api::ResourceClaim>();
    results(old, [&](const auto& result, const std::string& device) {
      // A claim may have several shares of one device.
      if (const auto held = holders_.find(device); held != holders_.end()) {
        held->second.erase(key);
        if (held->second.empty()) holders_.erase(held);
      }
      if (!result.admin_access.value_or(false)) return;
      if (const auto admin = admin_.find(device); --admin->second == 0) admin_.erase(admin);
      TouchDevice(device);
    });
    if (UidOf(old) != UidOf(claim) || gone) TouchUsage(ledger_.Remove(UidOf(old)));
    if (key.first == kHidden) --hidden_claims_;
  } else {
    if (known.changed > 0) --gone_entries_;
  }
  if (gone) {
    ++gone_entries_;
    known.object.reset();
    SetHealth(known.unhealthy, {});
  } else {
    results(claim, [&](const auto& result, const std::string& device) {
      holders_[device].insert(key);
      if (!result.admin_access.value_or(false)) return;
      ++admin_[device];
      TouchDevice(device);
    });
    TouchUsage(ledger_.Put(claim));
    known.object = object;
    SetHealth(known.unhealthy, UnhealthyOf(claim));
    if (key.first == kHidden) ++hidden_claims_;
  }
  // Pods name devices by their claims.
  if (const auto users = users_.find(key); users != users_.end()) {
    for (const std::string& name : users->second) {
      Pod& pod = pods_.at(Key(key.first, name));
      SetHealth(pod.unhealthy, HealthOf(*pod.object->As<api::Pod>()));
    }
  }
  dirty_claims_.insert(key);
}

// What the kubelet says of devices is said of claims: "claim:NAME" or "claim:NAME/REQUEST", with an
// id that is the driver's affair. Where the request has one device it is that one; else those whose
// name the id ends with, or all.
std::vector<std::string> Fleet::HealthOf(const api::Pod& pod) const {
  constexpr std::string_view kClaim = "claim:";
  std::vector<std::string> devices;
  const auto look = [&](const api::ContainerStatus& container) {
    for (const api::ResourceStatus& resource : container.allocated_resources_status) {
      if (!resource.name.starts_with(kClaim)) continue;
      const std::string_view text = std::string_view(resource.name).substr(kClaim.size());
      const std::string_view entry_name = text.substr(0, text.find('/'));
      const std::string_view request =
          entry_name.size() < text.size() ? text.substr(entry_name.size() + 1) : "";
      const auto entry =
          std::ranges::find(pod.spec.resource_claims, entry_name, &api::PodResourceClaim::name);
      if (entry == pod.spec.resource_claims.end()) continue;
      const auto name = api::ClaimNameOf(pod, *entry);
      if (!name) continue;
      const auto claim = claims_.find(Key(pod.metadata.namespace_, std::string(*name)));
      if (claim == claims_.end() || !claim->second.object) continue;
      const auto& status = claim->second.object->As<api::ResourceClaim>()->status;
      if (!status.allocation.has_value()) continue;
      for (const api::ResourceHealth& health : resource.resources) {
        if (health.health != "Unhealthy") continue;
        std::vector<std::string> all;
        std::vector<std::string> named;
        for (const auto& result : status.allocation->devices.results) {
          if (!request.empty() && result.request != request &&
              !result.request.starts_with(std::string(request) + "/")) {
            continue;
          }
          all.push_back(KeyOf(result));
          if (health.resource_id.ends_with(result.device)) named.push_back(all.back());
        }
        const auto& meant = all.size() > 1 && !named.empty() ? named : all;
        devices.insert(devices.end(), meant.begin(), meant.end());
      }
    }
  };
  for (const auto& container : pod.status.container_statuses) look(container);
  for (const auto& container : pod.status.init_container_statuses) look(container);
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

void Fleet::PutPod(const api::Object& object, bool gone) {
  const auto& pod = *object.As<api::Pod>();
  const Key key(pod.metadata.namespace_, pod.metadata.name);
  const auto it = pods_.find(key);
  if (it == pods_.end() && gone) return;
  Pod& known = it == pods_.end() ? pods_[key] : it->second;
  if (!known.object && known.changed > 0) --gone_entries_;
  const bool pending = !gone && IsPending(pod);
  std::vector<std::string> claims;
  if (!gone) {
    const api::ClaimsOfPod names(pod);
    for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
      if (const auto name = names.NameOf(entry)) claims.emplace_back(*name);
    }
  }
  for (const std::string& claim : known.claims) {
    const auto users = users_.find(Key(key.first, claim));
    users->second.erase(key.second);
    if (users->second.empty()) users_.erase(users);
  }
  if (!gone && !IsOver(pod)) {
    for (const std::string& claim : claims) users_[Key(key.first, claim)].insert(key.second);
  } else {
    claims.clear();
  }
  if (pending != known.pending || (pending && claims != known.claims)) {
    known.changed = Stamp();
    now_.pods.push_back(key);
  }
  if (gone) {
    SetHealth(known.unhealthy, {});
    if (known.changed == 0) {
      pods_.erase(key);
      return;
    }
    ++gone_entries_;
    known.object.reset();
  } else {
    known.object = object;
    SetHealth(known.unhealthy, IsOver(pod) ? std::vector<std::string>() : HealthOf(pod));
  }
  known.pending = pending;
  known.claims = std::move(claims);
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

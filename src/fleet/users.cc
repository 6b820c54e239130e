// SPDX-License-Identifier: Apache-2.0
//
// Who has devices: claims, the pods that use them, and what both say of their devices' health.
#include <algorithm>
#include <utility>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "fleet/fleet.h"
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

ClaimState StateOf(const api::ResourceClaim& claim) {
  if (!claim.status.allocation.has_value()) return ClaimState::kPending;
  return claim.status.reserved_for.empty() ? ClaimState::kAllocated : ClaimState::kReserved;
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

void Fleet::TouchUsage(const ledger::Change& change) {
  for (const inventory::PoolId pool : change.pools) dirty_usage_.insert(PoolOf(pool));
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

void Fleet::SettleClaims() {
  for (const Key& key : dirty_claims_) {
    const auto it = claims_.find(key);
    if (it == claims_.end()) continue;
    Claim& claim = it->second;
    Claim now;
    if (claim.object) {
      const auto& stored = *claim.object->As<api::ResourceClaim>();
      now.state = StateOf(stored);
      now.pods = PodsOf(stored);
      if (stored.status.allocation.has_value()) {
        for (const auto& result : stored.status.allocation->devices.results) {
          const auto device = FindDevice(result.driver, result.pool, result.device);
          if (device && devices_[*device].state != State::kRemoved) now.devices.push_back(*device);
        }
      }
    }
    if (claim.changed > 0 && claim.object && claim.state == now.state &&
        claim.devices == now.devices && claim.pods == now.pods) {
      continue;
    }
    claim.state = now.state;
    claim.devices = std::move(now.devices);
    claim.pods = std::move(now.pods);
    claim.changed = Stamp();
    now_.claims.push_back(key);
  }
  dirty_claims_.clear();
}

}  // namespace dray::fleet

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/absence.h"

#include <algorithm>
#include <utility>

#include "api/pod_claims.h"
#include "scheduler/plugins/claim_writes.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

std::string LedgerKey(const api::ResourceClaim& claim) {
  return claim.metadata.uid.empty() ? KeyOf(claim.metadata) : claim.metadata.uid;
}

bool IsWide(const api::ResourceClaim& claim, World& world) {
  // One that is being stored says nothing yet.
  if (!claim.status.allocation) return true;
  return std::ranges::any_of(claim.status.allocation->devices.results, [&](const auto& result) {
    const auto pool = world.expressions().dictionary().FindPool(result.driver, result.pool);
    return pool.has_value() && world.IsWide(*pool);
  });
}

}  // namespace

Absence::Absence(World& world, std::span<const std::shared_ptr<const PodInfo>> possible,
                 AbsenceOptions options)
    : world_(world), options_(std::move(options)) {
  if (!options_.devices) return;
  // While everybody is there: who uses a claim is seen by where they are.
  for (const auto& pod : possible) {
    std::vector<Claim*>& claims = claims_of_[pod->key];
    const auto add = [&](const std::shared_ptr<const api::ResourceClaim>& claim) {
      if (claim == nullptr) return;
      Claim* known = ClaimOf(claim);
      if (std::ranges::find(claims, known) == claims.end()) claims.push_back(known);
    };
    const api::ClaimsOfPod entries(*pod->pod);
    for (const api::PodResourceClaim& entry : pod->pod->spec.resource_claims) {
      if (const auto name = entries.NameOf(entry)) {
        add(world_.FindClaim(pod->pod->metadata.namespace_, *name));
      }
    }
    add(world_.FindExtendedResourceClaim(*pod->pod));
  }
}

Absence::~Absence() {
  // In an order that is the same each time: it can be seen in who is told to have a device first.
  std::vector<Claim*> out;
  for (const auto& [key, claim] : claims_) {
    if (claim->out) out.push_back(claim.get());
  }
  std::ranges::sort(out, {}, [](const Claim* claim) { return KeyOf(claim->claim->metadata); });
  for (Claim* claim : out) SetOut(*claim, false);
  std::vector<std::string> back(gone_.begin(), gone_.end());
  std::ranges::sort(back);
  for (const std::string& key : back) world_.BringBack(key);
}

Absence::Claim* Absence::ClaimOf(const std::shared_ptr<const api::ResourceClaim>& claim) {
  auto& entry = claims_[LedgerKey(*claim)];
  if (entry != nullptr) return entry.get();
  entry = std::make_unique<Claim>();
  entry->claim = claim;
  entry->wide = IsWide(*claim, world_);
  const ClaimUsers users = UsersOf(*claim, world_);
  // Nobody gives back what was allocated without the finalizer.
  entry->kept = users.others || !ClaimWrites::IsGivenBack(*claim) ||
                options_.kept.contains(KeyOf(claim->metadata));
  for (const auto& user : users.pods) {
    if (user->priority < options_.below) {
      ++entry->staying;
    } else if (!user->pod->metadata.deletion_timestamp.has_value()) {
      entry->kept = true;
    }
  }
  return entry.get();
}

void Absence::SetOut(Claim& claim, bool out) {
  if (std::exchange(claim.out, out) == out) return;
  const std::string key = LedgerKey(*claim.claim);
  out ? world_.ledger().Suspend(key) : world_.ledger().Resume(key);
}

void Absence::Take(const PodInfo& pod) {
  if (!gone_.insert(pod.key).second) return;
  world_.SetAside(pod.key);
  const auto claims = claims_of_.find(pod.key);
  if (claims == claims_of_.end()) return;
  for (Claim* claim : claims->second) {
    if (--claim->staying == 0 && !claim->kept) SetOut(*claim, true);
  }
}

void Absence::PutBack(const PodInfo& pod) {
  if (gone_.erase(pod.key) == 0) return;
  const auto claims = claims_of_.find(pod.key);
  if (claims != claims_of_.end()) {
    for (Claim* claim : claims->second) {
      if (claim->staying++ == 0) SetOut(*claim, false);
    }
  }
  world_.BringBack(pod.key);
}

void Absence::TakeIdle(NodeInfo& node) {
  if (!options_.devices || !world_.RefreshDevices(node).ok()) return;
  std::vector<std::string> names;
  for (std::size_t device = 0; device < node.devices->devices().size(); ++device) {
    for (const ledger::Holder holder : node.usage.holders(device)) {
      names.emplace_back(node.usage.NameOf(holder));
    }
  }
  for (const std::string_view name : names) {
    const std::size_t slash = name.find('/');
    const auto claim = world_.FindClaim(name.substr(0, slash), name.substr(slash + 1));
    if (claim == nullptr || !claim->status.allocation.has_value()) continue;
    Claim* entry = ClaimOf(claim);
    if (!entry->kept && entry->staying == 0) SetOut(*entry, true);
  }
}

bool Absence::HoldsWide(const PodInfo& pod) const {
  const auto claims = claims_of_.find(pod.key);
  return claims != claims_of_.end() &&
         std::ranges::any_of(claims->second, [](const Claim* claim) { return claim->wide; });
}

std::vector<DeviceHold::Leaving> Absence::Leaving() const {
  std::vector<DeviceHold::Leaving> leaving;
  for (const auto& [key, claim] : claims_) {
    if (!claim->out) continue;
    const api::ObjectMeta& meta = claim->claim->metadata;
    leaving.push_back({meta.namespace_, meta.name, meta.uid});
  }
  std::ranges::sort(leaving, {}, [](const DeviceHold::Leaving& one) {
    return std::pair(std::string_view(one.namespace_), std::string_view(one.name));
  });
  return leaving;
}

}  // namespace dray::scheduler

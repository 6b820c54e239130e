// SPDX-License-Identifier: Apache-2.0
//
// World: claims, as they are stored and as they are assumed to be.
#include <algorithm>
#include <charconv>
#include <utility>

#include "fmt/format.h"
#include "scheduler/internal/world_impl.h"

namespace dray::scheduler {
namespace {

std::string KeyOf(std::string_view namespace_, std::string_view name) {
  return std::string(namespace_).append("/").append(name);
}
std::string KeyOf(const api::ResourceClaim& claim) {
  return KeyOf(claim.metadata.namespace_, claim.metadata.name);
}

// Resource versions are numbers that grow. 0: unknown.
std::uint64_t VersionOf(const api::ResourceClaim& claim) {
  const std::string& text = claim.metadata.resource_version;
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

// Whether what is stored makes an assumption needless: it is newer than what the assumption was
// made from or stored as, or says the same, or is about another claim.
bool Supersedes(const api::ResourceClaim& stored, const api::ResourceClaim& assumed) {
  if (stored.metadata.uid != assumed.metadata.uid) return true;
  const std::uint64_t version = VersionOf(stored);
  if (version == 0 || version > VersionOf(assumed)) return true;
  return version == VersionOf(assumed) && stored.status == assumed.status;
}

std::string_view LedgerKey(const api::ResourceClaim& claim, const std::string& key) {
  return claim.metadata.uid.empty() ? std::string_view(key) : claim.metadata.uid;
}

}  // namespace

void World::Impl::IndexClaim(const api::ResourceClaim& claim, const std::string& key, bool add) {
  const api::OwnerReference* pod = api::ExtendedResourcePod(claim);
  if (pod == nullptr) return;
  if (add) {
    extended_claims[pod->uid].insert(key);
    return;
  }
  const auto found = extended_claims.find(pod->uid);
  if (found == extended_claims.end()) return;
  found->second.erase(key);
  if (found->second.empty()) extended_claims.erase(found);
}

void World::Impl::Saw(const std::string& key, const api::ResourceClaim& told) {
  const auto found = unseen.find(key);
  if (found != unseen.end() && found->second->metadata.uid == told.metadata.uid) {
    unseen.erase(found);
  }
}

void World::Impl::PutClaim(std::shared_ptr<const api::ResourceClaim> claim) {
  ++world.claims_version_;
  const std::string key = KeyOf(*claim);
  Saw(key, *claim);
  ClaimEntry& entry = claims[key];
  if (entry.current() != nullptr) IndexClaim(*entry.current(), key, false);
  if (entry.stored != nullptr && entry.stored->metadata.uid != claim->metadata.uid) {
    world.ledger_.Remove(LedgerKey(*entry.stored, key));
  }
  entry.stored = std::move(claim);
  if (!entry.stored->status.allocation.has_value()) {
    // What was told before it was allocated comes before the allocation does.
    const bool older = entry.assumed != nullptr && !Supersedes(*entry.stored, *entry.assumed);
    if (!older) allocated_here.erase(entry.stored->metadata.uid);
  }
  if (entry.assumed != nullptr && Supersedes(*entry.stored, *entry.assumed)) {
    entry.assumed = nullptr;
  }
  IndexClaim(*entry.current(), key, true);
  world.ledger_.Put(*entry.stored);
}

void World::Impl::RemoveClaim(const api::ResourceClaim& claim) {
  ++world.claims_version_;
  const std::string key = KeyOf(claim);
  Saw(key, claim);
  allocated_here.erase(claim.metadata.uid);
  world.ledger_.Remove(LedgerKey(claim, key));
  const auto found = claims.find(key);
  if (found == claims.end()) return;
  IndexClaim(*found->second.current(), key, false);
  claims.erase(found);
}

std::shared_ptr<const api::ResourceClaim> World::FindClaim(std::string_view namespace_,
                                                           std::string_view name) const {
  const auto found = impl_->claims.find(KeyOf(namespace_, name));
  return found == impl_->claims.end() ? nullptr : found->second.current();
}

void World::AssumeClaim(std::shared_ptr<const api::ResourceClaim> claim) {
  ++claims_version_;
  const std::string key = KeyOf(*claim);
  Impl::ClaimEntry& entry = impl_->claims[key];
  if (entry.current() != nullptr) impl_->IndexClaim(*entry.current(), key, false);
  entry.assumed = std::move(claim);
  if (entry.stored == nullptr) impl_->unseen[key] = entry.assumed;
  if (entry.stored != nullptr && entry.stored->metadata.uid == entry.assumed->metadata.uid &&
      VersionOf(*entry.stored) > VersionOf(*entry.assumed)) {
    entry.assumed = nullptr;
  }
  impl_->IndexClaim(*entry.current(), key, true);
}

void World::ForgetClaim(std::string_view namespace_, std::string_view name) {
  ++claims_version_;
  const std::string key = KeyOf(namespace_, name);
  const auto found = impl_->claims.find(key);
  if (found == impl_->claims.end() || found->second.assumed == nullptr) return;
  impl_->IndexClaim(*found->second.assumed, key, false);
  found->second.assumed = nullptr;
  if (found->second.stored == nullptr) {
    impl_->claims.erase(found);
  } else {
    impl_->IndexClaim(*found->second.stored, key, true);
  }
}

void World::SetAllocatedHere(std::string_view claim_uid) {
  impl_->allocated_here.emplace(claim_uid);
}
bool World::AllocatedHere(std::string_view claim_uid) const {
  return impl_->allocated_here.contains(claim_uid);
}

std::size_t World::unseen_claims() const { return impl_->unseen.size(); }

std::vector<std::shared_ptr<const api::ResourceClaim>> World::UnseenClaims() const {
  std::vector<std::shared_ptr<const api::ResourceClaim>> all;
  for (const auto& [key, claim] : impl_->unseen) all.push_back(claim);
  std::ranges::sort(all, {}, [](const auto& claim) { return KeyOf(*claim); });
  return all;
}

std::vector<World::GivenTwice> World::FindGivenTwice(
    const api::ResourceClaim& claim, const api::AllocationResult& allocation) const {
  std::vector<GivenTwice> all;
  const ledger::Snapshot& taken = ledger_.snapshot();
  const std::string own = KeyOf(claim);
  for (const api::DeviceRequestAllocationResult& result : allocation.devices.results) {
    if (result.admin_access.value_or(false)) continue;
    const auto pool = dictionary_->FindPool(result.driver, result.pool);
    const auto name = dictionary_->Find(result.device);
    const ledger::PoolUsage* usage = pool ? taken.Find(*pool) : nullptr;
    const ledger::DeviceUsage* device = usage != nullptr && name ? usage->Find(*name) : nullptr;
    if (device == nullptr || device->exclusive == 0 || device->results() < 2) continue;
    GivenTwice twice{.device = fmt::format("{}/{}/{}", result.driver, result.pool, result.device)};
    for (const ledger::Holder holder : device->holders) {
      if (taken.NameOf(holder) != own) twice.claims.emplace_back(taken.NameOf(holder));
    }
    if (!twice.claims.empty()) all.push_back(std::move(twice));
  }
  return all;
}

std::vector<std::string> World::PodsOfClaim(std::string_view namespace_,
                                            std::string_view name) const {
  const auto found = impl_->pods_of_claim.find(KeyOf(namespace_, name));
  if (found == impl_->pods_of_claim.end()) return {};
  return {found->second.begin(), found->second.end()};
}

bool World::NamesClaim(std::string_view pod_key, std::string_view namespace_,
                       std::string_view name) const {
  const auto found = impl_->pods_of_claim.find(KeyOf(namespace_, name));
  return found != impl_->pods_of_claim.end() && found->second.contains(pod_key);
}

std::shared_ptr<const api::ResourceClaim> World::FindExtendedResourceClaim(
    const api::Pod& pod) const {
  const auto found = impl_->extended_claims.find(pod.metadata.uid);
  if (found == impl_->extended_claims.end()) return nullptr;
  for (const std::string& key : found->second) {
    const auto claim = impl_->claims.find(key);
    if (claim->second.current()->metadata.namespace_ == pod.metadata.namespace_) {
      return claim->second.current();
    }
  }
  return nullptr;
}

}  // namespace dray::scheduler

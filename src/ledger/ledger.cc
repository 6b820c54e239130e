// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "fmt/format.h"
#include "ledger/internal/holding.h"

namespace dray::ledger {

using internal::Held;
using internal::Holding;
using internal::HoldingOf;

namespace {

std::string NameOf(const api::ResourceClaim& claim) {
  return claim.metadata.namespace_ + "/" + claim.metadata.name;
}
std::string KeyOf(const api::ResourceClaim& claim) {
  return claim.metadata.uid.empty() ? NameOf(claim) : claim.metadata.uid;
}

// Resource versions are numbers that grow, in etcd's stores and in ours. 0: unknown.
std::uint64_t VersionOf(std::string_view text) {
  std::uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  return error == std::errc() && end == text.data() + text.size() ? version : 0;
}

enum class State : std::uint8_t {
  kStored,     // the claim's status says so
  kInFlight,   // reserved
  kCommitted,  // reserved, and the status will say so
};

}  // namespace

// What a claim holds: because its status says so, or because it is reserved; never both, since
// Reserve refuses an allocated claim and an allocated status ends a reservation.
struct Ledger::Record {
  Holder holder{};
  State state = State::kStored;
  std::uint64_t ticket = 0;          // of the reservation that it began with
  std::uint64_t stored_version = 0;  // when committed, if known
  std::uint64_t seen_version = 0;    // when stored, if known
  bool suspended = false;
  Holding holding;
};

const DeviceUsage* PoolUsage::Find(NameId device) const {
  const auto at = std::ranges::lower_bound(devices, device, {}, &DeviceUsage::device);
  return at != devices.end() && at->device == device ? &*at : nullptr;
}

const PoolUsage* Snapshot::Find(PoolId pool) const {
  return pools_.At(static_cast<std::size_t>(pool)).get();
}
std::shared_ptr<const PoolUsage> Snapshot::Share(PoolId pool) const {
  return pools_.At(static_cast<std::size_t>(pool));
}

Reservation::Reservation(Reservation&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)),
      claim_(std::move(other.claim_)),
      ticket_(other.ticket_) {}
Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  Release();
  ledger_ = std::exchange(other.ledger_, nullptr);
  claim_ = std::move(other.claim_);
  ticket_ = other.ticket_;
  return *this;
}
Reservation::~Reservation() { Release(); }

void Reservation::Commit(std::string_view stored_version) {
  if (Ledger* ledger = std::exchange(ledger_, nullptr); ledger != nullptr) {
    ledger->Keep(claim_, ticket_, stored_version);
  }
}
void Reservation::Release() {
  if (Ledger* ledger = std::exchange(ledger_, nullptr); ledger != nullptr) {
    ledger->Undo(claim_, ticket_);
  }
}

Ledger::Ledger(std::shared_ptr<inventory::Dictionary> dictionary)
    : dictionary_(std::move(dictionary)), holders_(std::make_shared<Holders>()) {
  current_.holders_ = holders_;
}
Ledger::~Ledger() = default;

Change Ledger::Put(const api::ResourceClaim& claim) {
  const std::string key = KeyOf(claim);
  const auto found = claims_.find(key);
  if (!claim.status.allocation.has_value()) {
    if (found == claims_.end()) return {};
    const Record& record = *found->second;
    const bool keeps = record.state == State::kInFlight ||
                       (record.state == State::kCommitted &&
                        (record.stored_version == 0 ||
                         VersionOf(claim.metadata.resource_version) <= record.stored_version));
    return keeps ? Change{} : Drop(found);
  }

  Holding holding = HoldingOf(*claim.status.allocation, *dictionary_);
  if (found == claims_.end()) {
    auto record = std::make_unique<Record>();
    record->holder = holders_->Add(NameOf(claim));
    record->holding = std::move(holding);
    const Record& added = *claims_.emplace(key, std::move(record)).first->second;
    return Tell(internal::Replace(current_.pools_, added.holder, {}, added.holding), true);
  }
  Record& record = *found->second;
  const std::uint64_t version = VersionOf(claim.metadata.resource_version);
  // How it was before what is known to be stored: allocated once, given back, and allocated anew.
  if (record.state == State::kCommitted && version < record.stored_version) return {};
  record.state = State::kStored;
  record.seen_version = version;
  // The usual case: what was reserved has been stored, or something else of the claim has changed.
  if (record.holding == holding) return {};
  const Holding before = std::exchange(record.holding, std::move(holding));
  return Tell(internal::Replace(current_.pools_, record.holder, before, record.holding));
}

Change Ledger::Remove(std::string_view uid) {
  const auto found = claims_.find(uid);
  return found == claims_.end() ? Change{} : Drop(found);
}

Change Ledger::Drop(Claims::iterator found) {
  const std::unique_ptr<Record> record = std::move(found->second);
  claims_.erase(found);
  holders_->Remove(record->holder);
  if (record->suspended) return {};
  return Tell(internal::Replace(current_.pools_, record->holder, record->holding, {}));
}

void Ledger::Suspend(std::string_view uid) {
  const auto found = claims_.find(uid);
  if (found == claims_.end() || std::exchange(found->second->suspended, true)) return;
  const Record& record = *found->second;
  Tell(internal::Replace(current_.pools_, record.holder, record.holding, {}));
}

void Ledger::Resume(std::string_view uid) {
  const auto found = claims_.find(uid);
  if (found == claims_.end() || !std::exchange(found->second->suspended, false)) return;
  const Record& record = *found->second;
  Tell(internal::Replace(current_.pools_, record.holder, {}, record.holding), true);
}

// Last in every change, so that a listener finds the ledger as it is then.
Change Ledger::Tell(std::vector<PoolId> pools, bool only_taken) const {
  Change change{std::move(pools), only_taken};
  if (listener_ && !change.pools.empty()) listener_(change);
  return change;
}

namespace {

// Why `holding` cannot be taken now; empty when it can.
std::string Conflict(const Holding& holding, const Snapshot& snapshot,
                     const inventory::Dictionary& dictionary) {
  const auto name = [&](const Held& held) {
    const inventory::PoolName pool = dictionary.At(held.pool);
    return fmt::format("device {}/{}/{}", dictionary.View(pool.driver), dictionary.View(pool.pool),
                       dictionary.View(held.device));
  };
  // [bound] At most 32 results, so looking at all pairs is nothing.
  for (auto a = holding.results.begin(); a != holding.results.end(); ++a) {
    for (auto b = a + 1; b != holding.results.end(); ++b) {
      if (a->pool == b->pool && a->device == b->device && !(a->share && b->share)) {
        return name(*a) + " is in the allocation twice";
      }
    }
    const PoolUsage* pool = snapshot.Find(a->pool);
    const DeviceUsage* usage = pool == nullptr ? nullptr : pool->Find(a->device);
    if (usage == nullptr || (a->share && usage->exclusive == 0)) continue;
    return fmt::format("{} is taken by claim {}", name(*a),
                       snapshot.NameOf(usage->holders.front()));
  }
  return {};
}

}  // namespace

StatusOr<Reservation> Ledger::Reserve(const api::ResourceClaim& claim,
                                      const api::AllocationResult& allocation) {
  std::string key = KeyOf(claim);
  if (const auto found = claims_.find(key); found != claims_.end()) {
    return base::FailedPrecondition(
        fmt::format("claim {} is {} already", NameOf(claim),
                    found->second->state == State::kStored ? "allocated" : "being allocated"));
  }
  Holding holding = HoldingOf(allocation, *dictionary_);
  if (const std::string conflict = Conflict(holding, current_, *dictionary_); !conflict.empty()) {
    return base::FailedPrecondition(fmt::format("claim {}: {}", NameOf(claim), conflict));
  }
  auto record = std::make_unique<Record>();
  record->holder = holders_->Add(NameOf(claim));
  record->state = State::kInFlight;
  record->ticket = next_ticket_++;
  record->holding = std::move(holding);
  const Record& added = *record;
  Reservation reservation(this, key, added.ticket);
  claims_.emplace(std::move(key), std::move(record));
  Tell(internal::Replace(current_.pools_, added.holder, {}, added.holding), true);
  return reservation;
}

bool Ledger::InFlight(std::string_view uid) const {
  const auto found = claims_.find(uid);
  return found != claims_.end() && found->second->state != State::kStored;
}

const Holding* Ledger::HeldBy(std::string_view claim, Holder& holder) const {
  const auto found = claims_.find(claim);
  if (found == claims_.end() || found->second->suspended) return nullptr;
  holder = found->second->holder;
  return &found->second->holding;
}

// The ticket tells this reservation from a later one of the same claim.
void Ledger::Keep(std::string_view claim, std::uint64_t ticket, std::string_view stored_version) {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  Record& record = *found->second;
  if (record.ticket != ticket) return;
  const std::uint64_t version = VersionOf(stored_version);
  // What has come meanwhile may be an earlier allocation of the same, which was given back since.
  if (record.state == State::kStored &&
      (record.seen_version == 0 || version <= record.seen_version)) {
    return;
  }
  if (record.state == State::kCommitted) return;
  record.state = State::kCommitted;
  record.stored_version = version;
}

void Ledger::Undo(std::string_view claim, std::uint64_t ticket) {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  const Record& record = *found->second;
  if (record.state == State::kInFlight && record.ticket == ticket) Drop(found);
}

// What is in use is what the claims hold.
void Ledger::Mark(inventory::Marker& marker) const {
  for (const auto& [key, record] : claims_) {
    for (const Held& held : record->holding.results) {
      marker.Mark(held.pool);
      marker.Mark(held.device);
    }
    for (const ConsumedCapacity& consumed : record->holding.consumed) {
      marker.Mark(consumed.capacity);
    }
    for (const GroupSnapshot& snapshot : record->holding.groups) {
      marker.Mark(snapshot.counter_set);
      marker.Mark(snapshot.groups);
    }
  }
}

std::size_t Ledger::MemoryBytes() const {
  std::size_t bytes = current_.pools_.MemoryBytes() + holders_->MemoryBytes() +
                      claims_.capacity() * (sizeof(Claims::value_type) + 1);
  for (const auto& [key, record] : claims_) {
    bytes += sizeof(Record) + record->holding.MemoryBytes() +
             (key.capacity() > 15 ? key.capacity() + 1 : 0);
  }
  for (std::size_t id = 0; id < current_.pools_.size(); ++id) {
    const PoolUsage* pool = current_.pools_.At(id).get();
    if (pool == nullptr) continue;
    bytes += sizeof(PoolUsage) + 16 + pool->devices.capacity() * sizeof(DeviceUsage);
    for (const DeviceUsage& usage : pool->devices) {
      if (usage.holders.size() > 4) bytes += usage.holders.capacity() * sizeof(Holder);
      bytes += usage.consumed.capacity() * sizeof(ConsumedCapacity) +
               usage.groups.capacity() * sizeof(GroupSnapshot);
    }
  }
  return bytes;
}

}  // namespace dray::ledger

// SPDX-License-Identifier: Apache-2.0
//
// Ledger: what is taken. Kept from claims, one at a time: a claim's results are added when it is
// allocated and taken away when it is not any more; nothing is ever summed up anew. One writer
// takes changes; everybody else reads snapshots, which are values that never change.
//
// Spec: docs/spec/allocator.md chapters 1, 8 and 9; KEP-5963 for snapshots of groups.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "api/resource_claim.h"
#include "base/mutex.h"
#include "base/persistent_array.h"
#include "base/status.h"
#include "base/string_map.h"
#include "inventory/dictionary.h"
#include "inventory/pool_counters.h"
#include "ledger/holders.h"

namespace dray::ledger {

namespace internal {
struct Holding;
}  // namespace internal

using inventory::Amount;
using inventory::GroupsId;
using inventory::NameId;
using inventory::PoolId;

struct ConsumedCapacity {
  NameId capacity;
  Amount amount;
  friend bool operator==(const ConsumedCapacity&, const ConsumedCapacity&) = default;
};
// The groups that a result recorded for one counter set when it was allocated; none is a record
// too: it was placed there without groups.
struct GroupSnapshot {
  NameId counter_set;
  GroupsId groups = GroupsId::kNone;
  std::uint32_t count = 0;  // results that recorded exactly this
  friend bool operator==(const GroupSnapshot&, const GroupSnapshot&) = default;
};

// One device in use. Results with admin access are not here at all. A device that one claim has
// takes no memory of its own beside this row, so that a pool is copied in one go.
struct DeviceUsage {
  NameId device;
  std::uint32_t exclusive = 0;  // results without a share id; more than one is a conflict
  std::uint32_t shares = 0;     // results with one
  absl::InlinedVector<Holder, 4> holders;  // in the order in which they came; one per result
  std::vector<ConsumedCapacity> consumed;  // of all shares, none of them zero; sorted by NameId
  std::vector<GroupSnapshot> groups;       // sorted by counter set, then groups

  std::uint32_t results() const { return exclusive + shares; }
  friend bool operator==(const DeviceUsage&, const DeviceUsage&) = default;
};

struct PoolDraw;

// All devices of one pool that are in use, sorted by device. Immutable; thread-safe.
struct PoolUsage {
  std::vector<DeviceUsage> devices;
  const DeviceUsage* Find(NameId device) const;

  // What these devices take of the counters of a pool that spans nodes (pool_draw.h). The same for
  // every node, so it is found out once and kept here; a copy begins without.
  class Drawn {
   public:
    Drawn() = default;
    Drawn(const Drawn&) {}
    Drawn& operator=(const Drawn&) { return *this; }
    friend bool operator==(const Drawn&, const Drawn&) { return true; }

   private:
    friend std::shared_ptr<const PoolDraw> DrawOf(
        const PoolUsage& usage, const std::shared_ptr<const inventory::Slices>& slices,
        const inventory::PoolCounters& counters, const inventory::Dictionary& dictionary);
    mutable base::Mutex mutex_;
    mutable std::shared_ptr<const PoolDraw> last_ ABSL_GUARDED_BY(mutex_);
  };
  Drawn drawn;

  friend bool operator==(const PoolUsage&, const PoolUsage&) = default;
};

class Variation;

// Thread-safe.
class Snapshot {
 public:
  // Null: nothing of the pool is in use. The same address means that nothing has changed.
  const PoolUsage* Find(PoolId pool) const;
  std::shared_ptr<const PoolUsage> Share(PoolId pool) const;
  // The names of those who hold something. Valid until Ledger::Reclaim.
  const std::shared_ptr<const Holders>& holders() const { return holders_; }
  std::string_view NameOf(Holder holder) const { return holders_->NameOf(holder); }

 private:
  friend class Ledger;
  friend class Variation;
  std::shared_ptr<const Holders> holders_;
  base::PersistentArray<std::shared_ptr<const PoolUsage>> pools_;  // by PoolId
};

class Ledger;

// Devices that a claim is about to get: taken in the ledger from now on, and given back when this
// goes out of scope, unless Commit was called or the claim's stored form has arrived meanwhile
// (Ledger::Put), which then is what counts. Move-only. One thread.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation();

  // The allocation is stored, or will be: keep it until the claim says otherwise, that is, until
  // its stored form is allocated, or it is gone. With the resource version that the allocation was
  // stored with, a later stored form that is not allocated says so too; without it such a form may
  // be older than the allocation and nothing is given back.
  void Commit(std::string_view stored_version = {});
  // Gives the devices back now.
  void Release();
  bool active() const { return ledger_ != nullptr; }

 private:
  friend class Ledger;
  Reservation(Ledger* ledger, std::string claim, std::uint64_t ticket)
      : ledger_(ledger), claim_(std::move(claim)), ticket_(ticket) {}
  Ledger* ledger_ = nullptr;  // outlives this
  std::string claim_;
  std::uint64_t ticket_ = 0;
};

// What a change touched: pools whose usage is another now, sorted.
struct Change {
  std::vector<PoolId> pools;
  // Something was taken, and nothing given back: who could not be served before cannot be now.
  bool only_taken = false;
};

// One thread.
class Ledger {
 public:
  explicit Ledger(std::shared_ptr<inventory::Dictionary> dictionary);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // The claim as it is stored now, by its uid (a claim without one, from a file, by
  // "namespace/name"): allocated or not. What it held before is given back,
  // what its status says is taken. Idempotent. Ends a reservation for the same claim only when the
  // stored claim is allocated: a claim in flight that is written for another reason stays in
  // flight.
  Change Put(const api::ResourceClaim& claim);
  // The claim is gone, by uid.
  Change Remove(std::string_view uid);

  // Takes `allocation` for a claim whose status does not say so yet. FailedPrecondition when the
  // claim is in flight or allocated already, or when a device that the allocation wants exclusively
  // is taken, or one that it wants a share of is taken exclusively, naming who has it: the last
  // line of defence against giving a device twice.
  StatusOr<Reservation> Reserve(const api::ResourceClaim& claim,
                                const api::AllocationResult& allocation);
  // Reserved, and its stored form is not allocated yet.
  bool InFlight(std::string_view uid) const;

  // The claim counts as if it held nothing, stored or reserved, until Resume: for questions about the whole
  // cluster (Variation answers those about a node). It does not change meanwhile.
  void Suspend(std::string_view uid);
  void Resume(std::string_view uid);

  // Calls `listener` after every change of usage with the pools that it touched, changes by
  // reservations and their end included. One listener, which outlives all reservations.
  void Listen(std::function<void(const Change&)> listener) { listener_ = std::move(listener); }

  // Gives back what is kept for the sake of older snapshots: nobody looks at one any more, and
  // whoever keeps a NodeUsage updates it before he asks it who holds what. O(claims that went since
  // the last time).
  void Reclaim() { holders_->Reclaim(); }

  // Every number of the dictionary that the current snapshot has.
  void Mark(inventory::Marker& marker) const;

  const Snapshot& snapshot() const { return current_; }
  inventory::Dictionary& dictionary() const { return *dictionary_; }
  std::size_t MemoryBytes() const;

 private:
  friend class Reservation;
  friend class Variation;
  struct Record;
  using Claims = base::StringMap<std::unique_ptr<Record>>;

  // What a claim holds, and as whom; null: nothing.
  const internal::Holding* HeldBy(std::string_view claim, Holder& holder) const;
  void Keep(std::string_view claim, std::uint64_t ticket, std::string_view stored_version);
  void Undo(std::string_view claim, std::uint64_t ticket);
  Change Drop(Claims::iterator record);
  Change Tell(std::vector<PoolId> pools, bool only_taken = false) const;

  std::shared_ptr<inventory::Dictionary> dictionary_;
  std::function<void(const Change&)> listener_;
  const std::shared_ptr<Holders> holders_;
  Snapshot current_;
  Claims claims_;  // those that hold something, or are allocated
  std::uint64_t next_ticket_ = 1;
};

}  // namespace dray::ledger

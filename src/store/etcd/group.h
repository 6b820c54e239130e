// SPDX-License-Identifier: Apache-2.0
//
// Transactions as etcd takes them: how large they are, which go together in one request, the request,
// and what its answer says of each. No I/O.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "rpc/etcd_messages.h"
#include "store/etcd/event_loop.h"
#include "store/etcd/layout.h"
#include "store/store.h"

namespace dray::store::internal {

// What etcd takes in one request, and dray in one group.
struct RequestLimits {
  std::size_t operations = 128;  // --max-txn-ops
  std::size_t bytes = 3u << 19;  // --max-request-bytes
  std::size_t group_bytes = 1u << 20;
};

// A `modified` above this is of a version that is not written yet: this plus the ticket of the
// transaction that writes it (Store::FindPending).
inline constexpr std::int64_t kProvisional = std::int64_t{1} << 62;

// A transaction under way, or several that were made into one (`parts`).
struct PendingWrite {
  Transaction transaction;
  CommitFn done;
  std::vector<std::string> keys;     // as etcd has them, by operation
  std::size_t bytes = 0;             // in a request, at most
  EventLoop::Clock::time_point end;  // when it is not tried again
  std::int64_t ticket = 0;           // in the order in which they were handed over
  // By operation: the transaction whose version it expects, null if it expects what is written; empty
  // if all do.
  std::vector<std::shared_ptr<PendingWrite>> behind;
  // It cannot be any more, or is too late: nobody is to expect what it writes. Guarded by the writer's
  // lock.
  bool hidden = false;

  // By operation: what the watch has shown that may be ours. Until the answer it is what looks the same,
  // of others, too: a deletion like any other, the same bytes.
  std::vector<absl::InlinedVector<EntryPtr, 1>> seen;
  // Of the transaction, once that is known.
  std::int64_t revision = 0;
  std::optional<Conflict> conflict;
  bool lost = false;  // the conflict is with what is there now, because what it expected never was
  enum class Fate : std::uint8_t { kOpen, kWritten, kNot };
  Fate fate = Fate::kOpen;
  // By operation: a later part of the same request has written the key. Empty: none has.
  std::vector<bool> covered;

  // A transaction that was made part of this one, and which operation of this one does what by its
  // own. They happen together, in this order, at one revision.
  struct Part {
    std::shared_ptr<PendingWrite> write;
    std::vector<std::size_t> at;
  };
  std::vector<Part> parts;
};
using PendingPtr = std::shared_ptr<PendingWrite>;

// kInvalidArgument: etcd would not take it.
Status CheckSize(const PendingWrite& write, const RequestLimits& limits);
// An upper bound of its size in a request.
std::size_t BytesOf(const PendingWrite& write);

// What goes into one request.
struct Group {
  std::vector<PendingPtr> writes;
  // Expected a version that was not and will not be written, and are conflicts now.
  std::vector<PendingPtr> lost;
};
// Takes from the front what may go together: a key that one writes is neither written nor compared by
// another, because all compares see what was there before the request. Who expects what one of them
// writes is made one with it. Both are empty only if the queue is.
Group TakeGroup(std::deque<PendingPtr>& queue, const RequestLimits& limits, bool one);

// The transactions as they were handed over, in that order.
std::vector<PendingPtr> PartsOf(const std::vector<PendingPtr>& group);

// How many keys of the group are to live for how long only.
std::map<std::chrono::seconds, std::size_t> TtlsOf(const std::vector<PendingPtr>& group);

using LeaseIds = std::map<std::chrono::seconds, std::int64_t>;

// A key that this server alone writes, its revision, and what the request writes into it; empty: nothing.
struct Fence {
  std::string key;
  std::int64_t revision = 0;
  std::string mark;
};

// The request: nothing of it happens unless the fence has this revision, and if anything is written, the
// mark is, at the same revision. A transaction alone is not nested in another, so that it may have as
// many operations as etcd takes. `leases`: by ttl.
rpc::EtcdTransaction MakeRequest(const std::vector<PendingPtr>& group, const Fence& fence,
                                 const LeaseIds& leases = {});

// What became of the group: revisions and conflicts are put into its transactions, and the revision that
// the fence has now into `fence`. False: nothing happened, because it had another one (0: it is gone).
bool ReadAnswer(rpc::EtcdTransactionAnswer answer, Fence& fence, std::vector<PendingPtr>& group);

// It is known what became of a transaction: so of its parts.
void Settle(PendingWrite& write);

// One that was made of parts has a conflict: nothing of any of them was done, but one alone has to
// answer for it. The part whose conflict it is gets it; those that were before it and after it are
// left, to be tried again.
struct Blamed {
  PendingPtr write;
  std::vector<PendingPtr> others;
};
Blamed BlamePart(PendingWrite& write);

// Of a group that was written at this revision, of which every change was seen: whether this one of it
// was, or had a conflict. A revision is one request's, so what happened then is ours.
bool WasWritten(const PendingWrite& write, std::int64_t revision);

}  // namespace dray::store::internal

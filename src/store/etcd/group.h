// SPDX-License-Identifier: Apache-2.0
//
// Transactions as etcd takes them: how large they are, which go together in one request, the request,
// and what its answer says of each. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// A transaction under way.
struct PendingWrite {
  Transaction transaction;
  CommitFn done;
  std::vector<std::string> keys;     // as etcd has them, by operation
  std::size_t bytes = 0;             // in a request, at most
  EventLoop::Clock::time_point end;  // when it is not tried again
  // By operation: the version of ours that the watch has shown, null until then.
  std::vector<EntryPtr> seen;
  // Of the transaction, once that is known.
  std::int64_t revision = 0;
  std::optional<Conflict> conflict;
};
using PendingPtr = std::shared_ptr<PendingWrite>;

// kInvalidArgument: etcd would not take it.
Status CheckSize(const PendingWrite& write, const RequestLimits& limits);
// An upper bound of its size in a request.
std::size_t BytesOf(const PendingWrite& write);

// Takes from the front what may go together: a key that one writes is neither written nor compared by
// another, because all compares see what was there before the request. At least one.
std::vector<PendingPtr> TakeGroup(std::deque<PendingPtr>& queue, const RequestLimits& limits,
                                  bool one);

// The request: nothing of it happens unless `fence` has this revision. A transaction alone is not
// nested in another, so that it may have as many operations as etcd takes.
rpc::EtcdTransaction MakeRequest(const std::vector<PendingPtr>& group, const std::string& fence,
                                 std::int64_t fence_revision);

// What became of the group: revisions and conflicts are put into its transactions. False: nothing,
// because the fence has another revision than that, which is then in `fence_revision` (0: it is gone).
bool ReadAnswer(rpc::EtcdTransactionAnswer answer, std::int64_t& fence_revision,
                std::vector<PendingPtr>& group);

// After a fence, of which every change before it was seen: the revision at which all writes of the
// transaction were made, if they were. Nothing: they were not.
std::optional<std::int64_t> WrittenAt(const PendingWrite& write, std::int64_t fence_revision);

}  // namespace dray::store::internal

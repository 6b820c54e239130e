// SPDX-License-Identifier: Apache-2.0
//
// Writer: transactions in the order in which they were handed over, in groups, one request in the air.
//
// The fence. A request whose answer was lost may have happened, or happen later. Every request is
// about nothing unless a key that this server alone writes still has the revision that it had, and
// writes its mark into that key. So when an answer is missed, the key is written until that is known to
// have succeeded, or the request's mark is found there: nothing sent before can happen any more. With
// the mark it has happened, at the revision of the mark, and once the cache has that, it shows which of
// its transactions did. Whoever finds another's value there is not alone under its name, and stops.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "base/uuid.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/feeder.h"
#include "store/etcd/group.h"
#include "store/etcd/layout.h"
#include "store/etcd/leases.h"
#include "store/etcd/members.h"

namespace dray::store::internal {

// Lives on the loop's thread, apart from Write and FindPending.
class Writer final : public OwnWrites {
 public:
  using Clock = EventLoop::Clock;
  Writer(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
         EtcdCounts& counts, Timeline& cache, std::string server,
         std::function<void(Status)> broken);

  // Before everything else: takes the fence. The feeder outlives the writer's use.
  void Start(Feeder& feeder, const RequestLimits& limits, rpc::DoneStatus done);

  // As Log::Write and Log::FindPending. Any thread.
  void Write(Transaction transaction, CommitFn done);
  std::optional<EntryPtr> FindPending(std::string_view key) const;

  // Somebody has found the database full, or not full any more.
  void SetFull(bool full) { full_ = full; }
  bool full() const { return full_; }
  // Nothing more is taken; who waits is answered, the rest when it is known or at the end of its time.
  void Close(std::function<void()> closed);
  // Everybody is told that nobody knows.
  void Break(const Status& why);
  // Of this server's fence, for whoever reads what is current.
  const std::string& fence() const { return fence_.key; }

  void OnVersion(Entry& entry, bool deleted) override;
  void OnPublished(const EntryPtr& entry) override;
  void OnRevision(Revision revision) override;
  void OnRelist() override;

 private:
  struct Place {
    PendingWrite* write;
    std::size_t operation;
  };
  struct PendingPlace {
    PendingPtr write;
    std::size_t operation;
  };

  void Enter();
  void Pump();
  void Grant();
  void Grant(std::chrono::seconds ttl);
  void Send(const LeaseIds& leases);
  void OnAnswer(StatusOr<rpc::EtcdTransactionAnswer> answer);
  void OnFailure(const Status& status);
  void Again(std::chrono::nanoseconds pause, const Status& why);
  void Refuse(const Status& status);
  void Answered();
  void Dissolve(const PendingPtr& write, std::vector<PendingPtr>& again);
  std::vector<PendingPtr> TakeFromAir();
  bool MayBeGone(const PendingWrite& write) const;
  bool MayHaveHappened(const PendingWrite& write) const;
  void Report(bool ok);

  void BeginFence(const Status& why);
  void WriteFence();
  void OnFence(StatusOr<rpc::EtcdTransactionAnswer> answer, std::int64_t seen_before);
  void FenceIs(std::int64_t revision, std::int64_t happened);
  void Resolve();
  void FenceMoved(const std::string& whose);
  void Expire();
  void ArmExpire();

  void Watch(const std::vector<PendingPtr>& group);
  void Unwatch(const PendingWrite& write);
  void Finish(const PendingPtr& write);
  void FinishOne(PendingWrite& write, std::vector<EntryPtr> entries);
  EntryPtr EntryOf(const PendingWrite& write, std::size_t index);
  void ShowPending(const PendingPtr& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsTooLate(const PendingWrite& write) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FindPredecessors(PendingWrite& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HideFailed(const std::vector<PendingPtr>& failed);
  void Forget(const PendingWrite& write);
  void Tell(const std::vector<PendingPtr>& writes, const Status& status);
  std::chrono::nanoseconds FencePatience() const;
  static Status NotWritten(std::string_view why);
  static constexpr std::chrono::nanoseconds kClosingPatience = std::chrono::seconds(3);
  bool idle() const { return queue_.empty() && in_air_.empty() && known_.empty(); }

  EventLoop& loop_;
  Members& members_;
  const Layout& layout_;
  const EtcdOptions& options_;
  EtcdCounts& counts_;
  Timeline& cache_;
  const std::string server_;
  const std::function<void(Status)> broken_callback_;
  base::SystemRandomSource random_;
  Feeder* feeder_ = nullptr;
  RequestLimits limits_;

  mutable base::Mutex mutex_;
  std::vector<PendingPtr> entering_ ABSL_GUARDED_BY(mutex_);
  std::int64_t tickets_ ABSL_GUARDED_BY(mutex_) = 0;
  // By key, the last transaction under way that writes it.
  base::StringMap<PendingPlace> pending_ ABSL_GUARDED_BY(mutex_);
  // By ticket, those of which somebody has been shown a version and may expect it; the latest ones.
  mutable absl::flat_hash_map<std::int64_t, PendingPtr> shown_ ABSL_GUARDED_BY(mutex_);
  mutable std::deque<std::int64_t> shown_order_ ABSL_GUARDED_BY(mutex_);
  Status refusing_ ABSL_GUARDED_BY(mutex_);  // not OK: nothing is taken

  std::deque<PendingPtr> queue_;
  // A group that was sent, of which it is not known whether, or that waits for a lease to be sent with.
  std::vector<PendingPtr> in_air_;
  Leases leases_;
  std::optional<Clock::time_point> began_;  // when it was sent
  std::int64_t sent_at_ = 0;                // the cache's revision then
  std::deque<PendingPtr> known_;            // answered; the cache does not have it yet
  // By key, the write that is in the air or known. At most one: groups are apart, and who is known
  // and not seen yet is before who is in the air.
  absl::flat_hash_map<std::string, std::vector<Place>> writing_;
  std::size_t singly_ = 0;  // so many more are sent one by one
  bool paused_ = false;     // until a timer
  bool full_ = false;
  bool expiring_ = false;
  bool closing_ = false;
  Status broken_;

  Fence fence_;              // its mark is that of the request in the air
  std::string fence_value_;  // of the one that is being written
  std::int64_t marks_ = 0;
  std::int64_t happened_ = 0;  // at which revision its mark was found by the fence; 0: not there
  bool mark_gone_ = false;     // there was none, or it was tidied away with the fence
  bool fencing_ = false;
  bool sending_ = false;     // a request, maybe of the fence, has no answer yet
  std::int64_t fenced_ = 0;  // waits for the cache
  Clock::time_point fencing_since_;
  bool relisted_ = false;    // since the group was sent
  rpc::DoneStatus started_;  // first fence
  std::function<void()> closed_;
};

}  // namespace dray::store::internal

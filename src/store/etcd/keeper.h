// SPDX-License-Identifier: Apache-2.0
//
// Keeper: what a server does beside reading and writing. It says that it is alive, with a key that
// goes with its lease; looks whether etcd answers and how it is; throws old history away, as one of
// many; and reads what is current for those who must not read what is old.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/feeder.h"
#include "store/etcd/layout.h"
#include "store/etcd/members.h"
#include "store/etcd/writer.h"

namespace dray::store::internal {

// Lives on the loop's thread, apart from Reachable.
class Keeper {
 public:
  using Clock = EventLoop::Clock;
  Keeper(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
         EtcdCounts& counts, Feeder& feeder, Writer& writer, std::string server,
         std::function<void(Status)> broken);

  // Writes the key of this server. kFailedPrecondition: another one is alive that wants to be alone,
  // or this one does. Waits for one that has died to be forgotten.
  void Join(rpc::DoneStatus done);
  // How large a transaction may be, by trying without doing anything.
  void FindLimits(std::function<void(StatusOr<std::size_t>)> done);
  // From then on.
  void Start();
  // Whoever waits for what is current is told why it cannot be had.
  void Break(const Status& why);
  // The key goes.
  void Leave(std::function<void()> left);

  // As Log::Latest: answers when the cache has it, or says that it could not be had in time.
  void Latest(std::function<void(StatusOr<Revision>)> done);
  void OnRevision();

  // Not OK: etcd does not answer.
  Status Reachable() const;

 private:
  struct Reader {
    std::uint64_t number = 0;  // who came later has a larger one
    std::function<void(StatusOr<Revision>)> done;
    Clock::time_point end;
    std::int64_t revision = 0;  // 0: not asked yet
  };

  void TryJoin(Clock::time_point end, rpc::DoneStatus done);
  Status CheckOthers(const std::vector<rpc::EtcdKeyValue>& servers, bool& dead_here);
  void WriteAlive(rpc::DoneStatus done);
  void PutAlive(std::int64_t lease, rpc::DoneStatus done);
  void AliveIsNot(const std::vector<rpc::EtcdKeyValue>& servers, std::int64_t lease,
                  const rpc::DoneStatus& done);
  void EndWhoWasAlone(rpc::DoneStatus done);
  std::string AliveValue() const;
  void Beat();
  void LookAtMembers();
  void AskCurrent();
  void ExpireReaders();
  void Compact();
  void ForgetDead();
  void Note(const Status& status);

  EventLoop& loop_;
  Members& members_;
  const Layout& layout_;
  const EtcdOptions& options_;
  EtcdCounts& counts_;
  Feeder& feeder_;
  Writer& writer_;
  const std::string server_;
  const std::string instance_;  // of this process, among all that had the name
  const std::function<void(Status)> broken_;

  std::int64_t lease_ = 0;
  std::int64_t joined_at_ = 0;  // revision of this server's key
  std::int64_t alive_at_ = 0;   // when it was written last
  // Revisions of the key of whoever is in the way: when it was first seen, and last.
  std::int64_t first_blocker_ = 0;
  std::int64_t blocker_ = 0;
  bool warned_full_ = false;
  bool warned_compaction_ = false;
  std::vector<Reader> readers_;
  std::uint64_t readers_so_far_ = 0;
  bool asking_ = false;
  bool expiring_ = false;
  std::int64_t compaction_key_ = 0;  // its revision when it was looked at
  std::int64_t compact_to_ = 0;      // what was current then
  bool closed_ = false;

  mutable base::Mutex mutex_;
  Clock::time_point heard_ ABSL_GUARDED_BY(mutex_) = Clock::now();
  Status last_ ABSL_GUARDED_BY(mutex_);  // of the latest look
};

}  // namespace dray::store::internal

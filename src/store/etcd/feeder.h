// SPDX-License-Identifier: Apache-2.0
//
// Feeder: brings into the cache what happens in etcd, revision by revision, over one watch that is
// opened again wherever it broke. When history between is gone, everything is read anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/etcd_client.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/layout.h"
#include "store/etcd/members.h"
#include "store/internal/timeline.h"

namespace dray::store::internal {

// Who writes knows what is made of a version, and is told how far the cache is.
class OwnWrites {
 public:
  virtual ~OwnWrites() = default;
  // A version is about to be seen: gets its attachment and, of a put, the bytes that are there
  // already, if it is one of this process's.
  virtual void OnVersion(Entry& entry, bool deleted) = 0;
  // It is what the cache has now.
  virtual void OnPublished(const EntryPtr& entry) = 0;
  virtual void OnRevision(Revision revision) = 0;
  // Everything was read anew; events in between were not seen.
  virtual void OnRelist() = 0;
};

// Lives on the loop's thread.
class Feeder {
 public:
  using Clock = EventLoop::Clock;
  Feeder(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
         EtcdCounts& counts, Timeline& cache, OwnWrites& own, std::function<void(Status)> broken);

  // Reads everything, or, with the history since `from`, everything as it was then; the watch goes
  // on from there. `done` is called when that is in the cache.
  void Start(Revision from, rpc::DoneStatus done);
  // Somebody has been told that this revision is there: the cache will have it. Of what was written
  // here the watch tells by itself; of a revision that may be of keys that are not watched it is asked,
  // at once with `ask`, else if nothing has come for a while.
  void Expect(std::int64_t revision, bool ask = false);
  // Every answer to a read or write that asked all members says what the revision is. False: it is
  // older than what had been seen here when it was asked, and nothing is believed any more.
  bool Plausible(std::int64_t revision, std::int64_t seen_before);
  Revision revision() const { return {revision_}; }
  // Ends the watch.
  void Close();

 private:
  struct List {
    std::vector<EntryPtr> entries;
    std::int64_t revision = 0;  // of its first page
    bool then = false;          // as it was at `revision`
    rpc::DoneStatus done;       // empty: read anew
  };

  void ReadPage(std::shared_ptr<List> list, std::string from);
  void Listed(const std::shared_ptr<List>& list);
  void Open();
  void Reopen(bool blame);
  void OnAnswer(std::uint64_t stream, StatusOr<rpc::EtcdWatchAnswer> answer);
  void OnEvents(std::vector<rpc::EtcdEvent> events);
  bool Publish(std::vector<rpc::EtcdEvent>::iterator begin,
               std::vector<rpc::EtcdEvent>::iterator end);
  void Relist();
  void Advance(std::int64_t revision);
  void AskProgress();
  void Look();

  EventLoop& loop_;
  Members& members_;
  const Layout& layout_;
  const EtcdOptions& options_;
  EtcdCounts& counts_;
  Timeline& cache_;
  OwnWrites& own_;
  const std::function<void(Status)> broken_;

  std::unique_ptr<rpc::EtcdWatch> watch_;
  std::uint64_t stream_ = 0;  // of which answers are heard
  bool created_ = false;
  std::vector<rpc::EtcdEvent> pieces_;  // of a response that has not come whole
  Clock::time_point heard_;             // of the stream
  Clock::time_point behind_since_;
  std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds pause_{0};  // before the next stream
  std::int64_t revision_ = 0;          // of the cache
  std::int64_t expected_ = 0;          // is known to be there
  bool looking_ = false;
  bool relisting_ = false;
  bool closed_ = false;
};

}  // namespace dray::store::internal

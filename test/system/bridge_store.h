// SPDX-License-Identifier: Apache-2.0
//
// LogStore: a store over a log that takes its time. Transactions are accepted at once, written many
// at a time by whoever is the writer, and told when they are there for good. Has no thread: a
// writer's is at the edge (sqlite/sqlite_store.cc), and a simulation has none.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "store/sqlite/sqlite_store.h"
#include "store/internal/batch.h"
#include "store/internal/timeline.h"
#include "store/internal/timeline_store.h"

namespace dray::store::bridge {

using namespace store::internal;
// One thread at a time.
class Log {
 public:
  virtual ~Log() = default;
  // Tells the timeline everything that is stored.
  virtual Status Load(Timeline& timeline) = 0;
  // All of it or nothing, there for good when this returns OK. kResourceExhausted: nothing was
  // written, for want of room; anything else: it is not known what was.
  virtual Status Append(const std::vector<Event>& events) = 0;
  // What the history has let go of; `oldest` is where it begins now.
  virtual void Forget(std::vector<Forgotten> versions, Revision oldest) = 0;
  // To be called after each Append, once nobody waits for it.
  virtual Status Tidy() { return {}; }
};


struct LogStoreOptions {
  HistoryOptions history;
  // From the writer, after each write.
  std::function<void(const CommitReport&)> on_commit = nullptr;
  // Something waits to be written. From any thread; must not call the store.
  std::function<void()> on_queued = nullptr;
};

class LogStore : public TimelineStore {
 public:
  LogStore(LogStoreOptions options, std::unique_ptr<Log> log);

  // Before anything else: what the log has.
  Status Load();

  void Commit(Transaction transaction, CommitFn done) override;
  StatusOr<Outcome> Submit(Transaction transaction) override;
  EntryPtr FindSubmitted(std::string_view key) const override;
  Status Health() const override;

  // For the one writer. More than this in one commit makes nobody faster and the first ones wait
  // longer.
  static constexpr std::size_t kMaxBatch = 4096;
  // Writes what waits, at most so many transactions, and tells those who wait for them. False:
  // nothing waits.
  bool WriteSome(std::size_t most = kMaxBatch);
  // Until something waits to be written; false: Stop was called, and nothing does.
  bool WaitForWork();
  // Who writes is to end when nothing waits any more.
  void Stop();

 private:
  struct Pending {
    std::vector<Event> events;
    Outcome outcome;
    CommitFn done;  // null: the outcome was told when it was submitted
  };

  std::vector<Pending> Take(std::size_t most);
  void CommitBatch(std::vector<Pending>& pending);
  void GiveUp(std::vector<Pending>& pending, const Status& status);
  void Fail(const Status& status, bool told);
  void Queued();
  std::size_t Waiting() const;

  const LogStoreOptions options_;
  const std::unique_ptr<Log> log_;  // the writer's, once there is one
  mutable std::mutex mutex_;        // guards what follows
  std::condition_variable work_;
  std::condition_variable room_;
  std::vector<Pending> queue_;
  std::optional<Batch> accepted_;  // what is in the queue and being written
  bool stopping_ = false;
  Status health_;
};

}  // namespace dray::store::bridge

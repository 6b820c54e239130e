// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/internal/batch.h"
#include "store/internal/timeline_store.h"
#include "store/sqlite/log.h"

namespace dray::store {
namespace {

// More than this in one commit makes nobody faster and the first ones wait longer.
constexpr std::size_t kMaxBatch = 4096;
// What may wait before those who submit wait, too.
constexpr std::size_t kMaxQueue = 16'384;

// The same, shared with nobody: the thread sanitizer cannot see how Debian's abseil counts the
// sharers of a status, and reports each that two threads have.
Status Own(const Status& status) { return base::MakeStatus(status.code(), base::Message(status)); }

class SqliteStore final : public internal::TimelineStore {
 public:
  SqliteStore(const SqliteOptions& options, std::unique_ptr<Log> log)
      : TimelineStore(options.history), on_commit_(options.on_commit), log_(std::move(log)) {}

  // Commits what has been handed over first.
  ~SqliteStore() override {
    {
      const base::MutexLock lock(mutex_);
      stopping_ = true;
    }
    work_.NotifyOne();
    if (writer_.joinable()) writer_.join();
  }

  Status Start() {
    DRAY_RETURN_IF_ERROR(log_->Load(timeline()));
    {
      const base::MutexLock lock(mutex_);
      accepted_.emplace(timeline());
    }
    writer_ = std::thread([this] { Write(); });
    return {};
  }

  void Commit(Transaction transaction, CommitFn done) override {
    Status status = internal::CheckTransaction(transaction);
    if (status.ok()) {
      const base::MutexLock lock(mutex_);
      status = Own(health_);
      if (status.ok()) {
        // A conflict waits its turn, too: it may be with a transaction that is still on its way,
        // and nobody may hear of that before it is on disk.
        Outcome outcome = accepted_->Add(transaction);
        queue_.push_back({accepted_->TakeEvents(), std::move(outcome), std::move(done)});
      }
    }
    if (!status.ok()) return done(std::move(status));
    work_.NotifyOne();
  }

  StatusOr<Outcome> Submit(Transaction transaction) override {
    DRAY_RETURN_IF_ERROR(internal::CheckTransaction(transaction));
    base::MutexLock lock(mutex_);
    while (queue_.size() >= kMaxQueue && health_.ok()) room_.Wait(mutex_);
    DRAY_RETURN_IF_ERROR(Own(health_));
    Outcome outcome = accepted_->Add(transaction);
    if (outcome.conflict) return outcome;
    queue_.push_back({accepted_->TakeEvents(), {}, nullptr});
    lock.Unlock();
    work_.NotifyOne();
    return outcome;
  }

  EntryPtr FindSubmitted(std::string_view key) const override {
    const base::MutexLock lock(mutex_);
    return accepted_->Find(key);
  }

  Status Health() const override {
    const base::MutexLock lock(mutex_);
    return Own(health_);
  }

 private:
  struct Pending {
    std::vector<Event> events;
    Outcome outcome;
    CommitFn done;  // null: the outcome was told when it was submitted
  };

  // Nothing: it is time to end.
  std::vector<Pending> Take() {
    const base::MutexLock lock(mutex_);
    while (!stopping_ && queue_.empty()) work_.Wait(mutex_);
    std::vector<Pending> taken;
    if (queue_.size() <= kMaxBatch) {
      taken.swap(queue_);
    } else {
      const auto end = queue_.begin() + kMaxBatch;
      taken.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
      queue_.erase(queue_.begin(), end);
    }
    room_.NotifyAll();
    return taken;
  }

  void Write() {
    for (std::vector<Pending> batch = Take(); !batch.empty(); batch = Take()) {
      CommitBatch(batch);
      batch.clear();
      if (Health().ok()) Fail(log_->Tidy(), false);
    }
  }

  void CommitBatch(std::vector<Pending>& pending) {
    std::vector<Event> events;
    for (Pending& one : pending) {
      std::ranges::move(one.events, std::back_inserter(events));
    }
    Status status = Health();
    const auto began = std::chrono::steady_clock::now();
    if (status.ok() && !events.empty()) status = log_->Append(events);
    if (on_commit_ && !events.empty()) {
      on_commit_({.ok = status.ok(),
                  .transactions = pending.size(),
                  .changes = events.size(),
                  .wrote = std::chrono::steady_clock::now() - began,
                  .waiting = Waiting()});
    }
    if (status.ok()) {
      auto forgotten = timeline().Publish(events);
      log_->Forget(std::move(forgotten), timeline().oldest_revision());
      const base::MutexLock lock(mutex_);
      accepted_->Published(events);
    } else {
      GiveUp(pending, status);
    }
    for (Pending& one : pending) {
      if (!one.done) continue;
      if (status.ok()) {
        one.done(std::move(one.outcome));
      } else {
        one.done(Own(status));
      }
    }
  }

  std::size_t Waiting() const {
    const base::MutexLock lock(mutex_);
    return queue_.size();
  }

  // What was accepted after transactions that failed builds on them, so it fails with them.
  void GiveUp(std::vector<Pending>& pending, const Status& status) {
    {
      const base::MutexLock lock(mutex_);
      std::ranges::move(queue_, std::back_inserter(pending));
      queue_.clear();
      accepted_->Reset();
    }
    const bool told = std::ranges::any_of(pending, [](const Pending& one) { return !one.done; });
    Fail(status, told);
    room_.NotifyAll();
  }

  // After a full disk the next commit may try again, unless somebody was `told` of what is not
  // there. After anything else it is not known what the disk has, and going on could acknowledge
  // what a restart would not find.
  void Fail(const Status& status, bool told) {
    if (status.ok() || (status.code() == StatusCode::kResourceExhausted && !told)) return;
    const base::MutexLock lock(mutex_);
    health_ = base::Unavailable("storage failed, restart to go on from what is on disk: " +
                                std::string(base::Message(status)));
  }

  const std::function<void(const CommitReport&)> on_commit_;
  const std::unique_ptr<Log> log_;  // the writer's, once it runs
  mutable base::Mutex mutex_;
  base::CondVar work_;
  base::CondVar room_;
  std::vector<Pending> queue_ ABSL_GUARDED_BY(mutex_);
  // What is in the queue and being written.
  std::optional<internal::Batch> accepted_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Status health_ ABSL_GUARDED_BY(mutex_);
  std::thread writer_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  DRAY_ASSIGN_OR_RETURN(std::unique_ptr<Log> log, Log::Open(options));
  auto store = std::make_unique<SqliteStore>(options, std::move(log));
  if (const Status status = store->Start(); !status.ok()) {
    return base::Annotate(status, options.path);
  }
  return std::unique_ptr<Store>(std::move(store));
}

Status WriteBackup(const Store& store, const std::string& path) {
  if (std::filesystem::exists(path)) {
    return base::FailedPrecondition(path + ": there is such a file already");
  }
  DRAY_ASSIGN_OR_RETURN(RangeResult all, store.Range(""));
  std::ranges::sort(all.entries, {}, [](const EntryPtr& entry) { return entry->modified.value; });
  std::vector<Event> events;
  events.reserve(all.entries.size());
  for (EntryPtr& entry : all.entries) events.push_back({.entry = std::move(entry)});
  DRAY_ASSIGN_OR_RETURN(std::unique_ptr<Log> log, Log::Open({.path = path}));
  const Status status = log->Fill(events, all.revision);
  log = nullptr;
  if (!status.ok()) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(path + "-wal", ignored);
  }
  return status.ok() ? status : base::Annotate(status, path);
}

}  // namespace dray::store

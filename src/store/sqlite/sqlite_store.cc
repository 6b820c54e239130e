// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "store/internal/batch.h"
#include "store/internal/timeline_store.h"
#include "store/sqlite/log.h"

namespace dray::store {
namespace {

// More than this in one commit makes nobody faster and the first ones wait longer.
constexpr std::size_t kMaxBatch = 4096;

// The same, shared with nobody: the thread sanitizer cannot see how Debian's abseil counts the
// sharers of a status, and reports each that two threads have.
Status Own(const Status& status) { return base::MakeStatus(status.code(), base::Message(status)); }

class SqliteStore final : public internal::TimelineStore {
 public:
  SqliteStore(HistoryOptions history, std::unique_ptr<Log> log)
      : TimelineStore(history), log_(std::move(log)) {}

  // Commits what has been handed over first.
  ~SqliteStore() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_one();
    if (writer_.joinable()) writer_.join();
  }

  Status Start() {
    DRAY_RETURN_IF_ERROR(log_->Load(timeline()));
    writer_ = std::thread([this] { Write(); });
    return {};
  }

  void Commit(Transaction transaction, CommitFn done) override {
    Status status = internal::CheckTransaction(transaction);
    if (status.ok()) {
      const std::lock_guard lock(mutex_);
      status = Own(health_);
      if (status.ok()) queue_.push_back({std::move(transaction), std::move(done)});
    }
    if (!status.ok()) return done(std::move(status));
    work_.notify_one();
  }

  Status Health() const override {
    const std::lock_guard lock(mutex_);
    return Own(health_);
  }

 private:
  struct Pending {
    Transaction transaction;
    CommitFn done;
  };

  // Nothing: it is time to end.
  std::vector<Pending> Take() {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    std::vector<Pending> taken;
    if (queue_.size() <= kMaxBatch) {
      taken.swap(queue_);
    } else {
      const auto end = queue_.begin() + kMaxBatch;
      taken.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
      queue_.erase(queue_.begin(), end);
    }
    return taken;
  }

  void Write() {
    for (std::vector<Pending> batch = Take(); !batch.empty(); batch = Take()) {
      CommitBatch(batch);
      batch.clear();
      if (Health().ok()) Fail(log_->Tidy());
    }
  }

  // Conflicts are answered after the commit too: they may be with a transaction of this batch, and
  // nobody may hear of that before it is on disk.
  void CommitBatch(std::vector<Pending>& pending) {
    internal::Batch batch(timeline());
    std::vector<Outcome> outcomes;
    outcomes.reserve(pending.size());
    for (const Pending& one : pending) outcomes.push_back(batch.Add(one.transaction));
    Status status = Health();
    if (status.ok() && !batch.events().empty()) {
      status = log_->Append(batch.events());
      Fail(status);
    }
    if (status.ok()) {
      auto forgotten = timeline().Publish(batch.events());
      log_->Forget(std::move(forgotten), timeline().oldest_revision());
    }
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (status.ok()) {
        pending[i].done(std::move(outcomes[i]));
      } else {
        pending[i].done(Own(status));
      }
    }
  }

  // After a full disk the next commit may try again. After anything else it is not known what the
  // disk has, and going on could acknowledge what a restart would not find.
  void Fail(const Status& status) {
    if (status.ok() || status.code() == StatusCode::kResourceExhausted) return;
    const std::lock_guard lock(mutex_);
    health_ = base::Unavailable("storage failed, restart to go on from what is on disk: " +
                                std::string(base::Message(status)));
  }

  const std::unique_ptr<Log> log_;  // the writer's, once it runs
  mutable std::mutex mutex_;        // guards what follows
  std::condition_variable work_;
  std::vector<Pending> queue_;
  bool stopping_ = false;
  Status health_;
  std::thread writer_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  DRAY_ASSIGN_OR_RETURN(std::unique_ptr<Log> log, Log::Open(options));
  auto store = std::make_unique<SqliteStore>(options.history, std::move(log));
  if (const Status status = store->Start(); !status.ok()) {
    return base::Annotate(status, options.path);
  }
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace dray::store

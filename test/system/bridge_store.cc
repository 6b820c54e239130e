// SPDX-License-Identifier: Apache-2.0
#include "system/bridge_store.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

namespace dray::store::bridge {
namespace {

// What may wait before those who submit wait, too.
constexpr std::size_t kMaxQueue = 16'384;

// The same, shared with nobody: the thread sanitizer cannot see how Debian's abseil counts the
// sharers of a status, and reports each that two threads have.
Status Own(const Status& status) { return base::MakeStatus(status.code(), base::Message(status)); }

}  // namespace

LogStore::LogStore(LogStoreOptions options, std::unique_ptr<Log> log)
    : TimelineStore(options.history), options_(std::move(options)), log_(std::move(log)) {}

Status LogStore::Load() {
  DRAY_RETURN_IF_ERROR(log_->Load(timeline()));
  accepted_.emplace(timeline());
  return {};
}

void LogStore::Commit(Transaction transaction, CommitFn done) {
  Status status = CheckTransaction(transaction);
  if (status.ok()) {
    const std::lock_guard lock(mutex_);
    status = Own(health_);
    if (status.ok()) {
      // A conflict waits its turn, too: it may be with a transaction that is still on its way,
      // and nobody may hear of that before it is on disk.
      Outcome outcome = accepted_->Add(transaction);
      queue_.push_back({accepted_->TakeEvents(), std::move(outcome), std::move(done)});
    }
  }
  if (!status.ok()) return done(std::move(status));
  Queued();
}

StatusOr<Outcome> LogStore::Submit(Transaction transaction) {
  DRAY_RETURN_IF_ERROR(CheckTransaction(transaction));
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return queue_.size() < kMaxQueue || !health_.ok(); });
  DRAY_RETURN_IF_ERROR(Own(health_));
  Outcome outcome = accepted_->Add(transaction);
  if (outcome.conflict) return outcome;
  queue_.push_back({accepted_->TakeEvents(), {}, nullptr});
  lock.unlock();
  Queued();
  return outcome;
}

void LogStore::Queued() {
  work_.notify_one();
  if (options_.on_queued) options_.on_queued();
}

EntryPtr LogStore::FindSubmitted(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  return accepted_->Find(key);
}

Status LogStore::Health() const {
  const std::lock_guard lock(mutex_);
  return Own(health_);
}

bool LogStore::WaitForWork() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  return !queue_.empty();
}

void LogStore::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
}

std::vector<LogStore::Pending> LogStore::Take(std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<Pending> taken;
  if (queue_.size() <= most) {
    taken.swap(queue_);
  } else {
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(most);
    taken.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
    queue_.erase(queue_.begin(), end);
  }
  room_.notify_all();
  return taken;
}

bool LogStore::WriteSome(std::size_t most) {
  std::vector<Pending> batch = Take(most);
  if (batch.empty()) return false;
  CommitBatch(batch);
  batch.clear();
  if (Health().ok()) Fail(log_->Tidy(), false);
  return true;
}

void LogStore::CommitBatch(std::vector<Pending>& pending) {
  std::vector<Event> events;
  for (Pending& one : pending) {
    std::ranges::move(one.events, std::back_inserter(events));
  }
  Status status = Health();
  const auto began = std::chrono::steady_clock::now();
  if (status.ok() && !events.empty()) status = log_->Append(events);
  if (options_.on_commit && !events.empty()) {
    options_.on_commit({.ok = status.ok(),
                        .transactions = pending.size(),
                        .changes = events.size(),
                        .wrote = std::chrono::steady_clock::now() - began,
                        .waiting = Waiting()});
  }
  if (status.ok()) {
    auto forgotten = timeline().Publish(events);
    log_->Forget(std::move(forgotten), timeline().oldest_revision());
    const std::lock_guard lock(mutex_);
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

std::size_t LogStore::Waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

// What was accepted after transactions that failed builds on them, so it fails with them.
void LogStore::GiveUp(std::vector<Pending>& pending, const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(queue_, std::back_inserter(pending));
    queue_.clear();
    accepted_->Reset();
  }
  const bool told = std::ranges::any_of(pending, [](const Pending& one) { return !one.done; });
  Fail(status, told);
  room_.notify_all();
}

// After a full disk the next commit may try again, unless somebody was `told` of what is not
// there. After anything else it is not known what the disk has, and going on could acknowledge
// what a restart would not find.
void LogStore::Fail(const Status& status, bool told) {
  if (status.ok() || (status.code() == StatusCode::kResourceExhausted && !told)) return;
  const std::lock_guard lock(mutex_);
  health_ = base::Unavailable("storage failed, restart to go on from what is on disk: " +
                              std::string(base::Message(status)));
}

}  // namespace dray::store::bridge

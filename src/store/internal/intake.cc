// SPDX-License-Identifier: Apache-2.0
#include "store/internal/intake.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dray::store::internal {
namespace {

// What may wait before those who submit wait, too.
constexpr std::size_t kMaxQueue = 16'384;

// The same, shared with nobody: the thread sanitizer cannot see how Debian's abseil counts the
// sharers of a status, and reports each that two threads have.
Status Own(const Status& status) { return base::MakeStatus(status.code(), base::Message(status)); }

void Tell(std::vector<Intake::Pending>& transactions, const Status& status) {
  for (Intake::Pending& one : transactions) {
    if (!one.done) continue;
    if (status.ok()) {
      one.done(std::move(one.outcome));
    } else {
      one.done(Own(status));
    }
  }
}

}  // namespace

Status StorageFailed(const Status& status) {
  return base::Unavailable("storage failed, restart to go on from what is on disk: " +
                           std::string(base::Message(status)));
}

void Intake::Add(const Transaction& transaction, CommitFn done) {
  Status status = CheckTransaction(transaction);
  if (status.ok()) {
    const base::MutexLock lock(mutex_);
    status = Own(health_);
    if (status.ok()) {
      // A conflict waits its turn, too: it may be with a transaction that is still on its way,
      // and nobody may hear of that before it is on disk.
      Outcome outcome = accepted_.Add(transaction);
      queue_.push_back({accepted_.TakeEvents(), std::move(outcome), std::move(done)});
    }
  }
  if (!status.ok()) return done(std::move(status));
  work_.NotifyOne();
}

StatusOr<Outcome> Intake::Submit(Transaction transaction) {
  DRAY_RETURN_IF_ERROR(CheckTransaction(transaction));
  base::MutexLock lock(mutex_);
  while (queue_.size() >= kMaxQueue && health_.ok()) room_.Wait(mutex_);
  DRAY_RETURN_IF_ERROR(Own(health_));
  Outcome outcome = accepted_.Add(transaction);
  if (outcome.conflict) return outcome;
  queue_.push_back({accepted_.TakeEvents(), {}, nullptr});
  lock.Unlock();
  work_.NotifyOne();
  return outcome;
}

EntryPtr Intake::Find(std::string_view key) const {
  const base::MutexLock lock(mutex_);
  return accepted_.Find(key);
}

std::size_t Intake::waiting() const {
  const base::MutexLock lock(mutex_);
  return queue_.size();
}

Intake::Group Intake::TakeLocked(std::size_t max) {
  Group group;
  if (queue_.size() <= max) {
    group.transactions.swap(queue_);
  } else {
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(max);
    group.transactions.assign(std::move_iterator(queue_.begin()), std::move_iterator(end));
    queue_.erase(queue_.begin(), end);
  }
  room_.NotifyAll();
  for (Pending& one : group.transactions) {
    std::ranges::move(one.events, std::back_inserter(group.events));
  }
  return group;
}

Intake::Group Intake::Take(std::size_t max) {
  const base::MutexLock lock(mutex_);
  return TakeLocked(max);
}

Intake::Group Intake::Await(std::size_t max) {
  const base::MutexLock lock(mutex_);
  while (!stopping_ && queue_.empty()) work_.Wait(mutex_);
  return TakeLocked(max);
}

void Intake::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyOne();
}

std::vector<Forgotten> Intake::Stored(Group group) {
  std::vector<Forgotten> forgotten = timeline_.Publish(group.events);
  {
    const base::MutexLock lock(mutex_);
    accepted_.Published(group.events);
  }
  Tell(group.transactions, {});
  return forgotten;
}

void Intake::TakeBack(Group& group) {
  std::ranges::move(queue_, std::back_inserter(group.transactions));
  queue_.clear();
  accepted_.Reset();
}

void Intake::Failed(Group group, const Status& status) {
  {
    const base::MutexLock lock(mutex_);
    TakeBack(group);
    const bool told =
        std::ranges::any_of(group.transactions, [](const Pending& one) { return !one.done; });
    if (status.code() != StatusCode::kResourceExhausted || told) {
      health_ = StorageFailed(status);
    }
  }
  room_.NotifyAll();
  Tell(group.transactions, status);
}

void Intake::Refuse(Group group, const Status& status) {
  {
    const base::MutexLock lock(mutex_);
    TakeBack(group);
  }
  room_.NotifyAll();
  Tell(group.transactions, status);
}

void Intake::Close(const Status& why) {
  {
    const base::MutexLock lock(mutex_);
    if (health_.ok()) health_ = Own(why);
  }
  room_.NotifyAll();
}

Status Intake::Health() const {
  const base::MutexLock lock(mutex_);
  return Own(health_);
}

}  // namespace dray::store::internal

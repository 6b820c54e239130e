// SPDX-License-Identifier: Apache-2.0
//
// The door of a log that decides alone what is written next: transactions in the order in which they
// were handed over, each checked against what is stored and what was accepted before it, on their way
// to the disk. Whoever writes takes groups of them and reports what became of each.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "store/internal/batch.h"
#include "store/internal/timeline.h"
#include "store/store.h"

namespace dray::store::internal {

// Why no more is taken after this.
Status StorageFailed(const Status& status);

// Thread-safe; groups are taken and reported by one thread at a time.
class Intake final : public EarlyWrites {
 public:
  struct Pending {
    std::vector<Event> events;
    Outcome outcome;
    CommitFn done;  // null: the outcome was told when it was submitted
  };
  struct Group {
    std::vector<Pending> transactions;
    std::vector<Event> events;  // of all of them, in order
    bool empty() const { return transactions.empty(); }
  };

  // Once everything that is stored has been told; the timeline outlives it.
  explicit Intake(Timeline& timeline) : timeline_(timeline), accepted_(timeline) {}

  // As Store::Commit.
  void Add(const Transaction& transaction, CommitFn done);
  StatusOr<Outcome> Submit(Transaction transaction) override;
  EntryPtr Find(std::string_view key) const override;

  std::size_t waiting() const;
  // At most so many, in order; nothing when none waits.
  Group Take(std::size_t max);
  // The same, when some are there; nothing: it is stopped, and none is left.
  Group Await(std::size_t max);
  void Stop();

  // The group is durable: readers and watchers see it, then its callers are answered. Returns what
  // has left the history.
  std::vector<Forgotten> Stored(Group group);
  // Nothing of it is there, or nobody knows. What was accepted after it builds on it, so it fails as
  // well. After a full disk the next commit may try again, unless somebody was told early of what is
  // not there. After anything else it is not known what the disk has, and going on could
  // acknowledge what a restart would not find.
  void Failed(Group group, const Status& status);
  // Likewise for a log that can go on after everything: the callers are told, and the next is taken.
  void Refuse(Group group, const Status& status);
  // No more is taken; what is under way goes on.
  void Close(const Status& why);
  Status Health() const;

 private:
  Group TakeLocked(std::size_t max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds what waits to the group, and forgets that it was accepted.
  void TakeBack(Group& group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Timeline& timeline_;
  mutable base::Mutex mutex_;
  base::CondVar work_;
  base::CondVar room_;
  std::vector<Pending> queue_ ABSL_GUARDED_BY(mutex_);
  Batch accepted_ ABSL_GUARDED_BY(mutex_);  // what is in the queue and being written
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Status health_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::store::internal

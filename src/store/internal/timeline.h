// SPDX-License-Identifier: Apache-2.0
//
// What every store keeps in memory: the current version of each key, the events of the window of
// history, and the watches. Reads come from here; whoever commits publishes here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "base/mutex.h"
#include "store/internal/topics.h"
#include "store/internal/watch_groups.h"
#include "store/store.h"

namespace dray::store::internal {

// A version that neither the present nor the history needs any more.
struct Forgotten {
  std::string key;
  Revision revision;
};

// Of a revision that is asked for and has not been.
Status InTheFuture(Revision at, Revision latest);

// Thread-safe; Publish and Restore are for one thread at a time.
class Timeline : public std::enable_shared_from_this<Timeline> {
 public:
  explicit Timeline(HistoryOptions options) : options_(options) {}

  EntryPtr Find(std::string_view key) const;
  StatusOr<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const;
  StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                             std::function<void()> wake, std::string_view topic);
  void SetTopics(std::string prefix, TopicFn topic_of);
  void Attach(const Entry& version, std::shared_ptr<const void> attachment);
  Revision revision() const;
  Revision oldest_revision() const;
  // As Store::WaitFor, of a revision that is on its way.
  void WaitFor(Revision at, ReadyFn ready);
  // Whoever still waits is told why not.
  void Close(const Status& why);

  // Makes events visible, in order, all at once, and wakes who waits for them. What leaves the
  // history is returned.
  std::vector<Forgotten> Publish(const std::vector<Event>& events);

  // Nothing that is kept here has changed up to this revision; others' keys may have.
  void Advance(Revision revision);
  // The log could not tell of everything in between: this is what is there now. All watches are over
  // (kOutOfRange); versions that are the same keep their attachments.
  void Replace(std::vector<EntryPtr> entries, Revision revision);

  // What a store has kept, of which everything after `compacted` becomes history: first this, then
  // each version, oldest first: a put, or a deletion if `value` is null.
  void BeginRestore(Revision compacted);
  void Restore(std::string key, std::shared_ptr<const std::string> value, Revision created,
               Revision modified, std::vector<Forgotten>& forgotten);

 private:
  class TimelineWatch;
  using Entries = absl::btree_map<std::string, EntryPtr, std::less<>>;

  Status CheckRevision(Revision at) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<ReadyFn> TakeReached() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Apply(const Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trim(std::vector<Forgotten>& forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RangeNow(std::string_view prefix, const RangeOptions& options, RangeResult& result) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RangeOfTopic(std::string_view prefix, const RangeOptions& options, RangeResult& result) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RangeThen(std::string_view prefix, const RangeOptions& options, RangeResult& result) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HistoryOptions options_;
  mutable base::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::deque<Event> history_ ABSL_GUARDED_BY(mutex_);
  std::size_t history_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Revision revision_ ABSL_GUARDED_BY(mutex_);
  Revision compacted_ ABSL_GUARDED_BY(mutex_);  // history_ has every event after this one
  // Files on demand what it was not told before.
  mutable Topics topics_ ABSL_GUARDED_BY(mutex_);
  WatchGroups groups_ ABSL_GUARDED_BY(mutex_){topics_};
  std::multimap<Revision, ReadyFn> awaited_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::store::internal

// SPDX-License-Identifier: Apache-2.0
//
// Store: keys with revisions, optimistic concurrency and watch. Knows no Kubernetes object.
//
// It is three things: a log (log.h), to which transactions are handed and which tells what became of
// them; a cache of everything, old versions too as long as they are in the window of history, so that
// reads and watches never wait for a log; and, where the log can, early writes, for deciders of this
// process. Every transaction that changes something gets a new revision; all of its keys carry that
// one. What a commit reported as done is durable, if the log is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace dray::store {

// The number of a change. 0 is before the first one, and of a key it says: does not exist.
struct Revision {
  std::int64_t value = 0;
  friend auto operator<=>(Revision, Revision) = default;
};

// One version of a key. Immutable, shared by everyone who reads it.
struct Entry {
  std::string key;
  std::shared_ptr<const std::string> value;  // never null
  Revision created;                          // of the transaction that made the key
  Revision modified;                         // of the one that made this version
  // What the owner of the key keeps beside the bytes, such as the decoded object. Lives in memory
  // only: null after a restart until Store::Attach.
  std::shared_ptr<const void> attachment;
};
using EntryPtr = std::shared_ptr<const Entry>;

// Makes the attachment of a version once its revision is known. Called on the thread that commits,
// one call at a time in the order of revisions, before anyone can see the version; it must be quick
// and not call the store. It may be called for a version that then fails to be stored.
using AttachFn = std::function<std::shared_ptr<const void>(const Entry&)>;

struct Operation {
  enum class Kind : std::uint8_t { kPut, kDelete, kCheck };
  Kind kind = Kind::kCheck;
  std::string key;
  std::shared_ptr<const std::string> value;  // kPut only
  // The revision that the key must have: Revision{} if it must not exist, none if any will do (of a
  // deletion: any that exists; deleting what is not there is a conflict).
  std::optional<Revision> expected;
  AttachFn attach;  // optional; of a deletion, for the last version that watchers are shown
  // kPut only: it need not be kept for longer. A log that can deletes it then, or up to a twentieth of the
  // time later, as if somebody had; others keep it. 0: for ever.
  std::chrono::seconds ttl{0};
};

inline constexpr std::size_t kMaxOperations = 1024;  // in one transaction

// All of it or nothing. A key may occur once.
struct Transaction {
  std::vector<Operation> operations;

  Transaction& Put(std::string key, std::string value,
                   std::optional<Revision> expected = std::nullopt, AttachFn attach = nullptr);
  Transaction& Delete(std::string key, std::optional<Revision> expected = std::nullopt,
                      AttachFn attach = nullptr);
  // Nothing is written to `key`, but the rest only if it has this revision.
  Transaction& Check(std::string key, Revision expected);
};

// Why a transaction was refused.
struct Conflict {
  std::string key;
  Revision actual;  // 0: does not exist
  EntryPtr entry;   // what is there, null if nothing
};

// What became of a transaction. A conflict is an answer; a Status is for work that failed.
struct Outcome {
  Revision revision;  // of the transaction; of the store if it only checked
  // By operation: what was put, for a deletion the last version as in Event, null for a check. Of a
  // key that others wrote in the same revision (FindPending): what the last of them put.
  std::vector<EntryPtr> entries;
  std::optional<Conflict> conflict;  // if set, nothing was done
};
using CommitFn = std::function<void(StatusOr<Outcome>)>;

struct Event {
  EntryPtr entry;   // of a deletion: the last value, `modified` being the deletion's revision
  EntryPtr before;  // null: the key is new
  bool deleted = false;

  Revision revision() const { return entry->modified; }
};

// What happens to the keys with a prefix, pulled at the reader's pace. A watch holds no events of
// its own: it is a place in the history that all share, so a slow reader costs nothing, but once
// its place has left the history it is over. Destroying it ends it; after that no wake-up runs.
// Used by one thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;
  // The next events in order, about `max` of them (those of one revision stay together). Empty: the
  // wake-up will be called, once, when there are more. kOutOfRange: fell behind the history.
  virtual StatusOr<std::vector<Event>> Next(std::size_t max) = 0;
  // Every event up to here has been returned: what a bookmark may say.
  virtual Revision progress() const = 0;
};

// What a version of a key is about, beside its key: of a pod, its node. Called with the store's lock:
// it must be quick and not call the store, and say the same of a version each time.
using TopicFn = std::function<std::string(const Entry&)>;

struct RangeOptions {
  std::string_view start;      // leave out keys before this one; empty: from the first
  std::size_t limit = 0;       // at most so many entries; 0: all
  std::optional<Revision> at;  // as things were then; none: now
  // Only what is about this (SetTopics); empty: all. [cost] Of now: what is about it, not the rest.
  std::string_view topic;
  bool count = false;  // say how many the limit left out. [cost] As many
};
struct RangeResult {
  std::vector<EntryPtr> entries;  // in order of keys
  Revision revision;              // what they are a picture of
  bool more = false;              // the limit left some out
  std::size_t remaining = 0;      // how many, if that was asked
};

// How much history is kept. The oldest goes when either is exceeded.
struct HistoryOptions {
  std::size_t events = 100'000;
  std::size_t bytes = 128u << 20;  // of values
};

// Writes that are answered before they are durable: for deciders of this process, which may not wait
// for a disk at every step. A store has them whose log decides alone what is written next, and so
// knows what will become of a transaction; one that others write to cannot. Thread-safe.
class EarlyWrites {
 public:
  virtual ~EarlyWrites() = default;
  // The outcome as soon as it is certain but for the disk, with its revision and in order with all
  // commits. Readers, watchers and other callers learn of it when it is durable, so that what follows
  // from it can be submitted, but must not be told to anyone. When storage then fails, even by a full
  // disk, the store takes no more commits: what was decided on is not there. May wait while very much
  // is under way; not from a store's callback. Status as Store::Commit.
  virtual StatusOr<Outcome> Submit(Transaction transaction) = 0;
  // As Store::Find, with what is accepted and not durable yet.
  virtual EntryPtr Find(std::string_view key) const = 0;
};

// Called once, from some thread, maybe before the call that took it returns; must not block.
using ReadyFn = std::function<void(Status)>;

// Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  // `done` is called exactly once, from some thread, maybe before Commit returns, and must not
  // block; it may call the store, but not CommitAndWait. Two transactions of one caller are
  // committed in the order in which they were handed over.
  // Status: kInvalidArgument for a transaction that makes no sense; kResourceExhausted for a full
  // disk and kAborted for a log that was not reached, when nothing was written; kUnavailable when it
  // is unknown what was written. A log that cannot find that out refuses all later commits, and shows
  // the truth once opened again.
  virtual void Commit(Transaction transaction, CommitFn done) = 0;
  StatusOr<Outcome> CommitAndWait(Transaction transaction);
  // Null: it has none.
  virtual EarlyWrites* early() const = 0;

  // Read barriers: `ready` when readers see all that anybody had been told of before the call, and
  // when they see revision `at`. They need a barrier only where somebody else writes to the log; with
  // a log of this process it is always there. Status: kInvalidArgument when there is no revision `at`
  // yet, kUnavailable when the log cannot be asked, kDeadlineExceeded when it has not answered, or its
  // changes have not come, within three seconds.
  virtual void Current(ReadyFn ready) = 0;
  virtual void WaitFor(Revision at, ReadyFn ready) = 0;

  // Null if there is no such key.
  virtual EntryPtr Find(std::string_view key) const = 0;
  // What there will be if all is done that this process has handed over and not been told of yet: for
  // who builds on it. With early writes that is certain. Else the `modified` of what is not written yet
  // is good for one thing, to be expected by a transaction handed to this store soon: it comes right
  // behind, and is a conflict if the one before it is not done. Of such transactions that are written
  // at once readers see the last version of a key alone, and attachments may be missing.
  virtual EntryPtr FindPending(std::string_view key) const {
    const EarlyWrites* writes = early();
    return writes != nullptr ? writes->Find(key) : Find(key);
  }
  // kOutOfRange when `at` has left the history, kInvalidArgument when it has not been yet.
  virtual StatusOr<RangeResult> Range(std::string_view prefix,
                                      const RangeOptions& options) const = 0;
  StatusOr<RangeResult> Range(std::string_view prefix) const { return Range(prefix, {}); }
  // Events after `from`. `wake` is called as Watch::Next says, from a thread of the store: it must
  // be quick, and call neither the store nor the watch. kOutOfRange and kInvalidArgument as Range.
  // With a `topic`, only changes from or to a version that is about it (SetTopics), and nobody is
  // woken for others.
  virtual StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                                     std::function<void()> wake,
                                                     std::string_view topic) = 0;
  StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                             std::function<void()> wake) {
    return WatchFrom(prefix, from, std::move(wake), {});
  }
  // What versions of keys with this prefix are about. Once, before anybody asks by topic.
  virtual void SetTopics(std::string prefix, TopicFn topic_of) = 0;
  // Gives a version its attachment, if it is still the current one and has none.
  virtual void Attach(const Entry& version, std::shared_ptr<const void> attachment) = 0;

  // Of the latest change that readers can see.
  virtual Revision revision() const = 0;
  // Ranges and watches can go back to here.
  virtual Revision oldest_revision() const = 0;
  // Whether commits are taken; if not, why. Not OK for good: somebody has to open it again.
  virtual Status Health() const = 0;
  // Not OK: nobody can be told what is newest, or write, at the moment; it may pass by itself.
  virtual Status Reachable() const { return Health(); }
};

// As early writes will leave it, where a store has them.
inline EntryPtr FindEarly(const Store& store, std::string_view key) {
  const EarlyWrites* early = store.early();
  return early != nullptr ? early->Find(key) : store.Find(key);
}

}  // namespace dray::store

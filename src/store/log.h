// SPDX-License-Identifier: Apache-2.0
//
// Log: where transactions become durable, and what a store is made of together with its cache.
//
// A log is asynchronous and the source of truth: it compares revisions, orders what is written, and
// tells the cache of every change, its own and, if it is shared, those of others. SQLite and memory
// are logs of one process, which know at once what will become of a transaction and so offer early
// writes; a log that several servers share (etcd) knows when it is answered, offers none, and may
// have to say that it does not know.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace dray::store {

namespace internal {
class Timeline;
}  // namespace internal

// Thread-safe once opened. Destroying it ends it: everything handed over has been answered then.
class Log {
 public:
  virtual ~Log() = default;

  // Called once, first. Tells the cache all that is stored (BeginRestore, Restore), and from then on
  // of every change, in the order of revisions, those of one revision together (Publish). The cache
  // outlives it.
  virtual Status Open(internal::Timeline& cache) = 0;

  // As Store::Commit. `done` is called when the cache has the outcome's revision: whoever is answered
  // reads what it wrote. Revisions rise; transactions may share one if no key is in two of them.
  virtual void Write(Transaction transaction, CommitFn done) = 0;

  // A revision at which everything is there that anybody had been told of before the call. A log that
  // nobody else writes to answers at once with that of the cache.
  virtual void Latest(std::function<void(StatusOr<Revision>)> done) = 0;

  // Null: it has none.
  virtual EarlyWrites* early() { return nullptr; }
  // As Store::FindPending, of what is under way alone: nothing if nothing is, null if it is a deletion.
  virtual std::optional<EntryPtr> FindPending(std::string_view) const { return std::nullopt; }
  // Whether writes will be taken again without anybody's help; if not, why.
  virtual Status Health() const = 0;
  // Not OK: what others have written cannot be seen at the moment, or nothing can be written, and that
  // may pass by itself.
  virtual Status Reachable() const { return Health(); }
};

// How long a read barrier waits.
inline constexpr std::chrono::milliseconds kBarrierPatience{3'000};

// A store of this log; opens it.
StatusOr<std::unique_ptr<Store>> MakeStore(std::unique_ptr<Log> log, HistoryOptions history = {},
                                           std::chrono::milliseconds patience = kBarrierPatience);

}  // namespace dray::store

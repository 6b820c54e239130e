// SPDX-License-Identifier: Apache-2.0
//
// The versions of all keys in one SQLite file, in the order in which they were written.
//
// A write is a row at the end of one table, so that a batch of them touches few pages whatever the
// keys are. Which versions are current is not on disk: reading the rows in order says it. Versions
// that the history no longer needs are deleted along with later writes.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "store/internal/timeline.h"
#include "store/sqlite/database.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::store {

// One thread at a time.
class LogFile {
 public:
  // Opens or makes the file, takes it for this process alone and checks that it is whole.
  static StatusOr<std::unique_ptr<LogFile>> Open(const SqliteOptions& options);

  // Tells the timeline everything that is stored.
  Status Load(internal::Timeline& timeline);
  // All of it or nothing, on disk for good when this returns OK. Errors are those of FromSqlite.
  Status Append(const std::vector<Event>& events);
  // Everything at once into a file that is new: versions in the order of their revisions, and where
  // the history begins.
  Status Fill(const std::vector<Event>& events, Revision oldest);
  // What the history has let go of; `oldest` is where it begins now. Deleted with later Appends.
  void Forget(std::vector<internal::Forgotten> versions, Revision oldest);
  // Keeps the write-ahead log short. To be called after each Append, once nobody waits for it.
  Status Tidy();

 private:
  LogFile(Database database, std::size_t max_wal_pages)
      : database_(std::move(database)), max_wal_pages_(max_wal_pages) {}
  Status Initialise();
  Status Insert(const std::vector<Event>& events);
  Status DeleteForgotten(std::size_t limit);

  Database database_;
  Statement insert_;
  Statement delete_;
  Statement set_compacted_;
  std::deque<internal::Forgotten> forgotten_;
  Revision oldest_;
  const std::size_t max_wal_pages_;
  std::size_t wal_pages_ = 0;
};

}  // namespace dray::store

// SPDX-License-Identifier: Apache-2.0
//
// A store in one SQLite file. One thread writes: it takes all transactions that have come in, gives
// them their revisions, commits them to disk at once, and then shows them to readers and watchers
// and tells the callers. Nothing that a caller or a reader has seen is lost by a crash or power
// cut.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "store/commit_report.h"
#include "store/store.h"

namespace dray::store {

struct SqliteOptions {
  std::string path;  // of the file; its folder must exist
  HistoryOptions history;
  // The write-ahead log is moved into the file when it has grown to this: often enough that it
  // stays small, seldom enough that a page that is written many times is moved once.
  std::size_t wal_bytes = 16u << 20;
  // Called by the thread that writes, before each group and after it: quick, and call nothing of the
  // store. Between the two the disk has the word.
  std::function<void()> on_begin = nullptr;
  std::function<void(const CommitReport&)> on_commit = nullptr;
  std::string vfs;  // SQLite's file layer; empty: the system's. For tests that break it
};

// kFailedPrecondition: another process has it open, or it is another program's. kDataLoss: it is
// damaged. kUnavailable: it cannot be opened or created.
StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options);

// Writes what a store of any kind holds at this moment to a new file that OpenSqliteStore opens. The
// revision goes along, the history does not. Any thread; the store's readers and writers go on.
// kFailedPrecondition: the file is there already. Errors leave no file behind.
Status WriteBackup(const Store& store, const std::string& path);

}  // namespace dray::store

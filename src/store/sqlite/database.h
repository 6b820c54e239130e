// SPDX-License-Identifier: Apache-2.0
//
// The little of SQLite that the store uses, with Status instead of result codes.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::store {

// A statement that is run many times. One thread.
class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Parameters and columns by position: parameters from 1, columns from 0, as SQLite has it. Bound
  // bytes must live until Reset.
  void BindInt(int index, std::int64_t value);
  void BindText(int index, std::string_view value);
  void BindBlob(int index, std::string_view value);
  void BindNull(int index);

  // Whether there is a row.
  StatusOr<bool> Step();
  // Runs it to the end and makes it ready for the next time.
  Status Run();
  void Reset();

  std::int64_t Int(int column) const;
  std::string_view Bytes(int column) const;  // until the next Step
  bool IsNull(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// An open file. One thread at a time.
class Database {
 public:
  // Created with mode 0600 if it is not there. `vfs` empty: the system's files.
  static StatusOr<Database> Open(const std::string& path, const std::string& vfs);

  Status Execute(const char* sql);
  // The first column of the first row; empty if there is no row.
  StatusOr<std::string> Query(const char* sql);
  StatusOr<Statement> Prepare(const char* sql);
  // Ends a transaction that failed, if SQLite has not done so.
  void Rollback();
  // Moves what is in the write-ahead log to the file proper.
  Status Checkpoint();

  sqlite3* handle() { return handle_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close(handle); }
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
};

// kResourceExhausted: the disk is full and nothing was written. kFailedPrecondition: another
// process has the file. kDataLoss: it is damaged, or no database. kUnavailable: anything else,
// after which it is not known what the disk has.
Status FromSqlite(int code, sqlite3* handle);

}  // namespace dray::store

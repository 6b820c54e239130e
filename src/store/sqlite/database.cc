// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "fmt/format.h"

namespace dray::store {

Status FromSqlite(int code, sqlite3* handle) {
  const std::string text =
      fmt::format("SQLite: {} ({})", sqlite3_errmsg(handle), sqlite3_extended_errcode(handle));
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return {};
    case SQLITE_FULL:
      return base::MakeStatus(StatusCode::kResourceExhausted, "the disk is full; " + text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return base::FailedPrecondition("in use by another process; " + text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return base::MakeStatus(StatusCode::kDataLoss, "damaged; " + text);
    default:
      return base::Unavailable(text);
  }
}

void Statement::BindInt(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index, value);
}
void Statement::BindText(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}
void Statement::BindBlob(int index, std::string_view value) {
  // A null pointer would bind NULL, which means a deletion.
  sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(),
                      SQLITE_STATIC);
}
void Statement::BindNull(int index) { sqlite3_bind_null(statement_.get(), index); }

StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return FromSqlite(code, sqlite3_db_handle(statement_.get()));
}

Status Statement::Run() {
  Status status;
  while (true) {
    const StatusOr<bool> row = Step();
    if (!row.ok()) status = row.status();
    if (!row.ok() || !*row) break;
  }
  Reset();
  return status;
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return data == nullptr ? std::string_view()
                         : std::string_view(static_cast<const char*>(data), size);
}
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

namespace {

// Objects hold secrets of their owners, so the file is not for others; SQLite would make it
// readable for all. Only made when new: closing a descriptor of a file that SQLite has open in this
// process would drop its locks.
Status CreateFile(const std::string& path) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) {
    if (errno == EEXIST) return {};
    return base::Unavailable(fmt::format("cannot create: {}", std::strerror(errno)));
  }
  ::close(file);
  // The name has to survive a power cut too.
  const std::string folder = std::filesystem::absolute(path).parent_path();
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = directory >= 0 && ::fsync(directory) == 0;
  const int error = errno;
  if (directory >= 0) ::close(directory);
  if (synced) return {};
  return base::Unavailable(fmt::format("cannot sync folder {}: {}", folder, std::strerror(error)));
}

}  // namespace

StatusOr<Database> Database::Open(const std::string& path, const std::string& vfs) {
  DRAY_RETURN_IF_ERROR(CreateFile(path));
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                      vfs.empty() ? nullptr : vfs.c_str());
  Database database(handle);
  if (code != SQLITE_OK) return FromSqlite(code, handle);
  sqlite3_extended_result_codes(handle, 1);
  return database;
}

Status Database::Execute(const char* sql) {
  return FromSqlite(sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr), handle_.get());
}

StatusOr<std::string> Database::Query(const char* sql) {
  DRAY_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  DRAY_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? std::string(statement.Bytes(0)) : std::string();
}

StatusOr<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return FromSqlite(code, handle_.get());
  return Statement(statement);
}

void Database::Rollback() {
  if (sqlite3_get_autocommit(handle_.get()) == 0) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

Status Database::Checkpoint() {
  return FromSqlite(sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                              nullptr, nullptr),
                    handle_.get());
}

}  // namespace dray::store

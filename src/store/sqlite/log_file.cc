// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/log_file.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "fmt/format.h"

namespace dray::store {
namespace {

constexpr int kApplicationId = 0x64726179;  // "dray"
constexpr int kFormat = 1;
// A version's row id is its revision times this, plus its place in the transaction.
constexpr std::int64_t kIdsPerRevision = 1024;
static_assert(kIdsPerRevision >= static_cast<std::int64_t>(kMaxOperations));
// Large enough for several objects: a batch needs fewer and larger writes than with SQLite's 4 KiB.
constexpr std::size_t kPageSize = 16384;

constexpr const char* kSchema =
    "CREATE TABLE log(id INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value "
    "BLOB);"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('compacted', 0);";

int ToInt(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

StatusOr<std::unique_ptr<LogFile>> LogFile::Open(const SqliteOptions& options) {
  const std::string& path = options.path;
  auto database = Database::Open(path, options.vfs);
  if (!database.ok()) return base::Annotate(database.status(), path);
  std::unique_ptr<LogFile> log(new LogFile(*std::move(database), options.wal_bytes / kPageSize));
  if (const Status status = log->Initialise(); !status.ok()) return base::Annotate(status, path);
  return log;
}

Status LogFile::Initialise() {
  // Exclusive: no other process can open the file, and no shared memory file is needed.
  DRAY_RETURN_IF_ERROR(database_.Execute("PRAGMA locking_mode=EXCLUSIVE"));
  DRAY_ASSIGN_OR_RETURN(const std::string tables,
                        database_.Query("SELECT count(*) FROM sqlite_schema"));
  DRAY_ASSIGN_OR_RETURN(const std::string id, database_.Query("PRAGMA application_id"));
  DRAY_ASSIGN_OR_RETURN(const std::string format, database_.Query("PRAGMA user_version"));
  const bool is_new = tables == "0" && ToInt(id) == 0;
  if (!is_new && ToInt(id) != kApplicationId) {
    return base::FailedPrecondition("is an SQLite file of another program, not a store of dray");
  }
  if (!is_new && ToInt(format) != kFormat) {
    return base::FailedPrecondition(fmt::format(
        "has format {}, but this version of dray knows format {} only", format, kFormat));
  }
  if (is_new) {
    DRAY_RETURN_IF_ERROR(database_.Execute(fmt::format("PRAGMA page_size={}", kPageSize).c_str()));
  }
  DRAY_ASSIGN_OR_RETURN(const std::string mode, database_.Query("PRAGMA journal_mode=WAL"));
  if (mode != "wal") return base::Unavailable("cannot use a write-ahead log on this file system");
  DRAY_RETURN_IF_ERROR(database_.Execute("PRAGMA synchronous=FULL"));
  sqlite3_wal_hook(
      database_.handle(),
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<std::size_t*>(pages) = static_cast<std::size_t>(count);
        return SQLITE_OK;
      },
      &wal_pages_);
  if (is_new) {
    DRAY_RETURN_IF_ERROR(database_.Execute(
        fmt::format("BEGIN IMMEDIATE; PRAGMA application_id={}; PRAGMA user_version={}; {} COMMIT",
                    kApplicationId, kFormat, kSchema)
            .c_str()));
  } else {
    DRAY_ASSIGN_OR_RETURN(const std::string check, database_.Query("PRAGMA quick_check(1)"));
    if (check != "ok") {
      return base::MakeStatus(StatusCode::kDataLoss,
                              "is damaged, restore it from a backup; SQLite: " + check);
    }
  }
  DRAY_ASSIGN_OR_RETURN(insert_, database_.Prepare("INSERT INTO log VALUES(?,?,?,?)"));
  DRAY_ASSIGN_OR_RETURN(delete_,
                        database_.Prepare("DELETE FROM log WHERE id BETWEEN ?1 AND ?2 AND key=?3"));
  DRAY_ASSIGN_OR_RETURN(set_compacted_,
                        database_.Prepare("UPDATE meta SET value=? WHERE name='compacted'"));
  return {};
}

Status LogFile::Load(internal::Timeline& timeline) {
  DRAY_ASSIGN_OR_RETURN(Statement meta,
                        database_.Prepare("SELECT value FROM meta WHERE name='compacted'"));
  DRAY_ASSIGN_OR_RETURN(const bool has_meta, meta.Step());
  if (!has_meta) return base::MakeStatus(StatusCode::kDataLoss, "is damaged: table meta is empty");
  timeline.BeginRestore({meta.Int(0)});
  std::vector<internal::Forgotten> forgotten;
  DRAY_ASSIGN_OR_RETURN(Statement rows,
                        database_.Prepare("SELECT id, key, created, value FROM log ORDER BY id"));
  while (true) {
    DRAY_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) break;
    std::shared_ptr<const std::string> value;
    if (!rows.IsNull(3)) value = std::make_shared<const std::string>(rows.Bytes(3));
    timeline.Restore(std::string(rows.Bytes(1)), std::move(value), {rows.Int(2)},
                     {rows.Int(0) / kIdsPerRevision}, forgotten);
  }
  Forget(std::move(forgotten), timeline.oldest_revision());
  return {};
}

Status LogFile::Append(const std::vector<Event>& events) {
  DRAY_RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  // Twice as many deletions as writes, so that the rest shrinks, but no commit is long for it.
  const std::size_t deletions = std::min(forgotten_.size(), 2 * events.size() + 64);
  Status status = Insert(events);
  if (status.ok()) status = DeleteForgotten(deletions);
  if (status.ok()) status = database_.Execute("COMMIT");
  if (!status.ok()) {
    database_.Rollback();
    return status;
  }
  forgotten_.erase(forgotten_.begin(), forgotten_.begin() + static_cast<std::ptrdiff_t>(deletions));
  return {};
}

Status LogFile::Fill(const std::vector<Event>& events, Revision oldest) {
  DRAY_RETURN_IF_ERROR(database_.Execute("BEGIN IMMEDIATE"));
  DRAY_RETURN_IF_ERROR(Insert(events));
  set_compacted_.BindInt(1, oldest.value);
  DRAY_RETURN_IF_ERROR(set_compacted_.Run());
  DRAY_RETURN_IF_ERROR(database_.Execute("COMMIT"));
  return database_.Checkpoint();
}

Status LogFile::Insert(const std::vector<Event>& events) {
  std::int64_t id = 0;
  for (const Event& event : events) {
    id = std::max(id + 1, event.revision().value * kIdsPerRevision);
    insert_.BindInt(1, id);
    insert_.BindText(2, event.entry->key);
    insert_.BindInt(3, event.entry->created.value);
    if (event.deleted) {
      insert_.BindNull(4);
    } else {
      insert_.BindBlob(4, *event.entry->value);
    }
    DRAY_RETURN_IF_ERROR(insert_.Run());
  }
  return {};
}

// With the deletions goes where the history begins: what is left of it after a restart is whole.
Status LogFile::DeleteForgotten(std::size_t limit) {
  if (limit == 0) return {};
  for (std::size_t i = 0; i < limit; ++i) {
    const std::int64_t id = forgotten_[i].revision.value * kIdsPerRevision;
    delete_.BindInt(1, id);
    delete_.BindInt(2, id + kIdsPerRevision - 1);
    delete_.BindText(3, forgotten_[i].key);
    DRAY_RETURN_IF_ERROR(delete_.Run());
  }
  set_compacted_.BindInt(1, oldest_.value);
  return set_compacted_.Run();
}

void LogFile::Forget(std::vector<internal::Forgotten> versions, Revision oldest) {
  std::ranges::move(versions, std::back_inserter(forgotten_));
  oldest_ = oldest;
}

Status LogFile::Tidy() {
  if (wal_pages_ < max_wal_pages_) return {};
  DRAY_RETURN_IF_ERROR(database_.Checkpoint());
  wal_pages_ = 0;
  return {};
}

}  // namespace dray::store

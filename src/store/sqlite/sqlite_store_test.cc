// SPDX-License-Identifier: Apache-2.0
//
// What is special about the store in a file: it is there again.
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/mutex.h"
#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SqliteStoreTest : public ::testing::Test {
 protected:
  void Open(HistoryOptions history = {}) {
    store_ = nullptr;
    store_ = OpenSqlite(folder_, history);
    ASSERT_NE(store_, nullptr);
  }
  Status TryOpen() { return OpenSqliteStore({.path = file_}).status(); }
  void Put(std::string key, std::string value) {
    ASSERT_THAT(store_->CommitAndWait(Transaction().Put(std::move(key), std::move(value))), IsOk());
  }
  void Delete(std::string key) {
    ASSERT_THAT(store_->CommitAndWait(Transaction().Delete(std::move(key))), IsOk());
  }
  std::string All() { return Show(store_->Range("")); }
  // The answer of SQLite itself, of a store that is closed.
  int Sql(const std::string& sql) {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(file_.c_str(), &handle), SQLITE_OK);
    int answer = -1;
    sqlite3_exec(
        handle, sql.c_str(),
        [](void* out, int, char** columns, char**) {
          *static_cast<int*>(out) = std::stoi(columns[0]);
          return 0;
        },
        &answer, nullptr);
    sqlite3_close(handle);
    return answer;
  }

  TempFolder folder_;
  const std::string file_ = folder_.File("store.db");
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, EveryGroupThatIsWrittenIsReported) {
  base::Mutex mutex;
  std::size_t transactions = 0;
  std::size_t changes = 0;
  std::size_t failed = 0;
  auto store = OpenSqliteStore({.path = file_, .on_commit = [&](const CommitReport& report) {
                                  const base::MutexLock lock(mutex);
                                  transactions += report.transactions;
                                  changes += report.changes;
                                  failed += report.ok ? 0 : 1;
                                }});
  ASSERT_THAT(store, IsOk());
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT((*store)->CommitAndWait(Transaction().Put("a", "1").Put("b", "2")), IsOk());
  }
  const base::MutexLock lock(mutex);
  EXPECT_EQ(transactions, 5u);
  EXPECT_EQ(changes, 10u);
  EXPECT_EQ(failed, 0u);
}

TEST_F(SqliteStoreTest, IsThereAgainAfterARestart) {
  Open();
  Put("a", "1");
  Put("b", "1");
  Put("a", "2");
  Delete("b");
  Open();
  EXPECT_EQ(All(), "a=2");
  EXPECT_EQ(store_->revision(), Revision{4});
  EXPECT_EQ(store_->Find("a")->created, Revision{1});
  EXPECT_EQ(store_->Find("a")->modified, Revision{3});
  EXPECT_EQ(store_->Find("a")->attachment, nullptr);
  Put("c", "1");
  EXPECT_EQ(store_->revision(), Revision{5});
}

TEST_F(SqliteStoreTest, WatchesGoOnAfterARestart) {
  Open();
  Put("a", "1");
  ASSERT_THAT(store_->CommitAndWait(Transaction().Put("b", "1").Put("c", "1")), IsOk());
  Put("a", "2");
  Delete("b");
  Open();
  EXPECT_EQ(Show((*store_->WatchFrom("", Revision{1}, [] {}))->Next(10)), "+b=1 +c=1 ~a=2 -b=1");
  EXPECT_EQ(Show(store_->Range("", {.at = Revision{2}})), "a=1 b=1 c=1");
}

TEST_F(SqliteStoreTest, VersionsThatHistoryLetGoLeaveTheFile) {
  Open({.events = 10});
  for (int i = 0; i < 500; ++i) Put("a", std::to_string(i));
  Put("b", "1");
  Delete("b");
  for (int i = 0; i < 20; ++i) Put("a", std::to_string(i));
  const Revision revision = store_->revision();
  const Revision oldest = store_->oldest_revision();
  store_ = nullptr;
  // The ten of the history, the one before each of them, and a few that went last.
  EXPECT_LE(Sql("SELECT count(*) FROM log"), 16);
  EXPECT_EQ(Sql("SELECT count(*) FROM log WHERE key='b'"), 0);
  Open({.events = 10});
  EXPECT_EQ(All(), "a=19");
  EXPECT_EQ(store_->revision(), revision);
  EXPECT_EQ(store_->oldest_revision(), oldest);
  EXPECT_THAT(store_->WatchFrom("", Revision{1}, [] {}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted")));
}

TEST_F(SqliteStoreTest, RevisionsNeverGoBackEvenWhenEverythingIsGone) {
  Open({.events = 1});
  for (int i = 0; i < 10; ++i) Put("a", "1");
  Delete("a");
  ASSERT_THAT(store_->CommitAndWait(Transaction().Put("b", "1").Put("c", "1")), IsOk());
  ASSERT_THAT(store_->CommitAndWait(Transaction().Delete("b").Delete("c")), IsOk());
  Open({.events = 1});
  EXPECT_EQ(store_->revision(), Revision{13});
  EXPECT_EQ(All(), "");
}

TEST_F(SqliteStoreTest, ASmallerHistoryIsCutWhenOpened) {
  Open();
  for (int i = 0; i < 10; ++i) Put("a", std::to_string(i));
  Open({.events = 3});
  EXPECT_EQ(store_->oldest_revision(), Revision{7});
  EXPECT_EQ(Show((*store_->WatchFrom("", Revision{7}, [] {}))->Next(10)), "~a=7 ~a=8 ~a=9");
  Put("a", "x");
  store_ = nullptr;
  EXPECT_LE(Sql("SELECT count(*) FROM log"), 5);
}

TEST_F(SqliteStoreTest, TheFileIsNotForOthers) {
  Open();
  Put("a", "1");
  for (const char* suffix : {"", "-wal"}) {
    EXPECT_EQ(std::filesystem::status(file_ + suffix).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << suffix;
  }
}

TEST_F(SqliteStoreTest, AFileBelongsToOneStore) {
  Open();
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr(file_), HasSubstr("in use by another process"))));
  Put("a", "1");
  store_ = nullptr;
  EXPECT_THAT(TryOpen(), IsOk());
}

TEST_F(SqliteStoreTest, ADamagedFileIsNotOpened) {
  Open();
  for (int i = 0; i < 100; ++i) Put("k" + std::to_string(i), std::string(2000, 'x'));
  store_ = nullptr;
  {
    std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(3 * 16384);
    file << std::string(200, '\x5a');
  }
  EXPECT_THAT(TryOpen(),
              StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr(file_), HasSubstr("damaged"))));
}

TEST_F(SqliteStoreTest, WhatIsNoStoreIsNotTouched) {
  std::ofstream(file_)
      << "This is a letter to my aunt, and not a short one at that, so that it has "
         "more than a hundred bytes to read.\n";
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kDataLoss, HasSubstr("not a database")));
  std::filesystem::remove(file_);
  Sql("CREATE TABLE aunts(name TEXT)");
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another program")));
}

TEST_F(SqliteStoreTest, AFormatOfTheFutureIsRefused) {
  Open();
  store_ = nullptr;
  Sql("PRAGMA user_version=7");
  EXPECT_THAT(TryOpen(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has format 7")));
}

TEST_F(SqliteStoreTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(OpenSqliteStore({.path = folder_.File("no/store.db")}),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no/store.db"), HasSubstr("No such file"))));
}

TEST_F(SqliteStoreTest, WhatWasHandedOverIsCommittedBeforeTheEnd) {
  Open();
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    store_->Commit(Transaction().Put("k" + std::to_string(i), "1"),
                   [&](StatusOr<Outcome> outcome) { done += outcome.ok() ? 1 : 0; });
  }
  Open();
  EXPECT_EQ(done, 100);
  EXPECT_EQ(store_->Range("")->entries.size(), 100u);
}

TEST_F(SqliteStoreTest, ABackupHoldsWhatIsThereAndGoesOnFromItsRevision) {
  Open();
  Put("a", "1");
  Put("b", "1");
  Put("a", "2");
  ASSERT_THAT(store_->CommitAndWait(Transaction().Put("c", "1").Put("d", "1")), IsOk());
  Delete("b");
  const std::string before = All();
  const std::string copy = folder_.File("copy.db");
  ASSERT_THAT(WriteBackup(*store_, copy), IsOk());
  Put("a", "later");

  auto restored = OpenSqliteStore({.path = copy});
  ASSERT_THAT(restored, IsOk());
  EXPECT_EQ(Show((*restored)->Range("")), before);
  EXPECT_EQ((*restored)->revision().value, 5);
  EXPECT_THAT((*restored)->Range("", {.at = Revision{4}}),
              StatusIs(StatusCode::kOutOfRange, ::testing::_));
  ASSERT_THAT((*restored)->CommitAndWait(Transaction().Put("e", "1")), IsOk());
  EXPECT_EQ((*restored)->revision().value, 6);
}

TEST_F(SqliteStoreTest, ABackupIsOneFileAndOverwritesNone) {
  Open();
  Put("a", "1");
  const std::string copy = folder_.File("copy.db");
  ASSERT_THAT(WriteBackup(*store_, copy), IsOk());
  EXPECT_FALSE(std::filesystem::exists(copy + "-wal"));
  EXPECT_THAT(WriteBackup(*store_, copy),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("already")));
}

// Whoever wrote it was killed: what there is of it has another name, and is in nobody's way.
TEST_F(SqliteStoreTest, ABackupHasItsNameWhenItIsWhole) {
  Open();
  Put("a", "1");
  const std::string copy = folder_.File("copy.db");
  ASSERT_THAT(WriteBackup(*store_, folder_.File("other.db")), IsOk());
  std::filesystem::rename(folder_.File("other.db"), copy + ".part");
  std::ofstream(copy + ".part-wal") << "of somebody else";
  EXPECT_FALSE(std::filesystem::exists(copy));
  Put("a", "2");
  ASSERT_THAT(WriteBackup(*store_, copy), IsOk());
  EXPECT_FALSE(std::filesystem::exists(copy + ".part"));
  EXPECT_FALSE(std::filesystem::exists(copy + ".part-wal"));
  EXPECT_EQ(*(*OpenSqliteStore({.path = copy}))->Find("a")->value, "2");
}

TEST_F(SqliteStoreTest, ABackupThatCannotBeWrittenLeavesNothing) {
  Open();
  Put("a", "1");
  EXPECT_FALSE(WriteBackup(*store_, folder_.File("missing/copy.db")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.File("missing")));
}

}  // namespace
}  // namespace dray::store

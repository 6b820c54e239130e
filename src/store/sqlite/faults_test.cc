// SPDX-License-Identifier: Apache-2.0
//
// What happens when the disk does not do as it should.
#include <filesystem>
#include <string>

#include "store/sqlite/faulty_files_for_test.h"
#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

class SqliteFaults : public ::testing::Test {
 protected:
  void Open(SqliteOptions options = {}) {
    store_ = nullptr;
    options.path = folder_.File("store.db");
    options.vfs = files_.name();
    auto store = OpenSqliteStore(options);
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }
  StatusOr<Outcome> Put(std::string key, std::string value) {
    return store_->CommitAndWait(Transaction().Put(std::move(key), std::move(value)));
  }
  std::string All() { return Show(store_->Range("")); }

  TempFolder folder_;
  FaultyFiles files_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteFaults, AFullDiskFailsOnlyTheCommitsThatItHits) {
  Open();
  EXPECT_THAT(Put("a", "1"), IsOk());
  auto watch = *store_->WatchFrom("", Revision{1}, [] {});
  files_.full = true;
  EXPECT_THAT(Put("a", "2"), StatusIs(StatusCode::kResourceExhausted, HasSubstr("disk is full")));
  EXPECT_THAT(Put("b", "2"), StatusIs(StatusCode::kResourceExhausted, HasSubstr("disk is full")));
  EXPECT_EQ(All(), "a=1");
  EXPECT_EQ(store_->revision(), Revision{1});
  EXPECT_EQ(Show(watch->Next(10)), "");
  EXPECT_THAT(store_->Health(), IsOk());
  files_.full = false;
  EXPECT_THAT(Put("c", "3"), IsOk());
  EXPECT_EQ(Show(watch->Next(10)), "+c=3");
  Open();
  EXPECT_EQ(All(), "a=1 c=3");
}

// After a failed sync the kernel may have thrown the data away and say "synced" next time, so there
// must not be a next time.
TEST_F(SqliteFaults, AfterAFailedSyncNothingIsAcknowledgedAnyMore) {
  Open();
  EXPECT_THAT(Put("a", "1"), IsOk());
  files_.sync_fails = true;
  EXPECT_THAT(Put("a", "2"), StatusIs(StatusCode::kUnavailable, HasSubstr("disk I/O error")));
  files_.sync_fails = false;
  EXPECT_THAT(Put("b", "1"), StatusIs(StatusCode::kUnavailable, HasSubstr("storage failed")));
  EXPECT_THAT(store_->Health(), StatusIs(StatusCode::kUnavailable, HasSubstr("restart")));
  EXPECT_EQ(All(), "a=1");
  Open();
  EXPECT_THAT(store_->Health(), IsOk());
  EXPECT_EQ(store_->Find("b"), nullptr);
  ASSERT_NE(store_->Find("a"), nullptr);
  EXPECT_THAT(Put("b", "1"), IsOk());
}

TEST_F(SqliteFaults, AFailedWriteStopsTheStoreToo) {
  Open();
  EXPECT_THAT(Put("a", "1"), IsOk());
  files_.write_fails = true;
  EXPECT_THAT(Put("a", "2"), StatusIs(StatusCode::kUnavailable, HasSubstr("disk I/O error")));
  EXPECT_FALSE(store_->Health().ok());
  files_.write_fails = false;
  Open();
  EXPECT_EQ(All(), "a=1");
}

TEST_F(SqliteFaults, AStoreThatCannotBeMadeSaysSo) {
  files_.full = true;
  EXPECT_THAT(OpenSqliteStore({.path = folder_.File("store.db"), .vfs = files_.name()}),
              StatusIs(StatusCode::kResourceExhausted,
                       ::testing::AllOf(HasSubstr("store.db"), HasSubstr("disk is full"))));
}

// What was synced is what a power cut leaves, and of the rest any part may be there. At every sync
// and acknowledgement, so also while the write-ahead log moves into the file, that much must hold
// what was acknowledged.
TEST_F(SqliteFaults, APowerCutLosesNothingThatWasAcknowledged) {
  struct Cut {
    TempFolder folder;
    int acknowledged = 0;
  };
  std::vector<std::unique_ptr<Cut>> cuts;
  int acknowledged = 0;
  files_.copy_synced = true;
  const auto cut_power = [&] {
    for (const bool file_is_synced : {true, false}) {
      const Cut& cut = *cuts.emplace_back(new Cut{.acknowledged = acknowledged});
      const auto copy = [&](const std::string& from, const char* name) {
        if (std::filesystem::exists(from)) std::filesystem::copy_file(from, cut.folder.File(name));
      };
      copy(folder_.File("store.db") + (file_is_synced ? ".synced" : ""), "store.db");
      copy(folder_.File("store.db-wal") + ".synced", "store.db-wal");
    }
  };
  files_.after_sync = cut_power;
  Open({.wal_bytes = 100'000});
  for (int i = 0; i < 40; ++i) {
    store_->Commit(Transaction().Put("k" + std::to_string(i), std::string(10'000, 'x')),
                   [&](StatusOr<Outcome> outcome) {
                     acknowledged += outcome.ok() ? 1 : 0;
                     if (acknowledged % 4 == 0) cut_power();
                   });
    // Waits, so that the batches are small and there are several.
    if (i % 3 == 0) {
      ASSERT_THAT(Put("last", std::to_string(i)), IsOk());
    }
  }
  store_ = nullptr;
  ASSERT_EQ(acknowledged, 40);
  files_.after_sync = nullptr;
  int not_empty = 0;
  for (const auto& cut : cuts) {
    const auto store = OpenSqlite(cut->folder);
    ASSERT_NE(store, nullptr);
    for (int i = 0; i < cut->acknowledged; ++i) {
      ASSERT_NE(store->Find("k" + std::to_string(i)), nullptr) << i << " of " << cut->acknowledged;
    }
    not_empty += cut->acknowledged > 0 ? 1 : 0;
  }
  EXPECT_GT(not_empty, 20);
}

}  // namespace
}  // namespace dray::store

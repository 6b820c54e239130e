// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "store/etcd/etcd_for_test.h"
#include "store/etcd/plain_etcd_for_test.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

// Old clients have seen revisions of the file: those of etcd must not be taken for them.
TEST(EtcdAcceptanceCopy, Row39AFileGoesToEtcdAndBack) {
  DRAY_NEEDS_ETCD();
  const TempFolder folder;
  EtcdCluster own;
  const auto file = OpenSqlite(folder);
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string value(random() % 4000, 'x');
    std::ranges::generate(value, [&] { return static_cast<char>(random()); });
    const std::string key = i % 7 == 0 ? "odd" + std::to_string(i % 500)
                                       : "/registry/pods/ns/" + std::to_string(i % 900);
    ASSERT_THAT(file->CommitAndWait(Transaction().Put(key, value)), IsOk());
  }
  const EtcdOptions options{.address = own.Address("/dray")};
  const auto copied = CopyToEtcd(*file, options, [](const std::string&) {});
  ASSERT_THAT(copied, IsOk());
  EXPECT_EQ(copied->keys, file->Range("")->entries.size());
  {
    auto opened = OpenEtcdStore(options);
    ASSERT_THAT(opened, IsOk());
    Store& store = **opened;
    EXPECT_THAT(CompareStores(*file, store), IsOk());
    // Whatever an old client has seen, it has to list anew.
    EXPECT_GT(store.oldest_revision(), file->revision());
    EXPECT_THAT(store.WatchFrom("", file->revision(), [] {}),
                StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted")));
    EXPECT_THAT(store.Range("", {.at = Revision{5}}),
                StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted")));
    ASSERT_THAT(WriteBackup(store, folder.File("back.db")), IsOk());
  }
  const auto back = OpenSqliteStore({.path = folder.File("back.db")});
  ASSERT_THAT(back, IsOk());
  EXPECT_THAT(CompareStores(*file, **back), IsOk());
  // Once is enough.
  EXPECT_THAT(CopyToEtcd(*file, options, [](const std::string&) {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("keys already"), HasSubstr("etcdctl del --prefix /dray/"))));
}

// A copy that is killed leaves a part, which nobody takes for all of it; the next one begins anew. One of
// the endpoints that are named may be away meanwhile.
TEST(EtcdCopy, OneThatWasInterruptedIsNotServedAndDoneAgain) {
  DRAY_NEEDS_ETCD();
  EtcdCluster own;
  EtcdOptions options{.address = own.Address("/dray")};
  options.address.endpoints.insert(options.address.endpoints.begin(), {.address = "127.0.0.1:1"});
  const auto file = MakeMemoryStore();
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(file->CommitAndWait(Transaction().Put("k" + std::to_string(i), "new")), IsOk());
  }
  {
    // What it leaves when it is killed: its mark, and some keys.
    PlainEtcd plain(own.client(0));
    plain.Put("/dray/_unfinished", "copied");
    plain.Put("/dray/~k7", "new");
    plain.Put("/dray/~gone", "old");
  }
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("/dray/ in etcd has a part"), HasSubstr("run it again"))));
  EXPECT_THAT(CopyToEtcd(*file, options, [](const std::string&) {}), IsOk());
  const auto copy = OpenEtcdStore(options);
  ASSERT_THAT(copy, IsOk());
  EXPECT_THAT(CompareStores(*file, **copy), IsOk());
  EXPECT_EQ((*copy)->Find("gone"), nullptr);
}

TEST(CompareStores, NamesTheFirstKeyThatDiffers) {
  const auto with = [](std::vector<std::pair<std::string, std::string>> keys) {
    auto store = MakeMemoryStore();
    for (const auto& [key, value] : keys) {
      EXPECT_THAT(store->CommitAndWait(Transaction().Put(key, value)), IsOk());
    }
    return store;
  };
  const auto one = with({{"a", "1"}, {"b", "2"}});
  EXPECT_THAT(CompareStores(*one, *with({{"b", "2"}, {"a", "1"}})), IsOk());
  EXPECT_THAT(CompareStores(*one, *with({{"a", "1"}})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"b\" is missing")));
  EXPECT_THAT(CompareStores(*one, *with({{"b", "2"}})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"a\" is missing")));
  EXPECT_THAT(CompareStores(*one, *with({{"a", "1"}, {"b", "3"}})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"b\" has another value")));
  EXPECT_THAT(CompareStores(*one, *with({{"a", "1"}, {"aa", "1"}, {"b", "2"}})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("\"aa\" is there")));
}

}  // namespace
}  // namespace dray::store

// SPDX-License-Identifier: Apache-2.0
//
// What is submitted: answered before it is durable, in order with everything else.
#include <future>
#include <string>
#include <vector>

#include "store/early_store.h"
#include "store/sqlite/faulty_files_for_test.h"
#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

using SubmitContract = StoreTest;
INSTANTIATE_TEST_SUITE_P(All, SubmitContract, ::testing::ValuesIn(AllStores()), MakerName);

TEST_P(SubmitContract, TheNextOneIsCheckedAgainstTheOneBefore) {
  Revision last;
  for (int i = 0; i < 100; ++i) {
    const auto outcome = store().early()->Submit(Transaction().Put("a", std::to_string(i), last));
    ASSERT_THAT(outcome, IsOk());
    ASSERT_EQ(outcome->conflict, std::nullopt) << i;
    EXPECT_EQ(outcome->revision.value, last.value + 1);
    last = outcome->revision;
    ASSERT_NE(store().early()->Find("a"), nullptr);
    EXPECT_EQ(store().early()->Find("a")->modified, last);
  }
  const auto late = store().early()->Submit(Transaction().Put("a", "late", Revision{1}));
  ASSERT_THAT(late, IsOk());
  ASSERT_TRUE(late->conflict.has_value());
  EXPECT_EQ(late->conflict->actual, last);
}

TEST_P(SubmitContract, CommitsComeAfterWhatWasSubmittedBefore) {
  ASSERT_THAT(store().early()->Submit(Transaction().Put("a", "1")), IsOk());
  const auto outcome = store().CommitAndWait(Transaction().Put("a", "2", Revision{1}));
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->conflict, std::nullopt);
  EXPECT_EQ(All(), "a=2");
  auto watch = WatchFrom("", Revision{});
  EXPECT_EQ(Show(watch->Next(10)), "+a=1 ~a=2");
}

TEST_P(SubmitContract, ADeletedKeyIsGoneAtOnceAndCanComeBack) {
  Put("a", "1");
  ASSERT_THAT(store().early()->Submit(Transaction().Delete("a")), IsOk());
  EXPECT_EQ(store().early()->Find("a"), nullptr);
  ASSERT_THAT(store().early()->Submit(Transaction().Put("a", "2", Revision{})), IsOk());
  EXPECT_EQ(*store().early()->Find("a")->value, "2");
  Put("b", "1");
  EXPECT_EQ(All(), "a=2 b=1");
}

TEST_P(SubmitContract, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(store().early()->Submit(Transaction()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
}

TEST_P(SubmitContract, AnEarlyStoreReadsItsOwnWrites) {
  const auto early = MakeEarlyStore(store());
  const auto outcome = early->CommitAndWait(Transaction().Put("a", "1"));
  ASSERT_THAT(outcome, IsOk());
  ASSERT_NE(early->Find("a"), nullptr);
  EXPECT_EQ(early->Find("a")->modified, outcome->revision);
}

// The disk stands still: what was submitted can be built on, and nobody else sees it.
TEST(SubmitToSqlite, NobodyElseSeesWhatIsNotDurable) {
  TempFolder folder;
  // The store syncs once more when it ends: what it calls then outlives it.
  std::promise<void> reached;
  std::promise<void> go_on;
  bool first = true;
  FaultyFiles files;
  auto opened = OpenSqliteStore({.path = folder.File("store.db"), .vfs = files.name()});
  ASSERT_THAT(opened, IsOk());
  Store& store = **opened;
  files.copy_synced = true;  // which is what tells of syncs
  files.after_sync = [&] {
    if (!std::exchange(first, false)) return;
    reached.set_value();
    go_on.get_future().wait();
  };
  auto watch = *store.WatchFrom("", Revision{}, [] {});
  const auto one = store.early()->Submit(Transaction().Put("a", "1"));
  ASSERT_THAT(one, IsOk());
  reached.get_future().wait();
  const auto two = store.early()->Submit(Transaction().Put("a", "2", one->revision));
  ASSERT_THAT(two, IsOk());
  EXPECT_EQ(two->conflict, std::nullopt);
  EXPECT_EQ(store.Find("a"), nullptr);
  EXPECT_EQ(store.revision(), Revision{});
  EXPECT_EQ(Show(watch->Next(10)), "");
  EXPECT_EQ(*store.early()->Find("a")->value, "2");
  std::promise<StatusOr<Outcome>> conflict;
  store.Commit(Transaction().Put("a", "x", Revision{}),
               [&](StatusOr<Outcome> outcome) { conflict.set_value(std::move(outcome)); });
  auto answered = conflict.get_future();
  EXPECT_EQ(answered.wait_for(std::chrono::milliseconds(1)), std::future_status::timeout);
  go_on.set_value();
  const auto outcome = answered.get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->conflict.has_value());
  EXPECT_EQ(*store.Find("a")->value, "2");
}

TEST(SubmitToSqlite, AFullDiskEndsAStoreThatHasPromisedSomething) {
  TempFolder folder;
  FaultyFiles files;
  auto opened = OpenSqliteStore({.path = folder.File("store.db"), .vfs = files.name()});
  ASSERT_THAT(opened, IsOk());
  Store& store = **opened;
  ASSERT_THAT(store.CommitAndWait(Transaction().Put("a", "1")), IsOk());
  files.full = true;
  ASSERT_THAT(store.early()->Submit(Transaction().Put("a", "2")), IsOk());
  EXPECT_FALSE(store.CommitAndWait(Transaction().Put("b", "1")).ok());
  files.full = false;
  EXPECT_FALSE(store.Health().ok());
  EXPECT_FALSE(store.early()->Submit(Transaction().Put("b", "1")).ok());
  EXPECT_EQ(*store.Find("a")->value, "1");
  EXPECT_EQ(*store.early()->Find("a")->value, "1");
}

}  // namespace
}  // namespace dray::store

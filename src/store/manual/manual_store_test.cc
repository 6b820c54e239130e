// SPDX-License-Identifier: Apache-2.0
#include "store/manual/manual_store.h"

#include <optional>
#include <string>
#include <vector>

#include "store/early_store.h"
#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

class ManualStoreTest : public ::testing::Test {
 protected:
  ManualStoreTest() {
    disk_.automatic = false;
    Open();
  }
  void Open(bool early = true) {
    store_ = nullptr;
    store_ = MakeManualStore(disk_, {.early = early});
  }
  // "done", "conflict" or what went wrong, once it is answered.
  void Put(const std::string& key, const std::string& value,
           std::optional<Revision> expected = std::nullopt) {
    store_->Commit(Transaction().Put(key, value, expected), [this](StatusOr<Outcome> outcome) {
      told_ += outcome.ok() ? (outcome->conflict ? "conflict " : "done ")
                            : std::string(base::Message(outcome.status())) + " ";
    });
  }

  ManualDisk disk_;
  std::unique_ptr<Store> store_;
  std::string told_;
};

TEST_F(ManualStoreTest, NothingIsDurableUnlessItIsSaid) {
  Put("a", "1");
  Put("a", "2", Revision{1});
  Put("a", "3", Revision{1});
  EXPECT_EQ(disk_.pending(), 3u);
  EXPECT_EQ(store_->Find("a"), nullptr);
  EXPECT_EQ(*store_->early()->Find("a")->value, "2");
  disk_.Write(1);
  EXPECT_EQ(told_, "done ");
  EXPECT_EQ(Show(store_->Range("")), "a=1");
  disk_.Write();
  EXPECT_EQ(told_, "done done conflict ");
  EXPECT_EQ(disk_.pending(), 0u);
}

TEST_F(ManualStoreTest, ARestartGoesOnFromWhatIsDurable) {
  Put("a", "1");
  Put("b", "1");
  disk_.Write();
  store_->Commit(Transaction().Delete("b"), [](const StatusOr<Outcome>&) {});
  disk_.Write();
  Put("c", "1");
  disk_.Crash();
  told_.clear();
  Put("d", "1");
  EXPECT_THAT(told_, HasSubstr("the process has ended"));
  Open();
  EXPECT_EQ(Show(store_->Range("")), "a=1");
  EXPECT_EQ(store_->revision(), Revision{3});
  EXPECT_EQ(Show((*store_->WatchFrom("", Revision{}, [] {}))->Next(10)), "+a=1 +b=1 -b=1");
  // Without a crash what is pending is written.
  Put("e", "1");
  Open();
  EXPECT_EQ(Show(store_->Range("")), "a=1 e=1");
}

TEST_F(ManualStoreTest, TheDiskKeepsWhatTheHistoryKeeps) {
  disk_.automatic = true;
  store_ = nullptr;
  store_ = MakeManualStore(disk_, {.history = {.events = 3}});
  for (int i = 0; i < 10; ++i) Put(i % 2 == 0 ? "a" : "b", std::to_string(i));
  const Revision oldest = store_->oldest_revision();
  store_ = nullptr;
  store_ = MakeManualStore(disk_, {.history = {.events = 3}});
  EXPECT_EQ(store_->oldest_revision(), oldest);
  EXPECT_EQ(Show(store_->Range("")), "a=8 b=9");
}

TEST_F(ManualStoreTest, AFullDiskRefusesAndGoesOn) {
  Put("a", "1");
  disk_.FailNext({.status = base::MakeStatus(StatusCode::kResourceExhausted, "full")});
  disk_.Write();
  EXPECT_EQ(told_, "full ");
  Put("a", "2", Revision{});
  disk_.Write();
  EXPECT_EQ(told_, "full done ");
}

TEST_F(ManualStoreTest, AFailureThatIsNotUnderstoodEndsTheStore) {
  for (const bool written : {false, true}) {
    told_.clear();
    Put(written ? "w" : "n", "1");
    disk_.FailNext({.status = base::Unavailable("torn"), .written = written});
    disk_.Write();
    EXPECT_EQ(told_, "torn ");
    EXPECT_FALSE(store_->Health().ok());
    Open();
  }
  EXPECT_EQ(Show(store_->Range("")), "w=1");
}

TEST_F(ManualStoreTest, ALostAnswerOfALogThatGoesOnIsSeenLater) {
  Open(/*early=*/false);
  EXPECT_EQ(store_->early(), nullptr);
  Put("a", "1");
  disk_.FailNext({.status = base::Unavailable("lost"), .written = true, .goes_on = true});
  disk_.Write();
  EXPECT_EQ(told_, "lost ");
  EXPECT_EQ(Show(store_->Range("")), "a=1");
  Put("b", "1");
  disk_.FailNext({.status = base::Unavailable("lost"), .written = false, .goes_on = true});
  disk_.Write();
  Put("b", "2", Revision{});
  disk_.Write();
  EXPECT_EQ(told_, "lost lost done ");
  EXPECT_EQ(Show(store_->Range("")), "a=1 b=2");
}

TEST_F(ManualStoreTest, WhatSomebodyElsePutThereIsFound) {
  int queued = 0;
  disk_.on_queued = [&] { ++queued; };
  Put("a", "1");
  EXPECT_EQ(queued, 1);
  store_ = nullptr;
  disk_.Plant("a", "2");
  disk_.Plant("b", "?");
  EXPECT_EQ(disk_.entries(), (std::map<std::string, std::string>{{"a", "2"}, {"b", "?"}}));
  Open();
  EXPECT_EQ(Show(store_->Range("")), "a=2 b=?");
  EXPECT_EQ(store_->Find("a")->created, Revision{1});
  EXPECT_EQ(store_->revision(), Revision{3});
}

TEST_F(ManualStoreTest, ACallbackMayWrite) {
  disk_.automatic = true;
  store_->Commit(Transaction().Put("a", "1"), [this](const StatusOr<Outcome>& first) {
    ASSERT_THAT(first, IsOk());
    Put("b", "1");
  });
  EXPECT_EQ(told_, "done ");
  EXPECT_EQ(Show(store_->Range("")), "a=1 b=1");
}

TEST_F(ManualStoreTest, WhatWasToldEarlyAndIsNotThereEndsTheStore) {
  ASSERT_THAT(store_->early()->Submit(Transaction().Put("a", "1")), IsOk());
  disk_.FailNext({.status = base::MakeStatus(StatusCode::kResourceExhausted, "full")});
  disk_.Write();
  EXPECT_THAT(store_->early()->Submit(Transaction().Put("a", "2")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("storage failed")));
}

}  // namespace
}  // namespace dray::store

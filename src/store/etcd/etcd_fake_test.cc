// SPDX-License-Identifier: Apache-2.0
//
// What is rare with a real etcd, against one that does as it is told: the rows of docs/spec/etcd.md
// chapter 5 that need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "store/etcd/etcd_fake_store_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using rpc::FakeEtcd;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

const Status kEof = base::Unavailable("Socket closed");

TEST_F(EtcdAcceptance, Row13AnEventMayComeBeforeItsAnswer) {
  Store& store = Open();
  std::atomic<bool> hold = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    while (hold && method == "Txn" && when == When::kAfter) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return Status();
  });
  int attached = 0;
  std::atomic<int> done = 0;
  store.Commit(Transaction().Put("a", "1", std::nullopt,
                                 [&](const Entry&) {
                                   ++attached;
                                   return std::make_shared<int>(1);
                                 }),
               [&](const StatusOr<Outcome>& outcome) {
                 EXPECT_THAT(outcome, IsOk());
                 ++done;
               });
  ASSERT_TRUE(Eventually([&] { return store.Find("a") != nullptr; }));
  EXPECT_NE(store.Find("a")->attachment, nullptr);
  EXPECT_EQ(done, 0);
  hold = false;
  ASSERT_TRUE(Eventually([&] { return done == 1; }));
  EXPECT_EQ(attached, 1);
  EXPECT_EQ(counts_.fences, 0u);
}

TEST_F(EtcdAcceptance, Row14AnAnswerWaitsForTheWatch) {
  Store& store = Open();
  etcd_.HoldWatches(true);
  auto answer = Commit(Transaction().Put("a", "1"));
  EXPECT_EQ(answer.wait_for(seconds(2)), std::future_status::timeout);
  EXPECT_EQ(store.Find("a"), nullptr);
  etcd_.HoldWatches(false);
  const auto outcome = answer.get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(store.Find("a")->modified, outcome->revision);
}

TEST_F(EtcdAcceptance, Row17WhatCannotBeKnownToBeCurrentIsNotShownAsIfItWere) {
  Open();
  etcd_.HoldWatches(true);
  etcd_.Put("/dray/~a", "by somebody else");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(Current(), StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("")));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, milliseconds(2900));
  EXPECT_LT(took, seconds(30));
  etcd_.HoldWatches(false);
  EXPECT_THAT(Current(), IsOk());
  EXPECT_NE(store_->Find("a"), nullptr);
}

TEST_F(EtcdAcceptance, Row18WhatHappenedThoughItsAnswerWasLostIsDoneOnce) {
  Store& store = Open();
  FailOnce("Txn", When::kAfter, kEof);
  const auto outcome = Commit(Transaction().Put("a", "1").Put("b", "2")).get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(store.Find("a")->modified, outcome->revision);
  EXPECT_EQ(etcd_.Get("/dray/~a")->modified, outcome->revision.value);
  EXPECT_EQ(etcd_.Get("/dray/~a")->created, outcome->revision.value);
  EXPECT_EQ(counts_.fences, 1u);
  ASSERT_EQ(outcome->entries.size(), 2u);
  EXPECT_EQ(*outcome->entries[1]->value, "2");
}

// A deletion, and one that only compares.
TEST_F(EtcdAcceptance, Row18AlsoOfDeletions) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  FailOnce("Txn", When::kAfter, kEof);
  const auto gone = Commit(Transaction().Delete("a")).get();
  ASSERT_THAT(gone, IsOk());
  EXPECT_EQ(gone->conflict, std::nullopt);
  EXPECT_EQ(store.Find("a"), nullptr);
  FailOnce("Txn", When::kAfter, kEof);
  const auto check = Commit(Transaction().Check("a", Revision{})).get();
  ASSERT_THAT(check, IsOk());
  EXPECT_EQ(check->conflict, std::nullopt);
}

// What another server did looks the same as what was asked for here, and was first.
TEST_F(EtcdAcceptance, Row18WhatAnotherDidIsNotTakenForWhatWasLost) {
  Store& store = Open();
  for (const bool deletes : {true, false}) {
    SCOPED_TRACE(deletes ? "a deletion" : "the same bytes");
    const auto made = Commit(Transaction().Put("a", "1")).get();
    ASSERT_THAT(made, IsOk());
    etcd_.HoldWatches(true);
    const std::int64_t theirs = deletes ? etcd_.Delete("/dray/~a") : etcd_.Put("/dray/~a", "2");
    FailOnce("Txn", When::kAfter, kEof);
    Transaction transaction;
    if (deletes) {
      transaction.Delete("a", made->revision);
    } else {
      transaction.Put("a", "2", made->revision);
    }
    auto answer = Commit(std::move(transaction));
    EXPECT_EQ(answer.wait_for(milliseconds(50)), std::future_status::timeout);
    etcd_.HoldWatches(false);
    const auto outcome = answer.get();
    ASSERT_THAT(outcome, IsOk());
    ASSERT_NE(outcome->conflict, std::nullopt) << "done at " << outcome->revision.value;
    EXPECT_EQ(outcome->conflict->actual.value, deletes ? 0 : theirs);
    EXPECT_EQ(store.Find("a") == nullptr, deletes);
  }
}

// Of several in a request that was lost, each.
TEST_F(EtcdAcceptance, Row18OfSeveralInARequestEachIsFoundOut) {
  Store& store = Open();
  const auto made = Commit(Transaction().Put("a", "1").Put("c", "1")).get();
  ASSERT_THAT(made, IsOk());
  std::atomic<int> calls = 0;
  std::atomic<bool> hold = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    if (method != "Txn") return Status();
    if (when == When::kBefore) ++calls;
    while (hold && calls == 1) std::this_thread::sleep_for(milliseconds(1));
    return when == When::kAfter && calls == 2 ? kEof : Status();
  });
  auto first = Commit(Transaction().Put("x", "1"));
  ASSERT_TRUE(Eventually([&] { return calls == 1; }));
  etcd_.HoldWatches(true);
  auto lost = Commit(Transaction().Delete("a", made->revision));
  auto done = Commit(Transaction().Put("b", "1"));
  auto gone = Commit(Transaction().Delete("c", made->revision));
  etcd_.Delete("/dray/~a");
  hold = false;
  ASSERT_TRUE(Eventually([&] { return calls >= 2; }));
  etcd_.HoldWatches(false);
  EXPECT_THAT(first.get(), IsOk());
  const auto lost_outcome = lost.get();
  ASSERT_THAT(lost_outcome, IsOk());
  EXPECT_NE(lost_outcome->conflict, std::nullopt);
  const auto done_outcome = done.get();
  ASSERT_THAT(done_outcome, IsOk());
  EXPECT_EQ(done_outcome->conflict, std::nullopt);
  EXPECT_EQ(etcd_.Get("/dray/~b")->created, done_outcome->revision.value);
  const auto gone_outcome = gone.get();
  ASSERT_THAT(gone_outcome, IsOk());
  EXPECT_EQ(gone_outcome->conflict, std::nullopt);
  EXPECT_EQ(gone_outcome->revision, done_outcome->revision);
  EXPECT_EQ(store.Find("c"), nullptr);
}

// Who tidies up takes the fence away, and with it what says whether a request has happened.
TEST_F(EtcdAcceptance, Row20WhatNobodyCanFindOutIsUnknown) {
  EtcdOptions options = FakeOptions(etcd_);
  options.id = "me";
  Store& store = Open(options);
  std::atomic<bool> first = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    if (method != "Txn" || when != When::kAfter || !first.exchange(false)) return Status();
    etcd_.Delete("/dray/_fence/me");
    return kEof;
  });
  EXPECT_THAT(Commit(Transaction().Put("a", "1")).get(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not known")));
  EXPECT_NE(store.Find("a"), nullptr);
  EXPECT_THAT(Commit(Transaction().Put("a", "2")).get(), IsOk());
}

// The answer says nothing, and the request arrives later than the fence: it must not happen then.
TEST_F(EtcdAcceptance, Row20WhatArrivesAfterTheFenceDoesNotHappen) {
  EtcdOptions options = FakeOptions(etcd_);
  options.answer_patience = milliseconds(300);
  Store& store = Open(options);
  std::atomic<int> held = 0;
  std::atomic<bool> hold = true;
  std::atomic<bool> first = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    if (method == "Txn" && when == When::kBefore && first.exchange(false)) {
      ++held;
      while (hold) std::this_thread::sleep_for(milliseconds(1));
      --held;
    }
    return Status();
  });
  // Tried again after the fence, because it is known not to have happened. Nothing but the fence keeps
  // the first one from writing over what came later.
  const auto outcome = Commit(Transaction().Put("a", "1")).get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->conflict, std::nullopt);
  const auto second = Commit(Transaction().Put("a", "2")).get();
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(held, 1);
  hold = false;
  ASSERT_TRUE(Eventually([&] { return held == 0; }));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(etcd_.Get("/dray/~a")->value, "2");
  EXPECT_THAT(Current(), IsOk());
  EXPECT_EQ(*store.Find("a")->value, "2");
}

TEST_F(EtcdAcceptance, Row20TheFenceItselfMayGetLost) {
  Open();
  std::atomic<int> lost = 3;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    return method == "Txn" && when == When::kAfter && lost-- > 0 ? kEof : Status();
  });
  const auto outcome = Commit(Transaction().Put("a", "1")).get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(etcd_.Get("/dray/~a")->created, outcome->revision.value);
}

TEST_F(EtcdAcceptance, Row20WithoutAFenceItIsUnknownAndSaysSo) {
  EtcdOptions options = FakeOptions(etcd_);
  options.fence_patience = milliseconds(500);
  Open(options);
  std::atomic<bool> away = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    return away && method == "Txn" && when == When::kAfter ? kEof : Status();
  });
  EXPECT_THAT(Commit(Transaction().Put("a", "1")).get(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not known")));
  EXPECT_THAT(store_->Health(), IsOk());
  away = false;
  // It goes on by itself.
  const auto outcome = Commit(Transaction().Put("b", "1")).get();
  EXPECT_THAT(outcome, IsOk());
}

TEST_F(EtcdAcceptance, Row29EventsOfARevisionAreNeverApart) {
  Store& store = Open();
  etcd_.SetFragments(3);
  std::atomic<int> woken = 0;
  auto watch = *store.WatchFrom("", store.revision(), [&] { ++woken; });
  ASSERT_TRUE(watch->Next(1)->empty());
  std::vector<std::pair<std::string, std::string>> keys;
  for (int i = 0; i < 20; ++i) {
    keys.emplace_back(fmt::format("/dray/k{:02}", i), std::string(1u << 20, 'x'));
  }
  etcd_.PutAll(keys);
  ASSERT_TRUE(Eventually([&] { return woken == 1; }));
  const auto events = watch->Next(1);
  ASSERT_THAT(events, IsOk());
  EXPECT_EQ(events->size(), 20u);
  EXPECT_TRUE(watch->Next(1)->empty());
}

TEST_F(EtcdAcceptance, Row31TooManyRequestsIsNotUnknown) {
  Open();
  std::atomic<int> left = 3;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    return method == "Txn" && when == When::kBefore && left-- > 0
               ? base::MakeStatus(StatusCode::kUnknown, "etcdserver: too many requests")
               : Status();
  });
  EXPECT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  EXPECT_EQ(counts_.fences, 0u);
  EtcdOptions options = FakeOptions(etcd_);
  options.write_patience = milliseconds(300);
  left = 0;
  Open(options);
  left = 1'000'000;
  EXPECT_THAT(Commit(Transaction().Put("a", "2")).get(),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("too many requests")));
  EXPECT_EQ(etcd_.Get("/dray/~a")->value, "1");
}

TEST_F(EtcdAcceptance, Row32ATokenThatHasExpiredIsRenewed) {
  etcd_.RequireToken("secret");
  EtcdOptions options = FakeOptions(etcd_);
  options.user = "dray";
  options.password = "secret";
  Open(options);
  ASSERT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  etcd_.ExpireTokens();
  ASSERT_THAT(Commit(Transaction().Put("a", "2")).get(), IsOk());
  EXPECT_EQ(counts_.fences, 0u);
  EXPECT_GE(etcd_.calls("Authenticate"), 2);
  // The watch, too.
  etcd_.ExpireTokens();
  etcd_.EndWatches(
      base::MakeStatus(StatusCode::kUnauthenticated, "etcdserver: invalid auth token"));
  ASSERT_THAT(Commit(Transaction().Put("a", "3")).get(), IsOk());
  // Somebody changes the password.
  etcd_.RequireToken("another");
  etcd_.ExpireTokens();
  EXPECT_THAT(Commit(Transaction().Put("a", "4")).get(),
              StatusIs(StatusCode::kAborted,
                       AllOf(HasSubstr("user \"dray\""), HasSubstr("authentication failed"))));
  EXPECT_EQ(etcd_.Get("/dray/~a")->value, "3");
}

TEST_F(EtcdAcceptance, Row34VersionsThatLoseEventsAreRefused) {
  for (const char* version : {"3.4.23", "3.5.12", "3.5.0-rc.1"}) {
    etcd_.SetVersion(version);
    EXPECT_THAT(OpenEtcdStore(FakeOptions(etcd_)),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(version), HasSubstr("3.5.13 or newer is needed"))));
  }
  EXPECT_EQ(etcd_.revision(), 1);
  std::vector<std::string> warnings;
  EtcdOptions options = FakeOptions(etcd_);
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  etcd_.SetVersion("3.5.20");
  Open(options);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("3.5.28 or newer does not"));
  warnings.clear();
  etcd_.SetVersion("3.5.30");
  Open(options);
  EXPECT_TRUE(warnings.empty());
}

// 3.4.23 says that everything was sent when it was not. It is not asked, and everything is watched.
TEST_F(EtcdAcceptance, Row34TheProgressOfOldVersionsIsNotBelieved) {
  etcd_.SetVersion("3.4.23");
  etcd_.LieAboutProgress(true);
  EtcdOptions options = FakeOptions(etcd_);
  options.any_version = true;
  Open(options);
  etcd_.HoldWatches(true);
  etcd_.Put("/dray/~a", "1");
  auto current = std::async(std::launch::async, [&] { return Current(); });
  EXPECT_EQ(current.wait_for(milliseconds(400)), std::future_status::timeout);
  etcd_.HoldWatches(false);
  EXPECT_THAT(current.get(), IsOk());
  EXPECT_NE(store_->Find("a"), nullptr);
  // Others' keys move the revision, too.
  etcd_.Put("/elsewhere/a", "1");
  EXPECT_THAT(Current(), IsOk());
  EXPECT_EQ(counts_.relists, 0u);
}

TEST_F(EtcdAcceptance, Row35AnEndpointOfAnotherClusterIsRefused) {
  FakeEtcd other;
  other.SetCluster(8);
  EtcdOptions options = FakeOptions(etcd_);
  options.address.endpoints.push_back({.address = other.address()});
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another cluster")));
  EXPECT_EQ(etcd_.revision(), 1);
  EXPECT_EQ(other.revision(), 1);
}

TEST_F(EtcdAcceptance, Row35AlsoWhenItBecomesOneLater) {
  Store& store = Open();
  etcd_.SetCluster(8);
  EXPECT_FALSE(Commit(Transaction().Put("a", "1")).get().ok());
  EXPECT_THAT(store.Health(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another")));
  EXPECT_FALSE(Current().ok());
}

TEST_F(EtcdAcceptance, Row36AnOlderSnapshotEndsIt) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  const std::int64_t then = etcd_.revision();
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Commit(Transaction().Put("a", "2")).get(), IsOk());
  etcd_.Restore(then);
  EXPECT_FALSE(Current().ok());
  EXPECT_THAT(store.Health(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("an older state was restored")));
  EXPECT_FALSE(Commit(Transaction().Put("a", "3")).get().ok());
}

TEST_F(EtcdAcceptance, Row26ACompactionUnderASlowServerIsARelist) {
  Store& store = Open();
  const auto keep = Commit(Transaction().Put("keep", "1")).get();
  ASSERT_THAT(Commit(Transaction().Put("gone", "1")).get(), IsOk());
  auto watch = *store.WatchFrom("", store.revision(), [] {});
  ASSERT_TRUE(watch->Next(10)->empty());
  const auto x = std::make_shared<int>(1);
  store.Attach(*store.Find("keep"), x);
  etcd_.HoldWatches(true);
  etcd_.Delete("/dray/~gone");
  etcd_.Put("/dray/~new", "1");
  etcd_.Compact(etcd_.revision());
  etcd_.Put("/dray/~new", "2");
  etcd_.EndWatches(kEof);
  etcd_.HoldWatches(false);
  ASSERT_TRUE(Eventually([&] { return store.Find("gone") == nullptr; }));
  ASSERT_THAT(Current(), IsOk());
  EXPECT_EQ(*store.Find("new")->value, "2");
  EXPECT_EQ(store.Find("keep")->attachment, x);
  EXPECT_EQ(store.Find("keep")->modified, keep->revision);
  EXPECT_EQ(counts_.relists, 1u);
  EXPECT_THAT(watch->Next(10), StatusIs(StatusCode::kOutOfRange, HasSubstr("fell behind")));
  EXPECT_THAT(store.Range("", {.at = keep->revision}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted")));
  // Goes on as ever.
  auto after = *store.WatchFrom("", store.revision(), [] {});
  ASSERT_THAT(Commit(Transaction().Put("keep", "2")).get(), IsOk());
  EXPECT_EQ(after->Next(10)->size(), 1u);
}

// A watch that begins where something was compacted to.
TEST_F(EtcdAcceptance, Row27TheDeletionThatWasCompactedToIsSeen) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  auto watch = *store.WatchFrom("", store.revision(), [] {});
  etcd_.HoldWatches(true);
  etcd_.Compact(etcd_.Delete("/dray/~a"));
  etcd_.EndWatches(kEof);
  etcd_.HoldWatches(false);
  ASSERT_TRUE(Eventually([&] { return store.Find("a") == nullptr; }));
  const auto events = watch->Next(10);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_TRUE((*events)[0].deleted);
  EXPECT_EQ(*(*events)[0].entry->value, "1");
  EXPECT_EQ(counts_.relists, 0u);
}

TEST_F(EtcdAcceptance, AFenceThatSomebodyElseMovesEndsIt) {
  EtcdOptions options = FakeOptions(etcd_);
  options.id = "me";
  Store& store = Open(options);
  ASSERT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  etcd_.Put("/dray/_fence/me", "another");
  EXPECT_FALSE(Commit(Transaction().Put("a", "2")).get().ok());
  EXPECT_THAT(store.Health(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("another process writes to etcd as server \"me\"")));
  EXPECT_EQ(etcd_.Get("/dray/~a")->value, "1");
}

// Tidied away while this server slept: nothing was under way, and it goes on.
TEST_F(EtcdAcceptance, AFenceThatIsGoneIsWrittenAgain) {
  EtcdOptions options = FakeOptions(etcd_);
  options.id = "me";
  Store& store = Open(options);
  etcd_.Delete("/dray/_fence/me");
  EXPECT_THAT(Commit(Transaction().Put("a", "1")).get(), IsOk());
  EXPECT_THAT(store.Health(), IsOk());
  EXPECT_NE(etcd_.Get("/dray/_fence/me"), std::nullopt);
}

TEST_F(EtcdAcceptance, DamagedDataAreNotUsed) {
  etcd_.SetErrors({"memberID:1 alarm:CORRUPT "});
  EXPECT_THAT(OpenEtcdStore(FakeOptions(etcd_)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("CORRUPT")));
}

TEST_F(EtcdAcceptance, WhoIsNotThereIsNamed) {
  EtcdOptions options = FakeOptions(etcd_);
  options.address.endpoints = {{.address = "127.0.0.1:1"}};
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no member of etcd answers"), HasSubstr("127.0.0.1:1"))));
}

TEST_F(EtcdAcceptance, AStoreThatIsClosedHasAnsweredEverybody) {
  Open();
  std::atomic<int> answered = 0;
  for (int i = 0; i < 100; ++i) {
    store_->Commit(Transaction().Put("k" + std::to_string(i), "1"),
                   [&](const StatusOr<Outcome>&) { ++answered; });
  }
  store_ = nullptr;
  EXPECT_EQ(answered, 100);
  EXPECT_NE(etcd_.Get("/dray/~k99"), std::nullopt);
  // The server hears of it a moment later.
  EXPECT_TRUE(Eventually([&] { return etcd_.open_watches() == 0; }));
}

}  // namespace
}  // namespace dray::store

// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/etcd.md chapter 5 in which a connection to a real member breaks, or is slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "fmt/format.h"
#include "store/etcd/etcd_real_for_test.h"
#include "store/etcd/tcp_proxy_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(EtcdAcceptanceReal, Row19WhatWasNotSentIsNeverUnknown) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  options_.write_patience = milliseconds(500);
  store();
  for (int round = 0; round < 3; ++round) {
    proxy.Refuse(true);
    proxy.Cut();
    ASSERT_TRUE(proxy.AwaitNoticed());
    std::this_thread::sleep_for(milliseconds(100));
    const auto outcome = store().CommitAndWait(Transaction().Put("a", std::to_string(round)));
    EXPECT_THAT(outcome, StatusIs(StatusCode::kAborted, HasSubstr("nothing was written")));
    proxy.Refuse(false);
    ASSERT_TRUE(Eventually([&] { return Current(store()).ok(); }));
    EXPECT_EQ(store().Find("a"), nullptr);
  }
  EXPECT_EQ(counts_.fences, 0u);
  Commit(Transaction().Put("a", "1"));
}

// Cut at any moment: what was said to be done is there, once, and what was said not to be is not.
TEST_F(EtcdAcceptanceReal, Row18CutAtAnyMoment) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  // It is cut for so long only, and then whoever is under way gets through: a busy machine may not manage
  // to connect between two cuts.
  store();
  const auto end = std::chrono::steady_clock::now() + seconds(3);
  std::thread cutting([&] {
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(13));
      proxy.Cut();
    }
  });
  Revision last;
  for (int i = 0; i < 200 && std::chrono::steady_clock::now() < end; ++i) {
    const auto outcome = store().CommitAndWait(Transaction().Put("a", std::to_string(i), last));
    EXPECT_THAT(outcome, IsOk()) << i;
    if (!outcome.ok()) break;
    EXPECT_EQ(outcome->conflict, std::nullopt) << i;
    last = outcome->revision;
  }
  cutting.join();
  const auto there = plain_->Range({.key = Key("a")});
  EXPECT_EQ(there->kvs[0].modified, last.value);
}

TEST_F(EtcdAcceptanceReal, Row17AFrozenConnectionIsLeft) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  store();
  proxy.Freeze(true);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(Current(store()), StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("")));
  // Its time is 3 s, and a machine that is busy takes its own.
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(30));
  proxy.Freeze(false);
  ASSERT_TRUE(Eventually([&] { return Current(store()).ok(); }));
}

TEST_F(EtcdAcceptanceReal, Row26ACompactionWhileTheWatchIsCut) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  Commit(Transaction().Put("a", "1").Put("b", "1"));
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  proxy.Refuse(true);
  proxy.Cut();
  plain_->Put(Key("a"), "2");
  plain_->Delete(Key("b"));
  const std::int64_t last = plain_->Put(Key("c"), "1");
  EXPECT_THAT(plain_->Compact(last), IsOk());
  proxy.Refuse(false);
  ASSERT_TRUE(Eventually([&] { return store().revision().value >= last; }));
  EXPECT_EQ(counts_.relists, 1u);
  EXPECT_THAT(watch->Next(10), StatusIs(StatusCode::kOutOfRange, HasSubstr("")));
  EXPECT_EQ(*store().Find("a")->value, "2");
  EXPECT_EQ(store().Find("b"), nullptr);
  EXPECT_NE(store().Find("c"), nullptr);
}

TEST_F(EtcdAcceptanceReal, Row27TheDeletionThatWasCompactedToIsSeen) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  Commit(Transaction().Put("a", "1"));
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  proxy.Refuse(true);
  proxy.Cut();
  EXPECT_THAT(plain_->Compact(plain_->Delete(Key("a"))), IsOk());
  proxy.Refuse(false);
  ASSERT_TRUE(Eventually([&] { return store().Find("a") == nullptr; }));
  EXPECT_EQ(counts_.relists, 0u);
  const auto events = watch->Next(10);
  ASSERT_EQ(events->size(), 1u);
  EXPECT_TRUE((*events)[0].deleted);
}

TEST_F(EtcdAcceptanceReal, Row28WhatASleepingFeederMissedComesInOrder) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  options_.history.events = 200'000;
  options_.watch_patience = seconds(60);
  store();
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  proxy.Freeze(true);
  constexpr int kEvents = 100'000;
  for (int i = 0; i < kEvents;) {
    rpc::EtcdTransaction transaction;
    for (int n = 0; n < 1000 && i < kEvents; ++n, ++i) {
      transaction.success.push_back(
          {rpc::EtcdPut{.key = Key(fmt::format("k{}", i % 5000)),
                        .value = std::make_shared<const std::string>(std::to_string(i))}});
    }
    ASSERT_THAT(plain_->Transact(transaction), IsOk());
  }
  const std::int64_t last = plain_->Revision();
  proxy.Freeze(false);
  ASSERT_TRUE(Eventually([&] { return store().revision().value >= last; }))
      << "at " << store().revision().value << " of " << last << ", " << counts_.watches
      << " watches, " << store().Health();
  int seen = 0;
  Revision before;
  for (;;) {
    const auto events = watch->Next(5000);
    ASSERT_THAT(events, IsOk());
    if (events->empty()) break;
    for (const Event& event : *events) {
      EXPECT_GE(event.revision(), before);
      before = event.revision();
      ++seen;
    }
  }
  EXPECT_EQ(seen, kEvents);
  EXPECT_EQ(counts_.relists, 0u);
}

TEST_F(EtcdAcceptanceReal, Row29AResponseOf20MiB) {
  TcpProxy proxy(SharedEtcd().client(0));
  options_.address.endpoints = {{.address = proxy.address()}};
  store();
  proxy.Refuse(true);
  proxy.Cut();
  std::int64_t last = 0;
  for (int i = 0; i < 15; ++i) {
    last = plain_->Put(Key("k" + std::to_string(i)), std::string(1'400'000, 'x'));
  }
  proxy.Refuse(false);
  ASSERT_TRUE(Eventually([&] { return store().revision().value >= last; }));
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(store().Find("k" + std::to_string(i))->value->size(), 1'400'000u);
}

// A machine is replaced: the new member learns, becomes a voter, and the old one goes. The server was told
// of both, and is not started again.
TEST_F(EtcdAcceptanceReal, AMemberIsReplacedWhileAServerUsesIt) {
  EtcdCluster own;
  const std::size_t fresh = own.AddLearner();
  EtcdOptions options = options_;
  options.address = own.Address("/dray");
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  ASSERT_TRUE(Eventually([&] { return RunProgram(own.Ctl("endpoint status", fresh)).first == 0; }));
  store_ = OpenOne(options);
  ASSERT_NE(store_, nullptr);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("is a learner and is not asked")));
  Commit(Transaction().Put("a", "1"));
  ASSERT_TRUE(Eventually([&] { return own.Membership("promote", fresh, 0); }));
  Commit(Transaction().Put("a", "2"));
  ASSERT_TRUE(Eventually([&] { return own.Membership("remove", 0, fresh); }));
  own.Signal(0, SIGKILL);
  Commit(Transaction().Put("a", "3"));
  EXPECT_THAT(Current(store()), IsOk());
  EXPECT_EQ(*store().Find("a")->value, "3");
  EXPECT_THAT(store().Health(), IsOk());
  store_ = nullptr;  // before whom it warns
}

// One member of three answers, and can do nothing alone.
TEST_F(EtcdAcceptanceReal, WithoutAMajorityAServerSaysWhatItWaitsFor) {
  EtcdCluster own({.members = 3});
  EtcdOptions options = options_;
  options.address = own.Address("/dray");
  options.write_patience = seconds(1);
  options.alive = seconds(1);  // so long is waited for who may have died
  own.Signal(1, SIGKILL);
  own.Signal(2, SIGKILL);
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kUnavailable, HasSubstr("needs a majority of its members")));
}

}  // namespace
}  // namespace dray::store

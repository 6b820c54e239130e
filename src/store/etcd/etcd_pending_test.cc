// SPDX-License-Identifier: Apache-2.0
//
// Writers of one key, who build on each other's writes before these are answered (Store::FindPending):
// those of one server go together, and over servers a key that is compared is the lock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "store/etcd/etcd_fake_store_for_test.h"
#include "store/etcd/etcd_real_for_test.h"
#include "store/etcd/tcp_proxy_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

const Status kEof = base::Unavailable("Socket closed");

// A pod, and one more in its quota, as the server of this process will have it.
Transaction OneMore(const Store& store, const std::string& pod) {
  const EntryPtr quota = store.FindPending("quota");
  return Transaction()
      .Put(pod, "x", Revision{})
      .Put("quota", std::to_string(std::stoi(*quota->value) + 1), quota->modified);
}

class EtcdPending : public EtcdAcceptance {
 protected:
  struct Tally {
    std::atomic<int> done = 0;
    std::atomic<int> conflicts = 0;
    std::atomic<int> failed = 0;
    int all() const { return done + conflicts + failed; }
  };
  void CommitMany(int pods, Tally& tally) {
    for (int i = 0; i < pods; ++i) {
      store_->Commit(OneMore(*store_, fmt::format("pod{:03}", i)),
                     [&tally](const StatusOr<Outcome>& outcome) {
                       if (!outcome.ok()) {
                         ++tally.failed;
                       } else {
                         ++(outcome->conflict ? tally.conflicts : tally.done);
                       }
                     });
    }
  }
  std::string Quota() const { return etcd_.Get("/dray/~quota")->value; }
};

TEST_F(EtcdPending, WritersOfOneKeyShareARequest) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
  auto watch = *store.WatchFrom("quota", store.revision(), [] {});
  const auto groups = counts_.groups.load();
  const int requests = etcd_.calls("Txn");
  Tally tally;
  {
    // Until all are handed over, so that what shares a request is not up to the machine.
    std::atomic<bool> hold = true;
    const Faulty faulty(etcd_, [&](const std::string& method, When when) {
      while (hold && method == "Txn" && when == When::kBefore) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return Status();
    });
    CommitMany(500, tally);
    hold = false;
  }
  ASSERT_TRUE(Eventually([&] { return tally.all() == 500; }));
  EXPECT_EQ(tally.done, 500);
  EXPECT_EQ(Quota(), "500");
  EXPECT_LT(etcd_.calls("Txn") - requests, 50);
  EXPECT_LT(counts_.groups - groups, 50u);
  EXPECT_EQ(store.FindPending("quota"), store.Find("quota"));
  // A key has one version in a revision.
  const auto events = watch->Next(1000);
  ASSERT_THAT(events, IsOk());
  EXPECT_LT(events->size(), 50u);
  EXPECT_EQ(*events->back().entry->value, "500");
  for (std::size_t i = 1; i < events->size(); ++i) {
    EXPECT_LT((*events)[i - 1].revision(), (*events)[i].revision());
  }
}

TEST_F(EtcdPending, WhatIsUnderWayIsShownToWhoAsksForItAlone) {
  Store& store = Open();
  const auto made = Commit(Transaction().Put("quota", "0").Put("gone", "1")).get();
  std::atomic<bool> hold = true;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    while (hold && method == "Txn" && when == When::kBefore) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return Status();
  });
  auto first = Commit(OneMore(store, "pod").Delete("gone"));
  EXPECT_EQ(*store.FindPending("quota")->value, "1");
  EXPECT_GT(store.FindPending("quota")->modified, made->revision);
  EXPECT_EQ(store.FindPending("gone"), nullptr);
  EXPECT_EQ(*store.Find("quota")->value, "0");
  EXPECT_NE(store.Find("gone"), nullptr);
  EXPECT_EQ(store.FindPending("nobody"), nullptr);
  hold = false;
  const auto outcome = first.get();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(store.FindPending("quota")->modified, outcome->revision);
  EXPECT_EQ(outcome->entries[1]->modified, outcome->revision);
}

// One of them cannot be: those before it are done, those behind it are told.
TEST_F(EtcdPending, WhoIsBehindOneThatIsRefusedIsRefused) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0").Put("pod050", "there already")).get(), IsOk());
  Tally tally;
  CommitMany(100, tally);
  ASSERT_TRUE(Eventually([&] { return tally.all() == 100; }));
  EXPECT_EQ(tally.done, 50);
  EXPECT_EQ(tally.conflicts, 50);
  EXPECT_EQ(Quota(), "50");
  EXPECT_EQ(store.Range("pod")->entries.size(), 51u);
  // And whoever looks again is not held up.
  const auto again = Commit(OneMore(store, "later")).get();
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->conflict, std::nullopt);
}

TEST_F(EtcdPending, TheConflictOfWhoWasBehindSaysWhatIsThere) {
  Store& store = Open();
  const auto made = Commit(Transaction().Put("quota", "0").Put("taken", "1")).get();
  auto refused = Commit(OneMore(store, "taken"));
  auto behind = Commit(OneMore(store, "free"));
  EXPECT_EQ(refused.get()->conflict->key, "taken");
  const auto outcome = behind.get();
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->conflict.has_value());
  EXPECT_EQ(outcome->conflict->key, "quota");
  EXPECT_EQ(outcome->conflict->actual, made->revision);
  EXPECT_EQ(*outcome->conflict->entry->value, "0");
  EXPECT_EQ(store.Find("free"), nullptr);
}

// Who expects what will not be there any more, as a controller that has not seen the latest, spoils
// nothing for those that come after it.
TEST_F(EtcdPending, NobodyBuildsOnAWriteThatIsTooLate) {
  Store& store = Open();
  const auto made = Commit(Transaction().Put("quota", "0")).get();
  ASSERT_THAT(made, IsOk());
  Tally tally;
  std::vector<std::future<StatusOr<Outcome>>> late;
  for (int i = 0; i < 60; ++i) {
    store.Commit(OneMore(store, fmt::format("pod{}", i)), [&](const StatusOr<Outcome>& outcome) {
      ++(outcome.ok() && !outcome->conflict ? tally.done : tally.conflicts);
    });
    if (i % 10 == 5) late.push_back(Commit(Transaction().Put("quota", "99", made->revision)));
  }
  for (auto& one : late) EXPECT_TRUE(one.get()->conflict.has_value());
  ASSERT_TRUE(Eventually([&] { return tally.all() == 60; }));
  EXPECT_EQ(tally.done, 60);
  EXPECT_EQ(Quota(), "60");
}

TEST_F(EtcdPending, AnotherClientComesInBetween) {
  Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
  std::atomic<int> left = 1;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    if (method == "Txn" && when == When::kBefore && left-- > 0) etcd_.Put("/dray/~quota", "7");
    return Status();
  });
  Tally tally;
  CommitMany(20, tally);
  ASSERT_TRUE(Eventually([&] { return tally.all() == 20; }));
  EXPECT_EQ(tally.conflicts, 20);
  EXPECT_EQ(Quota(), "7");
}

// The answer to many at once is lost: all of it has happened, or nothing.
TEST_F(EtcdPending, AnAnswerToManyThatIsLost) {
  for (const When when : {When::kAfter, When::kBefore}) {
    Store& store = Open();
    ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
    FailOnce("Txn", when, kEof);
    Tally tally;
    CommitMany(200, tally);
    ASSERT_TRUE(Eventually([&] { return tally.all() == 200; }));
    EXPECT_EQ(tally.done, 200);
    EXPECT_EQ(Quota(), "200");
    EXPECT_EQ(counts_.fences, when == When::kAfter ? 1u : 2u);
    Transaction clean;
    const auto pods = store.Range("pod");
    for (const EntryPtr& entry : pods->entries) {
      clean.operations.push_back({.kind = Operation::Kind::kDelete, .key = entry->key});
      if (clean.operations.size() < 100) continue;
      ASSERT_THAT(Commit(std::exchange(clean, {})).get(), IsOk());
    }
  }
}

// Each is told of its own attachment, the last of the key that they share.
TEST_F(EtcdPending, TheLastVersionGetsItsAttachment) {
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i) {
    Transaction one = OneMore(store, fmt::format("pod{}", i));
    const auto made = std::make_shared<const std::string>(*one.operations[1].value);
    one.operations[1].attach = [made](const Entry&) { return made; };
    store.Commit(std::move(one), [&](const StatusOr<Outcome>& outcome) {
      ASSERT_THAT(outcome, IsOk());
      const Entry& quota = *outcome->entries[1];
      EXPECT_EQ(*std::static_pointer_cast<const std::string>(quota.attachment), *quota.value);
      EXPECT_EQ(quota.modified, outcome->revision);
      ++done;
    });
  }
  ASSERT_TRUE(Eventually([&] { return done == 50; }));
  const EntryPtr quota = store.Find("quota");
  EXPECT_EQ(*quota->value, "50");
  EXPECT_EQ(*std::static_pointer_cast<const std::string>(quota->attachment), "50");
}

TEST_F(EtcdPending, OneThatIsTooLargeForTheServerDoesNotSpoilTheOthers) {
  Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
  FailOnce("Txn", When::kBefore,
           base::MakeStatus(StatusCode::kInvalidArgument, "etcdserver: request is too large"));
  Tally tally;
  CommitMany(30, tally);
  ASSERT_TRUE(Eventually([&] { return tally.all() == 30; }));
  // Whoever was alone in the request that was refused has its answer; the rest went one by one.
  EXPECT_GE(tally.done + tally.failed, 1);
  EXPECT_EQ(Quota(), std::to_string(tally.done));
}

// ---- two servers

// One of many callers that want a place each. Whoever is refused looks at what is there now.
class Caller : public std::enable_shared_from_this<Caller> {
 public:
  struct Sums {
    std::atomic<int> running = 0;
    std::atomic<int> placed = 0;
    std::atomic<int> full = 0;
    std::atomic<int> tries = 0;
    std::atomic<int> most_tries = 0;
  };
  Caller(Store& store, std::string pod, int limit, Sums& sums)
      : store_(store), pod_(std::move(pod)), limit_(limit), sums_(sums) {
    ++sums_.running;
  }

  void Try() {
    EntryPtr quota = store_.FindPending("quota");
    if (Used(*quota) >= limit_) {
      // Nobody is refused because of what is not there yet, or is not so any more.
      if (!current_) return LookAgain();
      quota = store_.Find("quota");
      if (Used(*quota) >= limit_) {
        ++sums_.full;
        return End();
      }
    }
    current_ = false;
    ++tries_;
    store_.Commit(Transaction()
                      .Put(pod_, "x", Revision{})
                      .Put("quota", std::to_string(Used(*quota) + 1), quota->modified),
                  [self = shared_from_this()](const StatusOr<Outcome>& outcome) {
                    ASSERT_THAT(outcome, IsOk());
                    if (outcome->conflict) return self->Try();
                    ++self->sums_.placed;
                    self->End();
                  });
  }

 private:
  static int Used(const Entry& quota) { return std::stoi(*quota.value); }
  void LookAgain() {
    current_ = true;
    store_.Current([self = shared_from_this()](const Status& shown) {
      EXPECT_THAT(shown, IsOk());
      self->Try();
    });
  }
  void End() {
    sums_.tries += tries_;
    int most = sums_.most_tries;
    while (tries_ > most && !sums_.most_tries.compare_exchange_weak(most, tries_)) {
    }
    --sums_.running;
  }

  Store& store_;
  const std::string pod_;
  const int limit_;
  Sums& sums_;
  int tries_ = 0;
  bool current_ = false;
};

// Whoever is told that the one before was refused tries again at once, while hundreds are still queued who
// do not know yet that they are, too: it builds on none of these.
TEST_F(EtcdPending, WhoTriesAgainBuildsOnNobodyWhoWillBeRefused) {
  constexpr int kPods = 400;
  Store& store = Open();
  ASSERT_THAT(Commit(Transaction().Put("quota", "0")).get(), IsOk());
  std::atomic<int> requests = 0;
  const Faulty faulty(etcd_, [&](const std::string& method, When when) {
    // Another client comes in between three times.
    if (method == "Txn" && when == When::kBefore && requests++ < 3) {
      etcd_.Put("/dray/~quota", std::to_string(1000 * requests));
    }
    return Status();
  });
  Caller::Sums sums;
  for (int i = 0; i < kPods; ++i) {
    std::make_shared<Caller>(store, fmt::format("pod{:03}", i), 1 << 20, sums)->Try();
  }
  ASSERT_TRUE(Eventually([&] { return sums.running == 0; }));
  EXPECT_EQ(sums.placed, kPods);
  EXPECT_EQ(Quota(), std::to_string(3000 + kPods));
  // The first try, one more for each time, and one for what is seen late.
  EXPECT_LE(sums.tries, 5 * kPods);
}

TEST_F(EtcdAcceptanceReal, Row37AQuotaOverTwoServersIsNeverExceeded) {
  constexpr int kPods = 500;
  constexpr int kLimit = 100;
  TcpProxy here(SharedEtcd().client(0));
  TcpProxy there(SharedEtcd().client(0));
  options_.barrier_patience = std::chrono::seconds(60);
  options_.watch_patience = std::chrono::seconds(60);
  options_.address.endpoints = {{.address = there.address()}};
  const auto other = OpenOne(options_);
  options_.address.endpoints = {{.address = here.address()}};
  Commit(Transaction().Put("quota", "0"));
  ASSERT_THAT(Current(*other), IsOk());
  Caller::Sums sums;
  // Nothing goes through until all have come, so who loses how often is not up to the machine.
  for (TcpProxy* proxy : {&here, &there}) proxy->Freeze(true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Store& at = t % 2 == 0 ? store() : *other;
      for (int i = t; i < kPods; i += 4) {
        std::make_shared<Caller>(at, fmt::format("pod{:03}", i), kLimit, sums)->Try();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (TcpProxy* proxy : {&here, &there}) proxy->Freeze(false);
  ASSERT_TRUE(Eventually([&] { return sums.running == 0; }));
  EXPECT_EQ(sums.placed, kLimit);
  EXPECT_EQ(sums.full, kPods - kLimit);
  const auto pods = plain_->Range({.key = Key("pod"), .end = rpc::EtcdPrefixEnd(Key("pod"))});
  EXPECT_EQ(pods->kvs.size(), static_cast<std::size_t>(kLimit));
  EXPECT_EQ(plain_->Range({.key = Key("quota")})->kvs[0].value, std::to_string(kLimit));
  const double average = static_cast<double>(sums.tries) / kPods;
  fmt::print("{:.2f} tries on average, {} at most\n", average, sums.most_tries.load());
  // Whoever loses against the other server tries again, a few times; not once for each that was placed.
  EXPECT_LT(average, 5.0);
  store_ = nullptr;  // before its proxy
}

}  // namespace
}  // namespace dray::store

// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include "store/etcd/etcd_real_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using internal::Leases;
using std::chrono::seconds;

constexpr seconds kHour{3600};
const Leases::Time kBegin = Leases::Time() + std::chrono::hours(100);

TEST(LeasesTest, ALeaseIsSharedForAMinute) {
  Leases leases;
  EXPECT_EQ(leases.Find(kHour, 1, kBegin), 0);
  EXPECT_EQ(Leases::Lasts(kHour), seconds(3660));
  leases.Granted(kHour, 7, kBegin);
  for (const int after : {0, 30, 59}) {
    EXPECT_EQ(leases.Find(kHour, 1, kBegin + seconds(after)), 7);
    leases.Use(kHour, 1);
  }
  EXPECT_EQ(leases.Find(kHour, 1, kBegin + seconds(60)), 0);
  // Who lives for another time has another one, and who lives shortly shares it shortly.
  EXPECT_EQ(leases.Find(seconds(100), 1, kBegin), 0);
  leases.Granted(seconds(100), 8, kBegin);
  EXPECT_EQ(Leases::Lasts(seconds(100)), seconds(105));
  EXPECT_EQ(leases.Find(seconds(100), 1, kBegin + seconds(4)), 8);
  EXPECT_EQ(leases.Find(seconds(100), 1, kBegin + seconds(5)), 0);
  EXPECT_EQ(Leases::Lasts(seconds(2)), seconds(3));
}

TEST(LeasesTest, AThousandKeysAreEnoughForOne) {
  Leases leases;
  leases.Granted(kHour, 7, kBegin);
  leases.Use(kHour, 990);
  EXPECT_EQ(leases.Find(kHour, 10, kBegin), 7);
  EXPECT_EQ(leases.Find(kHour, 11, kBegin), 0);
  leases.Granted(kHour, 8, kBegin);
  EXPECT_EQ(leases.Find(kHour, 11, kBegin), 8);
  leases.Forget();
  EXPECT_EQ(leases.Find(kHour, 1, kBegin), 0);
}

class EtcdTtl : public EtcdAcceptanceReal {
 protected:
  static Transaction PutFor(seconds ttl, const std::string& key, const std::string& value) {
    Transaction transaction;
    transaction.Put(key, value);
    transaction.operations.back().ttl = ttl;
    return transaction;
  }
  std::int64_t LeaseOf(const std::string& key) {
    const auto there = plain_->Range({.key = Key(key)});
    return there.ok() && there->kvs.size() == 1 ? there->kvs[0].lease : 0;
  }
};

TEST_F(EtcdTtl, WhatIsToLiveForAWhileGoesByItselfAndIsSeenToGo) {
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  Commit(PutFor(seconds(2), "old", "1"));
  Commit(Transaction().Put("stays", "1"));
  ASSERT_NE(LeaseOf("old"), 0);
  EXPECT_EQ(LeaseOf("stays"), 0);
  ASSERT_TRUE(Eventually([&] { return store().Find("old") == nullptr; }));
  EXPECT_NE(store().Find("stays"), nullptr);
  const auto events = watch->Next(10);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 3u);
  EXPECT_TRUE(events->back().deleted);
  EXPECT_EQ(events->back().entry->key, "old");
  EXPECT_EQ(*events->back().entry->value, "1");
}

TEST_F(EtcdTtl, ManyShareALease) {
  std::atomic<int> done = 0;
  store();
  for (int i = 0; i < 100; ++i) {
    store().Commit(PutFor(kHour, "e" + std::to_string(i), "1"),
                   [&](const StatusOr<Outcome>& outcome) {
                     EXPECT_THAT(outcome, IsOk());
                     ++done;
                   });
  }
  ASSERT_TRUE(Eventually([&] { return done == 100; }));
  const std::int64_t lease = LeaseOf("e0");
  ASSERT_NE(lease, 0);
  EXPECT_EQ(LeaseOf("e57"), lease);
  EXPECT_EQ(LeaseOf("e99"), lease);
  // Beside others, in one transaction.
  Transaction both = PutFor(kHour, "e100", "1");
  both.Put("count", "101");
  Commit(std::move(both));
  EXPECT_EQ(LeaseOf("e100"), lease);
  EXPECT_EQ(LeaseOf("count"), 0);
}

// Somebody has revoked it, or this process slept for too long: another one is granted, and nobody notices.
TEST_F(EtcdTtl, OneThatIsGoneIsReplaced) {
  Commit(PutFor(kHour, "e0", "1"));
  const std::int64_t lease = LeaseOf("e0");
  std::promise<Status> revoked;
  plain_->member().RevokeLease(lease, seconds(10),
                               [&](const Status& status) { revoked.set_value(status); });
  ASSERT_THAT(revoked.get_future().get(), IsOk());
  Commit(PutFor(kHour, "e1", "1"));
  EXPECT_NE(LeaseOf("e1"), 0);
  EXPECT_NE(LeaseOf("e1"), lease);
  EXPECT_EQ(counts_.fences, 0u);
}

}  // namespace
}  // namespace dray::store

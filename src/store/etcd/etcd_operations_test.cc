// SPDX-License-Identifier: Apache-2.0
//
// The rows of docs/spec/etcd.md chapter 5 about what operators do and see: full databases, users,
// restored snapshots, compaction, many callers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/mutex.h"
#include "fmt/format.h"
#include "store/etcd/etcd_real_for_test.h"
#include "store/store_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST_F(EtcdAcceptanceReal, Row30AFullDatabase) {
  EtcdCluster small({.flags = {"--quota-backend-bytes", "4194304"}});
  EtcdOptions options = options_;
  options.address = small.Address("/dray");
  options.alive = seconds(3);  // looks every second
  store_ = OpenOne(options);
  const std::string large(200'000, 'x');
  StatusOr<Outcome> outcome = Outcome{};
  int written = 0;
  for (; written < 2000 && outcome.ok(); ++written) {
    outcome = store_->CommitAndWait(Transaction().Put("k" + std::to_string(written), large));
  }
  ASSERT_THAT(outcome, StatusIs(StatusCode::kResourceExhausted, HasSubstr("full")));
  // A group, too, of which those that are nested would pass.
  std::atomic<int> refused = 0;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 10; ++i) {
    store_->Commit(Transaction().Put("m" + std::to_string(i), large),
                   [&](const StatusOr<Outcome>& one) {
                     refused += one.status().code() == StatusCode::kResourceExhausted ? 1 : 0;
                     ++answered;
                   });
  }
  ASSERT_TRUE(Eventually([&] { return answered == 10; }));
  EXPECT_EQ(refused, 10);
  EXPECT_NE(store_->Find("k0"), nullptr);
  EXPECT_THAT(store_->CommitAndWait(Transaction().Delete("k0")), IsOk());
  EXPECT_THAT(store_->Health(), IsOk());
  for (int i = 1; i + 1 < written; ++i) {
    EXPECT_THAT(store_->CommitAndWait(Transaction().Delete("k" + std::to_string(i))), IsOk());
  }
  PlainEtcd plain(small.client(0));
  EXPECT_THAT(plain.Compact(plain.Revision()), IsOk());
  EXPECT_EQ(RunProgram(small.Ctl("defrag")).first, 0);
  const auto disarmed = RunProgram(small.Ctl("alarm disarm"));
  EXPECT_EQ(disarmed.first, 0) << disarmed.second;
  EXPECT_TRUE(
      Eventually([&] { return store_->CommitAndWait(Transaction().Put("again", "1")).ok(); }));
}

TEST_F(EtcdAcceptanceReal, Row32And33UsersPasswordsAndRights) {
  EtcdCluster guarded({.flags = {"--auth-token-ttl", "1"}});
  const auto ctl = [&](const std::string& arguments) {
    const auto [code, output] = RunProgram(guarded.Ctl(arguments));
    EXPECT_EQ(code, 0) << arguments << ": " << output;
  };
  ctl("user add root:root");
  ctl("user grant-role root root");
  ctl("user add dray:secret");
  ctl("user add other:secret");
  ctl("role add dray");
  ctl("role grant-permission dray readwrite /dray/ --prefix=true");
  ctl("user grant-role dray dray");
  ctl("auth enable");
  EtcdOptions options = options_;
  options.address = guarded.Address("/dray");
  options.user = "other";
  options.password = "secret";
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("user \"other\""), HasSubstr("\"/dray/\""))));
  options.user = "dray";
  options.password = "wrong";
  EXPECT_THAT(OpenEtcdStore(options),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("authentication failed")));
  options.password = "secret";
  store_ = OpenOne(options);
  ASSERT_NE(store_, nullptr);
  for (int i = 0; i < 2; ++i) {
    Commit(Transaction().Put("a", std::to_string(i)));
    std::this_thread::sleep_for(milliseconds(1500));  // the token has expired
    ASSERT_THAT(Current(*store_), IsOk());
  }
  EXPECT_EQ(counts_.fences, 0u);
}

TEST_F(EtcdAcceptanceReal, Row36AnOlderStateIsRefused) {
  auto own = std::make_unique<EtcdCluster>();
  EtcdOptions options = options_;
  options.address = own->Address("/dray");
  store_ = OpenOne(options);
  Commit(Transaction().Put("a", "1"));
  const std::string data = own->folder() + "/m0";
  own->Signal(0, SIGKILL);
  std::filesystem::copy(data, data + ".old", std::filesystem::copy_options::recursive);
  own->Start(0);
  own->AwaitHealthy();
  for (int i = 0; i < 20; ++i) Commit(Transaction().Put("a", "2"));
  own->Signal(0, SIGKILL);
  std::filesystem::remove_all(data);
  std::filesystem::rename(data + ".old", data);
  own->Start(0);
  own->AwaitHealthy();
  EXPECT_TRUE(Eventually([&] { return !store_->Health().ok(); }));
  EXPECT_THAT(store_->Health(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("an older state was restored")));
  EXPECT_FALSE(store_->CommitAndWait(Transaction().Put("a", "3")).ok());
}

TEST_F(EtcdAcceptanceReal, Row38OneOfManyCompacts) {
  EtcdCounts counts[2];
  std::unique_ptr<Store> stores[2];
  for (int i = 0; i < 2; ++i) {
    EtcdOptions options = options_;
    options.compaction_interval = milliseconds(250);
    options.counts = &counts[i];
    stores[i] = OpenOne(options);
  }
  const auto total = [&] { return counts[0].compactions + counts[1].compactions; };
  ASSERT_TRUE(Eventually([&] { return total() >= 5; }));
  // One per interval: the other one sees that it was done. Answers may come late, so that one or two of
  // before count as well.
  const auto began = std::chrono::steady_clock::now();
  const auto before = total();
  ASSERT_TRUE(Eventually([&] { return total() >= before + 12; }));
  const auto did = total() - before;
  const auto intervals = (std::chrono::steady_clock::now() - began) / milliseconds(250);
  EXPECT_LE(did, static_cast<std::uint64_t>(intervals) + 4);
  // Whoever does it dies.
  const int doing = counts[0].compactions > counts[1].compactions ? 0 : 1;
  stores[doing] = nullptr;
  const auto so_far = counts[1 - doing].compactions.load();
  ASSERT_TRUE(Eventually([&] { return counts[1 - doing].compactions >= so_far + 2; }));
}

// How many writes a second, and how long they take at worst but one in a hundred.
struct Rate {
  double writes_per_second = 0;
  double p99_ms = 0;
};
Rate WritesOf(Store& store, int callers, std::chrono::nanoseconds how_long) {
  const std::string value(1024, 'x');
  std::vector<std::unique_ptr<Watch>> watches;
  for (int w = 0; w < 100; ++w) {
    watches.push_back(
        *store.WatchFrom(fmt::format("/registry/pods/{:03}", w), store.revision(), [] {}));
  }
  base::Mutex mutex;
  std::vector<double> took;
  std::atomic<int> running = callers;
  std::atomic<bool> stop = false;
  // Each caller commits again when it is answered.
  std::function<void(int, int)> commit = [&](int caller, int n) {
    if (stop) {
      --running;
      return;
    }
    const auto began = std::chrono::steady_clock::now();
    store.Commit(Transaction().Put(fmt::format("/registry/pods/{:03}/{}", caller, n % 20), value),
                 [&, caller, n, began](const StatusOr<Outcome>& outcome) {
                   EXPECT_THAT(outcome, IsOk());
                   const std::chrono::duration<double, std::milli> ms =
                       std::chrono::steady_clock::now() - began;
                   {
                     const base::MutexLock lock(mutex);
                     took.push_back(ms.count());
                   }
                   commit(caller, n + 1);
                 });
  };
  const auto began = std::chrono::steady_clock::now();
  for (int c = 0; c < callers; ++c) commit(c, 0);
  std::this_thread::sleep_for(how_long);
  stop = true;
  EXPECT_TRUE(Eventually([&] { return running == 0; }));
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  const base::MutexLock lock(mutex);
  std::ranges::sort(took);
  return {.writes_per_second = static_cast<double>(took.size()) / all.count(),
          .p99_ms = took[took.size() * 99 / 100]};
}

// Figures are for a machine that does nothing else: here they are printed, and held against SQLite's.
TEST_F(EtcdAcceptanceReal, Row40ManyCallersAndWatchers) {
  EtcdCluster durable({.fsync = true});
  EtcdOptions options = options_;
  options.address = durable.Address("/dray");
  store_ = OpenOne(options);
  const TempFolder folder;
  const auto file = OpenSqlite(folder);
  const auto how_long = seconds(::getenv("DRAY_SECONDS") != nullptr ? 10 : 1);
  const Rate sqlite = WritesOf(*file, 256, how_long);
  const Rate etcd = WritesOf(*store_, 256, how_long);
  fmt::print(
      "256 callers, 1 KiB, 100 watchers: SQLite {:.0f}/s (p99 {:.1f} ms), etcd {:.0f}/s (p99 "
      "{:.1f} ms), {:.1f} to a request\n",
      sqlite.writes_per_second, sqlite.p99_ms, etcd.writes_per_second, etcd.p99_ms,
      static_cast<double>(counts_.transactions) / static_cast<double>(counts_.groups));
  // Of 256 under way about half are in a request, and the others in the next one.
  EXPECT_GT(counts_.transactions, 20 * counts_.groups);
  EXPECT_EQ(counts_.watches, 1u);
  EXPECT_EQ(counts_.fences, 0u);
}

}  // namespace
}  // namespace dray::store

// SPDX-License-Identifier: Apache-2.0
//
// Three members of etcd, three API servers, two schedulers, two controllers, and clients of all of them,
// while anything is killed, frozen, slowed down or cut off: what clients were told and shown must be what
// has happened, nothing is given twice, quotas hold, and afterwards everything that can run runs.
//
// DRAY_SECONDS says how long (1800 for half an hour), DRAY_SEED which dice. A run that fails keeps what
// everybody said, and says where. See README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "api/kinds.h"
#include "base/check.h"
#include "crash/judge.h"
#include "fmt/format.h"
#include "model/seeds.h"
#include "parts/clients.h"
#include "parts/etcd_truth.h"
#include "parts/faults.h"
#include "parts/records.h"
#include "parts/site.h"
#include "parts/work.h"
#include "store/etcd/etcd_for_test.h"

namespace dray::parts {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using ::testing::IsEmpty;

constexpr int kRegisterClients = 8;
constexpr int kWatchClients = 6;
constexpr int kPodClients = 2 * kSpaces;
constexpr seconds kToSettle{90};
constexpr seconds kToShow{60};

std::string MakeFolder() {
  std::string name = std::filesystem::temp_directory_path() / "dray-parts-XXXXXX";
  DRAY_CHECK(::mkdtemp(name.data()) != nullptr, "mkdtemp");
  return name;
}

class PartsTest : public ::testing::Test {
 protected:
  PartsTest()
      : seed_(model::FromEnvironment("DRAY_SEED", std::random_device{}() % 1'000'000)),
        seconds_(static_cast<int>(model::FromEnvironment("DRAY_SECONDS", 75))),
        folder_(MakeFolder()),
        site_(folder_),
        stored_(folder_) {}

  ~PartsTest() override {
    truth_ = nullptr;
    if (!HasFailure()) {
      std::error_code ignored;
      std::filesystem::remove_all(folder_, ignored);
      return;
    }
    WriteHistories(folder_, stored_.registers().truth(), registers_, watchers_);
    std::cout << fmt::format("what everybody said is in {}; DRAY_SEED={} for the same dice\n",
                             folder_, seed_);
  }

  // Everything is in order, so nobody waits for what is down.
  void Start() {
    ASSERT_EQ(site_.Start(), "");
    truth_ = std::make_unique<EtcdTruth>(site_.members(), site_.prefix(),
                                         [this](const auto& all) { stored_.On(all); });
    ASSERT_EQ(MakeWorld(StraightDoors()), "");
    Doors doors{.ports = {}, .tls = site_.tls()};
    for (std::size_t i = 0; i < kServers; ++i) doors.ports.push_back(site_.ClientPort(i));
    for (int i = 0; i < kRegisterClients; ++i) {
      registers_.push_back(std::make_unique<RegisterClient>(i, doors, seed_));
    }
    for (int i = 0; i < kWatchClients; ++i) {
      watchers_.push_back(std::make_unique<WatchClient>(i, doors, seed_));
    }
    for (int i = 0; i < kPodClients; ++i) {
      pods_.push_back(std::make_unique<PodClient>(i, doors, seed_));
    }
    for (const auto& client : registers_) Go([&] { client->Run(stop_); });
    for (const auto& client : watchers_)
      watching_.emplace_back([&] { client->Run(last_, kToShow); });
    for (const auto& client : pods_) {
      Go([&] {
        client->Run(stop_);
        if (!client->Shrink(seconds(60))) ++cannot_shrink_;
      });
    }
  }

  // Past the proxies.
  Doors StraightDoors() const {
    Doors doors{.ports = {}, .tls = site_.tls()};
    for (std::size_t i = 0; i < kServers; ++i) doors.ports.push_back(site_.Port(i));
    return doors;
  }

  void Go(const std::function<void()>& work) {
    ++working_;
    working_threads_.emplace_back([this, work] {
      work();
      --working_;
    });
  }

  // Lets others work and keeps what they work with alive.
  void TendUntil(
      const std::function<bool()>& done, const std::function<void()>& besides = [] {}) {
    while (!done()) {
      site_.Tend();
      besides();
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  void Disturb() {
    Faults faults(site_, *truth_, seed_);
    const auto until = Clock::now() + seconds(seconds_);
    TendUntil([&] { return Clock::now() >= until || !truth_->failure().empty(); },
              [&] { faults.Step(); });
    faults.EndAll();
    int all = 0;
    for (const auto& [sort, count] : faults.counts()) {
      std::cout << fmt::format("{} {}, ", count, sort);
      all += count;
    }
    std::cout << "\n";
    EXPECT_GT(all, seconds_ / 10) << "hardly anything has happened";
    EXPECT_EQ(truth_->failure(), "");
  }

  // Nobody asks for anything any more, and nothing is in the way: what can run does.
  void Settle() {
    stop_ = true;
    const auto began = Clock::now();
    TendUntil([&] { return working_ == 0; });
    EXPECT_EQ(cannot_shrink_, 0) << "pods could not be deleted";
    std::vector<std::string> unsettled{"nothing was read"};
    std::atomic<bool> over = false;
    Go([&] {
      process::Requests requests(site_.Port(0), site_.tls());
      const auto deadline = Clock::now() + kToSettle;
      while (!unsettled.empty() && Clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds(200));
        const auto world = crash::ReadWorld(requests);
        if (!world) continue;
        unsettled = crash::Unsettled(*world);
        if (!unsettled.empty()) continue;
        unsettled = crash::CheckDevices(*world);
        pods_left_ = world->pods.size();
      }
      over = true;
    });
    TendUntil([&] { return over && working_ == 0; });
    EXPECT_THAT(unsettled, IsEmpty());
    settled_in_ = std::chrono::duration<double>(Clock::now() - began).count();
    for (std::thread& thread : working_threads_) thread.join();
    working_threads_.clear();
  }

  // Every watcher is shown everything that has been.
  void ShowAll() {
    Asker asker("last", StraightDoors(), seed_);
    last_write_ = {.kind = Operation::Kind::kWrite, .name = "last", .value = "last"};
    last_write_.began = Clock::now();
    const auto made = asker.Do({.method = "POST",
                                .path = fmt::format("/api/v1/namespaces/{}/configmaps", kRegisters),
                                .body = R"({"metadata":{"name":"last"},"data":{"v":"last"}})"});
    EXPECT_EQ(made.status, 201) << made.body;
    if (made.status != 201) {
      last_ = 1;  // nobody waits for what will not come
    } else {
      last_ = last_write_.revision = process::RevisionOf(process::Decoded(made.body));
      last_write_.outcome = OutcomeOf(made.status);
    }
    last_write_.ended = Clock::now();
    std::atomic<bool> over = false;
    std::thread waits([&] {
      for (std::thread& thread : watching_) thread.join();
      over = true;
    });
    TendUntil([&] { return over.load(); });
    waits.join();
    watching_.clear();
  }

  void JudgeAll() {
    EXPECT_TRUE(truth_->AwaitAll(seconds(30))) << "what etcd has was not read in time";
    EXPECT_THAT(site_.End(), IsEmpty());
    EXPECT_THAT(site_.surprises(), IsEmpty());
    truth_ = nullptr;
    EXPECT_THAT(stored_.complaints(), IsEmpty());
    const Truth& truth = stored_.registers().truth();
    std::vector<Operation> operations{last_write_};
    for (const auto& client : registers_) {
      EXPECT_THAT(client->complaints(), IsEmpty());
      operations.insert(operations.end(), client->operations().begin(), client->operations().end());
      CheckListings(client->listings(), truth);
    }
    EXPECT_THAT(Contradictions(operations, truth), IsEmpty());
    for (const auto& client : watchers_) {
      EXPECT_THAT(client->complaints(), IsEmpty());
      CheckListings(client->listings(), truth);
      for (const Watched& chain : client->chains()) {
        EXPECT_THAT(CheckWatched(chain, truth), IsEmpty());
      }
    }
    for (const auto& client : pods_) EXPECT_THAT(client->complaints(), IsEmpty());
    Report(operations);
  }

  static void CheckListings(const std::vector<Listing>& listings, const Truth& truth) {
    for (const Listing& listing : listings) EXPECT_THAT(CheckListing(listing, truth), IsEmpty());
  }

  void Report(const std::vector<Operation>& operations) {
    const Counted counted = CountOperations(operations);
    std::size_t events = 0;
    std::size_t chains = 0;
    std::size_t connections = 0;
    for (const auto& client : watchers_) {
      events += client->events();
      chains += client->chains().size();
      connections += client->connections();
    }
    std::size_t made = 0;
    std::size_t refused = 0;
    for (const auto& client : pods_) {
      made += client->made();
      refused += client->refused();
    }
    std::cout << fmt::format(
        "seed {}, {} s: {} writes were done, {} were not, of {} nobody knew; {} reads; the longest "
        "time without a write {:.1f} s\n{} events to {} watchers over {} connections from {} "
        "lists\n"
        "{} objects made under quotas, {} refused, {} times full; {} devices given, {} pods bound\n"
        "{} processes ended; settled {:.1f} s after the last fault with {} pods\n",
        seed_, seconds_, counted.done, counted.not_done, counted.unknown, counted.reads,
        counted.longest_pause, events, watchers_.size(), connections, chains, made, refused,
        stored_.quotas().times_full(), stored_.devices().given(), stored_.bindings().bound(),
        site_.ends(), settled_in_, pods_left_);
    // A run in which nothing happens proves nothing.
    EXPECT_GT(counted.done, static_cast<std::size_t>(seconds_) * 5);
    EXPECT_GT(events, static_cast<std::size_t>(seconds_) * 10);
    EXPECT_GT(stored_.devices().given(), static_cast<std::size_t>(seconds_) / 5);
    EXPECT_GT(stored_.quotas().times_full(), 10U);
  }

  const std::uint64_t seed_;
  const int seconds_;
  const std::string folder_;
  Site site_;
  StoredJudges stored_;
  std::unique_ptr<EtcdTruth> truth_;
  std::vector<std::unique_ptr<RegisterClient>> registers_;
  std::vector<std::unique_ptr<WatchClient>> watchers_;
  std::vector<std::unique_ptr<PodClient>> pods_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> last_ = 0;
  std::atomic<int> working_ = 0;
  std::atomic<int> cannot_shrink_ = 0;
  std::vector<std::thread> working_threads_;
  std::vector<std::thread> watching_;
  Operation last_write_;
  double settled_in_ = 0;
  std::size_t pods_left_ = 0;
};

TEST_F(PartsTest, WhateverDiesOrHangsWhatClientsAreToldIsTrue) {
  DRAY_NEEDS_ETCD();
  Start();
  if (HasFatalFailure()) return;
  Disturb();
  Settle();
  ShowAll();
  JudgeAll();
}

}  // namespace
}  // namespace dray::parts

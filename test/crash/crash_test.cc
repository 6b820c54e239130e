// SPDX-License-Identifier: Apache-2.0
//
// `dray up` under load is killed again and again, at random moments, while it starts and while it
// moves its log into the database, and started again on the same data. DRAY_CRASHES says how often,
// DRAY_SEED which dice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "crash/disk.h"
#include "crash/judge.h"
#include "crash/load.h"
#include "crash/observer.h"
#include "fmt/format.h"
#include "model/seeds.h"
#include "process/up_process.h"

namespace dray::crash {
namespace {

using process::UpProcess;
using ::testing::IsEmpty;

constexpr int kClients = 3;
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kToSettle{90};
constexpr std::string_view kTemplates =
    "/apis/resource.k8s.io/v1/namespaces/load-0/resourceclaimtemplates";

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

enum class Moment { kStarting, kWorking, kCheckpoint };

class CrashTest : public ::testing::Test {
 protected:
  CrashTest()
      : seed_(model::FromEnvironment("DRAY_SEED", std::random_device{}())),
        dice_(seed_),
        data_(folder_.File("data")) {
    for (int i = 0; i < kClients; ++i) loads_.push_back(std::make_unique<Load>(i, seed_));
    observers_.push_back(std::make_unique<Observer>(KindOf<api::Pod>()));
    observers_.push_back(std::make_unique<Observer>(KindOf<api::ResourceClaim>()));
  }

  std::unique_ptr<UpProcess> Begin() {
    const char* source = std::getenv("DRAY_SOURCE");
    DRAY_CHECK(source != nullptr,
               "DRAY_SOURCE says where the sources are, DRAY_BINARY where dray is");
    const std::string cluster = std::string(source) + "/test/crash/cluster.yaml";
    return std::make_unique<UpProcess>(data_, std::vector<std::string>{"--hollow-nodes", cluster});
  }

  // Clients and observers at work until the server is killed, or they are told to stop.
  std::vector<std::thread> Work(const UpProcess& server, const std::atomic<bool>& stop) {
    std::vector<std::thread> threads;
    for (const auto& load : loads_) {
      threads.emplace_back([&, load = load.get()] {
        process::Requests requests(server.port(), server.Tls());
        load->Run(requests, stop);
      });
    }
    for (const auto& observer : observers_) {
      threads.emplace_back(
          [&, observer = observer.get()] { observer->Run(server.port(), server.Tls(), stop); });
    }
    return threads;
  }

  // Large objects one after the other, so that the log fills soon.
  static void Ballast(const UpProcess& server, const std::atomic<bool>& stop) {
    process::Requests requests(server.port(), server.Tls());
    int status = 200;
    for (int i = 0; !stop && status != 0; ++i) {
      status =
          requests
              .Do({.method = "PATCH",
                   .path = fmt::format("{}/gpu", kTemplates),
                   .body = fmt::format(R"({{"metadata":{{"annotations":{{"ballast":"{}{}"}}}}}})",
                                       i, std::string(200'000, 'x')),
                   .content_type = "application/merge-patch+json"})
              .status;
    }
  }

  void KillAtWork(UpProcess& server, Moment moment) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads = Work(server, stop);
    if (moment == Moment::kCheckpoint) {
      threads.emplace_back([&] { Ballast(server, stop); });
      checkpoints_ += AwaitCheckpoint(data_, std::chrono::seconds(20)) ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::microseconds(dice_.Range(0, 20'000)));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(dice_.Range(20, 2'000)));
    }
    EXPECT_TRUE(server.Kill()) << "it had ended by itself: " << server.Said();
    for (std::thread& thread : threads) thread.join();
  }

  void ExpectNoComplaints() {
    for (const auto& load : loads_) EXPECT_THAT(load->complaints(), IsEmpty());
    for (const auto& observer : observers_) EXPECT_THAT(observer->complaints(), IsEmpty());
  }

  // A server that came back knows everything that was acknowledged or shown, and gave nothing
  // twice.
  void CheckStored(const UpProcess& server) {
    process::Requests requests(server.port(), server.Tls());
    ByPath stored;
    for (const api::KindInfo* kind : {&KindOf<api::Pod>(), &KindOf<api::ResourceClaim>(),
                                      &KindOf<api::Deployment>(), &KindOf<api::Job>()}) {
      const auto listed = requests.List(*kind);
      ASSERT_TRUE(listed) << kind->plural;
      for (const api::Object& object : listed->objects) {
        stored.emplace(process::PathOf(*kind, object.metadata().namespace_, object.metadata().name),
                       object);
      }
      for (const auto& observer : observers_) {
        if (&observer->kind() != kind) continue;
        EXPECT_THAT(observer->CheckNotTakenBack(*listed), IsEmpty());
      }
    }
    for (const auto& load : loads_) EXPECT_THAT(load->witness().Check(stored), IsEmpty());
    const auto world = ReadWorld(requests);
    ASSERT_TRUE(world);
    EXPECT_THAT(CheckDevices(*world), IsEmpty());
  }

  void Settle(const UpProcess& server) {
    process::Requests requests(server.port(), server.Tls());
    for (const auto& load : loads_) ASSERT_TRUE(load->Shrink(requests));
    const auto deadline = std::chrono::steady_clock::now() + kToSettle;
    std::vector<std::string> unsettled;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      const auto world = ReadWorld(requests);
      ASSERT_TRUE(world);
      EXPECT_THAT(CheckDevices(*world), IsEmpty());
      unsettled = Unsettled(*world);
    } while (!unsettled.empty() && std::chrono::steady_clock::now() < deadline);
    EXPECT_THAT(unsettled, IsEmpty());
  }

  void Report(int crashes) const {
    std::uint64_t answers = 0;
    std::uint64_t events = 0;
    std::uint64_t relists = 0;
    std::uint64_t lost = 0;
    std::uint64_t lost_and_done = 0;
    std::uint64_t open = 0;
    std::uint64_t open_and_done = 0;
    for (const auto& load : loads_) {
      answers += load->answers();
      lost += load->lost();
      lost_and_done += load->lost_and_done();
      open += load->witness().open();
      open_and_done += load->witness().open_and_done();
    }
    for (const auto& observer : observers_) {
      events += observer->events();
      relists += observer->relists();
    }
    std::cout << fmt::format(
        "seed {}: {} crashes, {} of them in a checkpoint; {} answers, {} events, {} lists; {} "
        "answers "
        "lost, {} of them to writes that were done; {} open at a crash, {} of them done\n",
        seed_, crashes, checkpoints_, answers, events, relists, lost, lost_and_done, open,
        open_and_done);
    EXPECT_GT(answers, 0u);
    EXPECT_GT(lost_and_done, 0u);
    EXPECT_GT(events, 0u);
  }

  const std::uint64_t seed_;
  model::Dice dice_;
  process::Folder folder_;
  const std::string data_;
  std::vector<std::unique_ptr<Load>> loads_;
  std::vector<std::unique_ptr<Observer>> observers_;
  int checkpoints_ = 0;
};

TEST_F(CrashTest, NothingThatWasToldIsLostAndNothingIsGivenTwice) {
  SCOPED_TRACE(fmt::format("DRAY_SEED={}", seed_));
  const int crashes = static_cast<int>(model::FromEnvironment("DRAY_CRASHES", 8));
  const std::vector<Moment> moments = {Moment::kStarting, Moment::kWorking, Moment::kCheckpoint,
                                       Moment::kWorking};
  for (int crash = 0; crash < crashes && !HasFailure(); ++crash) {
    SCOPED_TRACE(fmt::format("crash {}", crash));
    const Moment moment = moments[static_cast<std::size_t>(crash) % moments.size()];
    const auto server = Begin();
    if (moment == Moment::kStarting) {
      std::this_thread::sleep_for(std::chrono::milliseconds(dice_.Range(0, 120)));
      EXPECT_TRUE(server->Kill()) << server->Said();
    } else {
      ASSERT_THAT(server->AwaitReady(kPatience), IsEmpty());
      CheckStored(*server);
      KillAtWork(*server, moment);
    }
    EXPECT_EQ(IntegrityOf(data_, folder_.File("copy")), "ok");
    ExpectNoComplaints();
  }

  const auto server = Begin();
  ASSERT_THAT(server->AwaitReady(kPatience), IsEmpty());
  CheckStored(*server);
  std::atomic<bool> stop = false;
  std::vector<std::thread> observing;
  for (const auto& observer : observers_) {
    observing.emplace_back(
        [&, observer = observer.get()] { observer->Run(server->port(), server->Tls(), stop); });
  }
  Settle(*server);
  stop = true;
  for (std::thread& thread : observing) thread.join();
  process::Requests requests(server->port(), server->Tls());
  for (const auto& observer : observers_) {
    const auto listed = requests.List(observer->kind());
    ASSERT_TRUE(listed);
    EXPECT_THAT(observer->CheckSame(*listed), IsEmpty());
  }
  ExpectNoComplaints();
  EXPECT_EQ(server->Terminate(), 0) << server->Said();
  Report(crashes);
}

}  // namespace
}  // namespace dray::crash

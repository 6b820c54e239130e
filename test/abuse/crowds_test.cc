// SPDX-License-Identifier: Apache-2.0
//
// Very many connections, very slow ones, and very large bodies at once.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "abuse/up_for_test.h"
#include "api/node.h"
#include "fmt/format.h"

namespace dray::abuse {
namespace {

using apiserver::TestClient;
using std::chrono::steady_clock;

constexpr std::size_t kWatches = 5'000;
constexpr std::size_t kMaxBytesPerWatch = 64u << 10;
constexpr int kSlow = 40;
constexpr int kLarge = 1'500;
constexpr std::size_t kLargeBytes = 20'000;

// As many as the limit of open files allows, here and there.
std::size_t Watches() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const std::size_t allowed = files.rlim_cur > 1'000 ? files.rlim_cur - 1'000 : 100;
  return std::min(kWatches, allowed);
}

template <typename F>
void InThreads(int count, F work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back([&, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

int Create(process::Requests& requests, const std::string& name, std::size_t bytes) {
  return requests
      .Do({.method = "POST",
           .path = std::string(kTemplates),
           .body = TemplateBody(name, std::string(bytes, 'x'))})
      .status;
}

// Clients that ask for much and do not read, that do not finish what they say, and that say
// nothing. Deadlines are long, so they are there while other things are tried. One thread.
class SlowCrowd {
 public:
  explicit SlowCrowd(process::UpProcess& server) : begin_(steady_clock::now()) {
    const std::size_t before = server.ResidentBytes();
    const apiserver::ClientTls tls = server.Tls();
    for (int i = 0; i < kSlow; ++i) {
      readers_.push_back(std::make_unique<TestClient>(server.port(), tls, 4'096));
      readers_.back()->Send(process::Text({.path = std::string(kTemplates)}));
      writers_.push_back(std::make_unique<TestClient>(server.port(), tls));
      writers_.back()->Send(
          fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: "
                      "application/json\r\nContent-Length: 3000000\r\n\r\n",
                      kTemplates));
      silent_.push_back(std::make_unique<TestClient>(server.port()));
    }
    // Until everything that can be sent to them was.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    held_ = std::max(server.ResidentBytes(), before) - before;
    drip_ = std::thread([this] {
      while (!stop_) {
        for (const auto& writer : writers_) writer->Send("{");
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }
    });
  }
  ~SlowCrowd() { StopDripping(); }

  std::size_t held() const { return held_; }

  // After the longest of the server's deadlines.
  void ExpectCutOff() {
    std::this_thread::sleep_until(begin_ + std::chrono::seconds(34));
    StopDripping();
    for (const auto& client : writers_) EXPECT_TRUE(client->Ended());
    for (const auto& client : silent_) EXPECT_TRUE(client->Ended());
    // What was on its way can still be read, but it does not go on.
    for (const auto& client : readers_) {
      EXPECT_LT(client->ReadToEnd().size(), kLarge * kLargeBytes);
    }
  }

 private:
  void StopDripping() {
    stop_ = true;
    if (drip_.joinable()) drip_.join();
  }

  const steady_clock::time_point begin_;
  std::vector<std::unique_ptr<TestClient>> readers_;
  std::vector<std::unique_ptr<TestClient>> writers_;
  std::vector<std::unique_ptr<TestClient>> silent_;
  std::size_t held_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread drip_;
};

class CrowdsTest : public UpTest {
 protected:
  static void SetUpTestSuite() {
    process::UpProcess& server = World::Get().server();
    InThreads(4, [&](int t) {
      process::Requests requests(server.port(), server.Tls());
      for (int i = t; i < kLarge; i += 4) {
        EXPECT_EQ(Create(requests, fmt::format("large-{}", i), kLargeBytes), 201);
      }
    });
    slow_ = std::make_unique<SlowCrowd>(server);
  }
  static void TearDownTestSuite() { slow_ = nullptr; }

  static inline std::unique_ptr<SlowCrowd> slow_;
};

TEST_F(CrowdsTest, ListsThatAreNotReadHoldLittle) {
  std::cout << fmt::format("{} lists of {} MB not read: {} MiB more\n", kSlow,
                           kLarge * kLargeBytes / 1'000'000, slow_->held() >> 20);
  EXPECT_LT(slow_->held(), 200u << 20);
}

TEST_F(CrowdsTest, ManyWatchesCostMemoryOnly) {
  const std::size_t count = Watches();
  const std::size_t threads = server().Threads();
  const std::size_t before = server().ResidentBytes();
  // From now on: what is there already is much.
  process::Requests requests = Admin();
  const auto listed = requests.List(api::HubKind(api::TypeInfoOf<api::Node>()));
  ASSERT_TRUE(listed);
  const std::string path =
      fmt::format("{}?watch=1&resourceVersion={}", kTemplates, listed->revision);
  std::vector<std::unique_ptr<TestClient>> clients(count);
  const auto begin = steady_clock::now();
  std::atomic<int> watching = 0;
  InThreads(4, [&](int t) {
    const apiserver::ClientTls tls = server().Tls();
    for (std::size_t i = static_cast<std::size_t>(t); i < count; i += 4) {
      clients[i] = std::make_unique<TestClient>(server().port(), tls);
      clients[i]->Send(process::Text({.path = path}));
      watching += clients[i]->ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200") ? 1 : 0;
    }
  });
  const auto open = steady_clock::now();
  EXPECT_EQ(watching, static_cast<int>(count));
  const std::size_t each =
      (std::max(server().ResidentBytes(), before) - before) / std::max<std::size_t>(count, 1);
  EXPECT_LT(each, kMaxBytesPerWatch);
  EXPECT_EQ(server().Threads(), threads);
  EXPECT_EQ(Create(requests, "watched", 10), 201);
  std::atomic<int> told = 0;
  InThreads(4, [&](int t) {
    for (std::size_t i = static_cast<std::size_t>(t); i < count; i += 4) {
      const bool heard = clients[i]->ReadChunk().find(R"("name":"watched")") != std::string::npos;
      told += heard ? 1 : 0;
    }
  });
  EXPECT_EQ(told, static_cast<int>(count));
  std::cout << fmt::format(
      "{} watches: {} bytes each, {} ms to open, {} ms to tell all\n", count, each,
      std::chrono::duration_cast<std::chrono::milliseconds>(open - begin).count(),
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - open).count());
}

TEST_F(CrowdsTest, LargeBodiesAtOnceAreBounded) {
  InThreads(8, [&](int) {
    process::Requests requests = Admin();
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(Create(requests, "heavy", 2'900'000), 422);
    }
  });
}

// A byte now and then does not help.
TEST_F(CrowdsTest, SlowClientsAreCutOff) { slow_->ExpectCutOff(); }

}  // namespace
}  // namespace dray::abuse

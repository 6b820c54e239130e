// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "base/mutex.h"
#include "plane/internal/turns.h"

namespace dray::plane::internal {
namespace {

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

// Whoever comes waits until all have come.
class Meeting {
 public:
  explicit Meeting(int expected) : expected_(expected) {}
  void Come() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const base::MutexLock lock(mutex_);
    ++there_;
    came_.NotifyAll();
    while (there_ < expected_ && came_.WaitUntil(mutex_, until)) {
    }
  }
  int there() {
    const base::MutexLock lock(mutex_);
    return there_;
  }

 private:
  const int expected_;
  base::Mutex mutex_;
  base::CondVar came_;
  int there_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Finding waits for the meeting.
class SlowCluster final : public api::Cluster {
 public:
  explicit SlowCluster(Meeting& meeting) : meeting_(meeting) {}
  StatusOr<std::vector<api::Object>> List(const api::KindInfo&) const override {
    return std::vector<api::Object>();
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo&, std::string_view,
                                            std::string_view) const override {
    meeting_.Come();
    return std::optional<api::Object>();
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const>,
                                          const api::Selection&) override {
    return nullptr;
  }
  StatusOr<api::Object> Create(api::Object object) override { return object; }
  StatusOr<api::Object> Update(api::Object object) override { return object; }
  StatusOr<api::Object> UpdateStatus(api::Object object) override { return object; }
  Status Delete(const api::KindInfo&, std::string_view, std::string_view,
                std::string_view) override {
    return {};
  }
  Status Bind(std::string_view, std::string_view, std::string_view, std::string_view) override {
    return {};
  }
  void Note(const api::EventNote&) override {}

 private:
  Meeting& meeting_;
};

TEST(Turns, WaitingForTheClusterOverlapsAndNothingElseDoes) {
  constexpr int kWorks = 4;
  Meeting meeting(kWorks);
  SlowCluster slow(meeting);
  std::atomic<int> done = 0;
  int inside = 0;  // what only one may touch at a time
  int entered = 0;
  {
    Turns turns(slow, kWorks, [&] { ++done; });
    const auto touch = [&] {
      EXPECT_EQ(inside++, 0);
      ++entered;
      std::this_thread::yield();
      EXPECT_EQ(--inside, 0);
    };
    for (int i = 0; i < kWorks; ++i) {
      turns.Run([&] {
        touch();
        // Comes back only when all are here, which takes that each gave up its turn.
        EXPECT_TRUE(turns.cluster().Find(PodKind(), "ns", "p").ok());
        touch();
      });
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (done < kWorks && std::chrono::steady_clock::now() < deadline) {
      const TurnLock turn(turns.turn());
      touch();
    }
  }
  EXPECT_EQ(done, kWorks);
  EXPECT_EQ(meeting.there(), kWorks);
  EXPECT_GT(entered, 2 * kWorks);
}

TEST(Turns, TheDecidersOwnCallsKeepItsTurn) {
  Meeting meeting(1);
  SlowCluster slow(meeting);
  Turns turns(slow, 1, [] {});
  std::atomic<bool> ran = false;
  {
    const TurnLock turn(turns.turn());
    turns.Run([&] { ran = true; });
    EXPECT_TRUE(turns.cluster().Find(PodKind(), "ns", "p").ok());
    EXPECT_FALSE(ran);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!ran && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace dray::plane::internal

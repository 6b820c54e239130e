// SPDX-License-Identifier: Apache-2.0
#include "rpc/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/internal/rate_limit.h"
#include "rpc/plugin_for_test.h"
#include "rpc/raw_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Pair;

// Answers when it is told to.
class SlowSource final : public PodResourcesSource {
 public:
  void List(Done<std::vector<PodResources>> done) override {
    const base::MutexLock lock(mutex_);
    lists_.push_back(std::move(done));
  }
  void Get(const std::string&, const std::string&,
           Done<std::optional<PodResources>> done) override {
    done(base::Unavailable("the agent is starting"));
  }
  std::vector<Done<std::vector<PodResources>>> Taken() {
    const base::MutexLock lock(mutex_);
    return lists_;
  }

 private:
  base::Mutex mutex_;
  std::vector<Done<std::vector<PodResources>>> lists_ ABSL_GUARDED_BY(mutex_);
};

TEST(PodResourcesServer, LimitsRequests) {
  const TestFolder folder;
  SlowSource source;
  base::ManualClock clock;
  base::Mutex mutex;
  std::vector<std::pair<PodResourcesMethod, bool>> answered;
  const auto server = ServePodResources({.socket = folder / "s.sock",
                                         .clock = &clock,
                                         .answered =
                                             [&](PodResourcesMethod method, bool ok) {
                                               const base::MutexLock lock(mutex);
                                               answered.emplace_back(method, ok);
                                             }},
                                        source);
  ASSERT_THAT(server, IsOk());
  const auto client = *ConnectPodResources(folder / "s.sock");
  EXPECT_THAT(client->Get("n", "p"), StatusIs(StatusCode::kUnavailable, "the agent is starting"));
  for (int i = 0; i < 9; ++i) EXPECT_THAT(client->GetAllocatable(), IsOk());
  EXPECT_THAT(client->GetAllocatable(),
              StatusIs(StatusCode::kResourceExhausted, "rejected by rate limit"));
  clock.Advance(std::chrono::milliseconds(10));
  EXPECT_THAT(client->GetAllocatable(), IsOk());
  EXPECT_THAT(client->GetAllocatable(), StatusIs(StatusCode::kResourceExhausted, _));
  const base::MutexLock lock(mutex);
  EXPECT_EQ(answered.size(), 11);
  EXPECT_THAT(answered[0], Pair(PodResourcesMethod::kGet, false));
  EXPECT_THAT(answered[1], Pair(PodResourcesMethod::kGetAllocatable, true));
}

// An agent that ends has nobody left to answer.
TEST(PodResourcesServer, GoesWithoutWaitingForItsSource) {
  const TestFolder folder;
  SlowSource source;
  const base::SystemClock clock;
  auto server = ServePodResources({.socket = folder / "s.sock", .clock = &clock}, source);
  ASSERT_THAT(server, IsOk());
  const auto client = *ConnectPodResources(folder / "s.sock");
  std::future<StatusOr<std::vector<PodResources>>> list =
      std::async(std::launch::async, [&] { return client->List(); });
  ASSERT_TRUE(Eventually([&] { return source.Taken().size() == 1; }));
  server->reset();
  EXPECT_FALSE(list.get().ok());
  source.Taken()[0](std::vector<PodResources>{{.name = "late"}});
}

TEST(PodResourcesServer, AnswersLater) {
  const TestFolder folder;
  SlowSource source;
  const base::SystemClock clock;
  const auto server = ServePodResources({.socket = folder / "s.sock", .clock = &clock}, source);
  ASSERT_THAT(server, IsOk());
  const auto client = *ConnectPodResources(folder / "s.sock");
  std::future<StatusOr<std::vector<PodResources>>> list =
      std::async(std::launch::async, [&] { return client->List(); });
  ASSERT_TRUE(Eventually([&] { return source.Taken().size() == 1; }));
  source.Taken()[0](std::vector<PodResources>{{.name = "p", .namespace_ = "n"}});
  EXPECT_THAT(list.get(), IsOkAndHolds(ElementsAre(PodResources{.name = "p", .namespace_ = "n"})));
}

TEST(RateLimit, LetsABurstPassAndThenSoManyPerSecond) {
  base::ManualClock clock;
  internal::RateLimit limit(clock, 100, 10);
  const auto take = [&](int times) {
    int taken = 0;
    for (int i = 0; i < times; ++i) taken += limit.Take() ? 1 : 0;
    return taken;
  };
  EXPECT_EQ(take(100), 10);
  clock.Advance(std::chrono::milliseconds(55));
  EXPECT_EQ(take(100), 5);
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(take(100), 10);
}

}  // namespace
}  // namespace dray::rpc

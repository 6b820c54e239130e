// SPDX-License-Identifier: Apache-2.0
//
// Connections that stand and lead nowhere: somebody between the client and a real server forwards
// nothing any more, and closes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/event.h"
#include "api/pod.h"
#include "client/remote_cluster.h"
#include "client/server_for_test.h"
#include "testing/status_matchers.h"
#include "testing/tcp_proxy.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::dray::testing::TcpProxy;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

constexpr milliseconds kSilence{1'000};

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

// Over HTTP/1.1, where somebody in between sees what is asked, and over HTTP/2, where only the server does.
class FrozenTest : public ::testing::TestWithParam<bool> {
 protected:
  using Fate = TcpProxy::Fate;
  using Rule = std::function<Fate(std::string_view method, std::string_view target)>;

  FrozenTest() {
    if (!GetParam()) return;
    server_.set_intercept(
        [this](const apiserver::Request& request) -> std::optional<apiserver::Response> {
          const base::MutexLock lock(mutex_);
          const Fate fate =
              rule_ ? rule_(request.method, request.path + "?" + request.query) : Fate::kForward;
          if (fate != Fate::kForward) proxy_.Doom(fate);
          return std::nullopt;
        });
  }
  // What becomes of the answer to a request, and of its connection.
  void SetRule(Rule rule) {
    if (GetParam()) {
      const base::MutexLock lock(mutex_);
      rule_ = std::move(rule);
      return;
    }
    if (!rule) return proxy_.SetRule({});
    proxy_.SetRule([rule = std::move(rule)](std::string_view bytes) {
      const std::size_t space = bytes.find(' ');
      const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
      if (space == bytes.npos || !line.ends_with("HTTP/1.1")) return Fate::kForward;
      return rule(bytes.substr(0, space), line.substr(space + 1));
    });
  }
  void Create(const std::string& name) {
    api::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = name;
    pod.spec.containers.push_back({.name = "main", .image = "image"});
    EXPECT_THAT(server_.local().Create(api::Object::Of(pod)), IsOk());
  }
  std::unique_ptr<HttpClient> Connect(HttpOptions options = {}) {
    options.http2 = GetParam();
    auto client = HttpClient::Create(server_.AccessBy(proxy_.port()), options);
    EXPECT_THAT(client, IsOk());
    return *std::move(client);
  }
  static bool Until(const std::function<bool()>& done) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      if (steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }

  const base::SystemClock clock_{};
  base::Mutex mutex_;
  Rule rule_ ABSL_GUARDED_BY(mutex_);
  TestServer server_{{}, GetParam()};
  TcpProxy proxy_{server_.port()};
};
INSTANTIATE_TEST_SUITE_P(All, FrozenTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Http2" : "Http1"; });

TEST_P(FrozenTest, AWatchThatFreezesIsStaleBeforeLongAndMissesNothing) {
  const auto http = Connect({.connect_timeout = milliseconds(500)});
  RemoteCluster cluster(
      *http, clock_,
      {.first_backoff = milliseconds(2), .longest_backoff = milliseconds(20), .silence = kSilence});
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  const auto watch = cluster.Watch(kinds);
  std::set<std::string> seen;
  const auto look = [&] {
    while (const auto change = watch->Next()) {
      EXPECT_TRUE(seen.insert(change->object.metadata().name).second) << "told twice";
    }
  };
  // As long as something is heard it is not stale.
  int made = 0;
  for (const auto end = steady_clock::now() + 2 * kSilence; steady_clock::now() < end;) {
    Create("p" + std::to_string(made++));
    std::this_thread::sleep_for(milliseconds(50));
    EXPECT_THAT(watch->Stale(), IsOk());
  }
  ASSERT_TRUE(Until([&] { return look(), seen.size() == static_cast<std::size_t>(made); }));
  proxy_.Freeze();
  const auto frozen = steady_clock::now();
  Create("unseen");
  ASSERT_TRUE(Until([&] { return !watch->Stale().ok(); }));
  EXPECT_LT(steady_clock::now() - frozen, kSilence + std::chrono::seconds(5));
  look();
  EXPECT_FALSE(seen.contains("unseen"));
  // It stays so, whatever is tried.
  std::this_thread::sleep_for(2 * kSilence);
  EXPECT_FALSE(watch->Stale().ok());
  proxy_.Thaw();
  ASSERT_TRUE(Until([&] { return look(), seen.contains("unseen"); }));
  EXPECT_TRUE(Until([&] { return watch->Stale().ok(); }));
}

TEST_P(FrozenTest, AWatchIsStaleWhileItsNextOneIsNotAnswered) {
  const auto http = Connect({.connect_timeout = milliseconds(500)});
  RemoteCluster cluster(
      *http, clock_,
      {.first_backoff = milliseconds(2), .longest_backoff = milliseconds(20), .silence = kSilence});
  // Lists are answered, watches are not: nobody may be taken for up to date by his list alone.
  SetRule([](std::string_view, std::string_view target) {
    return target.find("watch=true") != target.npos ? Fate::kSilence : Fate::kForward;
  });
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  const auto watch = cluster.Watch(kinds);
  EXPECT_THAT(watch->Stale(), IsOk());
  const auto begin = steady_clock::now();
  EXPECT_TRUE(Until([&] { return !watch->Stale().ok(); }));
  EXPECT_LT(steady_clock::now() - begin, kSilence + std::chrono::seconds(5));
  std::this_thread::sleep_for(kSilence);
  EXPECT_FALSE(watch->Stale().ok());
  SetRule({});
  EXPECT_TRUE(Until([&] { return watch->Stale().ok(); }));
}

// A server owes nobody a bookmark: one that has nothing to say, or little time, is asked again, and its answer is a
// sign of life.
TEST_P(FrozenTest, AWatchOfWhichNothingIsHeardIsAskedForAgainBeforeItIsStale) {
  const auto http = Connect({.connect_timeout = milliseconds(500)});
  RemoteCluster cluster(
      *http, clock_,
      {.first_backoff = milliseconds(2), .longest_backoff = milliseconds(20), .silence = kSilence});
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  const auto watch = cluster.Watch(kinds);
  for (const auto end = steady_clock::now() + 3 * kSilence; steady_clock::now() < end;) {
    ASSERT_THAT(watch->Stale(), IsOk());
    std::this_thread::sleep_for(milliseconds(5));
  }
  Create("seen");
  EXPECT_TRUE(Until([&] {
    const auto change = watch->Next();
    return change && change->object.metadata().name == "seen";
  }));
}

TEST_P(FrozenTest, AStreamThatSaysNothingBreaks) {
  const auto http = Connect();
  const auto stream = http->Open(
      {.target = "/api/v1/pods?watch=true&resourceVersion=" + std::to_string(server_.revision())},
      std::chrono::minutes(5), milliseconds(200));
  ASSERT_THAT(stream, IsOk());
  std::string line;
  EXPECT_THAT((*stream)->Next(line), StatusIs(StatusCode::kDeadlineExceeded,
                                              HasSubstr("the server has said nothing for 0.2 s")));
}

// A server that cannot be asked has not said that there is nothing.
TEST_P(FrozenTest, WhatCannotBeReadIsNotAbsent) {
  Create("p");
  const auto http =
      Connect({.connect_timeout = milliseconds(200), .request_timeout = milliseconds(200)});
  RemoteCluster cluster(*http, clock_, {.reads = 1});
  ASSERT_THAT(cluster.Find(PodKind(), "ns", "p"), IsOk());
  proxy_.Freeze();
  EXPECT_THAT(cluster.Find(PodKind(), "ns", "p"),
              StatusIs(StatusCode::kUnavailable, HasSubstr(R"(read Pod "ns/p")")));
  EXPECT_THAT(cluster.List(PodKind()), StatusIs(StatusCode::kUnavailable, HasSubstr("list pods")));
}

// The answer to a write freezes: the caller learns in time that nobody knows.
TEST_P(FrozenTest, AWriteWhoseAnswerFreezesIsUnknown) {
  const auto http = Connect({.request_timeout = milliseconds(300)});
  RemoteCluster cluster(*http, clock_);
  SetRule([](std::string_view method, std::string_view) {
    return method == "POST" ? Fate::kSilence : Fate::kForward;
  });
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = "p";
  pod.spec.containers.push_back({.name = "main", .image = "image"});
  const auto made = cluster.Create(api::Object::Of(pod));
  EXPECT_TRUE(api::MayHaveHappened(made.status())) << made.status();
  const auto found = cluster.Find(PodKind(), "ns", "p");
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->has_value());
}

// What was to be told while the server was away is told when it is back, once.
TEST_P(FrozenTest, AnEventWhoseAnswerIsLostIsToldOnce) {
  Create("p");
  const auto http = Connect();
  RemoteCluster cluster(*http, clock_,
                        {.first_backoff = milliseconds(2), .longest_backoff = milliseconds(20)});
  const auto pod = cluster.Find(PodKind(), "ns", "p");
  ASSERT_THAT(pod, IsOk());
  std::atomic<int> lost = 0;
  SetRule([&](std::string_view method, std::string_view) {
    if (method != "POST" || lost >= 3) return Fate::kForward;
    ++lost;
    return Fate::kCut;
  });
  cluster.Note({.about = **pod,
                .type = "Warning",
                .reason = "FailedScheduling",
                .message = "0/1 nodes are available",
                .component = "test"});
  cluster.Flush();
  // Three times, or less often where an answer came before the connection was cut.
  EXPECT_GT(lost, 0);
  const auto events = server_.local().List(api::HubKind(api::TypeInfoOf<api::Event>()));
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].As<api::Event>()->count, 1);
}

TEST_P(FrozenTest, AnEventWaitsForTheServerToComeBack) {
  Create("p");
  const auto http = Connect();
  RemoteCluster cluster(*http, clock_,
                        {.first_backoff = milliseconds(2), .longest_backoff = milliseconds(50)});
  const auto pod = cluster.Find(PodKind(), "ns", "p");
  ASSERT_THAT(pod, IsOk());
  server_.Stop();
  for (const char* message : {"one", "one", "two"}) {
    cluster.Note({.about = **pod,
                  .type = "Warning",
                  .reason = "FailedScheduling",
                  .message = message,
                  .component = "test"});
  }
  std::this_thread::sleep_for(milliseconds(30));
  server_.Start();
  cluster.Flush();
  const auto events = server_.local().List(api::HubKind(api::TypeInfoOf<api::Event>()));
  ASSERT_THAT(events, IsOk());
  std::vector<std::string> told;
  for (const api::Object& object : *events) {
    const auto& event = *object.As<api::Event>();
    told.push_back(event.message + " x" + std::to_string(event.count));
  }
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("one x2", "two x1"));
}

// Whoever decides tells what he has to tell and goes on, whether anybody writes it down or not; and what waits is bounded.
TEST_P(FrozenTest, EventsHoldUpNobodyAndAreBounded) {
  Create("p");
  const auto http = Connect();
  RemoteCluster cluster(*http, clock_,
                        {.first_backoff = milliseconds(2),
                         .longest_backoff = milliseconds(20),
                         .note_writers = 1,
                         .max_waiting_events = 50});
  const auto pod = cluster.Find(PodKind(), "ns", "p");
  ASSERT_THAT(pod, IsOk());
  proxy_.Freeze();
  const auto begin = steady_clock::now();
  for (int i = 0; i < 10'000; ++i) {
    cluster.Note({.about = **pod,
                  .type = "Warning",
                  .reason = "FailedScheduling",
                  .message = std::to_string(i),
                  .component = "test"});
  }
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(10));
  proxy_.Thaw();
  cluster.Flush();
  const auto events = server_.local().List(api::HubKind(api::TypeInfoOf<api::Event>()));
  ASSERT_THAT(events, IsOk());
  // One was being written.
  EXPECT_GE(events->size(), 50u);
  EXPECT_LE(events->size(), 51u);
}

// Who ends does not wait for a server that is away.
TEST_P(FrozenTest, EventsDoNotHoldUpTheEnd) {
  Create("p");
  const auto http = Connect({.connect_timeout = milliseconds(200)});
  auto cluster = std::make_unique<RemoteCluster>(*http, clock_);
  const auto pod = cluster->Find(PodKind(), "ns", "p");
  ASSERT_THAT(pod, IsOk());
  server_.Stop();
  for (int i = 0; i < 100; ++i) {
    cluster->Note({.about = **pod,
                   .type = "Warning",
                   .reason = "FailedScheduling",
                   .message = std::to_string(i),
                   .component = "test"});
  }
  std::this_thread::sleep_for(milliseconds(250));
  const auto begin = steady_clock::now();
  cluster = nullptr;
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace dray::client

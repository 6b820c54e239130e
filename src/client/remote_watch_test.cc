// SPDX-License-Identifier: Apache-2.0
//
// Watches of a RemoteCluster when servers go away and forget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "api/pod.h"
#include "client/remote_cluster.h"
#include "client/server_for_test.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::testing::HasSubstr;

api::Pod MakePod(const std::string& name) {
  api::Pod pod;
  pod.metadata.namespace_ = "ns";
  pod.metadata.name = name;
  pod.spec.containers.push_back({.name = "main", .image = "image"});
  return pod;
}

const RemoteOptions kImpatient{.first_backoff = std::chrono::milliseconds(2),
                               .longest_backoff = std::chrono::milliseconds(20)};

// What a decider would know: every change must make sense after those before it.
class Seen {
 public:
  explicit Seen(std::unique_ptr<api::ObjectWatch> watch) : watch_(std::move(watch)) {}

  // Whether `done` holds before long.
  bool Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      while (auto change = watch_->Next()) Take(*change);
      if (done()) return true;
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  bool Has(const std::string& name) const { return revisions_.contains(name); }
  std::size_t size() const { return revisions_.size(); }
  const std::map<std::string, std::string>& revisions() const { return revisions_; }
  int changes() const { return changes_; }

 private:
  void Take(const api::Change& change) {
    ++changes_;
    const std::string& name = change.object.metadata().name;
    const std::string& revision = change.object.metadata().resource_version;
    switch (change.kind) {
      case api::Change::Kind::kAdded:
        EXPECT_TRUE(revisions_.emplace(name, revision).second) << name << " was added twice";
        break;
      case api::Change::Kind::kUpdated:
        EXPECT_TRUE(revisions_.contains(name)) << name << " was never added";
        EXPECT_NE(revisions_[name], revision) << name << " was told twice";
        revisions_[name] = revision;
        break;
      case api::Change::Kind::kDeleted:
        EXPECT_EQ(revisions_.erase(name), 1u) << name << " was never there";
    }
  }

  std::unique_ptr<api::ObjectWatch> watch_;
  std::map<std::string, std::string> revisions_;
  int changes_ = 0;
};

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

// Over HTTP/1.1 and over HTTP/2.
class RemoteWatchTest : public ::testing::TestWithParam<bool> {
 protected:
  explicit RemoteWatchTest(store::HistoryOptions history = {}) : server_(history) {}

  std::unique_ptr<api::ObjectWatch> Watch() {
    const std::vector<const api::KindInfo*> kinds = {&PodKind()};
    return cluster_.Watch(kinds);
  }
  void Create(const std::string& name) {
    EXPECT_THAT(server_.local().Create(api::Object::Of(MakePod(name))), IsOk());
  }
  void Label(const std::string& name, const std::string& value) {
    auto pod = **server_.local().Find(PodKind(), "ns", name);
    pod.MutableMetadata().labels["a"] = value;
    EXPECT_THAT(server_.local().Update(pod), IsOk());
  }
  void Delete(const std::string& name) {
    EXPECT_THAT(server_.local().Delete(PodKind(), "ns", name), IsOk());
  }
  std::map<std::string, std::string> Stored() {
    std::map<std::string, std::string> stored;
    const std::vector<api::Object> pods = *server_.local().List(PodKind());
    for (const api::Object& object : pods) {
      stored[object.metadata().name] = object.metadata().resource_version;
    }
    return stored;
  }

  TestServer server_;
  std::unique_ptr<HttpClient> http_ = server_.Connect({.http2 = GetParam()});
  RemoteCluster cluster_{*http_, server_.clock(), kImpatient};
};
std::string NameOf(const ::testing::TestParamInfo<bool>& info) {
  return info.param ? "Http2" : "Http1";
}
INSTANTIATE_TEST_SUITE_P(All, RemoteWatchTest, ::testing::Bool(), NameOf);

// One object that the server cannot read is not gone: whoever decides by the watch waits.
TEST_P(RemoteWatchTest, WhatTheServerCannotReadIsNotGone) {
  Create("a");
  Create("b");
  const auto list = [&] { return cluster_.List(PodKind()); };
  ASSERT_THAT(list(), IsOk());
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return seen.size() == 2 && cluster_.Health().ok(); }));
  const std::string key = "/registry/core/pods/ns/a";
  const std::string before = *server_.store().Find(key)->value;
  const auto put = [&](const std::string& bytes) {
    store::Transaction transaction;
    transaction.Put(key, bytes);
    ASSERT_TRUE(server_.store().CommitAndWait(std::move(transaction)).ok());
  };
  put("what a newer version writes");
  ASSERT_TRUE(seen.Until([&] { return !cluster_.Health().ok(); }));
  EXPECT_THAT(std::string(cluster_.Health().message()), HasSubstr("cannot be read"));
  EXPECT_THAT(list(), testing::StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read")));
  // A watch that begins now does not know what there is.
  Seen late(Watch());
  EXPECT_FALSE(cluster_.Health().ok());
  EXPECT_TRUE(seen.Until([&] { return seen.Has("a") && seen.Has("b"); }));
  put(before);
  ASSERT_TRUE(seen.Until([&] { return cluster_.Health().ok(); }));
  EXPECT_TRUE(seen.Until([&] { return seen.revisions() == Stored(); }));
  EXPECT_TRUE(late.Until([&] { return late.revisions() == Stored(); }));
}

TEST_P(RemoteWatchTest, GoesOnWhereItWasWhenTheServerComesBack) {
  Create("a");
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return seen.Has("a"); }));
  server_.Stop();
  Create("b");
  Label("a", "1");
  Label("a", "2");
  Delete("b");
  Create("c");
  EXPECT_TRUE(seen.Until([&] { return !cluster_.Health().ok(); }));
  server_.Start();
  ASSERT_TRUE(seen.Until([&] { return seen.Has("c"); }));
  EXPECT_EQ(seen.revisions(), Stored());
  // Nothing was left out on the way: a, b, twice a, b gone, c.
  EXPECT_EQ(seen.changes(), 6);
  EXPECT_TRUE(seen.Until([&] { return cluster_.Health().ok(); }));
}

TEST_P(RemoteWatchTest, ThatBeginsWhileTheServerIsAwayBeginsLater) {
  Create("a");
  server_.Stop();
  Seen seen(Watch());
  EXPECT_THAT(cluster_.Health().ToString(), HasSubstr("cannot list pods"));
  EXPECT_EQ(cluster_.Progress(), 0u);
  server_.Start();
  EXPECT_TRUE(seen.Until([&] { return seen.Has("a"); }));
}

TEST_P(RemoteWatchTest, EndsAtOnceWhateverTheServerDoes) {
  for (const bool away : {false, true}) {
    auto watch = Watch();
    if (away) server_.Stop();
    const auto begin = std::chrono::steady_clock::now();
    watch = nullptr;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  }
}

// kube-apiserver ends the watch of whom it finds slow, at any time and as often as it likes. One that has told something is
// begun again at once where it was, and meanwhile nobody has to wait.
TEST_P(RemoteWatchTest, OneThatEndsWhenItHasToldSomethingIsNoTrouble) {
  std::map<std::uint64_t, api::Object> pods;  // only the server's thread looks at them
  server_.set_intercept(
      [&](const apiserver::Request& request) -> std::optional<apiserver::Response> {
        if (request.query.find("watch=true") == std::string::npos) return std::nullopt;
        for (int i = static_cast<int>(pods.size()); i < 5; ++i) {
          const auto made =
              server_.local().Create(api::Object::Of(MakePod("p" + std::to_string(i))));
          EXPECT_THAT(made, IsOk());
          pods.emplace(std::stoull(made->metadata().resource_version), *made);
        }
        const std::string name = "resourceVersion=";
        const std::uint64_t from =
            std::stoull(request.query.substr(request.query.find(name) + name.size()));
        const auto next = pods.upper_bound(from);
        if (next == pods.end()) return std::nullopt;
        apiserver::Response response;
        response.headers.Add("Content-Type", "application/json");
        response.body = std::make_shared<const std::string>(R"({"type":"ADDED","object":)" +
                                                            next->second.ToJson() + "}\n");
        return response;
      });
  RemoteCluster cluster(*http_, server_.clock(), {.first_backoff = std::chrono::hours(1)});
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  Seen seen(cluster.Watch(kinds));
  EXPECT_TRUE(seen.Until([&] {
    EXPECT_THAT(cluster.Health(), IsOk());
    return seen.size() == 5;
  }));
}

TEST_P(RemoteWatchTest, WakesWhoWaits) {
  std::atomic<int> woken = 0;
  RemoteOptions options = kImpatient;
  options.on_change = [&] { ++woken; };
  RemoteCluster cluster(*http_, server_.clock(), options);
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  Seen seen(cluster.Watch(kinds));
  const int before = woken;
  Create("a");
  EXPECT_TRUE(seen.Until([&] { return woken > before; }));
  EXPECT_TRUE(seen.Until([&] { return seen.Has("a"); }));
}

TEST_P(RemoteWatchTest, SurvivesAServerThatKeepsFalling) {
  Seen seen(Watch());
  for (int round = 0; round < 10; ++round) {
    const std::string name = "p" + std::to_string(round);
    if (round % 2 == 0) server_.Stop();
    Create(name);
    Label(name, "x");
    if (round % 3 == 0) Delete(name);
    if (round % 2 == 0) server_.Start();
    if (round % 4 == 0) {
      ASSERT_TRUE(seen.Until([&] { return cluster_.Health().ok(); }));
    }
  }
  Create("last");
  ASSERT_TRUE(seen.Until([&] { return seen.Has("last"); }));
  EXPECT_EQ(seen.revisions(), Stored());
}

class ForgetfulServerTest : public RemoteWatchTest {
 protected:
  ForgetfulServerTest() : RemoteWatchTest({.events = 4, .bytes = 1 << 20}) {}
};

INSTANTIATE_TEST_SUITE_P(All, ForgetfulServerTest, ::testing::Bool(), NameOf);

// What happened in between is lost; what is different is told.
TEST_P(ForgetfulServerTest, IsListedAgainAndTheDifferenceIsTold) {
  Create("stays");
  Create("changes");
  Create("goes");
  Create("replaced");
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return seen.size() == 4; }));
  server_.Stop();
  Label("changes", "1");
  Delete("goes");
  Delete("replaced");
  Create("replaced");
  for (int i = 0; i < 20; ++i) Create("p" + std::to_string(i));
  server_.Start();
  ASSERT_TRUE(seen.Until([&] { return seen.Has("p19"); }));
  EXPECT_EQ(seen.revisions(), Stored());
  // 4 and 20 new, one changed, one gone, one gone and come.
  EXPECT_EQ(seen.changes(), 4 + 20 + 1 + 1 + 2);
}

TEST_P(RemoteWatchTest, ListsOfManyPagesAreWhole) {
  for (int i = 0; i < 1'203; ++i) Create("p" + std::to_string(i));
  EXPECT_EQ(cluster_.List(PodKind())->size(), 1'203u);
  Seen seen(Watch());
  EXPECT_TRUE(seen.Until([&] { return seen.size() == 1'203; }));
}

// A role may withhold a kind. Whoever can do without it goes on as if there were none of it.
class WithheldTest : public ::testing::Test {
 protected:
  struct Role {
    std::atomic<bool> may_list = true;
    std::atomic<bool> may_watch = true;
    std::atomic<int> told = 0;
    std::atomic<int> restored = 0;
  };
  WithheldTest() {
    server_.set_intercept(
        [this](const apiserver::Request& request) -> std::optional<apiserver::Response> {
          if (!request.path.ends_with("/namespaces")) return std::nullopt;
          const bool watch = request.query.find("watch=true") != std::string::npos;
          if (watch ? role_.may_watch : role_.may_list) return std::nullopt;
          apiserver::Response response;
          response.status = 403;
          response.headers.Add("Content-Type", "application/json");
          response.body = std::make_shared<const std::string>(
              R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,)"
              R"("reason":"Forbidden","message":"namespaces is forbidden"})");
          return response;
        });
    http_ = server_.Connect();
    RemoteOptions options = kImpatient;
    options.absent = std::chrono::milliseconds(5);
    options.withheld = [this](const api::KindInfo& kind, const Status& why) {
      EXPECT_EQ(kind.plural, "namespaces");
      ++(why.ok() ? role_.restored : role_.told);
      return can_do_without_.load();
    };
    cluster_ = std::make_unique<RemoteCluster>(*http_, clock_, std::move(options));
  }
  std::unique_ptr<api::ObjectWatch> Watch() {
    const api::KindInfo* const kinds[] = {&api::HubKind(api::TypeInfoOf<api::Namespace>()),
                                          &api::HubKind(api::TypeInfoOf<api::Pod>())};
    return cluster_->Watch(kinds);
  }

  const base::SystemClock clock_{};
  TestServer server_;
  Role role_;
  std::atomic<bool> can_do_without_ = true;
  std::unique_ptr<HttpClient> http_;
  std::unique_ptr<RemoteCluster> cluster_;
};

TEST_F(WithheldTest, AKindThatMayNotBeReadIsEmptyUntilItMay) {
  role_.may_list = false;
  Seen seen(Watch());
  ASSERT_THAT(server_.local().Create(api::Object::Of(MakePod("p"))), IsOk());
  ASSERT_TRUE(seen.Until([&] { return seen.Has("p"); }));
  EXPECT_FALSE(seen.Has("default"));
  EXPECT_THAT(cluster_->Health(), IsOk());
  EXPECT_GT(role_.told, 0);
  role_.may_list = true;
  ASSERT_TRUE(seen.Until([&] { return seen.Has("default") && role_.restored > 0; }));
}

TEST_F(WithheldTest, WhoMayOnlyListSeesWhatIsThereNowAndThen) {
  role_.may_watch = false;
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return seen.Has("default"); }));
  api::Namespace later;
  later.metadata.name = "later";
  ASSERT_THAT(server_.local().Create(api::Object::Of(later)), IsOk());
  EXPECT_TRUE(seen.Until([&] { return seen.Has("later"); }));
  EXPECT_THAT(cluster_->Health(), IsOk());
}

// What was seen stays: it may still be there.
TEST_F(WithheldTest, ARightThatIsTakenAwayDeletesNothing) {
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return seen.Has("default"); }));
  role_.may_list = false;
  role_.may_watch = false;
  server_.Stop();
  server_.Start();
  ASSERT_TRUE(seen.Until([&] { return role_.told > 0; }));
  ASSERT_TRUE(seen.Until([&] { return cluster_->Health().ok(); }));
  EXPECT_TRUE(seen.Has("default"));
}

TEST_F(WithheldTest, WhatNobodyCanDoWithoutIsWaitedFor) {
  can_do_without_ = false;
  role_.may_list = false;
  Seen seen(Watch());
  ASSERT_TRUE(seen.Until([&] { return role_.told > 1; }));
  EXPECT_THAT(cluster_->Health().message(), HasSubstr("cannot list namespaces"));
}

}  // namespace
}  // namespace dray::client

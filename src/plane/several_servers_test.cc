// SPDX-License-Identifier: Apache-2.0
//
// Two servers on one store that others write to: what one has answered the other knows, what is shown
// late misleads nobody, and whoever cannot be answered truthfully is told so in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/config_map.h"
#include "base/mutex.h"
#include "cel/device_env.h"
#include "fmt/format.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/policies.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "rest/tree.h"
#include "store/shared_log_for_test.h"
#include "testing/status_matchers.h"
#include "threads/task_queue.h"

namespace dray::plane {
namespace {

using namespace std::chrono_literals;
using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using registry::HandlerOptions;
using registry::kMasters;
using registry::LocalCluster;
using registry::Registry;
using registry::RegistryOptions;
using registry::RestHandler;
using registry::RoleAuthorizer;
using store::Way;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::chrono::milliseconds kPatience{300};

class Mailbox final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override { promise_.set_value(std::move(response)); }
  std::future<apiserver::Response> Future() { return promise_.get_future(); }

 private:
  std::promise<apiserver::Response> promise_;
};

struct Said {
  int status = 0;
  std::string text;
  std::string retry_after;
};

// An API server without sockets.
class Server {
 public:
  explicit Server(store::SharedDisk& disk)
      : store_(store::MakeSharedStore(disk, wire_, kPatience)) {
    RegistryOptions options;
    options.rules.expressions = &expressions_;
    options.post = [this](std::function<void()> task) { writes_.Post(std::move(task)); };
    registry_ = std::make_unique<Registry>(*store_, clock_, random_, options);
    following_ = roles_.Follow(registry_->objects(), RoleAuthorizer::Source::kBootstrap);
    handler_ = std::make_unique<RestHandler>(*registry_, roles_, HandlerOptions());
  }
  ~Server() {
    wire_.Mend();
    writes_.Stop();
    following_ = nullptr;
  }

  std::future<apiserver::Response> Begin(std::string method, std::string path, std::string body) {
    apiserver::Request request;
    request.method = std::move(method);
    const std::size_t question = path.find('?');
    request.path = path.substr(0, question);
    if (question != std::string::npos) request.query = path.substr(question + 1);
    request.body = std::move(body);
    if (request.method == "PATCH") {
      request.headers.Add("Content-Type", "application/merge-patch+json");
    }
    request.user = {"admin", {std::string(kMasters)}};
    auto mailbox = std::make_shared<Mailbox>();
    auto future = mailbox->Future();
    handler_->Handle(std::move(request), mailbox);
    return future;
  }
  Said Ask(std::string method, std::string path, std::string body = "") {
    apiserver::Response response = Begin(std::move(method), std::move(path), std::move(body)).get();
    Said said{.status = response.status};
    said.retry_after = response.headers.Find("Retry-After");
    if (response.body != nullptr) said.text = *response.body;
    return said;
  }
  Said Get(std::string path) { return Ask("GET", std::move(path)); }
  Said Put(std::string_view name, std::string_view value) {
    return Ask("POST", std::string(kMaps),
               fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})", name, value));
  }

  store::Wire& wire() { return wire_; }
  store::Store& store() { return *store_; }
  Registry& registry() { return *registry_; }
  RestHandler& handler() { return *handler_; }

 private:
  base::SystemClock clock_;
  base::SystemRandomSource random_;
  cel::DeviceExpressionChecker expressions_;
  RoleAuthorizer roles_;
  threads::TaskQueue writes_{2};
  store::Wire wire_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<RoleAuthorizer::Following> following_;
  std::unique_ptr<RestHandler> handler_;
};

std::string Named(std::string_view name) { return fmt::format("{}/{}", kMaps, name); }

std::string VersionOf(const Said& said) {
  const auto tree = rest::ReadTree(said.text);
  const rest::DocumentNode* metadata = tree.ok() ? rest::FindIn(*tree, "metadata") : nullptr;
  return metadata == nullptr ? "" : std::string(rest::TextIn(*metadata, "resourceVersion"));
}

class SeveralServers : public ::testing::Test {
 protected:
  SeveralServers() {
    EXPECT_EQ(a_.Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"default"}})").status,
              201);
    // The watch of b is always behind: whatever works all the same does so by waiting.
    b_.wire().Delay(2ms);
  }

  store::SharedDisk disk_;
  Server a_{disk_};
  Server b_{disk_};
};

TEST_F(SeveralServers, WhatOneHasAnsweredTheOtherShows) {
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("m{}", i);
    ASSERT_EQ(a_.Put(name, "1").status, 201);
    const Said there = b_.Get(Named(name));
    ASSERT_EQ(there.status, 200) << there.text;
    EXPECT_EQ(VersionOf(there), VersionOf(a_.Get(Named(name))));
    EXPECT_THAT(b_.Get(std::string(kMaps)).text, HasSubstr("\"" + name + "\""));
  }
}

// A refusal is a statement about what is stored.
TEST_F(SeveralServers, NobodyIsRefusedBecauseOfWhatIsNotSoAnyMore) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("m{}", i);
    ASSERT_EQ(a_.Put(name, "1").status, 201);
    // Found, though b has not been told of it.
    const Said patched = b_.Ask("PATCH", Named(name), R"({"data":{"v":"2"}})");
    ASSERT_EQ(patched.status, 200) << patched.text;
    // The version that the client read at a, and b has not seen.
    const Said now = a_.Ask("PATCH", Named(name), R"({"data":{"v":"3"}})");
    ASSERT_EQ(now.status, 200);
    const Said put = b_.Ask("PUT", Named(name),
                            fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},)"
                                        R"("data":{{"v":"4"}}}})",
                                        name, VersionOf(now)));
    ASSERT_EQ(put.status, 200) << put.text;
    // Free again.
    ASSERT_EQ(a_.Ask("DELETE", Named(name)).status, 200);
    EXPECT_EQ(b_.Put(name, "5").status, 201);
    EXPECT_EQ(b_.Put(name, "6").status, 409);
  }
}

// What was set to something else in the meantime is not what it was.
TEST_F(SeveralServers, AChangeThatLooksLikeNoneIsMade) {
  ASSERT_EQ(a_.Put("m", "1").status, 201);
  ASSERT_EQ(b_.Get(Named("m")).status, 200);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(a_.Ask("PATCH", Named("m"), R"({"data":{"v":"other"}})").status, 200);
    ASSERT_EQ(b_.Ask("PATCH", Named("m"), R"({"data":{"v":"1"}})").status, 200);
    ASSERT_THAT(a_.Get(Named("m")).text, HasSubstr(R"("v":"1")")) << i;
  }
}

TEST_F(SeveralServers, AWatchGoesOnAtAnotherServer) {
  ASSERT_EQ(a_.Put("first", "1").status, 201);
  const std::string from = VersionOf(a_.Get(std::string(kMaps)));
  ASSERT_EQ(a_.Put("second", "1").status, 201);
  apiserver::Response response =
      b_.Begin("GET", fmt::format("{}?watch=1&resourceVersion={}", kMaps, from), "").get();
  ASSERT_EQ(response.status, 200);
  ASSERT_NE(response.stream, nullptr);
  std::string told;
  response.stream->Start([] {});
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (told.find("second") == told.npos && std::chrono::steady_clock::now() < until) {
    std::vector<apiserver::Bytes> bytes;
    response.stream->Pull(bytes);
    for (const apiserver::Bytes& piece : bytes) told += *piece;
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_THAT(told, HasSubstr("second"));
  EXPECT_EQ(told.find("first"), told.npos);
  // One that has not been anywhere.
  EXPECT_EQ(b_.Get(fmt::format("{}?resourceVersion=999999", kMaps)).status, 504);
}

// Each charge is compared with the one before it, whoever made that.
TEST_F(SeveralServers, AQuotaHoldsAcrossThem) {
  constexpr int kLimit = 40;
  ASSERT_EQ(
      a_.Ask("POST", "/api/v1/namespaces/default/resourcequotas",
             fmt::format(R"({{"metadata":{{"name":"q"}},"spec":{{"hard":{{"configmaps":"{}"}}}}}})",
                         kLimit))
          .status,
      201);
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> strange = 0;
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      Server& server = c % 2 == 0 ? a_ : b_;
      for (int i = 0; i < 25; ++i) {
        const Said said = server.Put(fmt::format("m{}-{}", c, i), "1");
        if (said.status == 201) {
          ++made;
        } else if (said.status == 403) {
          ++refused;
        } else {
          ++strange;
          ADD_FAILURE() << said.status << said.text;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(made, kLimit);
  EXPECT_EQ(refused, 100 - kLimit);
  EXPECT_EQ(strange, 0);
  EXPECT_THAT(b_.Get("/api/v1/namespaces/default/resourcequotas/q").text,
              HasSubstr(fmt::format(R"("used":{{"configmaps":"{}"}})", kLimit)));
}

TEST_F(SeveralServers, NamesThatAreMadeAreNobodyElses) {
  base::Mutex mutex;
  std::set<std::string> names;
  std::vector<std::thread> clients;
  for (Server* server : {&a_, &b_}) {
    clients.emplace_back([&, server] {
      for (int i = 0; i < 50; ++i) {
        const Said said =
            server->Ask("POST", std::string(kMaps), R"({"metadata":{"generateName":"m-"}})");
        ASSERT_EQ(said.status, 201) << said.text;
        const auto tree = rest::ReadTree(said.text);
        const base::MutexLock lock(mutex);
        names.emplace(rest::TextIn(*rest::FindIn(*tree, "metadata"), "name"));
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(names.size(), 100u);
}

// Deciders in a server's process ask past their watch, too.
TEST_F(SeveralServers, ADeciderSeesWhatAnotherServerHasWritten) {
  LocalCluster decider(b_.registry(), "test");
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::ConfigMap>());
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("m{}", i);
    ASSERT_EQ(a_.Put(name, "1").status, 201);
    const auto found = decider.Find(kind, "default", name);
    ASSERT_THAT(found, IsOk());
    EXPECT_TRUE(found->has_value()) << name;
    EXPECT_EQ(decider.List(kind)->size(), static_cast<std::size_t>(i + 1));
  }
  b_.wire().Cut();
  EXPECT_THAT(decider.Find(kind, "default", "m0"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("")));
}

// ---- The store is away.

TEST_F(SeveralServers, WhileTheStoreIsAwayOldThingsAreShownToWhoAsksForThem) {
  ASSERT_EQ(a_.Put("m", "1").status, 201);
  a_.wire().Cut();
  EXPECT_EQ(a_.Get(Named("m") + "?resourceVersion=0").status, 200);
  EXPECT_EQ(a_.Get(std::string(kMaps) + "?resourceVersion=0").status, 200);
  EXPECT_EQ(a_.Get("/livez").status, 200);
  EXPECT_EQ(a_.Get("/readyz").status, 500);
  EXPECT_EQ(a_.Get("/healthz").status, 500);
  for (const std::string& path : {Named("m"), std::string(kMaps)}) {
    const Said said = a_.Get(path);
    EXPECT_EQ(said.status, 504) << said.text;
    EXPECT_THAT(said.text,
                AllOf(HasSubstr("\"reason\":\"Timeout\""),
                      HasSubstr("with resourceVersion=0 there is what this server knows")));
  }
  a_.wire().Mend();
  EXPECT_EQ(a_.Get(Named("m")).status, 200);
  EXPECT_EQ(a_.Get("/readyz").status, 200);
}

TEST_F(SeveralServers, WhileTheStoreIsAwayNothingIsWrittenAndWhoWritesIsTold) {
  ASSERT_EQ(a_.Put("m", "1").status, 201);
  a_.wire().Cut();
  const auto check = [](const Said& said) {
    EXPECT_EQ(said.status, 503) << said.text;
    EXPECT_EQ(said.retry_after, "1");
    EXPECT_THAT(said.text, HasSubstr("nothing was written"));
  };
  check(a_.Put("n", "1"));
  check(a_.Ask("PATCH", Named("m"), R"({"data":{"v":"2"}})"));
  check(a_.Ask("DELETE", Named("m")));
  // Refusals need what is stored, too.
  check(a_.Put("m", "1"));
  check(a_.Ask("DELETE", Named("nothing")));
  a_.wire().Mend();
  EXPECT_EQ(a_.Put("n", "1").status, 201);
  EXPECT_THAT(a_.Get(Named("m")).text, HasSubstr(R"("v":"1")"));
}

TEST_F(SeveralServers, AWriteOfWhichNobodyKnowsIsCalledThat) {
  for (const Way way : {Way::kDoneLost, Way::kLost}) {
    a_.wire().Set(way, Way::kOpen, true);
    const Said said = a_.Put("m", "1");
    EXPECT_EQ(said.status, 504) << said.text;
    EXPECT_EQ(said.retry_after, "");
    EXPECT_THAT(said.text, HasSubstr("it is not known whether this was written"));
    a_.wire().Mend();
    EXPECT_EQ(a_.Get(Named("m")).status, way == Way::kDoneLost ? 200 : 404);
    a_.Ask("DELETE", Named("m"));
  }
  // A decider is told the same in its words.
  LocalCluster decider(a_.registry(), "test");
  api::ConfigMap map;
  map.metadata.namespace_ = "default";
  map.metadata.name = "d";
  a_.wire().Set(Way::kDoneLost, Way::kOpen, true);
  EXPECT_TRUE(api::MayHaveHappened(decider.Create(api::Object::Of(map)).status()));
  map.metadata.name = "e";
  a_.wire().Cut();
  EXPECT_THAT(decider.Create(api::Object::Of(map)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("")));
}

// The log answers and its watch is stuck, or it does not answer at all: a reader waits, and not for
// ever.
TEST_F(SeveralServers, WhoWaitsForWhatIsNewestIsToldInTime) {
  ASSERT_EQ(a_.Put("m", "1").status, 201);
  for (const auto& [ask, feed] : {std::pair(Way::kOpen, false), std::pair(Way::kSilent, true)}) {
    b_.wire().Set(Way::kOpen, ask, feed);
    ASSERT_EQ(a_.Put("n" + std::to_string(feed ? 1 : 0), "1").status, 201);
    const auto began = std::chrono::steady_clock::now();
    std::vector<std::future<apiserver::Response>> readers;
    for (int i = 0; i < 20; ++i) readers.push_back(b_.Begin("GET", Named("m"), ""));
    for (auto& reader : readers) EXPECT_EQ(reader.get().status, 504);
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, kPatience);
    EXPECT_LT(took, 20 * kPatience);
    b_.wire().Mend();
    EXPECT_EQ(b_.Get(Named("m")).status, 200);
  }
}

}  // namespace
}  // namespace dray::plane

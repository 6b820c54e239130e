// SPDX-License-Identifier: Apache-2.0
//
// Etcd does not answer a server, or has thrown away what the server has not seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "etcd/server.h"
#include "fmt/format.h"
#include "rest/tree.h"
#include "store/etcd/etcd_for_test.h"
#include "store/etcd/tcp_proxy_for_test.h"
#include "testing/status_matchers.h"

namespace dray::etcd {
namespace {

using namespace std::chrono_literals;
using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Moment = std::chrono::steady_clock::time_point;

constexpr int kWrites = 30;

std::string VersionOf(const std::string& json) {
  const auto tree = rest::ReadTree(json);
  const rest::DocumentNode* metadata = tree.ok() ? rest::FindIn(*tree, "metadata") : nullptr;
  return metadata == nullptr ? "" : std::string(rest::TextIn(*metadata, "resourceVersion"));
}

class EtcdAway : public ::testing::Test {
 protected:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    proxy_ = std::make_unique<store::TcpProxy>(store::SharedEtcd().client(0));
    address_ = {.endpoints = {{.address = proxy_->address()}}, .prefix = store::FreshPrefix()};
    plane::PlaneOptions options;
    // Less than in production, so that the end of patience is seen in a test.
    options.etcd.answer_patience = 500ms;
    options.etcd.write_patience = 2s;
    options.etcd.fence_patience = 3s;
    server_.Start(address_, options);
    if (HasFatalFailure()) return;
    // On a busy machine the time of a write may be over before it is done.
    ASSERT_TRUE(Until([&] {
      const int status = server_.Put("m", "1");
      return status == 201 || status == 409;
    }));
  }
  // Answered, and not when others' time was over, too: nobody here has more than 5 s.
  client::HttpResponse Timed(std::string method, std::string target, std::string body = "") {
    const Moment began = std::chrono::steady_clock::now();
    client::HttpResponse answer =
        server_.Ask(std::move(method), std::move(target), std::move(body));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 30s) << answer.body;
    return answer;
  }
  void WhileAwayReadsGoOnAndWritesAreRefused() {
    const std::string maps(kMaps);
    EXPECT_EQ(Timed("GET", Named("m") + "?resourceVersion=0").status, 200);
    EXPECT_EQ(Timed("GET", maps + "?resourceVersion=0").status, 200);
    EXPECT_EQ(Timed("GET", "/livez").status, 200);
    // Nobody is shown old things as current.
    const client::HttpResponse current = Timed("GET", maps);
    EXPECT_EQ(current.status, 504) << current.body;
    EXPECT_THAT(current.body, HasSubstr("resourceVersion=0"));
    EXPECT_TRUE(Until([&] { return server_.Get("/readyz") == 500; }));
    EXPECT_THAT(server_.Ask("GET", "/readyz?verbose").body, HasSubstr("[-]store-reachable"));
    // All at once: nobody waits for the others' patience, too. One after the other it would be a minute.
    std::vector<std::future<client::HttpResponse>> writes;
    for (int i = 0; i < kWrites; ++i) {
      writes.push_back(std::async(std::launch::async, [this, i] {
        return Timed("POST", std::string(kMaps), MapNamed(fmt::format("n{}", i), "1"));
      }));
    }
    for (auto& write : writes) {
      const client::HttpResponse answer = write.get();
      EXPECT_EQ(answer.status, 503) << answer.body;
      EXPECT_EQ(answer.retry_after, 1s);
      EXPECT_THAT(answer.body, HasSubstr("nothing was written"));
    }
  }
  void Recovers() {
    ASSERT_TRUE(Until([&] { return server_.Get("/readyz") == 200; }));
    EXPECT_TRUE(Until([&] { return server_.Put("after", "1") == 201; }));
    for (int i = 0; i < kWrites; ++i) {
      EXPECT_EQ(server_.Get(Named(fmt::format("n{}", i))), 404) << "it was said not to be written";
    }
    EXPECT_THAT(server_.plane().Health(), IsOk());
  }

  std::unique_ptr<store::TcpProxy> proxy_;
  store::EtcdAddress address_;
  Server server_;
};

TEST_F(EtcdAway, WithoutConnectionsReadsGoOnWritesAreRefusedAndAllRecoversByItself) {
  const std::string version = VersionOf(server_.Ask("GET", Named("m")).body);
  const auto watch = server_.Watch(version);
  proxy_->Refuse(true);
  proxy_->Cut();
  WhileAwayReadsGoOnAndWritesAreRefused();
  proxy_->Refuse(false);
  Recovers();
  // Who watched has not noticed, and misses nothing.
  std::string line;
  ASSERT_THAT(watch->Next(line), IsOkAndHolds(true));
  EXPECT_THAT(line, HasSubstr(R"("name":"after")"));
}

// Connections that lead nowhere: what was sent into them may have arrived.
TEST_F(EtcdAway, WhenNothingComesBackTheFirstWriteIsInDoubtAndOthersAreRefused) {
  proxy_->Freeze(true);
  const client::HttpResponse first = Timed("POST", std::string(kMaps), MapNamed("doubt", "1"));
  EXPECT_EQ(first.status, 504) << first.body;
  EXPECT_THAT(first.body, HasSubstr("it is not known whether this was written"));
  proxy_->Freeze(false);
  proxy_->Cut();
  ASSERT_TRUE(Until([&] { return server_.Get("/readyz") == 200; }));
  // Whichever it was, it is the same for everybody and stays.
  const int there = server_.Get(Named("doubt"));
  EXPECT_THAT(there, AnyOf(200, 404));
  int put = 503;
  EXPECT_TRUE(Until([&] { return (put = server_.Put("doubt", "2")) != 503; }));
  EXPECT_EQ(put, there == 200 ? 409 : 201);
}

// It is not asked for anything while it is away: the server is told by its own looks.
TEST_F(EtcdAway, AServerThatNobodyAsksNoticesToo) {
  proxy_->Refuse(true);
  proxy_->Cut();
  EXPECT_TRUE(Until([&] { return server_.Get("/readyz") == 500; }));
  proxy_->Refuse(false);
  EXPECT_TRUE(Until([&] { return server_.Get("/readyz") == 200; }));
}

// What happened while a server was cut off is compacted before it is back: it reads everything anew,
// and so do its clients.
TEST_F(EtcdAway, AServerThatMissedWhatWasCompactedListsAgain) {
  Server other(&server_);
  other.Start(
      {.endpoints = {{.address = store::SharedEtcd().client(0)}}, .prefix = address_.prefix});
  if (HasFatalFailure()) return;
  const std::string version = VersionOf(server_.Ask("GET", std::string(kMaps)).body);
  const auto watch = server_.Watch(version);
  proxy_->Refuse(true);
  proxy_->Cut();
  for (int i = 0; i < 30; ++i) ASSERT_EQ(other.Put(fmt::format("x{}", i), "1"), 201);
  ASSERT_EQ(other.Ask("DELETE", Named("m")).status, 200);
  ASSERT_EQ(other.Ask("DELETE", Named("x7")).status, 200);
  const std::string list = other.Ask("GET", std::string(kMaps)).body;
  const std::int64_t now = std::stoll(VersionOf(list));
  const auto member = rpc::ConnectEtcd({.address = store::SharedEtcd().client(0)}, {});
  std::promise<Status> compacted;
  member->Compact(now, 60s, [&](const StatusOr<rpc::EtcdHeader>& answer) {
    compacted.set_value(answer.status());
  });
  ASSERT_THAT(compacted.get_future().get(), IsOk());
  proxy_->Refuse(false);
  ASSERT_TRUE(Until([&] { return server_.Get(std::string(kMaps)) == 200; }));
  // The same, to the byte, but for the revision of the list itself.
  const auto items = [](const std::string& json) { return json.substr(json.find("\"items\"")); };
  EXPECT_EQ(items(server_.Ask("GET", std::string(kMaps)).body), items(list));
  EXPECT_EQ(server_.Metric("dray_etcd_relists_total"), 1);
  // Its clients are told to list again, as kubectl and informers do.
  std::string line;
  ASSERT_THAT(watch->Next(line), IsOkAndHolds(true));
  EXPECT_THAT(line, HasSubstr("\"code\":410"));
  const auto again = server_.Watch(version);
  ASSERT_THAT(again->Next(line), IsOkAndHolds(true));
  EXPECT_THAT(line, HasSubstr("\"code\":410"));
}

}  // namespace
}  // namespace dray::etcd

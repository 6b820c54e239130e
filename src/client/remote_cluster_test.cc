// SPDX-License-Identifier: Apache-2.0
//
// RemoteCluster against a real server: what every Cluster does.
#include "client/remote_cluster.h"

#include <chrono>
#include <memory>
#include <thread>

#include "api/namespace.h"
#include "client/server_for_test.h"
#include "testing/cluster_contract.h"

namespace dray::testing {
namespace {

class RemoteHolder final : public ClusterHolder {
 public:
  explicit RemoteHolder(bool http2) : http_(server_.Connect({.http2 = http2})) {}
  api::Cluster& cluster() override { return cluster_; }

  // Bookmarks come by the server's clock; they say that a watch has been told everything.
  void Settle() override {
    cluster_.Flush();
    const std::uint64_t revision = server_.revision();
    const auto begin = std::chrono::steady_clock::now();
    auto advance = begin;
    for (auto now = begin; cluster_.Progress() < revision; now = std::chrono::steady_clock::now()) {
      ASSERT_LT(now - begin, std::chrono::seconds(30)) << cluster_.Health();
      // Again for watches that had not begun.
      if (now >= advance) {
        server_.clock().Advance(std::chrono::minutes(1));
        advance = now + std::chrono::seconds(2);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  client::TestServer server_;
  const std::unique_ptr<client::HttpClient> http_;
  // Its time leaps, and silence would be taken for an end.
  client::RemoteCluster cluster_{
      *http_, server_.clock(), {.component = "test", .silence = std::chrono::hours(24)}};
};

INSTANTIATE_TEST_SUITE_P(
    Remote, ClusterContract,
    ::testing::Values(ClusterMaker{"Http1", [] { return std::make_unique<RemoteHolder>(false); }},
                      ClusterMaker{"Http2", [] { return std::make_unique<RemoteHolder>(true); }}),
    NameOf);

// Controllers in a process of their own let a namespace go by the only door that servers have for it.
TEST(RemoteNamespaces, AnEmptyOneGoes) {
  client::TestServer server;
  const std::unique_ptr<client::HttpClient> http = server.Connect();
  client::RemoteCluster cluster(*http, server.clock(), {.component = "test"});
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Namespace>());
  api::Namespace team;
  team.metadata.name = "team";
  ASSERT_THAT(cluster.Create(api::Object::Of(team)), IsOk());
  ASSERT_THAT(cluster.Delete(kind, "", "team", ""), IsOk());
  const auto leaving = cluster.Find(kind, "", "team");
  ASSERT_THAT(leaving, IsOk());
  ASSERT_TRUE(leaving->has_value());
  api::Object emptied = **leaving;
  emptied.Mutable<api::Namespace>()->spec.finalizers.clear();
  ASSERT_THAT(cluster.Update(emptied), IsOk());
  const auto gone = cluster.Find(kind, "", "team");
  ASSERT_THAT(gone, IsOk());
  EXPECT_FALSE(gone->has_value());
}

// A server has its own time for events, and whoever may write them need not be allowed to delete.
TEST(RemoteEvents, ThoseThatAreForgottenStayOnTheServer) {
  client::TestServer server;
  const std::unique_ptr<client::HttpClient> http = server.Connect();
  client::RemoteCluster cluster(*http, server.clock(),
                                {.component = "test", .max_events = 2, .note_writers = 1});
  const auto pod = cluster.Create(api::Object::Of(PodNamed("p")));
  ASSERT_TRUE(pod.ok()) << pod.status();
  const auto tell = [&](std::string message) {
    cluster.Note({.about = *pod,
                  .type = "Normal",
                  .reason = "Told",
                  .message = std::move(message),
                  .component = "test"});
  };
  for (const char* message : {"one", "two", "three", "three", "one"}) tell(message);
  cluster.Flush();
  const auto events = cluster.List(api::HubKind(api::TypeInfoOf<api::Event>()));
  ASSERT_TRUE(events.ok()) << events.status();
  std::vector<std::pair<std::string, int>> told;
  for (const api::Object& object : *events) {
    told.emplace_back(object.As<api::Event>()->message, object.As<api::Event>()->count);
  }
  using ::testing::Pair;
  EXPECT_THAT(told, ::testing::UnorderedElementsAre(Pair("one", 1), Pair("two", 1),
                                                    Pair("three", 2), Pair("one", 1)));
}

}  // namespace
}  // namespace dray::testing

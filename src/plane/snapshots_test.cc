// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <string_view>
#include <utility>

#include "base/uuid.h"
#include "plane/plane_for_test.h"
#include "registry/handler.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {
namespace {

using ::testing::HasSubstr;

struct Answer {
  int status = 0;
  std::string body;
};

class Promised final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override {
    Answer answer{.status = response.status};
    if (response.body != nullptr) answer.body = *response.body;
    if (response.stream != nullptr) {
      response.stream->Start([] {});
      std::vector<apiserver::Bytes> pieces;
      while (response.stream->Pull(pieces) == apiserver::StreamSource::State::kMore) continue;
      for (const apiserver::Bytes& piece : pieces) answer.body += *piece;
    }
    answer_.set_value(std::move(answer));
  }
  Answer Wait() { return answer_.get_future().get(); }

 private:
  std::promise<Answer> answer_;
};

class SnapshotsTest : public ::testing::Test {
 protected:
  SnapshotsTest() {
    registry::HandlerOptions options;
    options.later = [this](const apiserver::Request& request, Snapshots::Send send) {
      return snapshots_.Answer(request, std::move(send));
    };
    handler_ = std::make_unique<registry::RestHandler>(registry_, roles_, std::move(options));
  }

  Answer Ask(std::string path, std::string group, std::string method = "GET",
             apiserver::Headers headers = {}) {
    const auto responder = std::make_shared<Promised>();
    handler_->Handle({.method = std::move(method),
                      .path = std::move(path),
                      .headers = std::move(headers),
                      .user = {.name = "u", .groups = {std::move(group)}}},
                     responder);
    return responder->Wait();
  }

  TestPlane folder_;
  const std::unique_ptr<store::Store> store_ = store::MakeMemoryStore();
  base::ManualClock clock_;
  base::SystemRandomSource random_;
  registry::RoleAuthorizer roles_;
  registry::Registry registry_{*store_, clock_, random_, {}};
  Snapshots snapshots_{*store_, folder_.folder()};
  std::unique_ptr<registry::RestHandler> handler_;
};

TEST_F(SnapshotsTest, ItIsAStoreWithAllThatIsThere) {
  const std::string large(200'000, 'x');
  ASSERT_TRUE(store_->CommitAndWait(store::Transaction().Put("a", "1").Put("b", large)).ok());
  const Answer answer = Ask("/snapshot", "system:masters");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string file = folder_.folder() + "/restored.db";
  std::ofstream(file, std::ios::binary) << answer.body;
  const auto restored = store::OpenSqliteStore({.path = file});
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(*(*restored)->Find("b")->value, large);
  EXPECT_EQ((*restored)->revision(), store_->revision());
  EXPECT_FALSE(std::filesystem::exists(folder_.folder() + "/snapshot.tmp"));
}

TEST_F(SnapshotsTest, OnlyAdministratorsGetIt) {
  const Answer answer = Ask("/snapshot", "dray:viewers");
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("cannot get path"));
  EXPECT_EQ(Ask("/snapshot", "system:masters", "POST").status, 405);
  EXPECT_EQ(Ask("/snapshot", "system:masters", "HEAD").status, 405);
}

TEST_F(SnapshotsTest, WhoSpeaksForSomebodyElseHasTheirRights) {
  const Answer answer = Ask("/snapshot", "system:masters", "GET", {{{"Impersonate-User", "bob"}}});
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr(R"(User \"bob\" cannot get path)"));
}

TEST_F(SnapshotsTest, OtherPathsAreLeftToOthers) {
  EXPECT_EQ(Ask("/version", "system:masters").status, 200);
  EXPECT_EQ(Ask("/snapshot/x", "system:masters").status, 404);
}

TEST_F(SnapshotsTest, WhatCannotBeWrittenIsToldAsAnError) {
  std::filesystem::remove_all(folder_.folder());
  EXPECT_EQ(Ask("/snapshot", "system:masters").status, 503);
}

}  // namespace
}  // namespace dray::plane::internal

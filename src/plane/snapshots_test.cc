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

#include "plane/plane_for_test.h"
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

class Elsewhere final : public apiserver::Handler {
 public:
  void Handle(apiserver::Request, std::shared_ptr<apiserver::Responder> responder) override {
    responder->Send({.status = 418});
  }
};

class SnapshotsTest : public ::testing::Test {
 protected:
  Answer Ask(std::string path, std::string group, std::string method = "GET") {
    const auto responder = std::make_shared<Promised>();
    snapshots_.Handle({.method = std::move(method),
                       .path = std::move(path),
                       .user = {.name = "u", .groups = {std::move(group)}}},
                      responder);
    return responder->Wait();
  }

  TestPlane folder_;
  const std::unique_ptr<store::Store> store_ = store::MakeMemoryStore();
  Elsewhere elsewhere_;
  Snapshots snapshots_{*store_, folder_.folder(), elsewhere_};
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
}

TEST_F(SnapshotsTest, WhoSpeaksForSomebodyElseHasTheirRights) {
  const auto responder = std::make_shared<Promised>();
  apiserver::Request request{
      .method = "GET", .path = "/snapshot", .user = {.name = "u", .groups = {"system:masters"}}};
  request.headers.Add("Impersonate-User", "bob");
  snapshots_.Handle(std::move(request), responder);
  const Answer answer = responder->Wait();
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr(R"(User \"bob\" cannot get path)"));
}

TEST_F(SnapshotsTest, OtherPathsAreLeftToOthers) {
  EXPECT_EQ(Ask("/api", "system:masters").status, 418);
}

TEST_F(SnapshotsTest, WhatCannotBeWrittenIsToldAsAnError) {
  std::filesystem::remove_all(folder_.folder());
  EXPECT_EQ(Ask("/snapshot", "system:masters").status, 503);
}

}  // namespace
}  // namespace dray::plane::internal

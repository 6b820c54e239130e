// SPDX-License-Identifier: Apache-2.0
//
// What reads cost and what they wait for: pages, one node's pods, versions that are not there yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "registry/internal/shared_texts.h"
#include "registry/world_for_test.h"
#include "rest/paging.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

class ReadsTest : public ::testing::Test {
 protected:
  void MakePods(int count) {
    world_.Post("/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    for (const int end = made_ + count; made_ < end; ++made_) {
      const Answer made =
          world_.Post("/api/v1/namespaces/default/pods",
                      fmt::format(R"({{"metadata":{{"name":"p-{}"}},"spec":{{"nodeName":"node-{}",)"
                                  R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                                  made_, made_ % 3));
      ASSERT_EQ(made.status, 201) << made.text;
    }
  }
  static std::string TextIn(const Answer& list, std::string_view member) {
    const rest::DocumentNode json = list.Json();
    return std::string(rest::TextIn(*rest::FindIn(json, "metadata"), member));
  }
  static std::string NumberIn(const Answer& list, std::string_view member) {
    const rest::DocumentNode json = list.Json();
    const auto* number = rest::FindIn(*rest::FindIn(json, "metadata"), member);
    return number == nullptr ? "" : std::string(number->text);
  }

  World world_;
  int made_ = 0;
};

using PagingTest = ReadsTest;

// Later pages take the number from their token, whatever happens meanwhile.
TEST_F(PagingTest, TheRestIsCountedOnce) {
  MakePods(7);
  const Answer first = world_.Get("/api/v1/pods?limit=2");
  EXPECT_EQ(NumberIn(first, "remainingItemCount"), "5");
  const std::string next = TextIn(first, "continue");
  const auto token = rest::ContinueToken::Parse(next);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->left, 5);
  MakePods(2);
  const Answer second = world_.Get("/api/v1/pods?limit=3&continue=" + next);
  EXPECT_EQ(NumberIn(second, "remainingItemCount"), "2");
  const Answer last = world_.Get("/api/v1/pods?limit=3&continue=" + TextIn(second, "continue"));
  EXPECT_EQ(NumberIn(last, "remainingItemCount"), "");
  EXPECT_EQ(TextIn(last, "continue"), "");
  EXPECT_THAT(last.text, HasSubstr("p-6"));
}

TEST_F(ReadsTest, APageOfOneNodesPodsIsThatNodes) {
  MakePods(9);
  const std::string path = "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&limit=2";
  const Answer first = world_.Get(path);
  EXPECT_THAT(first.text, HasSubstr("\"p-1\""));
  EXPECT_THAT(first.text, HasSubstr("\"p-4\""));
  const Answer second = world_.Get(path + "&continue=" + TextIn(first, "continue"));
  EXPECT_THAT(second.text, HasSubstr("\"p-7\""));
  EXPECT_EQ(TextIn(second, "continue"), "");
  Answer watch = world_.Get(
      "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
      "&allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dnode-1");
  ASSERT_NE(watch.stream, nullptr) << watch.text;
  EXPECT_EQ(world_.Events(*watch.stream).size(), 3u + 1u);  // and the bookmark after them
}

// However many watch, and whatever version they speak: one text for each event and form.
TEST_F(ReadsTest, AWatchLineIsMadeOnceForAllItsWatchers) {
  MakePods(1);
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const auto pieces = [](Answer& watch) {
    std::vector<apiserver::Bytes> out;
    while (watch.stream->Pull(out) == apiserver::StreamSource::State::kMore) {
    }
    return out;
  };
  const auto open = [&](const std::string& path, const std::string& accept) {
    Answer watch = world_.Ask({.path = path + "?watch=1", .accept = accept});
    EXPECT_NE(watch.stream, nullptr) << watch.text;
    watch.stream->Start([] {});
    return watch;
  };
  const std::string metadata =
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  const std::string beta = "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims";
  std::vector<Answer> watches;
  for (int i = 0; i < 3; ++i) {
    watches.push_back(open(claims, ""));
    watches.push_back(open(claims, metadata));
    watches.push_back(open(beta, ""));
  }
  const Answer made = world_.Post(
      claims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r","exactly":)"
              R"({"deviceClassName":"gpu"}}]}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  std::vector<std::vector<apiserver::Bytes>> told;
  for (Answer& watch : watches) told.push_back(pieces(watch));
  for (std::size_t i = 0; i < told.size(); ++i) {
    ASSERT_EQ(told[i].size(), 3u) << i;
    EXPECT_EQ(told[i][1], told[i % 3][1]) << i;
  }
  EXPECT_NE(told[0][1], told[1][1]);
  EXPECT_THAT(*told[2][1], HasSubstr("resource.k8s.io/v1beta1"));
  EXPECT_EQ(world_.registry().objects().texts().made(), 2u);
  // When all have passed it on, it is gone.
  const std::weak_ptr<const std::string> line = told[2][1];
  told.clear();
  EXPECT_TRUE(line.expired());
}

TEST_F(ReadsTest, AVersionThatIsNotThereYetIsRefused) {
  MakePods(1);
  const Answer answer = world_.Get("/api/v1/pods?resourceVersion=1000");
  EXPECT_EQ(answer.status, 504) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("Too large resource version"));
}

}  // namespace
}  // namespace dray::registry

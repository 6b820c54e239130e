// SPDX-License-Identifier: Apache-2.0
//
// What reads cost and what they wait for: pages, one node's pods, versions that are not there yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "registry/world_for_test.h"
#include "rest/paging.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

class ReadsTest : public ::testing::Test {
 protected:
  void MakePods(int count) {
    world_.Post("/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    for (int i = 0; i < count; ++i) {
      const Answer made =
          world_.Post("/api/v1/namespaces/default/pods",
                      fmt::format(R"({{"metadata":{{"name":"p-{}"}},"spec":{{"nodeName":"node-{}",)"
                                  R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                                  i, i % 3));
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
  MakePods(9);
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

TEST_F(ReadsTest, AVersionThatIsNotThereYetIsRefused) {
  MakePods(1);
  const Answer answer = world_.Get("/api/v1/pods?resourceVersion=1000");
  EXPECT_EQ(answer.status, 504) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("Too large resource version"));
}

}  // namespace
}  // namespace dray::registry

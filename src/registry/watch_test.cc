// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "registry/watch_stream.h"
#include "registry/world_for_test.h"
#include "store/memory/memory_store.h"

namespace dray::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kClasses = "/apis/resource.k8s.io/v1/deviceclasses";

class WatchTest : public ::testing::Test {
 protected:
  void Create(std::string_view name, std::string_view label) {
    const Answer made = world_.Post(
        kClasses, fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"l":"{}"}}}},"spec":{{}}}})",
                              name, label));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  void Label(std::string_view name, std::string_view label) {
    ASSERT_EQ(world_
                  .Ask({.method = "PATCH",
                        .path = fmt::format("{}/{}", kClasses, name),
                        .body = fmt::format(R"({{"metadata":{{"labels":{{"l":"{}"}}}}}})", label),
                        .content_type = "application/merge-patch+json"})
                  .status,
              200);
  }
  // "TYPE name" of each event.
  std::vector<std::string> Watch(std::string_view query) {
    Answer answer = world_.Get(fmt::format("{}?watch=1&{}", kClasses, query));
    EXPECT_NE(answer.stream, nullptr) << answer.text;
    std::vector<std::string> events;
    if (answer.stream == nullptr) return events;
    for (const rest::DocumentNode& event : world_.Events(*answer.stream)) {
      const rest::DocumentNode* metadata = rest::FindIn(*rest::FindIn(event, "object"), "metadata");
      events.push_back(fmt::format("{} {}", rest::TextIn(event, "type"),
                                   metadata == nullptr ? "" : rest::TextIn(*metadata, "name")));
    }
    return events;
  }
  std::string Now() { return fmt::format("{}", world_.store().revision().value); }

  World world_;
};

TEST_F(WatchTest, BeginsWithWhatIsThereUnlessToldWhereToBegin) {
  Create("a", "x");
  const std::string then = Now();
  Create("b", "x");
  EXPECT_THAT(Watch(""), ElementsAre("ADDED a", "ADDED b"));
  EXPECT_THAT(Watch("resourceVersion=0"), ElementsAre("ADDED a", "ADDED b"));
  EXPECT_THAT(Watch("resourceVersion=" + then), ElementsAre("ADDED b"));
}

// A connection can end between two lines of one revision: who was told of the first one alone goes on
// at the same revision as who was told of both.
TEST_F(WatchTest, WhoGoesOnWithinARevisionMissesNothing) {
  Create("a", "x");
  Create("b", "y");
  Create("c", "x");
  const std::string then = Now();
  store::Transaction both;
  for (const char* name : {"a", "b"}) {
    const std::string key = std::string("/registry/resource.k8s.io/deviceclasses/") + name;
    const store::EntryPtr entry = world_.store().Find(key);
    ASSERT_NE(entry, nullptr);
    both.Put(key, *entry->value);
  }
  ASSERT_TRUE(world_.store().CommitAndWait(std::move(both)).ok());
  const std::string shared = Now();
  EXPECT_THAT(Watch("resourceVersion=" + then), ElementsAre("MODIFIED a", "MODIFIED b"));
  EXPECT_THAT(Watch("resourceVersion=" + shared), ElementsAre("MODIFIED a", "MODIFIED b"));
  // Of one alone it has been told.
  EXPECT_THAT(Watch("labelSelector=l%3Dy&resourceVersion=" + shared), ElementsAre());
  Label("c", "z");
  EXPECT_THAT(Watch("resourceVersion=" + shared),
              ElementsAre("MODIFIED a", "MODIFIED b", "MODIFIED c"));
  EXPECT_THAT(Watch("labelSelector=l%3Dy&resourceVersion=" + shared), ElementsAre());
  EXPECT_THAT(Watch("resourceVersion=" + Now()), ElementsAre());
}

TEST_F(WatchTest, ObjectsThatBeginOrCeaseToMatchComeAndGo) {
  Create("a", "x");
  const std::string then = Now();
  Label("a", "y");
  Label("a", "x");
  Label("a", "x2");
  EXPECT_THAT(Watch("labelSelector=l%3Dy&resourceVersion=" + then),
              ElementsAre("ADDED a", "DELETED a"));
  EXPECT_THAT(Watch("labelSelector=l%3Dx&resourceVersion=" + then),
              ElementsAre("DELETED a", "ADDED a", "DELETED a"));
  EXPECT_THAT(Watch("fieldSelector=metadata.name%3Db&resourceVersion=" + then), ElementsAre());
}

TEST_F(WatchTest, BookmarksSayHowFarItHasCome) {
  const std::string then = Now();
  Create("a", "x");
  EXPECT_THAT(Watch("allowWatchBookmarks=true&resourceVersion=" + then),
              ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_THAT(Watch("allowWatchBookmarks=true&resourceVersion=" + Now()), ElementsAre());
  const std::string initial = "resourceVersionMatch=NotOlderThan&sendInitialEvents=";
  EXPECT_THAT(Watch(initial + "true&allowWatchBookmarks=true"),
              ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_THAT(Watch("allowWatchBookmarks=true"), ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_THAT(Watch("allowWatchBookmarks=true&resourceVersion=0"),
              ElementsAre("ADDED a", "BOOKMARK "));
  EXPECT_THAT(Watch(initial + "true"), ElementsAre("ADDED a")) << "bookmarks are asked for";
  EXPECT_THAT(Watch(initial + "false"), ElementsAre()) << "from now on";
  EXPECT_THAT(Watch(initial + "false&resourceVersion=" + then), ElementsAre("ADDED a"));
}

// A client that hears nothing for longer than that may take the connection to be dead.
TEST_F(WatchTest, OnceAMinuteSomethingIsSaidThoughNothingHappens) {
  Answer answer = world_.Get(
      fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion={}",
                  kClasses, Now()));
  ASSERT_NE(answer.stream, nullptr) << answer.text;
  answer.stream->Start([] {});
  std::vector<apiserver::Bytes> lines;
  for (int second = 0; second <= 185; ++second) {
    EXPECT_EQ(answer.stream->Pull(lines), apiserver::StreamSource::State::kWait);
    world_.clock().Advance(std::chrono::seconds(1));
  }
  std::string text;  // a line may come in pieces
  for (const apiserver::Bytes& piece : lines) text += *piece;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  std::size_t bookmarks = 0;
  for (std::size_t at = 0; (at = text.find("BOOKMARK", at)) != std::string::npos; ++at) ++bookmarks;
  EXPECT_EQ(bookmarks, 3u) << text;
}

TEST_F(WatchTest, OfOneObjectIsAWatchWithASelector) {
  Create("a", "x");
  Create("b", "x");
  EXPECT_THAT(Watch("fieldSelector=metadata.name%3Db"), ElementsAre("ADDED b"));
  // The path of an object is for getting it.
  EXPECT_EQ(world_.Get(kClasses + "/b?watch=1").stream, nullptr);
}

// Whoever selects by a label is shown the object that had it, at the revision that took it away.
TEST_F(WatchTest, WhatLeavesIsShownAsItLastMatched) {
  Create("a", "x");
  const std::string then = Now();
  Label("a", "y");
  Answer answer = world_.Get(kClasses + "?watch=1&labelSelector=l%3Dx&resourceVersion=" + then);
  const std::vector<rest::DocumentNode> events = world_.Events(*answer.stream);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(rest::TextIn(events[0], "type"), "DELETED");
  const rest::DocumentNode* metadata = rest::FindIn(*rest::FindIn(events[0], "object"), "metadata");
  EXPECT_EQ(rest::TextIn(*rest::FindIn(*metadata, "labels"), "l"), "x");
  EXPECT_EQ(rest::TextIn(*metadata, "resourceVersion"), Now());
}

TEST_F(WatchTest, ThatIsNeverIdleEndsAllTheSame) {
  const std::string then = Now();
  Answer answer = world_.Get(kClasses + "?watch=1&timeoutSeconds=10&resourceVersion=" + then);
  ASSERT_NE(answer.stream, nullptr);
  answer.stream->Start([] {});
  auto state = apiserver::StreamSource::State::kMore;
  for (int i = 0; i < 30 && state != apiserver::StreamSource::State::kEnd; ++i) {
    Create(fmt::format("c{}", i), "x");
    world_.clock().Advance(std::chrono::seconds(1));
    std::vector<apiserver::Bytes> lines;
    state = answer.stream->Pull(lines);
  }
  EXPECT_EQ(state, apiserver::StreamSource::State::kEnd);
}

// Clients write 0 when they leave it to the server how long a watch lasts.
TEST_F(WatchTest, ATimeoutOfZeroIsTheServers) {
  Answer answer = world_.Get(kClasses + "?watch=1&timeoutSeconds=0&resourceVersion=" + Now());
  ASSERT_NE(answer.stream, nullptr);
  answer.stream->Start([] {});
  std::vector<apiserver::Bytes> lines;
  world_.clock().Advance(std::chrono::seconds(60));
  EXPECT_NE(answer.stream->Pull(lines), apiserver::StreamSource::State::kEnd);
}

TEST_F(WatchTest, OfTheFutureIsRefused) {
  const Answer answer = world_.Get(kClasses + "?watch=1&resourceVersion=999999");
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(world_.Get(kClasses + "?watch=1&resourceVersion=x").status, 400);
}

// The history is short: what is older is told in the stream, so that clients list again.
TEST(Watch, ThatIsTooOldEndsWithAnError) {
  base::ManualClock clock(base::Time::FromUnix(1));
  base::SystemRandomSource random;
  const auto store = store::MakeMemoryStore({.events = 4, .bytes = 1 << 20});
  Registry registry(*store, clock, random, {});
  for (int i = 0; i < 30; ++i) {
    api::Object object = api::Object::New(*api::FindKind("resource.k8s.io/v1", "DeviceClass"));
    object.MutableMetadata().name = fmt::format("c{}", i);
    registry.Create(std::move(object), "", {},
                    [](StatusOr<api::Object> made) { EXPECT_TRUE(made.ok()) << made.status(); });
  }
  ASSERT_GT(store->oldest_revision().value, 1);
  WatchOptions options;
  options.selection.kind = api::FindKind("resource.k8s.io/v1", "DeviceClass");
  options.from = store::Revision{1};
  const auto stream = MakeWatchStream(registry.objects(), clock, std::move(options));
  stream->Start([] {});
  std::vector<apiserver::Bytes> lines;
  EXPECT_EQ(stream->Pull(lines), apiserver::StreamSource::State::kEnd);
  std::string line;
  for (const apiserver::Bytes& piece : lines) line += *piece;
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_THAT(line, HasSubstr(R"({"type":"ERROR","object":{"kind":"Status")"));
  EXPECT_THAT(line, HasSubstr(R"("reason":"Expired")"));
  EXPECT_THAT(line, HasSubstr(R"("code":410)"));
}

}  // namespace
}  // namespace dray::registry

// SPDX-License-Identifier: Apache-2.0
//
// A stored object that does not decode, as after going back to an older version: it is an error of
// its own, and not absent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/pod.h"
#include "registry/local_cluster.h"
#include "registry/world_for_test.h"
#include "testing/status_matchers.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::StatusIs;

const std::string kPods = "/api/v1/namespaces/default/pods";
const std::string kKey = "/registry/core/pods/default/broken";

std::string PodText(std::string_view name) {
  return R"({"metadata":{"name":")" + std::string(name) +
         R"("},"spec":{"containers":[{"name":"a","image":"x"}]}})";
}
const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

class UnreadableTest : public ::testing::Test {
 protected:
  UnreadableTest() {
    EXPECT_EQ(world_.Post(kPods, PodText("fine")).status, 201);
    EXPECT_EQ(world_.Post(kPods, PodText("broken")).status, 201);
    Overwrite(R"({"metadata":{"name":"broken"},"spec":{"containers":"none"}})");
  }
  void Overwrite(const std::string& bytes) {
    store::Transaction transaction;
    transaction.Put(kKey, bytes);
    ASSERT_TRUE(world_.store().CommitAndWait(std::move(transaction)).ok());
  }
  static RegistryOptions Options(std::vector<std::string>& told) {
    RegistryOptions options;
    options.on_unreadable = [&told](const Objects::Unreadable& found) {
      told.push_back(found.key);
    };
    return options;
  }

  std::vector<std::string> told_;
  World world_{Options(told_)};
};

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

TEST_F(UnreadableTest, GetAnswersWithItsErrorAndPeopleAreShownTheOthers) {
  const Answer one = world_.Get(kPods + "/broken");
  EXPECT_EQ(one.status, 500) << one.text;
  EXPECT_THAT(one.text, HasSubstr(R"("reason":"StorageReadError")"));
  EXPECT_THAT(one.text, HasSubstr("cannot be read"));
  const Answer list = world_.Ask({.path = kPods, .accept = kTable});
  EXPECT_EQ(list.status, 200);
  EXPECT_THAT(list.text, HasSubstr("fine"));
  EXPECT_THAT(std::string(list.headers.Find("Warning")), HasSubstr(kKey));
  EXPECT_EQ(world_.Get(kPods + "/missing").status, 404);
}

// A program takes what it is not shown for gone: an informer that lists would delete it from its cache, and a
// scheduler give away its devices.
TEST_F(UnreadableTest, AListForProgramsFailsAsAWhole) {
  for (const std::string query : {"", "?limit=1", "?labelSelector=app%3Dweb"}) {
    const Answer list = world_.Get(kPods + query);
    EXPECT_EQ(list.status, 500) << query;
    EXPECT_THAT(list.text, HasSubstr(R"("reason":"StorageReadError")"));
  }
  EXPECT_EQ(world_.Get("/api/v1/namespaces/other/pods").status, 200);
  EXPECT_EQ(world_.Get("/api/v1/pods").status, 500);
}

TEST_F(UnreadableTest, ItIsToldOnceAndForgottenWhenItIsNotThereAnyMore) {
  for (int i = 0; i < 3; ++i) world_.Get(kPods + "/broken");
  EXPECT_THAT(told_, ::testing::ElementsAre(kKey));
  EXPECT_THAT(world_.registry().objects().CannotBeRead(), SizeIs(1));
  Overwrite(R"({"metadata":{"name":"broken","namespace":"default","uid":"u"}})");
  EXPECT_THAT(world_.registry().objects().CannotBeRead(), SizeIs(0));
  EXPECT_EQ(world_.Get(kPods + "/broken").status, 200);
}

// What can be read and is another object, or none, is not this one: taken for it, it would have lost
// its uid, and what it owns would be left behind.
TEST_F(UnreadableTest, WhatIsNotTheObjectOfItsKeyIsNotRead) {
  const std::string head = R"({"apiVersion":"v1","kind":"Pod",)";
  for (const std::string& bytes :
       {std::string("{}"), std::string(R"({"metadata":{}})"),
        std::string(R"({"metadata":{"name":"broken","namespace":"default"}})"),
        std::string(R"({"metadata":{"name":"other","namespace":"default","uid":"u"}})"),
        std::string(R"({"metadata":{"name":"broken","namespace":"other","uid":"u"}})"),
        std::string(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"broken",)"
                    R"("namespace":"default","uid":"u"}})"),
        std::string(R"({"apiVersion":"v9","kind":"Pod","metadata":{"name":"broken",)"
                    R"("namespace":"default","uid":"u"}})")}) {
    Overwrite(bytes);
    EXPECT_EQ(world_.Get(kPods + "/broken").status, 500) << bytes;
    EXPECT_EQ(world_.Get(kPods).status, 500) << bytes;
    EXPECT_THAT(world_.registry().objects().CannotBeRead(), SizeIs(1)) << bytes;
  }
  Overwrite(head + R"("metadata":{"name":"broken","namespace":"default","uid":"u"}})");
  EXPECT_EQ(world_.Get(kPods + "/broken").status, 200);
}

TEST_F(UnreadableTest, NothingIsWrittenOverItAndItIsRemovedOnlyOnPurpose) {
  EXPECT_EQ(world_.Post(kPods, PodText("broken")).status, 500);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kPods}).status, 500);
  EXPECT_EQ(world_.Get(kPods + "/fine").status, 200);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kPods + "/broken"}).status, 500);
  const Answer removed =
      world_.Ask({.method = "DELETE",
                  .path = kPods + "/broken",
                  .body = R"({"ignoreStoreReadErrorWithClusterBreakingPotential":true})",
                  .content_type = "application/json"});
  EXPECT_EQ(removed.status, 200) << removed.text;
  EXPECT_EQ(world_.Get(kPods + "/broken").status, 404);
}

TEST_F(UnreadableTest, DecidersAreToldThatTheyDoNotSeeEverything) {
  LocalCluster cluster(world_.registry(), "test");
  EXPECT_THAT(cluster.Find(PodKind(), "default", "broken"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read")));
  EXPECT_THAT(cluster.List(PodKind()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read")));
  const auto missing = cluster.Find(PodKind(), "default", "missing");
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->has_value());
  const std::vector<const api::KindInfo*> kinds = {&PodKind()};
  const auto watch = cluster.Watch(kinds);
  EXPECT_EQ(watch->Next()->object.metadata().name, "fine");
  EXPECT_FALSE(watch->Next().has_value());
  EXPECT_THAT(watch->Stale(), StatusIs(StatusCode::kDataLoss, HasSubstr("cannot be read")));
  const std::vector<api::UnreadableObject> unread = watch->Unreadable();
  ASSERT_THAT(unread, SizeIs(1));
  EXPECT_EQ(unread.front().kind, &PodKind());
  EXPECT_EQ(unread.front().namespace_, "default");
  EXPECT_EQ(unread.front().name, "broken");
  EXPECT_THAT(cluster.Watch(kinds, {.namespace_ = "default"})->Unreadable(), SizeIs(1));
  EXPECT_THAT(cluster.Watch(kinds, {.namespace_ = "other"})->Unreadable(), SizeIs(0));
  Overwrite(R"({"metadata":{"name":"broken","namespace":"default","uid":"u"}})");
  EXPECT_EQ(watch->Next()->object.metadata().name, "broken");
  EXPECT_TRUE(watch->Stale().ok());
  // As it was last known.
  Overwrite("no object");
  EXPECT_FALSE(watch->Next().has_value());
  EXPECT_FALSE(watch->Stale().ok());
  store::Transaction gone;
  gone.Delete(kKey);
  ASSERT_TRUE(world_.store().CommitAndWait(std::move(gone)).ok());
  const auto deleted = watch->Next();
  ASSERT_TRUE(deleted.has_value());
  EXPECT_EQ(deleted->kind, api::Change::Kind::kDeleted);
  EXPECT_EQ(deleted->object.metadata().uid, "u");
  EXPECT_TRUE(watch->Stale().ok());
}

}  // namespace
}  // namespace dray::registry

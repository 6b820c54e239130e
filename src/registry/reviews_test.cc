// SPDX-License-Identifier: Apache-2.0
//
// Questions that users ask about themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kWho = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const std::string kMay = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const std::string kRules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

const apiserver::User kEve{"eve", {std::string(kViewers)}};

Answer May(World& world, const apiserver::User& user, std::string_view verb,
           std::string_view resource) {
  return world.Ask({.method = "POST",
                    .path = kMay,
                    .body = fmt::format(R"({{"spec":{{"resourceAttributes":{{"verb":"{}",)"
                                        R"("resource":"{}","namespace":"default"}}}}}})",
                                        verb, resource),
                    .user = user});
}

TEST(Reviews, SayWhoIsAsking) {
  World world;
  const Answer who = world.Ask({.method = "POST", .path = kWho, .body = "{}", .user = kEve});
  EXPECT_EQ(who.status, 201) << who.text;
  EXPECT_EQ(rest::TextIn(who.Json(), "kind"), "SelfSubjectReview");
  EXPECT_THAT(who.text, HasSubstr(R"("userInfo":{"username":"eve","groups":["dray:viewers"]})"));
}

TEST(Reviews, AnswerAsTheRequestItselfWouldBe) {
  World world;
  const Answer read = May(world, kEve, "list", "pods");
  EXPECT_EQ(read.status, 201) << read.text;
  EXPECT_THAT(read.text, HasSubstr(R"("status":{"allowed":true})"));
  EXPECT_THAT(May(world, kEve, "delete", "pods").text, HasSubstr(R"("allowed":false)"));
  EXPECT_THAT(May(world, {"admin", {std::string(kMasters)}}, "delete", "pods").text,
              HasSubstr(R"("allowed":true)"));
  const std::string path = R"({"spec":{"nonResourceAttributes":{"path":"/metrics","verb":"get"}}})";
  EXPECT_THAT(world.Ask({.method = "POST", .path = kMay, .body = path, .user = kEve}).text,
              HasSubstr(R"("allowed":true)"));
}

TEST(Reviews, ListWhatARoleMay) {
  World world;
  const Answer viewer = world.Ask({.method = "POST", .path = kRules, .body = "{}", .user = kEve});
  EXPECT_EQ(viewer.status, 201) << viewer.text;
  EXPECT_THAT(viewer.text, HasSubstr(R"({"verbs":["get","list","watch"],"apiGroups":["*"],)"
                                     R"("resources":["*"]})"));
  EXPECT_THAT(viewer.text, Not(HasSubstr("delete")));
}

TEST(Reviews, AreForThoseWhoAreKnown) {
  World world;
  const Answer nobody = world.Ask({.method = "POST", .path = kWho, .body = "{}", .user = {}});
  EXPECT_EQ(nobody.status, 403) << nobody.text;
}

TEST(Reviews, AskOneThingAndAreOnlyPosted) {
  World world;
  const Answer neither = world.Post(kMay, R"({"spec":{}})");
  EXPECT_EQ(neither.status, 422);
  EXPECT_THAT(neither.text, HasSubstr("exactly one of"));
  EXPECT_EQ(world.Get(kWho).status, 405);
  EXPECT_EQ(world.Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", "{}").status, 404);
  EXPECT_EQ(world.Post("/apis/authorization.k8s.io/v2/selfsubjectaccessreviews", "{}").status, 404);
}

}  // namespace
}  // namespace dray::registry

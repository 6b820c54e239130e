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

const apiserver::User kEve{"eve", {std::string(kViewers), "system:authenticated"}};

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
  EXPECT_THAT(
      who.text,
      HasSubstr(
          R"("userInfo":{"username":"eve","groups":["dray:viewers","system:authenticated"]})"));
}

TEST(Reviews, AnswerAsTheRequestItselfWouldBe) {
  World world;
  const Answer read = May(world, kEve, "list", "pods");
  EXPECT_EQ(read.status, 201) << read.text;
  EXPECT_THAT(
      read.text,
      HasSubstr(
          R"("status":{"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"dray:viewer\" )"
          R"(of ClusterRole \"dray:viewer\" to Group \"dray:viewers\""})"));
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
  EXPECT_THAT(viewer.text, HasSubstr(R"({"verbs":["get","list","watch"],"apiGroups":[""],)"
                                     R"("resources":["namespaces"]})"));
  EXPECT_THAT(viewer.text, HasSubstr(R"({"verbs":["get"],"nonResourceURLs":["/metrics")"));
  EXPECT_THAT(viewer.text, HasSubstr(R"("incomplete":false)"));
  EXPECT_THAT(viewer.text, Not(HasSubstr("delete")));
}

const std::string kMayThey = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const std::string kMayTheyHere =
    "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";

TEST(Reviews, AnswerForOthers) {
  World world;
  const Answer may =
      world.Post(kMayThey, R"({"spec":{"user":"bob","groups":["dray:viewers"],"extra":{"k":["v"]},)"
                           R"("resourceAttributes":{"verb":"list","resource":"nodes"}}})");
  EXPECT_EQ(may.status, 201) << may.text;
  EXPECT_THAT(may.text, HasSubstr(R"("allowed":true)"));
  EXPECT_THAT(may.text, HasSubstr(R"("kind":"SubjectAccessReview")"));
  EXPECT_THAT(world
                  .Post(kMayThey, R"({"spec":{"user":"bob","resourceAttributes":)"
                                  R"({"verb":"list","resource":"nodes"}}})")
                  .text,
              HasSubstr(R"("status":{"allowed":false})"));
  EXPECT_THAT(world
                  .Post(kMayThey, R"({"spec":{"user":"system:node:n1","groups":["system:nodes"],)"
                                  R"("resourceAttributes":{"verb":"list","resource":"pods",)"
                                  R"("fieldSelector":{"rawSelector":"spec.nodeName=n1"}}}})")
                  .text,
              HasSubstr(R"("allowed":true)"));
  const Answer nobody =
      world.Post(kMayThey, R"({"spec":{"resourceAttributes":{"verb":"list","resource":"nodes"}}})");
  EXPECT_EQ(nobody.status, 422);
  EXPECT_THAT(nobody.text, HasSubstr("at least one of user or group must be specified"));
  const Answer eve = world.Ask(
      {.method = "POST", .path = kMayThey, .body = R"({"spec":{"user":"bob"}})", .user = kEve});
  EXPECT_EQ(eve.status, 403) << "whether others may is not for everybody to know";
}

TEST(Reviews, AnswerForOthersInANamespace) {
  World world;
  const auto ask = [&](std::string_view space) {
    return world.Post(kMayTheyHere,
                      fmt::format(R"({{"spec":{{"user":"bob","resourceAttributes":{{"verb":"get",)"
                                  R"("resource":"pods","namespace":"{}"}}}}}})",
                                  space));
  };
  EXPECT_EQ(ask("default").status, 201);
  EXPECT_EQ(ask("other").status, 400);
  EXPECT_THAT(ask("other").text,
              HasSubstr("spec.resourceAttributes.namespace must match namespace: default"));
  EXPECT_EQ(world
                .Post(kMayTheyHere, R"({"spec":{"user":"b","nonResourceAttributes":)"
                                    R"({"path":"/","verb":"get"}}})")
                .status,
            422);
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
  EXPECT_EQ(world.Post("/apis/authorization.k8s.io/v1/localsubjectaccessreviews", "{}").status,
            404);
  EXPECT_EQ(world.Post("/apis/authorization.k8s.io/v2/selfsubjectaccessreviews", "{}").status, 404);
}

}  // namespace
}  // namespace dray::registry

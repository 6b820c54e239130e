// SPDX-License-Identifier: Apache-2.0
//
// deployments/scale and replicasets/scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";
const std::string kScale = kDeployments + "/web/scale";

constexpr std::string_view kWeb =
    R"({"metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},)"
    R"("template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"a",)"
    R"("image":"x"}]}}}})";

std::string Replicas(const Answer& answer) {
  const rest::DocumentNode json = answer.Json();
  return rest::FindIn(*rest::FindIn(json, "spec"), "replicas")->text;
}

Asking Patch(std::string body, std::string type = "application/merge-patch+json") {
  return {
      .method = "PATCH", .path = kScale, .body = std::move(body), .content_type = std::move(type)};
}

class ScaleTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(world_.Post(kDeployments, std::string(kWeb)).status, 201); }
  World world_;
};

TEST_F(ScaleTest, SaysHowManyAndOfWhichPods) {
  const Answer got = world_.Get(kScale);
  ASSERT_EQ(got.status, 200) << got.text;
  EXPECT_EQ(rest::TextIn(got.Json(), "kind"), "Scale");
  EXPECT_EQ(rest::TextIn(got.Json(), "apiVersion"), "autoscaling/v1");
  EXPECT_EQ(Replicas(got), "2");
  EXPECT_THAT(got.text, HasSubstr(R"("status":{"replicas":0,"selector":"app=web"})"));
  EXPECT_EQ(world_.Get(kDeployments + "/none/scale").status, 404);
  EXPECT_EQ(world_.Get("/api/v1/namespaces/default/pods/p/scale").status, 404);
}

TEST_F(ScaleTest, ChangesTheNumberAndNothingElse) {
  const rest::DocumentNode before = world_.Get(kDeployments + "/web").Json();
  const Answer patched = world_.Ask(Patch(R"({"spec":{"replicas":5}})"));
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(Replicas(patched), "5");
  const rest::DocumentNode after = world_.Get(kDeployments + "/web").Json();
  rest::DocumentNode wanted = *rest::FindIn(before, "spec");
  rest::SetIn(wanted, "replicas", rest::NumberNode(5));
  EXPECT_TRUE(rest::JsonEqual(*rest::FindIn(after, "spec"), wanted));
  EXPECT_EQ(Replicas(world_.Ask(Patch(R"([{"op":"replace","path":"/spec/replicas","value":3}])",
                                      "application/json-patch+json"))),
            "3");
}

TEST_F(ScaleTest, AnUpdateOfAnOldVersionIsRefused) {
  const std::string old = world_.Get(kScale).text;
  const Asking put{.method = "PUT", .path = kScale, .body = old};
  EXPECT_EQ(world_.Ask(put).status, 200);
  ASSERT_EQ(world_.Ask(Patch(R"({"spec":{"replicas":4}})")).status, 200);
  const Answer refused = world_.Ask(put);
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_EQ(Replicas(world_.Get(kScale)), "4");
}

TEST_F(ScaleTest, NumbersThatMakeNoSenseAreRefusedByName) {
  const Answer negative = world_.Ask(Patch(R"({"spec":{"replicas":-1}})"));
  EXPECT_EQ(negative.status, 422);
  EXPECT_THAT(negative.text, HasSubstr("spec.replicas"));
  const Answer text = world_.Ask(Patch(R"({"spec":{"replicas":"many"}})"));
  EXPECT_EQ(text.status, 400);
  EXPECT_THAT(text.text, HasSubstr("many"));
  EXPECT_EQ(world_.Ask(Patch(R"({"metadata":{"name":"other"}})")).status, 400);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kScale}).status, 405);
}

TEST_F(ScaleTest, ViewersMayLookAndNotScale) {
  const apiserver::User viewer{"eve", {std::string(kViewers)}};
  EXPECT_EQ(world_.Ask({.path = kScale, .user = viewer}).status, 200);
  Asking patch = Patch(R"({"spec":{"replicas":5}})");
  patch.user = viewer;
  const Answer refused = world_.Ask(patch);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text, HasSubstr(R"(cannot patch resource \"deployments/scale\")"));
}

}  // namespace
}  // namespace dray::registry

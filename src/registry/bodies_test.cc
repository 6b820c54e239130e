// SPDX-License-Identifier: Apache-2.0
//
// Objects as people and tools send them, and what is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

// `kubectl replace` sends the manifest, which knows nothing of what admission filled in.
TEST(Bodies, APodIsReplacedByItsOwnManifest) {
  World world;
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::string manifest =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})";
  ASSERT_EQ(world.Post(pods, manifest).status, 201);
  const Answer again = world.Ask({.method = "PUT", .path = pods + "/p", .body = manifest});
  EXPECT_EQ(again.status, 200) << again.text;
  EXPECT_THAT(again.text, HasSubstr(R"("priority":0)"));
  EXPECT_THAT(again.text, HasSubstr(R"("generation":1)"));
}

// As a restored object brings them along.
TEST(Bodies, ManagedFieldsOfANewObjectStay) {
  World world;
  const Answer made = world.Post(
      "/apis/resource.k8s.io/v1/deviceclasses",
      R"({"metadata":{"name":"c","labels":{"a":"b"},"managedFields":[{"manager":"me","operation":)"
      R"("Update","apiVersion":"resource.k8s.io/v1","time":"2020-01-01T00:00:00Z","fieldsType":)"
      R"("FieldsV1","fieldsV1":{"f:spec":{"f:selectors":{}}}}]},"spec":{}})");
  EXPECT_EQ(made.status, 201);
  const rest::DocumentNode object = made.Json();
  const rest::DocumentNode* entries =
      rest::FindIn(*rest::FindIn(object, "metadata"), "managedFields");
  ASSERT_NE(entries, nullptr);
  ASSERT_EQ(entries->items.size(), 2u);
  EXPECT_EQ(rest::TextIn(entries->items[0], "manager"), "me");
  EXPECT_EQ(rest::TextIn(entries->items[0], "time"), "2020-01-01T00:00:00Z");
}

// With dots before the keys of maps, as Kubernetes's decoders see them.
TEST(Bodies, AnUnknownFieldIsCalledAsItsDecoderCallsIt) {
  World world;
  const Answer refused = world.Post(
      "/apis/resource.k8s.io/v1/resourceslices?fieldValidation=Strict",
      R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n","pool":{"name":"p",)"
      R"("generation":1,"resourceSliceCount":1},"devices":[{"name":"d","attributes":{"k":)"
      R"({"string":"x","more":1}}}]}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.text, HasSubstr("spec.devices[0].attributes.k.more"));
}

}  // namespace
}  // namespace dray::registry

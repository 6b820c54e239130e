// SPDX-License-Identifier: Apache-2.0
//
// Objects as people and tools send them, and what is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "base/valid_utf8.h"
#include "registry/world_for_test.h"
#include "testing/status_matchers.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

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

// Clients read headers of a limited size: what was created would look as if it had failed.
TEST(Bodies, WarningsFitIntoAHeader) {
  World world;
  const auto create = [&](const std::string& name, int fields, int length) {
    std::string body = R"({"metadata":{"name":")" + name + R"("},"spec":{})";
    for (int i = 0; i < fields; ++i) {
      std::string field = std::to_string(i);
      field.append(static_cast<std::size_t>(length), 'x');
      body += ",\"" + field + "\":0";
    }
    const Answer made = world.Post("/apis/resource.k8s.io/v1/deviceclasses", body + "}");
    EXPECT_EQ(made.status, 201) << made.text;
    std::vector<std::string> warnings;
    for (const auto& [key, value] : made.headers.list) {
      if (key == "Warning") warnings.push_back(value);
    }
    return warnings;
  };
  EXPECT_EQ(create("few", 3, 1000).size(), 3u);
  EXPECT_EQ(create("short", 90, 0).size(), 90u);
  const auto many = create("many", 5000, 1000);
  std::size_t total = 0;
  for (const std::string& warning : many) total += warning.size();
  EXPECT_GT(many.size(), 10u);
  EXPECT_LT(total, 6000u);
}

// A header and a query may have any bytes, JSON may not: what is stored with such could not be read
// again by anybody.
TEST(Bodies, WhateverAClientCallsItselfItsObjectsCanBeRead) {
  World world;
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto create = [&](const std::string& name, const std::string& agent) {
    apiserver::Headers headers;
    headers.Add("User-Agent", agent);
    const Answer made =
        world.Ask({.method = "POST",
                   .path = pods,
                   .body = R"({"metadata":{"name":")" + name +
                           R"("},"spec":{"containers":[{"name":"a","image":"x"}]}})",
                   .headers = headers});
    EXPECT_EQ(made.status, 201) << made.text;
    const store::EntryPtr entry = world.store().Find("/registry/core/pods/default/" + name);
    EXPECT_TRUE(base::IsUtf8(*entry->value)) << agent;
    const rest::DocumentNode object = made.Json();
    const rest::DocumentNode* entries =
        rest::FindIn(*rest::FindIn(object, "metadata"), "managedFields");
    return std::string(rest::TextIn(entries->items.at(0), "manager"));
  };
  EXPECT_EQ(create("a", "kubectl/v1.30 (linux/amd64)"), "kubectl");
  EXPECT_EQ(create("b", "my tool/1"), "my tool");
  EXPECT_EQ(create("c", "x\xff/1"), "x\xef\xbf\xbd");
  EXPECT_EQ(create("d", "a\tb\x7f"), "ab");
  // Of two bytes the second one would be the 129th.
  EXPECT_EQ(create("e", std::string(127, 'a') + "\xc3\xa9"), std::string(127, 'a'));
  const Answer refused =
      world.Post(pods + "?fieldManager=%ff",
                 R"({"metadata":{"name":"f"},"spec":{"containers":[{"name":"a","image":"x"}]}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.text, HasSubstr("must be UTF-8"));
}

// The last guard, should a door forget.
TEST(Bodies, WhatCouldNotBeReadAgainIsNotWritten) {
  World world;
  api::Pod pod;
  pod.metadata.name = "p";
  pod.metadata.annotations["a"] = "\xff";
  pod.spec.containers.push_back({.name = "a", .image = "x"});
  for (const bool dry_run : {false, true}) {
    std::optional<StatusOr<api::Object>> result;
    world.registry().Create(api::Object::Of(pod), "default", {.dry_run = dry_run},
                            [&](StatusOr<api::Object> made) { result = std::move(made); });
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(*result, StatusIs(StatusCode::kInvalidArgument, HasSubstr("not UTF-8")));
  }
}

}  // namespace
}  // namespace dray::registry

// SPDX-License-Identifier: Apache-2.0
#include "rest/served_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "api/custom_kind.h"
#include "api/pod.h"
#include "rest/discovery.h"
#include "rest/openapi.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

ServedKind Widget(std::string version) {
  const auto kind = api::CustomKind({.group = "served.example.com",
                                     .version = std::move(version),
                                     .kind = "Widget",
                                     .plural = "widgets",
                                     .namespaced = true});
  auto schema = std::make_shared<DocumentNode>(TreeOf(
      R"({"type":"object","properties":{"spec":{"type":"object","description":"A wish."}}})"));
  return {.kind = *kind,
          .resource = {.singular = "widget",
                       .verbs = kAllVerbs,
                       .short_names = {"wd"},
                       .categories = {"all"},
                       .subresources = {{.name = "status", .kind = {}, .verbs = kStatusVerbs}}},
          .schema_v3 = schema,
          .schema_v2 = schema};
}

TEST(ServedKinds, HaveWhatIsBuiltInAndWhatWasAdded) {
  const ServedKinds kinds({Widget("v2"), Widget("v1")});
  const ServedKind* pods = kinds.FindResource("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->kind, &api::HubKind(api::TypeInfoOf<api::Pod>()));
  const ServedKind* widgets = kinds.FindResource("served.example.com", "v1", "widgets");
  ASSERT_NE(widgets, nullptr);
  EXPECT_EQ(kinds.Find(*widgets->kind), widgets);
  EXPECT_NE(kinds.FindSubresource(*widgets->kind, "status"), nullptr);
  EXPECT_EQ(kinds.FindSubresource(*widgets->kind, "scale"), nullptr);
  EXPECT_EQ(kinds.FindResource("served.example.com", "v3", "widgets"), nullptr);
  EXPECT_EQ(ServedKinds::BuiltIn().Find(*widgets->kind), nullptr);
  EXPECT_THAT(ServedVersions("served.example.com", kinds), ElementsAre("v2", "v1"));
}

TEST(ServedKinds, AreInDiscoveryAndOpenApi) {
  const ServedKinds kinds({Widget("v1")});
  EXPECT_THAT(ServedGroups(kinds), Contains("served.example.com"));
  const auto list = ApiResourceListJson("served.example.com", "v1", kinds);
  ASSERT_TRUE(list.has_value());
  EXPECT_NE(list->find(R"("shortNames":["wd"],"categories":["all"])"), std::string::npos) << *list;
  EXPECT_NE(list->find("widgets/status"), std::string::npos);
  EXPECT_NE(AggregatedDiscoveryJson(false, kinds).find("served.example.com"), std::string::npos);
  const auto document = OpenApiV3Json("served.example.com", "v1", kinds);
  ASSERT_TRUE(document.has_value());
  EXPECT_NE(document->find("com.example.served.v1.Widget"), std::string::npos);
  EXPECT_NE(document->find("A wish."), std::string::npos);
  EXPECT_NE(OpenApiV2Json(kinds).find("com.example.served.v1.Widget"), std::string::npos);
  EXPECT_EQ(OpenApiV2Json().find("com.example.served.v1.Widget"), std::string::npos);
}

}  // namespace
}  // namespace dray::rest

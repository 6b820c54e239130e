// SPDX-License-Identifier: Apache-2.0
#include "rest/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/pod.h"
#include "api/workloads.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::ElementsAre;

TEST(Discovery, NewVersionsComeFirst) {
  EXPECT_THAT(ServedVersions("resource.k8s.io"),
              ElementsAre("v1", "v1beta2", "v1beta1", "v1alpha3"));
  const DocumentNode group = TreeOf(*ApiGroupJson("resource.k8s.io"));
  EXPECT_EQ(TextIn(*FindIn(group, "preferredVersion"), "version"), "v1");
}

TEST(Discovery, KnowsOnlyWhatIsServed) {
  EXPECT_FALSE(ApiGroupJson("none.example.com").has_value());
  EXPECT_FALSE(ApiGroupJson("").has_value());
  EXPECT_FALSE(ApiResourceListJson("resource.k8s.io", "v2").has_value());
}

TEST(Discovery, EveryKindIsInBothForms) {
  const DocumentNode aggregated = TreeOf(AggregatedDiscoveryJson(false));
  for (const api::KindInfo& kind : api::Kinds()) {
    const DocumentNode list = TreeOf(*ApiResourceListJson(kind.group, kind.version));
    bool found = false;
    for (const DocumentNode& resource : FindIn(list, "resources")->items) {
      found |= TextIn(resource, "name") == kind.plural;
    }
    EXPECT_TRUE(found) << kind.plural;
  }
  EXPECT_EQ(FindIn(aggregated, "items")->items.size(), ServedGroups().size());
}

TEST(Discovery, PodsHaveTheirSubresources) {
  const api::KindInfo& pods = api::HubKind(api::TypeInfoOf<api::Pod>());
  ASSERT_NE(ServedKinds::BuiltIn().FindSubresource(pods, "eviction"), nullptr);
  EXPECT_EQ(ServedKinds::BuiltIn().FindSubresource(pods, "eviction")->group, "policy");
  EXPECT_TRUE(HasVerb(ServedKinds::BuiltIn().FindSubresource(pods, "status")->verbs, "patch"));
  EXPECT_FALSE(HasVerb(ServedKinds::BuiltIn().FindSubresource(pods, "binding")->verbs, "get"));
  EXPECT_EQ(ServedKinds::BuiltIn().FindSubresource(pods, "scale"), nullptr);
}

TEST(Discovery, WhatCanBeScaledSaysSo) {
  for (const api::TypeInfo* type :
       {&api::TypeInfoOf<api::Deployment>(), &api::TypeInfoOf<api::ReplicaSet>()}) {
    const Subresource* scale = ServedKinds::BuiltIn().FindSubresource(api::HubKind(*type), "scale");
    ASSERT_NE(scale, nullptr);
    EXPECT_EQ(scale->group, "autoscaling");
  }
}

TEST(Discovery, QuestionsAboutOneselfAreListedAlthoughTheyAreNoObjects) {
  EXPECT_THAT(ServedVersions("authentication.k8s.io"), ElementsAre("v1"));
  const DocumentNode list = TreeOf(*ApiResourceListJson("authorization.k8s.io", "v1"));
  EXPECT_EQ(TextIn(list, "groupVersion"), "authorization.k8s.io/v1");
  std::vector<std::string> names;
  for (const DocumentNode& item : FindIn(list, "resources")->items) {
    names.emplace_back(TextIn(item, "name"));
  }
  EXPECT_THAT(names, ElementsAre("localsubjectaccessreviews", "selfsubjectaccessreviews",
                                 "selfsubjectrulesreviews", "subjectaccessreviews"));
  EXPECT_NE(FindObjectless("", "v1", "bindings"), nullptr);
  EXPECT_EQ(FindObjectless("", "v1", "pods"), nullptr);
}

}  // namespace
}  // namespace dray::rest

// SPDX-License-Identifier: Apache-2.0
#include "audit/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "testing/status_matchers.h"

namespace dray::audit {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

Policy Read(std::string_view rules) {
  auto policy = ReadPolicy(std::string(kHead) + std::string(rules));
  EXPECT_THAT(policy, testing::IsOk());
  return policy.ok() ? *std::move(policy) : Policy();
}

Level LevelOf(const Policy& policy, const Attributes& asked, std::string_view user = "u",
              const std::vector<std::string>& groups = {"g"}) {
  return policy.For(user, groups, asked).level;
}

Attributes Resource(std::string_view verb, std::string_view group, std::string_view resource,
                    std::string_view subresource = "", std::string_view namespace_ = "",
                    std::string_view name = "") {
  return {.verb = verb,
          .is_resource = true,
          .group = group,
          .resource = resource,
          .subresource = subresource,
          .namespace_ = namespace_,
          .name = name};
}

TEST(Policy, TheFirstRuleThatFitsDecides) {
  const Policy policy = Read(R"(
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: [a], verbs: [get, list]}
- {level: Request, userGroups: [admins, others], omitStages: [Panic], omitManagedFields: false}
- {level: Metadata, namespaces: [kube-system, ""]}
- {level: RequestResponse, nonResourceURLs: [/metrics, /healthz*]}
)");
  EXPECT_EQ(LevelOf(policy, Resource("get", "", "pods"), "a"), Level::kNone);
  EXPECT_EQ(LevelOf(policy, Resource("create", "", "pods", "", "n"), "a"), Level::kNone);
  EXPECT_EQ(LevelOf(policy, Resource("get", "", "pods"), "b", {"x", "others"}), Level::kRequest);
  EXPECT_EQ(LevelOf(policy, Resource("get", "", "pods", "", "kube-system")), Level::kMetadata);
  EXPECT_EQ(LevelOf(policy, Resource("get", "", "nodes")), Level::kMetadata);
  EXPECT_EQ(LevelOf(policy, Resource("get", "", "pods", "", "default")), Level::kNone);
  EXPECT_EQ(LevelOf(policy, {.verb = "get", .path = "/metrics"}), Level::kRequestResponse);
  EXPECT_EQ(LevelOf(policy, {.verb = "get", .path = "/healthz/ping"}), Level::kRequestResponse);
  EXPECT_EQ(LevelOf(policy, {.verb = "get", .path = "/metrics/x"}), Level::kNone);

  const Decision mine = policy.For("b", {"admins"}, Resource("get", "", "pods"));
  EXPECT_TRUE(mine.omit_stages.Has(Stage::kRequestReceived));
  EXPECT_TRUE(mine.omit_stages.Has(Stage::kPanic));
  EXPECT_FALSE(mine.omit_stages.Has(Stage::kResponseComplete));
  EXPECT_FALSE(mine.omit_managed_fields);
  EXPECT_TRUE(policy.For("b", {}, {.verb = "get", .path = "/metrics"}).omit_managed_fields);
}

TEST(Policy, ResourcesAreNamedWithTheirParts) {
  const auto fits = [](std::string_view wanted, const Attributes& asked) {
    const Policy policy =
        Read("rules: [{level: Metadata, resources: [" + std::string(wanted) + "]}]");
    return LevelOf(policy, asked) == Level::kMetadata;
  };
  const Attributes pods = Resource("get", "", "pods", "", "n", "p");
  const Attributes status = Resource("get", "", "pods", "status", "n", "p");
  const Attributes apps = Resource("get", "apps", "deployments", "scale", "n", "d");
  EXPECT_TRUE(fits(R"({group: ""})", pods));
  EXPECT_FALSE(fits(R"({group: ""})", apps));
  EXPECT_TRUE(fits(R"({resources: [pods]})", pods));
  EXPECT_FALSE(fits(R"({resources: [pods]})", status));
  EXPECT_TRUE(fits(R"({resources: [pods/status]})", status));
  EXPECT_FALSE(fits(R"({resources: [pods/status]})", pods));
  EXPECT_TRUE(fits(R"({resources: ["pods/*"]})", status));
  EXPECT_TRUE(fits(R"({resources: ["*/status"]})", status));
  EXPECT_FALSE(fits(R"({resources: ["*/status"]})", pods));
  EXPECT_TRUE(fits(R"({resources: ["*"]})", status));
  EXPECT_TRUE(fits(R"({group: apps, resources: ["*/scale"]})", apps));
  EXPECT_TRUE(fits(R"({resources: [pods], resourceNames: [p, q]})", pods));
  EXPECT_FALSE(fits(R"({resources: [pods], resourceNames: [q]})", pods));
  EXPECT_TRUE(fits(R"({group: x}, {resources: [pods]})", pods));
  EXPECT_FALSE(fits(R"({resources: ["*"]})", {.verb = "get", .path = "/metrics"}));
}

TEST(Policy, TheDefaultWritesDownWrites) {
  const Policy policy = DefaultPolicy();
  for (const std::string_view verb : {"create", "update", "patch", "delete", "deletecollection"}) {
    EXPECT_EQ(LevelOf(policy, Resource(verb, "", "pods", "", "n")), Level::kMetadata) << verb;
  }
  for (const std::string_view verb : {"get", "list", "watch"}) {
    EXPECT_EQ(LevelOf(policy, Resource(verb, "", "pods", "", "n")), Level::kNone) << verb;
  }
  EXPECT_EQ(LevelOf(policy, Resource("update", "coordination.k8s.io", "leases", "", "n")),
            Level::kNone);
  EXPECT_EQ(LevelOf(policy, {.verb = "get", .path = "/livez"}), Level::kNone);
  EXPECT_EQ(LevelOf(policy, {.verb = "post", .path = "/livez"}), Level::kMetadata);
  EXPECT_EQ(LevelOf(policy, {.verb = "get", .path = "/snapshot"}), Level::kMetadata);
  // Who was not let in, whatever they wanted to do.
  EXPECT_EQ(policy.For("", {}, Resource("list", "", "pods", "", "n")).level, Level::kMetadata);
  const auto again = ReadPolicy(ToJson(policy));
  ASSERT_THAT(again, testing::IsOk());
  EXPECT_EQ(*again, policy);
}

struct Bad {
  std::string name;
  std::string text;
  std::string want;
  friend void PrintTo(const Bad& bad, std::ostream* os) { *os << bad.name; }
};
class BadPolicyTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadPolicyTest, IsRefusedWithWhatWouldBeRight) {
  const auto policy = ReadPolicy(GetParam().text);
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(std::string(base::Message(policy.status())), GetParam().want);
}

std::string WithHead(std::string_view rest) { return std::string(kHead) + std::string(rest); }

INSTANTIATE_TEST_SUITE_P(
    Policy, BadPolicyTest,
    ::testing::ValuesIn(std::vector<Bad>{
        {"empty", "", "the file is empty; it must hold a Policy of audit.k8s.io/v1"},
        {"a_text", "hello",
         "line 1: policy: \"hello\" must be a map with the fields apiVersion, kind, metadata, "
         "rules, "
         "omitStages, omitManagedFields"},
        {"another_version", "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: []",
         "line 1: apiVersion: \"audit.k8s.io/v1beta1\" must be audit.k8s.io/v1"},
        {"no_kind", "apiVersion: audit.k8s.io/v1", "line 1: kind: is missing; it must be Policy"},
        {"no_rules", WithHead(""),
         "line 1: rules: is missing or empty, so that nothing would be audited; a policy has at "
         "least one rule, such as {level: Metadata}"},
        {"rules_no_list", WithHead("rules: {level: Metadata}"),
         "line 3: rules: {\"level\":\"Metadata\"} must be a list of rules, such as [{level: "
         "Metadata}]"},
        {"a_level", WithHead("rules:\n- level: Metadata\n- level: Meta"),
         "line 5: rules[1].level: \"Meta\" is not a level of auditing; it must be one of None, "
         "Metadata, Request, RequestResponse"},
        {"no_level", WithHead("rules:\n- users: [a]"),
         "line 4: rules[0].level: is missing; it must be one of None, Metadata, Request, "
         "RequestResponse"},
        {"a_stage", WithHead("omitStages: [Received]\nrules: [{level: None}]"),
         "line 3: omitStages[0]: \"Received\" is not a stage of a request; it must be one of "
         "RequestReceived, ResponseStarted, ResponseComplete, Panic"},
        {"a_misspelt_field", WithHead("rules:\n- level: None\n  user: [a]"),
         "line 5: rules[0].user: unknown field; did you mean users?"},
        {"a_field_twice", WithHead("rules:\n- level: None\n  level: Metadata"),
         "line 4: rules[0].level: given more than once"},
        {"a_word_for_a_list", WithHead("rules:\n- level: None\n  verbs: get"),
         "line 5: rules[0].verbs: \"get\" must be a list of strings"},
        {"a_number_in_a_list", WithHead("rules:\n- level: None\n  users: [7]"),
         "line 5: rules[0].users[0]: 7 must be a string"},
        {"a_version_in_a_group", WithHead("rules:\n- level: None\n  resources: [{group: apps/v1}]"),
         "line 5: rules[0].resources[0].group: \"apps/v1\" must be an API group without a version, "
         "such as apps or resource.k8s.io, or \"\" for the core group"},
        {"names_of_nothing", WithHead("rules:\n- level: None\n  resources: [{resourceNames: [a]}]"),
         "line 5: rules[0].resources[0].resourceNames: needs resources: names are of some "
         "resource"},
        {"an_odd_resource", WithHead("rules:\n- level: None\n  resources: [{resources: [pod*]}]"),
         "line 5: rules[0].resources[0].resources[0]: \"pod*\" must be a resource such as pods, "
         "pods/status, pods/*, */scale or *"},
        {"a_path_without_slash", WithHead("rules:\n- level: None\n  nonResourceURLs: [metrics]"),
         "line 5: rules[0].nonResourceURLs[0]: \"metrics\" must be a path that begins with /, such "
         "as /metrics or /healthz*; a * is only allowed at its end"},
        {"paths_and_resources",
         WithHead("rules:\n- level: None\n  nonResourceURLs: [/a]\n  namespaces: [b]"),
         "line 4: rules[0].nonResourceURLs: cannot be in one rule with resources or namespaces: a "
         "request is about one or the other, so that the rule would never apply; make two rules"},
        {"a_word_for_a_truth", WithHead("omitManagedFields: maybe\nrules: [{level: None}]"),
         "line 3: omitManagedFields: \"maybe\" must be true or false"},
        {"two_documents", WithHead("rules: [{level: None}]\n---\na: b"),
         "line 5: a second document; there is one policy"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Policy, WhatIsNoYamlSaysWhere) {
  const auto policy = ReadPolicy("apiVersion: [\n");
  ASSERT_FALSE(policy.ok());
  EXPECT_THAT(std::string(base::Message(policy.status())), HasSubstr("line "));
}

}  // namespace
}  // namespace dray::audit

// SPDX-License-Identifier: Apache-2.0
#include "policy/match_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy_for_test.h"

namespace dray::policy {
namespace {

constexpr std::string_view kSlice =
    "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"
    "spec: {driver: d, pool: {name: p, resourceSliceCount: 1}, nodeName: node-a}\n";

// What the rule makes of the request: the version that is shown, or "no".
std::string Ask(std::string_view match, const Request& request, const SmallWorld& world = {}) {
  const PolicySpec spec = SpecFrom("  matchConstraints:\n" + std::string(match));
  const auto version =
      Matches(spec.match, request, [&](std::string_view name) -> StatusOr<api::Map<std::string>> {
        DRAY_ASSIGN_OR_RETURN(const api::Object space, world.Namespace(name));
        return space.metadata().labels;
      });
  if (!version.ok()) return std::string(base::Message(version.status()));
  return *version ? (*version)->resource.version : "no";
}

std::string Rule(std::string_view fields) {
  return "    resourceRules:\n    - {" + std::string(fields) + "}\n";
}

TEST(MatchRules, GoByGroupVersionResourceAndOperation) {
  const Writing write(kMap);
  const auto ask = [&](std::string_view fields) { return Ask(Rule(fields), write.request); };
  EXPECT_EQ(
      ask("apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]"),
      "v1");
  EXPECT_EQ(ask("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']"), "v1");
  EXPECT_EQ(ask("apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: ['*']"), "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v2], operations: ['*'], resources: ['*']"), "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: [UPDATE, DELETE], resources: "
                "['*']"),
            "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]"), "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: ['*/*']"), "v1");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: "
                "[configmaps/status]"),
            "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: ['*'], "
                "resourceNames: [x]"),
            "no");
  EXPECT_EQ(ask("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: ['*'], "
                "resourceNames: [x, m]"),
            "v1");
}

TEST(MatchRules, ASubresourceIsNamed) {
  Writing write(kMap, kMap);
  write.request.subresource = "status";
  const auto ask = [&](std::string_view resources) {
    return Ask(Rule("apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [" +
                    std::string(resources) + "]"),
               write.request);
  };
  EXPECT_EQ(ask("configmaps"), "no");
  EXPECT_EQ(ask("'*'"), "no");
  EXPECT_EQ(ask("configmaps/status"), "v1");
  EXPECT_EQ(ask("configmaps/*"), "v1");
  EXPECT_EQ(ask("'*/status'"), "v1");
}

TEST(MatchRules, AScopeIsOfTheClusterOrOfNamespaces) {
  const Writing in_space(kMap);
  const Writing slice(kSlice);
  Writing space("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n");
  space.request.namespace_ = "ns";
  const auto ask = [](std::string_view scope, const Request& request) {
    return Ask(Rule("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'], "
                    "scope: '" +
                    std::string(scope) + "'"),
               request);
  };
  EXPECT_EQ(ask("Namespaced", in_space.request), "v1");
  EXPECT_EQ(ask("Cluster", in_space.request), "no");
  EXPECT_EQ(ask("Namespaced", slice.request), "no");
  EXPECT_EQ(ask("Cluster", slice.request), "v1");
  EXPECT_EQ(ask("Cluster", space.request), "v1");
  EXPECT_EQ(ask("Namespaced", space.request), "no");
}

TEST(MatchRules, ARuleForOneVersionIsForTheOthersUnlessItIsExact) {
  const Writing write(kSlice);
  const std::string rule = Rule(
      "apiGroups: [resource.k8s.io], apiVersions: [v1beta1], operations: ['*'], resources: "
      "[resourceslices]");
  EXPECT_EQ(Ask(rule, write.request), "v1beta1");
  EXPECT_EQ(Ask(rule + "    matchPolicy: Exact\n", write.request), "no");
}

TEST(MatchRules, WhatIsExcludedIsNot) {
  const Writing write(kMap);
  EXPECT_EQ(Ask(Rule("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']") +
                    "    excludeResourceRules:\n    - {apiGroups: [''], apiVersions: [v1], "
                    "operations: [CREATE], resources: [configmaps], resourceNames: [m]}\n",
                write.request),
            "no");
}

TEST(MatchRules, LabelsOfTheObjectBeforeOrAfter) {
  const std::string all =
      Rule("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']");
  const std::string chosen = all + "    objectSelector: {matchLabels: {a: b}}\n";
  constexpr std::string_view kBare =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: ns}\n";
  EXPECT_EQ(Ask(chosen, Writing(kMap).request), "v1");
  EXPECT_EQ(Ask(chosen, Writing(kBare).request), "no");
  EXPECT_EQ(Ask(chosen, Writing(kBare, kMap).request), "v1");
}

TEST(MatchRules, WhatIsSentToASubresourceMayHaveNoLabels) {
  const std::string all =
      Rule("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*']");
  const std::string others =
      all + "    objectSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}\n";
  const std::string chosen = all + "    objectSelector: {matchLabels: {a: b}}\n";
  std::vector<api::Diagnostic> diagnostics;
  const auto bare = api::ParseJson(R"({"metadata":{"name":"m"}})", diagnostics);
  const auto labelled = api::ParseJson(R"({"metadata":{"labels":{"a":"b"}}})", diagnostics);
  Writing write(kMap);
  write.request.object = nullptr;
  write.request.subresource = "binding";
  write.request.document = &bare;
  EXPECT_EQ(Ask(others, write.request), "v1");
  EXPECT_EQ(Ask(chosen, write.request), "no");
  write.request.document = &labelled;
  EXPECT_EQ(Ask(others, write.request), "no");
  EXPECT_EQ(Ask(chosen, write.request), "v1");
  write.request.document = &bare;
  write.request.operation = kConnect;
  EXPECT_EQ(Ask(others, write.request), "no");
}

TEST(MatchRules, LabelsOfTheNamespace) {
  const std::string chosen =
      Rule("apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']") +
      "    namespaceSelector: {matchLabels: {team: x}}\n";
  SmallWorld world;
  EXPECT_EQ(Ask(chosen, Writing(kMap).request, world), "namespaces \"ns\" not found");
  world.Add("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {team: x}}\n");
  EXPECT_EQ(Ask(chosen, Writing(kMap).request, world), "v1");
  world.objects.clear();
  world.Add("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns, labels: {team: other}}\n");
  EXPECT_EQ(Ask(chosen, Writing(kMap).request, world), "no");
  // What is in no namespace is never left out; a namespace goes by its own labels.
  EXPECT_EQ(Ask(chosen, Writing(kSlice).request, world), "v1");
  Writing space("apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {team: x}}\n");
  space.request.namespace_ = "other";
  EXPECT_EQ(Ask(chosen, space.request, world), "v1");
}

TEST(MatchRules, PoliciesAndReviewsAreExempt) {
  EXPECT_TRUE(IsExempt("admissionregistration.k8s.io", "validatingadmissionpolicies"));
  EXPECT_TRUE(IsExempt("admissionregistration.k8s.io", "validatingadmissionpolicybindings"));
  EXPECT_FALSE(IsExempt("admissionregistration.k8s.io", "validatingwebhookconfigurations"));
  EXPECT_TRUE(IsExempt("authentication.k8s.io", "tokenreviews"));
  EXPECT_TRUE(IsExempt("authorization.k8s.io", "selfsubjectaccessreviews"));
  EXPECT_FALSE(IsExempt("", "pods"));
}

}  // namespace
}  // namespace dray::policy

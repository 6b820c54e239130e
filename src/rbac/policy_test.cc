// SPDX-License-Identifier: Apache-2.0
#include "rbac/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rbac/rbac_for_test.h"

namespace dray::rbac {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

api::AuthorizationRequest Get(api::UserInfo user, std::string space, std::string resource) {
  return {.user = std::move(user),
          .verb = "get",
          .resource = std::move(resource),
          .namespace_ = std::move(space)};
}

const auto kPods = Rule({"get"}, {""}, {"pods"});

TEST(Policy, ABindingCountsInItsNamespaceAlone) {
  const Policy policy({ClusterRoleOf("reader", {kPods}),
                       LocalBinding("a", "b", "ClusterRole", "reader", {User("eve")})});
  EXPECT_TRUE(policy.Authorize(Get({"eve"}, "a", "pods")).allowed);
  EXPECT_FALSE(policy.Authorize(Get({"eve"}, "b", "pods")).allowed);
  EXPECT_FALSE(policy.Authorize(Get({"eve"}, "", "pods")).allowed) << "all namespaces";
  EXPECT_FALSE(policy.Authorize(Get({"bob"}, "a", "pods")).allowed);
}

TEST(Policy, AClusterRoleBindingCountsEverywhere) {
  const Policy policy(
      {ClusterRoleOf("reader", {kPods}), WideBinding("b", "reader", {Group("dev")})});
  EXPECT_TRUE(policy.Authorize(Get({"eve", {"dev"}}, "a", "pods")).allowed);
  EXPECT_TRUE(policy.Authorize(Get({"eve", {"dev"}}, "", "pods")).allowed);
  EXPECT_FALSE(policy.Authorize(Get({"dev"}, "a", "pods")).allowed) << "a user is no group";
  EXPECT_EQ(policy.Authorize(Get({"eve", {"dev"}}, "a", "pods")).reason,
            R"(RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev")");
}

TEST(Policy, ServiceAccountsAreUsersByTheirFullName) {
  const Policy policy(
      {RoleOf("a", "reader", {kPods}),
       LocalBinding("a", "b", "Role", "reader", {Account("", "here"), Account("other", "there")})});
  EXPECT_TRUE(policy.Authorize(Get({"system:serviceaccount:a:here"}, "a", "pods")).allowed);
  EXPECT_TRUE(policy.Authorize(Get({"system:serviceaccount:other:there"}, "a", "pods")).allowed);
  EXPECT_FALSE(policy.Authorize(Get({"system:serviceaccount:a:there"}, "a", "pods")).allowed);
  EXPECT_FALSE(policy.Authorize(Get({"system:serviceaccount:other:here"}, "a", "pods")).allowed);
  EXPECT_EQ(policy.Authorize(Get({"system:serviceaccount:a:here"}, "a", "pods")).reason,
            R"(RBAC: allowed by RoleBinding "b/a" of Role "reader" to ServiceAccount "here/a")");
  // One without a namespace is nobody in the whole cluster.
  const Policy wide({ClusterRoleOf("r", {kPods}), WideBinding("b", "r", {Account("", "here")})});
  EXPECT_FALSE(wide.Authorize(Get({"system:serviceaccount::here"}, "a", "pods")).allowed);
}

TEST(Policy, ARoleOfAnotherNamespaceIsAnotherRole) {
  const Policy policy(
      {RoleOf("b", "reader", {kPods}), LocalBinding("a", "x", "Role", "reader", {User("eve")})});
  const auto decision = policy.Authorize(Get({"eve"}, "a", "pods"));
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(decision.reason, R"(RBAC: role.rbac.authorization.k8s.io "reader" not found)");
}

TEST(Policy, PathsAreNotGivenInANamespace) {
  const Policy policy({ClusterRoleOf("paths", {PathRule({"get"}, {"*"})}),
                       LocalBinding("a", "b", "ClusterRole", "paths", {User("eve")}),
                       WideBinding("c", "paths", {User("bob")})});
  const auto may = [&](std::string user) {
    return policy
        .Authorize(
            {.user = {std::move(user)}, .verb = "get", .namespace_ = "a", .path = "/metrics"})
        .allowed;
  };
  EXPECT_FALSE(may("eve"));
  EXPECT_TRUE(may("bob"));
}

TEST(Policy, RulesComeOncePerBinding) {
  const Policy policy({ClusterRoleOf("reader", {kPods}),
                       WideBinding("b", "reader", {User("eve"), Group("dev"), User("eve")}),
                       LocalBinding("a", "c", "ClusterRole", "gone", {Group("dev")})});
  const auto rules = policy.RulesFor({"eve", {"dev", "dev"}}, "a");
  EXPECT_THAT(rules.rules, SizeIs(1));
  EXPECT_THAT(rules.errors,
              ElementsAre(R"(clusterrole.rbac.authorization.k8s.io "gone" not found)"));
  EXPECT_THAT(policy.RulesFor({"eve", {"dev"}}, "").errors, SizeIs(0));
}

}  // namespace
}  // namespace dray::rbac

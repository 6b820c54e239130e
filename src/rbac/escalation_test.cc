// SPDX-License-Identifier: Apache-2.0
#include "rbac/escalation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rbac/rbac_for_test.h"

namespace dray::rbac {
namespace {

using ::testing::HasSubstr;

class PolicyAuthorizer final : public api::Authorizer {
 public:
  explicit PolicyAuthorizer(const Policy& policy) : policy_(policy) {}
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    return policy_.Authorize(request);
  }

 private:
  const Policy& policy_;
};

const auto kPods = Rule({"get", "list"}, {""}, {"pods"});
const auto kSecrets = Rule({"get"}, {""}, {"secrets"});

// What is said to `eve`; empty: nothing.
std::string Said(std::vector<api::Object> objects, const api::Object& next,
                 const api::Object* old = nullptr, Names groups = {"dev"}) {
  const Policy policy(std::move(objects));
  const auto why =
      CheckEscalation({"eve", std::move(groups)}, next, old, policy, PolicyAuthorizer(policy));
  return why ? why->text : std::string();
}

TEST(Escalation, NobodyMakesARoleThatHasMore) {
  const std::vector<api::Object> own = {ClusterRoleOf("own", {kPods}),
                                        WideBinding("b", "own", {User("eve")})};
  EXPECT_EQ(Said(own, ClusterRoleOf("x", {kPods})), "");
  EXPECT_EQ(Said(own, RoleOf("a", "x", {kPods})), "");
  EXPECT_EQ(Said(own, ClusterRoleOf("x", {kPods, kSecrets})),
            "user \"eve\" (groups=[\"dev\"]) is attempting to grant RBAC permissions not currently "
            "held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}");
  EXPECT_EQ(Said(own, ClusterRoleOf("x", {kPods, kSecrets}), nullptr, {"system:masters"}), "");
}

TEST(Escalation, WhatOneHasInANamespaceOneGivesThere) {
  const std::vector<api::Object> own = {
      ClusterRoleOf("own", {kPods}), LocalBinding("a", "b", "ClusterRole", "own", {User("eve")})};
  EXPECT_EQ(Said(own, RoleOf("a", "x", {kPods})), "");
  EXPECT_THAT(Said(own, RoleOf("b", "x", {kPods})), HasSubstr("not currently held"));
  EXPECT_THAT(Said(own, ClusterRoleOf("x", {kPods})), HasSubstr("not currently held"));
  EXPECT_EQ(Said(own, LocalBinding("a", "x", "ClusterRole", "own", {User("bob")})), "");
  EXPECT_THAT(Said(own, WideBinding("x", "own", {User("bob")})), HasSubstr("not currently held"));
}

TEST(Escalation, WhoMayEscalateOrBindMay) {
  const auto escalate = Rule({"escalate"}, {"rbac.authorization.k8s.io"}, {"clusterroles"}, {"x"});
  const std::vector<api::Object> escalator = {ClusterRoleOf("own", {escalate}),
                                              WideBinding("b", "own", {User("eve")})};
  EXPECT_EQ(Said(escalator, ClusterRoleOf("x", {kSecrets})), "");
  EXPECT_THAT(Said(escalator, ClusterRoleOf("y", {kSecrets})), HasSubstr("not currently held"));

  const auto bind = Rule({"bind"}, {"rbac.authorization.k8s.io"}, {"clusterroles"}, {"secrets"});
  const std::vector<api::Object> binder = {
      ClusterRoleOf("secrets", {kSecrets}), ClusterRoleOf("own", {bind}),
      LocalBinding("a", "b", "ClusterRole", "own", {User("eve")})};
  EXPECT_EQ(Said(binder, LocalBinding("a", "x", "ClusterRole", "secrets", {User("bob")})), "");
  EXPECT_THAT(Said(binder, LocalBinding("b", "x", "ClusterRole", "secrets", {User("bob")})),
              HasSubstr("not currently held"));
  EXPECT_THAT(Said(binder, WideBinding("x", "secrets", {User("bob")})),
              HasSubstr("not currently held"));
}

TEST(Escalation, ARoleThatIsNotThereIsNotBound) {
  const Policy policy;
  const auto why = CheckEscalation({"eve"}, LocalBinding("a", "x", "Role", "gone", {User("bob")}),
                                   nullptr, policy, PolicyAuthorizer(policy));
  ASSERT_TRUE(why.has_value());
  EXPECT_TRUE(why->role_not_found);
  EXPECT_EQ(why->text, R"(roles.rbac.authorization.k8s.io "gone" not found)");
}

api::Object Gathers(std::string name, std::string label) {
  api::Object object = ClusterRoleOf(std::move(name), {});
  auto& rule = object.Mutable<api::ClusterRole>()->aggregation_rule.emplace();
  rule.cluster_role_selectors.emplace_back().match_labels[label] = "true";
  return object;
}

TEST(Escalation, GatheringTakesTheRightToEverything) {
  const std::vector<api::Object> some = {ClusterRoleOf("own", {Rule({"*"}, {"*"}, {"*"})}),
                                         WideBinding("b", "own", {User("eve")})};
  const std::string refusal = "must have cluster-admin privileges to use the aggregationRule";
  EXPECT_EQ(Said(some, Gathers("x", "l")), "") << "the verb escalate is one of all verbs";
  const std::vector<api::Object> reader = {ClusterRoleOf("own", {kPods}),
                                           WideBinding("b", "own", {User("eve")})};
  EXPECT_EQ(Said(reader, Gathers("x", "l")), refusal);
  // Nor to take it away, which would keep what was gathered.
  const api::Object before = Gathers("x", "l");
  EXPECT_EQ(Said(reader, ClusterRoleOf("x", {}), &before), refusal);
}

// A label can make a role part of another one: whoever sets it must have what the role has.
TEST(Escalation, ALabelIsAChangeToo) {
  const std::vector<api::Object> own = {ClusterRoleOf("own", {kPods}),
                                        WideBinding("b", "own", {User("eve")})};
  const api::Object before = ClusterRoleOf("secrets", {kSecrets});
  api::Object labelled = before;
  labelled.MutableMetadata().labels["rbac.authorization.k8s.io/aggregate-to-view"] = "true";
  EXPECT_THAT(Said(own, labelled, &before), HasSubstr("not currently held"));
  api::Object orphaned = before;
  orphaned.MutableMetadata().finalizers = {"x/y"};
  EXPECT_EQ(Said(own, orphaned, &before), "") << "the garbage collector's fields give nothing";
}

}  // namespace
}  // namespace dray::rbac

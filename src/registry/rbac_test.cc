// SPDX-License-Identifier: Apache-2.0
//
// Roles and bindings as objects: what is stored decides, at once, and nobody gives away what they do
// not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1";
const std::string kRoles = kRbac + "/namespaces/default/roles";
const std::string kBindings = kRbac + "/namespaces/default/rolebindings";
const std::string kClusterRoles = kRbac + "/clusterroles";
const std::string kClusterBindings = kRbac + "/clusterrolebindings";
const std::string kPods = "/api/v1/namespaces/default/pods";

const apiserver::User kEve{"eve", {"dev", "system:authenticated"}};

class RbacTest : public ::testing::Test {
 protected:
  RbacTest() { world_.StoreRoles(); }

  Answer As(const apiserver::User& user, std::string method, std::string path,
            std::string body = {}, std::string type = {}) {
    return world_.Ask({.method = std::move(method),
                       .path = std::move(path),
                       .body = std::move(body),
                       .content_type = std::move(type),
                       .user = user});
  }
  // By the administrator.
  void Make(std::string path, std::string body) {
    const Answer made = world_.Post(std::move(path), std::move(body));
    ASSERT_EQ(made.status, 201) << made.text;
  }
  void Give(std::string_view name, std::string_view role, std::string_view user) {
    Make(kBindings, fmt::format(R"({{"metadata":{{"name":"{}"}},"roleRef":{{"kind":"ClusterRole",)"
                                R"("name":"{}"}},"subjects":[{{"kind":"User","name":"{}"}}]}})",
                                name, role, user));
  }

  World world_;
};

TEST_F(RbacTest, WhatIsStoredDecidesAtOnce) {
  EXPECT_EQ(As(kEve, "GET", kPods).status, 403);
  Make(kRoles, R"({"metadata":{"name":"reader"},"rules":[{"verbs":["list"],"apiGroups":[""],)"
               R"("resources":["pods"]}]})");
  Make(kBindings, R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"reader"},)"
                  R"("subjects":[{"kind":"Group","name":"dev"}]})");
  EXPECT_EQ(As(kEve, "GET", kPods).status, 200);
  EXPECT_EQ(As(kEve, "GET", "/api/v1/pods").status, 403) << "all namespaces are more";
  EXPECT_EQ(As(kEve, "GET", "/api/v1/namespaces/kube-system/pods").status, 403);
  EXPECT_EQ(world_.Ask({.method = "DELETE", .path = kBindings + "/b"}).status, 200);
  const Answer refused = As(kEve, "GET", kPods);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.text,
              HasSubstr(R"(pods is forbidden: User \"eve\" cannot list resource \"pods\" in API )"
                        R"(group \"\" in the namespace \"default\")"));
}

TEST_F(RbacTest, ARoleThatIsMissingIsNamed) {
  Make(kBindings, R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"gone"},)"
                  R"("subjects":[{"kind":"User","name":"eve"}]})");
  EXPECT_THAT(As(kEve, "GET", kPods).text,
              HasSubstr(R"(RBAC: role.rbac.authorization.k8s.io \"gone\" not found)"));
}

// As after going back to an older version.
TEST_F(RbacTest, WhatCannotBeReadGivesNoRightsAndStopsNobodyElses) {
  const apiserver::User fay{"fay", {"system:authenticated"}};
  const std::string rules =
      R"("rules":[{"verbs":["list"],"apiGroups":[""],"resources":["pods"]}]})";
  for (const std::string name : {"eve", "fay"}) {
    Make(kRoles, R"({"metadata":{"name":")" + name + R"("},)" + rules);
    Make(kBindings,
         fmt::format(R"({{"metadata":{{"name":"{0}"}},"roleRef":{{"kind":"Role","name":"{0}"}},)"
                     R"("subjects":[{{"kind":"User","name":"{0}"}}]}})",
                     name));
  }
  const auto put = [&](const std::string& key, const std::string& bytes) {
    store::Transaction transaction;
    transaction.Put(key, bytes);
    ASSERT_TRUE(world_.store().CommitAndWait(std::move(transaction)).ok());
  };
  for (const std::string kind : {"roles", "rolebindings"}) {
    ASSERT_EQ(As(kEve, "GET", kPods).status, 200) << kind;
    const std::string key = "/registry/rbac.authorization.k8s.io/" + kind + "/default/eve";
    const store::EntryPtr entry = world_.store().Find(key);
    ASSERT_NE(entry, nullptr) << key;
    const std::string was = *entry->value;
    put(key, R"({"metadata":{"name":"eve"},"rules":7,"roleRef":7})");
    EXPECT_EQ(As(kEve, "GET", kPods).status, 403) << kind;
    EXPECT_EQ(As(fay, "GET", kPods).status, 200) << kind;
    EXPECT_EQ(As(kEve, "GET", "/api").status, 200) << "what a cluster begins with stays";
    put(key, was);
  }
  EXPECT_EQ(As(kEve, "GET", kPods).status, 200);
}

TEST_F(RbacTest, NamesInASelectorCount) {
  Make(kRoles, R"({"metadata":{"name":"one"},"rules":[{"verbs":["list","watch","get"],)"
               R"("apiGroups":[""],"resources":["pods"],"resourceNames":["web"]}]})");
  Make(kBindings, R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"one"},)"
                  R"("subjects":[{"kind":"User","name":"eve"}]})");
  EXPECT_EQ(As(kEve, "GET", kPods).status, 403);
  EXPECT_EQ(As(kEve, "GET", kPods + "?fieldSelector=metadata.name%3Dweb").status, 200);
  EXPECT_EQ(As(kEve, "GET", kPods + "?fieldSelector=metadata.name%21%3Dweb").status, 403);
  EXPECT_EQ(As(kEve, "GET", kPods + "?fieldSelector=metadata.name%3Ddb").status, 403);
  // What was asked for is what is shown, however often it is said.
  Make(kPods, R"({"metadata":{"name":"db"},"spec":{"containers":[{"name":"c","image":"x"}]}})");
  for (const std::string query :
       {"?fieldSelector=metadata.name%3Dweb&fieldSelector=",
        "?fieldSelector=metadata.name%3Dweb&fieldSelector=metadata.name%3Ddb",
        "?fieldSelector=metadata.name%3Dweb,metadata.name%3Ddb"}) {
    EXPECT_THAT(As(kEve, "GET", kPods + query).text, Not(HasSubstr("\"image\""))) << query;
  }
  EXPECT_EQ(As(kEve, "GET", kPods + "/web").status, 404);
  EXPECT_EQ(As(kEve, "GET", kPods + "/db").status, 403);
}

TEST_F(RbacTest, ANamespaceIsInItself) {
  Give("v", "view", "eve");
  EXPECT_EQ(As(kEve, "GET", "/api/v1/namespaces/default").status, 200);
  EXPECT_EQ(As(kEve, "GET", "/api/v1/namespaces/kube-system").status, 403);
  EXPECT_EQ(As(kEve, "GET", "/api/v1/namespaces").status, 403);
}

TEST_F(RbacTest, ViewersEditorsAndAdminsOfANamespace) {
  Give("v", "view", "viewer");
  Give("e", "edit", "editor");
  Give("a", "admin", "boss");
  const auto user = [](std::string name) {
    return apiserver::User{std::move(name), {"system:authenticated"}};
  };
  EXPECT_EQ(As(user("viewer"), "GET", kPods).status, 200);
  EXPECT_EQ(As(user("viewer"), "DELETE", kPods + "/x").status, 403);
  EXPECT_EQ(As(user("editor"), "DELETE", kPods + "/x").status, 404);
  EXPECT_EQ(As(user("editor"), "GET", kRoles).status, 403);
  EXPECT_EQ(As(user("boss"), "GET", kRoles).status, 200);
  EXPECT_EQ(As(user("boss"), "GET", "/api/v1/nodes").status, 403);
}

TEST_F(RbacTest, NobodyGivesAwayWhatTheyDoNotHave) {
  Give("a", "admin", "eve");
  const std::string own = R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""],)"
                          R"("resources":["pods"]}]})";
  EXPECT_EQ(As(kEve, "POST", kRoles, own).status, 201);
  const std::string more = R"({"metadata":{"name":"s"},"rules":[{"verbs":["get","list"],)"
                           R"("apiGroups":[""],"resources":["nodes"]}]})";
  const Answer refused = As(kEve, "POST", kRoles, more);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(
      refused.text,
      HasSubstr(R"(roles.rbac.authorization.k8s.io \"s\" is forbidden: user \"eve\" )"
                R"((groups=[\"dev\" \"system:authenticated\"]) is attempting to grant RBAC )"
                R"(permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], )"
                R"(Verbs:[\"get\" \"list\"]})"));
  // Whatever the verb.
  EXPECT_EQ(As(kEve, "PATCH", kRoles + "/r",
               R"({"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})",
               "application/merge-patch+json")
                .status,
            403);
  EXPECT_EQ(As(kEve, "PUT", kRoles + "/r", more).status, 400) << "of another name";
  EXPECT_EQ(As(kEve, "PATCH", kRoles + "/t?fieldManager=m&force=true",
               R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":)"
               R"({"name":"t"},"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})",
               "application/apply-patch+yaml")
                .status,
            403);
  EXPECT_EQ(As(kEve, "POST", kRoles + "?dryRun=All", more).status, 403);
  const Answer bound = As(kEve, "POST", kBindings,
                          R"({"metadata":{"name":"m"},"roleRef":{"kind":"ClusterRole",)"
                          R"("name":"cluster-admin"},"subjects":[{"kind":"User",)"
                          R"("name":"eve"}]})");
  EXPECT_EQ(bound.status, 403);
  EXPECT_THAT(bound.text, HasSubstr("is attempting to grant RBAC permissions not currently held"));
  // To bind what is there and is hers is fine; what is not there is not found.
  EXPECT_EQ(As(kEve, "POST", kBindings,
               R"({"metadata":{"name":"n"},"roleRef":{"kind":"ClusterRole","name":"view"},)"
               R"("subjects":[{"kind":"User","name":"bob"}]})")
                .status,
            201);
  const Answer gone = As(kEve, "POST", kBindings,
                         R"({"metadata":{"name":"o"},"roleRef":{"kind":"Role",)"
                         R"("name":"gone"},"subjects":[]})");
  EXPECT_EQ(gone.status, 404);
  EXPECT_THAT(gone.text, HasSubstr(R"(roles.rbac.authorization.k8s.io \"gone\" not found)"));
}

// Labels make roles part of others: neither making nor labelling one gets anybody more.
TEST_F(RbacTest, NobodyEscalatesThroughAggregation) {
  // Everything but the verbs "escalate" and "bind", which would allow it.
  Make(kClusterRoles,
       R"({"metadata":{"name":"keeper"},"rules":[{"verbs":["get","list","create","update",)"
       R"("patch","delete"],"apiGroups":["rbac.authorization.k8s.io"],)"
       R"("resources":["clusterroles"]}]})");
  Make(kClusterBindings, R"({"metadata":{"name":"k"},"roleRef":{"kind":"ClusterRole",)"
                         R"("name":"keeper"},"subjects":[{"kind":"User","name":"eve"}]})");
  const std::string label = R"("labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"})";
  EXPECT_EQ(As(kEve, "POST", kClusterRoles,
               R"({"metadata":{"name":"x",)" + label +
                   R"(},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}]})")
                .status,
            403);
  EXPECT_EQ(As(kEve, "PATCH", kClusterRoles + "/cluster-admin", R"({"metadata":{)" + label + "}}",
               "application/merge-patch+json")
                .status,
            403);
  const Answer gathers =
      As(kEve, "POST", kClusterRoles,
         R"({"metadata":{"name":"y"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":)"
         R"({"kubernetes.io/bootstrapping":"rbac-defaults"}}]}})");
  EXPECT_EQ(gathers.status, 403);
  EXPECT_THAT(gathers.text,
              HasSubstr("must have cluster-admin privileges to use the aggregationRule"));
}

TEST_F(RbacTest, ImpersonationIsARightLikeOthers) {
  Make(kClusterRoles, R"({"metadata":{"name":"speaker"},"rules":[{"verbs":["impersonate"],)"
                      R"("apiGroups":[""],"resources":["users","groups"],)"
                      R"("resourceNames":["bob","dev"]}]})");
  Make(kClusterBindings, R"({"metadata":{"name":"s"},"roleRef":{"kind":"ClusterRole",)"
                         R"("name":"speaker"},"subjects":[{"kind":"User","name":"eve"}]})");
  const auto who = [&](std::string user, std::string group) {
    Asking asking{.method = "POST",
                  .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                  .body = "{}",
                  .user = kEve};
    asking.headers.Add("Impersonate-User", std::move(user));
    if (!group.empty()) asking.headers.Add("Impersonate-Group", std::move(group));
    return world_.Ask(asking);
  };
  EXPECT_THAT(who("bob", "dev").text, HasSubstr(R"("username":"bob")"));
  EXPECT_EQ(who("ann", "").status, 403);
  const Answer masters = who("bob", "system:masters");
  EXPECT_EQ(masters.status, 403);
  EXPECT_THAT(masters.text, HasSubstr(R"(groups \"system:masters\" is forbidden: User \"eve\" )"
                                      R"(cannot impersonate resource \"groups\" in API group )"
                                      R"(\"\" at the cluster scope)"));
}

TEST_F(RbacTest, TablesAreKubernetess) {
  const Answer table = world_.Ask({.path = kClusterBindings + "/dray:viewer",
                                   .accept = "application/json;as=Table;g=meta.k8s.io;v=v1"});
  EXPECT_THAT(table.text, HasSubstr(R"(["dray:viewer","ClusterRole/dray:viewer",)"));
  EXPECT_THAT(table.text, HasSubstr("dray:viewers"));
  EXPECT_THAT(world_.Get(kClusterRoles).text, HasSubstr("system:aggregate-to-view"));
}

TEST_F(RbacTest, WhatMakesNoSenseIsRefused) {
  const auto refused = [&](const std::string& path, const std::string& body,
                           const std::string& says) {
    const Answer answer = world_.Post(path, body);
    EXPECT_EQ(answer.status, 422) << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(says));
  };
  refused(kRoles,
          R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/"]}]})",
          "namespaced rules cannot apply to non-resource URLs");
  refused(kRoles,
          R"({"metadata":{"name":"r"},"rules":[{"verbs":[],"apiGroups":[""],)"
          R"("resources":["pods"]}]})",
          "verbs must contain at least one value");
  refused(kRoles, R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"resources":["pods"]}]})",
          "resource rules must supply at least one api group");
  refused(kBindings, R"({"metadata":{"name":"r"},"roleRef":{"kind":"Rol","name":"x"}})",
          R"(roleRef.kind: Unsupported value: \"Rol\")");
  refused(kBindings,
          R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"x"},)"
          R"("subjects":[{"kind":"Robot","name":"x"}]})",
          R"(subjects[0].kind: Unsupported value: \"Robot\")");
  refused(kClusterBindings, R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"x"}})",
          R"(roleRef.kind: Unsupported value: \"Role\")");
  refused(kClusterBindings,
          R"({"metadata":{"name":"r"},"roleRef":{"kind":"ClusterRole",)"
          R"("name":"x"},"subjects":[{"kind":"ServiceAccount","name":"x"}]})",
          "subjects[0].namespace: Required value");
  Give("b", "view", "eve");
  const Answer other = world_.Ask({.method = "PATCH",
                                   .path = kBindings + "/b",
                                   .body = R"({"roleRef":{"name":"edit"}})",
                                   .content_type = "application/merge-patch+json"});
  EXPECT_EQ(other.status, 422);
  EXPECT_THAT(other.text, HasSubstr("field is immutable"));
}

}  // namespace
}  // namespace dray::registry

// SPDX-License-Identifier: Apache-2.0
#include "rbac/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "api/memory_cluster.h"
#include "api/namespace.h"
#include "api/validation.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "rbac/policy.h"
#include "rbac/rbac_for_test.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

using ::testing::IsEmpty;

const api::Object& Find(std::string_view kind, std::string_view name) {
  for (const api::Object& object : BootstrapObjects()) {
    if (object.kind().kind == kind && object.metadata().name == name) return object;
  }
  throw std::out_of_range(std::string(name));
}

bool May(api::UserInfo user, std::string verb, std::string group, std::string resource,
         std::string part = {}, std::string space = "default", std::string name = {}) {
  static const Policy policy(BootstrapObjects());
  return policy
      .Authorize({.user = std::move(user),
                  .verb = std::move(verb),
                  .api_group = std::move(group),
                  .resource = std::move(resource),
                  .subresource = std::move(part),
                  .namespace_ = std::move(space),
                  .name = std::move(name)})
      .allowed;
}

TEST(Bootstrap, EveryObjectIsValidAndHasItsOwnName) {
  std::set<std::pair<std::string_view, std::string>> names;
  for (const api::Object& object : BootstrapObjects()) {
    EXPECT_THAT(api::ValidateCreate(object, {}), IsEmpty()) << object.ToJson();
    EXPECT_TRUE(names.emplace(object.kind().kind, object.metadata().name).second)
        << object.metadata().name;
    EXPECT_EQ(*object.metadata().annotations.Find(kAutoUpdate), "true");
    EXPECT_EQ(*object.metadata().labels.Find("kubernetes.io/bootstrapping"), "rbac-defaults");
  }
}

TEST(Bootstrap, EveryBindingHasItsRole) {
  const Policy policy(BootstrapObjects());
  for (const api::Object& object : BootstrapObjects()) {
    if (const auto* wide = object.As<api::ClusterRoleBinding>()) {
      EXPECT_NE(policy.RulesOf(wide->role_ref, ""), nullptr) << wide->metadata.name;
    }
    if (const auto* local = object.As<api::RoleBinding>()) {
      EXPECT_NE(policy.RulesOf(local->role_ref, local->metadata.namespace_), nullptr)
          << local->metadata.name;
    }
  }
}

TEST(Bootstrap, AdminHasWhatEditHasAndEditWhatViewHas) {
  const auto rules = [](std::string_view name) {
    return Find("ClusterRole", name).As<api::ClusterRole>()->rules;
  };
  EXPECT_TRUE(Uncovered(rules("admin"), rules("edit")).empty());
  EXPECT_TRUE(Uncovered(rules("edit"), rules("view")).empty());
  EXPECT_FALSE(Uncovered(rules("view"), rules("edit")).empty());
  EXPECT_FALSE(Uncovered(rules("edit"), rules("admin")).empty());
  EXPECT_TRUE(Allows(rules("edit"), {.user = {}, .verb = "get", .resource = "secrets"}));
  EXPECT_FALSE(Allows(rules("view"), {.user = {}, .verb = "get", .resource = "secrets"}));
}

TEST(Bootstrap, WhoIsWho) {
  const api::UserInfo viewer{"v", {"dray:viewers", "system:authenticated"}};
  const api::UserInfo scheduler{"system:kube-scheduler", {"system:authenticated"}};
  const api::UserInfo driver{"dray:driver:d", {"dray:drivers"}};
  const api::UserInfo master{"m", {"system:masters"}};
  const api::UserInfo nobody{"system:anonymous", {"system:unauthenticated"}};
  EXPECT_TRUE(May(master, "delete", "", "nodes"));
  EXPECT_TRUE(May(viewer, "list", "resource.k8s.io", "resourceslices", "", ""));
  EXPECT_TRUE(May(viewer, "list", "", "pods", "", ""));
  EXPECT_TRUE(May(viewer, "list", "rbac.authorization.k8s.io", "clusterroles", "", ""));
  EXPECT_FALSE(May(viewer, "get", "", "secrets"));
  EXPECT_FALSE(May(viewer, "create", "", "pods", "exec"));
  EXPECT_FALSE(May(viewer, "delete", "", "pods"));
  EXPECT_TRUE(May(scheduler, "create", "", "pods", "binding"));
  EXPECT_TRUE(May(scheduler, "update", "resource.k8s.io", "resourceclaims", "binding"));
  EXPECT_TRUE(May(scheduler, "list", "scheduling.k8s.io", "priorityclasses", "", ""));
  EXPECT_TRUE(May(scheduler, "list", "scheduling.k8s.io", "podgroups", "", ""));
  EXPECT_TRUE(May(scheduler, "patch", "scheduling.k8s.io", "podgroups", "status"));
  EXPECT_FALSE(May(scheduler, "patch", "scheduling.k8s.io", "podgroups"));
  EXPECT_TRUE(May(viewer, "list", "scheduling.k8s.io", "podgroups", "", ""));
  EXPECT_TRUE(May(scheduler, "update", "coordination.k8s.io", "leases", "", "kube-system", "x"));
  EXPECT_FALSE(May(scheduler, "update", "coordination.k8s.io", "leases", "", "default", "x"));
  EXPECT_FALSE(May(scheduler, "create", "", "pods"));
  EXPECT_TRUE(May(driver, "create", "resource.k8s.io", "resourceslices", "", ""));
  EXPECT_FALSE(May(driver, "update", "resource.k8s.io", "resourceclaims", "binding"));
  EXPECT_TRUE(May(viewer, "create", "authorization.k8s.io", "selfsubjectaccessreviews"));
  EXPECT_FALSE(May(nobody, "create", "authorization.k8s.io", "selfsubjectaccessreviews"));
}

class EnsureTest : public ::testing::Test {
 protected:
  EnsureTest() {
    api::Namespace space;
    space.metadata.name = "kube-system";
    EXPECT_TRUE(cluster_.Create(api::Object::Of(std::move(space))).ok());
    EXPECT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  }
  api::Object Stored(const api::Object& object) {
    return **cluster_.Find(object.kind(), object.metadata().namespace_, object.metadata().name);
  }
  api::Object Role(std::string_view name) { return Stored(Find("ClusterRole", name)); }

  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  base::SystemRandomSource random_;
  api::MemoryCluster cluster_{clock_, random_};
};

TEST_F(EnsureTest, ASecondStartChangesNothing) {
  std::vector<std::string> versions;
  for (const api::Object& object : BootstrapObjects()) {
    versions.push_back(Stored(object).metadata().resource_version);
  }
  EXPECT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  std::size_t i = 0;
  for (const api::Object& object : BootstrapObjects()) {
    EXPECT_EQ(Stored(object).metadata().resource_version, versions[i++]) << object.metadata().name;
  }
}

TEST_F(EnsureTest, WhatWasTakenAwayComesBackAndWhatWasAddedStays) {
  api::Object role = Role("system:basic-user");
  auto& rules = role.Mutable<api::ClusterRole>()->rules;
  rules = {Rule({"get"}, {"mine"}, {"things"})};
  role.MutableMetadata().labels = {};
  ASSERT_TRUE(cluster_.Update(role).ok());
  ASSERT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  const api::Object after = Role("system:basic-user");
  const auto& have = after.As<api::ClusterRole>()->rules;
  EXPECT_TRUE(
      Uncovered(have, Find("ClusterRole", "system:basic-user").As<api::ClusterRole>()->rules)
          .empty());
  EXPECT_EQ(have.front().api_groups, Names{"mine"});
  EXPECT_NE(after.metadata().labels.Find("kubernetes.io/bootstrapping"), nullptr);
}

TEST_F(EnsureTest, WhoSaysSoIsLeftAlone) {
  api::Object role = Role("system:basic-user");
  role.Mutable<api::ClusterRole>()->rules = {};
  role.MutableMetadata().annotations[kAutoUpdate] = "false";
  ASSERT_TRUE(cluster_.Update(role).ok());
  ASSERT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  EXPECT_THAT(Role("system:basic-user").As<api::ClusterRole>()->rules, IsEmpty());
}

TEST_F(EnsureTest, ABindingThatWasDeletedOrEmptiedComesBack) {
  const api::Object& wanted = Find("ClusterRoleBinding", "dray:viewer");
  api::Object binding = Stored(wanted);
  binding.Mutable<api::ClusterRoleBinding>()->subjects = {User("eve")};
  ASSERT_TRUE(cluster_.Update(binding).ok());
  ASSERT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  EXPECT_EQ(Stored(wanted).As<api::ClusterRoleBinding>()->subjects,
            (std::vector{User("eve"), Group("dray:viewers")}));
  ASSERT_TRUE(cluster_.Delete(wanted.kind(), "", "dray:viewer").ok());
  ASSERT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  EXPECT_EQ(Stored(wanted).As<api::ClusterRoleBinding>()->subjects.size(), 1u);
}

TEST_F(EnsureTest, ABindingOfAnotherRoleIsMadeAnew) {
  const api::Object& wanted = Find("ClusterRoleBinding", "dray:viewer");
  ASSERT_TRUE(cluster_.Delete(wanted.kind(), "", "dray:viewer").ok());
  ASSERT_TRUE(cluster_.Create(WideBinding("dray:viewer", "cluster-admin", {User("eve")})).ok());
  ASSERT_TRUE(EnsureBootstrapObjects(cluster_).ok());
  const api::Object after = Stored(wanted);
  EXPECT_EQ(after.As<api::ClusterRoleBinding>()->role_ref.name, "dray:viewer");
  EXPECT_EQ(after.As<api::ClusterRoleBinding>()->subjects, std::vector{Group("dray:viewers")});
}

}  // namespace
}  // namespace dray::rbac

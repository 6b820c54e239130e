// SPDX-License-Identifier: Apache-2.0
#include "controllers/role_aggregation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/rbac.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RoleAggregationTest : public ::testing::Test {
 protected:
  static api::ClusterRole Role(std::string_view name, std::string_view verb,
                               std::string_view label = {}) {
    api::ClusterRole role;
    role.metadata.name = name;
    if (!label.empty()) role.metadata.labels[label] = "true";
    if (!verb.empty()) {
      role.rules = {{.verbs = {std::string(verb)}, .api_groups = {""}, .resources = {"pods"}}};
    }
    return role;
  }
  static api::ClusterRole Gathers(std::string_view name, std::string_view what,
                                  std::string_view label = {}) {
    api::ClusterRole role = Role(name, "", label);
    auto& rule = role.aggregation_rule.emplace();
    rule.cluster_role_selectors.emplace_back().match_labels[what] = "true";
    return role;
  }
  // The verbs of a role's rules, which have one each.
  std::vector<std::string> Verbs(std::string_view name) {
    scene_.Settle(controller_);
    std::vector<std::string> verbs;
    for (const auto& rule : scene_.Get<api::ClusterRole>(name, "").rules) {
      verbs.push_back(rule.verbs.front());
    }
    return verbs;
  }

  Scene scene_;
  RoleAggregation controller_{scene_.cluster(), scene_.clock()};
};

TEST_F(RoleAggregationTest, RulesFollowWhatIsSelected) {
  scene_.Add(Gathers("all", "x"));
  scene_.Add(Role("b", "list", "x"));
  scene_.Add(Role("a", "get", "x"));
  scene_.Add(Role("other", "delete", "y"));
  EXPECT_THAT(Verbs("all"), ElementsAre("get", "list"));
  auto role = scene_.Get<api::ClusterRole>("b", "");
  role.rules.front().verbs = {"watch"};
  scene_.Put(role);
  EXPECT_THAT(Verbs("all"), ElementsAre("get", "watch"));
  scene_.Delete<api::ClusterRole>("a", "");
  EXPECT_THAT(Verbs("all"), ElementsAre("watch"));
  role = scene_.Get<api::ClusterRole>("b", "");
  role.metadata.labels = {};
  scene_.Put(role);
  EXPECT_THAT(Verbs("all"), IsEmpty());
}

TEST_F(RoleAggregationTest, WhatIsWrittenByHandIsReplaced) {
  api::ClusterRole all = Gathers("all", "x");
  all.rules = Role("z", "delete").rules;
  scene_.Add(all);
  scene_.Add(Role("a", "get", "x"));
  EXPECT_THAT(Verbs("all"), ElementsAre("get"));
}

TEST_F(RoleAggregationTest, RolesThatGatherMayBeGathered) {
  scene_.Add(Gathers("admin", "to-admin"));
  scene_.Add(Gathers("edit", "to-edit", "to-admin"));
  scene_.Add(Role("a", "get", "to-edit"));
  EXPECT_THAT(Verbs("admin"), ElementsAre("get"));
  // And themselves, in a circle, without an end to nothing.
  auto edit = scene_.Get<api::ClusterRole>("admin", "");
  edit.metadata.labels["to-edit"] = "true";
  scene_.Put(edit);
  EXPECT_THAT(Verbs("edit"), ElementsAre("get"));
  EXPECT_EQ(scene_.Settle(controller_), 0u);
}

TEST_F(RoleAggregationTest, EqualRulesAreWrittenOnce) {
  scene_.Add(Gathers("all", "x"));
  scene_.Add(Role("a", "get", "x"));
  scene_.Add(Role("b", "get", "x"));
  EXPECT_THAT(Verbs("all"), ElementsAre("get"));
}

}  // namespace
}  // namespace dray::controllers

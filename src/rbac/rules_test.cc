// SPDX-License-Identifier: Apache-2.0
#include "rbac/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rbac/rbac_for_test.h"

namespace dray::rbac {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct AllowCase {
  std::string name;
  api::PolicyRule rule;
  api::AuthorizationRequest request;
  bool allowed;
  friend void PrintTo(const AllowCase& c, std::ostream* os) { *os << c.name; }
};
class AllowTest : public ::testing::TestWithParam<AllowCase> {};

TEST_P(AllowTest, SaysWhatTheRuleSays) {
  EXPECT_EQ(Allows(GetParam().rule, GetParam().request), GetParam().allowed);
}

api::AuthorizationRequest Ask(std::string verb, std::string group, std::string resource,
                              std::string part = {}, std::string name = {}) {
  return {.user = {.name = "eve"},
          .verb = std::move(verb),
          .api_group = std::move(group),
          .resource = std::move(resource),
          .subresource = std::move(part),
          .namespace_ = "default",
          .name = std::move(name)};
}
api::AuthorizationRequest AskPath(std::string verb, std::string path) {
  return {.user = {.name = "eve"}, .verb = std::move(verb), .path = std::move(path)};
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AllowTest,
    ::testing::ValuesIn(std::vector<AllowCase>{
        {"plain", Rule({"get"}, {""}, {"pods"}), Ask("get", "", "pods"), true},
        {"other_verb", Rule({"get"}, {""}, {"pods"}), Ask("list", "", "pods"), false},
        {"other_group", Rule({"get"}, {""}, {"pods"}), Ask("get", "apps", "pods"), false},
        {"other_resource", Rule({"get"}, {""}, {"pods"}), Ask("get", "", "secrets"), false},
        {"any_verb", Rule({"*"}, {""}, {"pods"}), Ask("impersonate", "", "pods"), true},
        {"any_group", Rule({"get"}, {"*"}, {"pods"}), Ask("get", "apps", "pods"), true},
        {"any_resource_has_parts", Rule({"get"}, {""}, {"*"}), Ask("get", "", "pods", "log"), true},
        {"a_resource_has_no_parts", Rule({"get"}, {""}, {"pods"}), Ask("get", "", "pods", "log"),
         false},
        {"a_part", Rule({"get"}, {""}, {"pods/log"}), Ask("get", "", "pods", "log"), true},
        {"a_part_is_not_the_whole", Rule({"get"}, {""}, {"pods/log"}), Ask("get", "", "pods"),
         false},
        {"a_part_of_any", Rule({"get"}, {"apps"}, {"*/scale"}),
         Ask("get", "apps", "deployments", "scale"), true},
        {"a_part_of_any_is_that_part", Rule({"get"}, {"apps"}, {"*/scale"}),
         Ask("get", "apps", "deployments", "status"), false},
        {"a_part_of_any_is_not_the_whole", Rule({"get"}, {"apps"}, {"*/scale"}),
         Ask("get", "apps", "deployments"), false},
        {"all_parts_of_one_is_no_pattern", Rule({"get"}, {""}, {"pods/*"}),
         Ask("get", "", "pods", "log"), false},
        {"by_name", Rule({"get"}, {""}, {"pods"}, {"web"}), Ask("get", "", "pods", "", "web"),
         true},
        {"by_another_name", Rule({"get"}, {""}, {"pods"}, {"web"}),
         Ask("get", "", "pods", "", "db"), false},
        {"by_name_without_one", Rule({"list"}, {""}, {"pods"}, {"web"}), Ask("list", "", "pods"),
         false},
        {"a_name_is_no_pattern", Rule({"get"}, {""}, {"pods"}, {"*"}),
         Ask("get", "", "pods", "", "web"), false},
        {"a_path", PathRule({"get"}, {"/metrics"}), AskPath("get", "/metrics"), true},
        {"below_a_path", PathRule({"get"}, {"/metrics"}), AskPath("get", "/metrics/x"), false},
        {"a_prefix", PathRule({"get"}, {"/metrics/*"}), AskPath("get", "/metrics/x/y"), true},
        {"any_path", PathRule({"get"}, {"*"}), AskPath("get", "/snapshot"), true},
        {"another_method", PathRule({"get"}, {"*"}), AskPath("post", "/snapshot"), false},
        {"everything_of_resources_is_no_path", Rule({"*"}, {"*"}, {"*"}),
         AskPath("get", "/metrics"), false},
        {"every_path_is_no_resource", PathRule({"*"}, {"*"}), Ask("get", "", "pods"), false},
        {"no_groups", {.verbs = {"*"}, .resources = {"*"}}, Ask("get", "", "pods"), false},
    }),
    [](const auto& info) { return info.param.name; });

std::string Lacks(std::vector<api::PolicyRule> had, std::vector<api::PolicyRule> wanted) {
  return CompactText(Uncovered(had, wanted));
}

TEST(Covering, SeveralRulesTogether) {
  const std::vector<api::PolicyRule> had = {Rule({"get", "list"}, {""}, {"pods"}),
                                            Rule({"get"}, {""}, {"secrets"})};
  EXPECT_EQ(Lacks(had, {Rule({"get"}, {""}, {"pods", "secrets"})}), "");
  EXPECT_EQ(Lacks(had, {Rule({"get", "list"}, {""}, {"pods", "secrets"})}),
            R"({APIGroups:[""], Resources:["secrets"], Verbs:["list"]})");
}

TEST(Covering, ComparesWhatIsWritten) {
  // As in Kubernetes: whoever has every verb by name does not have those to come.
  EXPECT_THAT(Lacks({Rule({"get", "list"}, {""}, {"pods"})}, {Rule({"*"}, {""}, {"pods"})}),
              HasSubstr(R"(Verbs:["*"])"));
  EXPECT_EQ(Lacks({Rule({"*"}, {"*"}, {"*"})}, {Rule({"*"}, {"*"}, {"*", "pods/log"}, {"a"})}), "");
  EXPECT_EQ(Lacks({Rule({"get"}, {""}, {"*/log"})}, {Rule({"get"}, {""}, {"pods/log"})}), "");
  EXPECT_THAT(Lacks({Rule({"get"}, {""}, {"pods/log"})}, {Rule({"get"}, {""}, {"*/log"})}),
              Not(IsEmpty()));
}

TEST(Covering, NamesAreLessThanAll) {
  const auto named = Rule({"get"}, {""}, {"pods"}, {"a", "b"});
  const auto any = Rule({"get"}, {""}, {"pods"});
  EXPECT_EQ(Lacks({any}, {named}), "");
  EXPECT_EQ(Lacks({named}, {any}), R"({APIGroups:[""], Resources:["pods"], Verbs:["get"]})");
  EXPECT_EQ(Lacks({named}, {Rule({"get"}, {""}, {"pods"}, {"b", "c"})}),
            R"({APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get"]})");
  EXPECT_THAT(Lacks({named}, {Rule({"get"}, {""}, {"pods"}, {"*"})}), Not(IsEmpty()));
}

TEST(Covering, Paths) {
  EXPECT_EQ(Lacks({PathRule({"get"}, {"/apis/*"})}, {PathRule({"get"}, {"/apis/x/*"})}), "");
  EXPECT_EQ(Lacks({PathRule({"get"}, {"/apis/x"})}, {PathRule({"get", "put"}, {"/apis/*"})}),
            R"({NonResourceURLs:["/apis/*"], Verbs:["get" "put"]})");
}

// Lists whose combinations nobody can go through are refused in bounded time.
TEST(Covering, ABombOfCombinationsIsRefused) {
  Names many;
  for (int i = 0; i < 2'000; ++i) many.push_back("x" + std::to_string(i));
  const Missing missing = Uncovered(std::vector{Rule({"get"}, {""}, {"pods"})},
                                    std::vector{Rule(many, many, many, many)});
  EXPECT_TRUE(missing.more);
  EXPECT_LE(missing.rules.size(), kMostMissing);
  EXPECT_THAT(CompactText(missing), HasSubstr("and more"));
  // What could be covered, too: rules that say it verb by verb.
  const Names some(many.begin(), many.begin() + 300);
  std::vector<api::PolicyRule> had;
  for (const std::string& name : some) had.push_back(Rule({name}, some, some));
  EXPECT_TRUE(Uncovered(had, std::vector{Rule(some, some, some)}).more);
  // Whoever has everything needs no time.
  EXPECT_TRUE(
      Uncovered(std::vector{Rule({"*"}, {"*"}, {"*"})}, std::vector{Rule(many, many, many, many)})
          .empty());
}

}  // namespace
}  // namespace dray::rbac

// SPDX-License-Identifier: Apache-2.0
//
// What is told of a plan: what somebody asks about, and what is news.
#include "planner/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "planner/asked.h"
#include "planner/edits.h"
#include "planner/plan_for_test.h"
#include "planner/plan_json.h"

namespace dray::planner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> NamesOf(const Asked& asked) {
  std::vector<std::string> names;
  for (const PodOutcome* pod : asked.pods) names.push_back(pod->name);
  for (const ClaimOutcome* claim : asked.claims) names.push_back("claim/" + claim->claim.name);
  for (const MissingPods* entry : asked.missing) names.push_back(entry->owners.back());
  return names;
}

const std::string kWorld = ClassYaml() + NodeYaml("n1", 2) + ClaimYaml("shared", 1) +
                           ClaimPodYaml("first", "shared") + ClaimPodYaml("second", "shared") +
                           GpuPodYaml("big", 4) + ClaimYaml("loose", 3) + DeploymentYaml("web", 2);

TEST(Asking, FindsWhatIsPending) {
  const Plan plan = PlanOf(kWorld);
  // The deployment's pods are only planned, and there is one device left for them.
  const std::vector<std::string> all = NamesOf(PendingIn(plan));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], "big");
  EXPECT_THAT(all[1], HasSubstr("web-"));
  EXPECT_EQ(all[2], "claim/loose");
  EXPECT_THAT(NamesOf(PendingIn(plan, {.made = false})), ElementsAre("big", "claim/loose"));
  EXPECT_THAT(NamesOf(PendingIn(plan, {.namespace_ = "other"})), IsEmpty());
  EXPECT_THAT(NamesOf(PendingIn(plan, {.namespace_ = "default", .made = false})),
              ElementsAre("big", "claim/loose"));
}

TEST(Asking, FindsAnObjectAndWhatBelongsToIt) {
  const Plan plan = PlanOf(kWorld);
  EXPECT_THAT(NamesOf(About(plan, "Pod", "first", "default")), ElementsAre("first"));
  EXPECT_THAT(NamesOf(About(plan, "ResourceClaim", "shared", "")), ElementsAre("first", "second"));
  EXPECT_THAT(NamesOf(About(plan, "ResourceClaim", "loose", "")), ElementsAre("claim/loose"));
  EXPECT_EQ(About(plan, "Deployment", "web", "default").pods.size(), 2U);
  EXPECT_TRUE(About(plan, "Deployment", "web", "other").empty());
  EXPECT_TRUE(About(plan, "Job", "web", "default").empty());
}

TEST(Comparisons, WhatIsAsItWasIsNoNews) {
  std::vector<api::Object> objects = PlanOf(kWorld).objects;
  Comparison comparison(objects);
  const Plan same = PlanOf(objects);
  for (const PodOutcome& pod : same.pods) EXPECT_FALSE(comparison.IsNews(pod)) << pod.name;
  for (const ClaimOutcome& claim : same.claims) {
    EXPECT_FALSE(comparison.IsNews(claim)) << claim.claim.name;
  }
  // But of what somebody puts there, and of what belongs to that.
  comparison.Put("Deployment", "default", "web");
  comparison.Put("ResourceClaim", "default", "loose");
  for (const PodOutcome& pod : same.pods) {
    EXPECT_EQ(comparison.IsNews(pod), pod.name.starts_with("web-")) << pod.name;
  }
  for (const ClaimOutcome& claim : same.claims) EXPECT_TRUE(comparison.IsNews(claim));
}

TEST(Comparisons, TellHowItWasAndWhatNewNodesAreGoodFor) {
  std::vector<api::Object> objects = PlanOf(kWorld).objects;
  Comparison comparison(objects);
  const auto names = AddNodesLike(objects, "n1", 1);
  ASSERT_TRUE(names.ok());
  comparison.AddNode(names->front(), "n1");
  const std::string json = api::ToJson(ToJson(PlanOf(objects), {.comparison = &comparison}));
  EXPECT_THAT(json,
              AllOf(HasSubstr(R"("state":"Placed","planned":false,"node":"n1-new-0")"),
                    HasSubstr(R"("before":"Refused")"),
                    HasSubstr(R"("newNodes":[{"name":"n1-new-0","like":"n1","used":[{)"
                              R"("driver":"gpu.example.com","device":"gpu-0","by":"default/web-)"),
                    Not(HasSubstr(R"("name":"big")")), Not(HasSubstr(R"("Existing")"))));
}

}  // namespace
}  // namespace dray::planner

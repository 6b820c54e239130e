// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "controllers/garbage_collector.h"
#include "controllers/pod_group_protection.h"
#include "controllers/resource_claim_controller.h"
#include "controllers/scene_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

api::FeatureGates GroupGates() {
  api::FeatureGates gates;
  gates.Set(api::Gate::kGenericWorkload, true);
  gates.Set(api::Gate::kDRAWorkloadResourceClaims, true);
  return gates;
}

api::PodGroup GroupNamed(std::string_view name) {
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = name;
  group.spec.scheduling_policy.basic.emplace();
  return group;
}
api::PodGroup GroupFrom(std::string_view name, std::string_view made_from) {
  api::PodGroup group = GroupNamed(name);
  group.spec.resource_claims = {
      {.name = "gpu", .resource_claim_template_name = std::string(made_from)}};
  return group;
}
api::Pod Joined(api::Pod pod, std::string_view group) {
  pod.spec.scheduling_group.emplace().pod_group_name = std::string(group);
  return pod;
}

class GroupClaimTest : public ::testing::Test {
 protected:
  Scene scene_{1, GroupGates()};
  ResourceClaimController controller_{scene_.cluster(), scene_.clock(), GroupGates()};
  PodGroupProtection protection_{scene_.cluster(), scene_.clock()};
  GarbageCollector garbage_{scene_.cluster(), scene_.clock()};

  std::string ClaimOf(std::string_view pod) {
    const auto statuses = scene_.Get<api::Pod>(pod).status.resource_claim_statuses;
    if (!statuses.has_value() || statuses->empty()) return "";
    return (*statuses)[0].resource_claim_name.value_or("");
  }
  // As a scheduler does.
  void Allocate(const std::string& claim, const api::PodGroup& group) {
    auto changed = scene_.Get<api::ResourceClaim>(claim);
    changed.metadata.finalizers = {std::string(api::kClaimFinalizer)};
    scene_.Put(changed);
    changed = scene_.Get<api::ResourceClaim>(claim);
    changed.status.allocation = OneResult();
    changed.status.reserved_for = {api::ConsumerOf(group)};
    scene_.PutStatus(changed);
  }
};

// Row 51: one claim for all pods, made before there is any.
TEST_F(GroupClaimTest, AnEntryOfAGroupIsOneClaimForAllItsPods) {
  scene_.Add(TemplateNamed("t"));
  const api::PodGroup group = scene_.Add(GroupFrom("g", "t"));
  scene_.Settle(controller_);
  auto claims = scene_.All<api::ResourceClaim>();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_THAT(claims[0].metadata.name, StartsWith("g-gpu-"));
  EXPECT_THAT(claims[0].metadata.owner_references,
              ElementsAre(api::OwnerReference{.api_version = "scheduling.k8s.io/v1beta1",
                                              .kind = "PodGroup",
                                              .name = "g",
                                              .uid = group.metadata.uid,
                                              .controller = true}));
  EXPECT_EQ(*claims[0].metadata.annotations.Find(api::kPodClaimNameAnnotation), "gpu");
  const std::string& claim = claims[0].metadata.name;
  EXPECT_THAT(
      scene_.Get<api::PodGroup>("g").status.resource_claim_statuses,
      ElementsAre(api::PodGroupResourceClaimStatus{.name = "gpu", .resource_claim_name = claim}));
  for (int i = 0; i < 3; ++i) scene_.Add(Joined(PodFrom(fmt::format("p{}", i), "t"), "g"));
  scene_.Settle(controller_);
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), SizeIs(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ClaimOf(fmt::format("p{}", i)), claim);
  EXPECT_EQ(controller_.Sync(), 0u);
}

TEST_F(GroupClaimTest, PodsWaitForTheirGroup) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(Joined(PodFrom("p", "t"), "g"));
  scene_.Settle(controller_);
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
  scene_.Add(GroupFrom("g", "t"));
  scene_.Settle(controller_);
  EXPECT_THAT(ClaimOf("p"), StartsWith("g-gpu-"));
}

// Row 53.
TEST_F(GroupClaimTest, AnEntryThatTheGroupDoesNotHaveIsThePods) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(GroupFrom("g", "t"));
  scene_.Add(Joined(PodFrom("p", "t", "other"), "g"));
  scene_.Settle(controller_);
  EXPECT_THAT(ClaimOf("p"), StartsWith("p-other-"));
}

// Row 52.
TEST_F(GroupClaimTest, AClaimStaysAllocatedUntilTheGroupIsGone) {
  scene_.Add(TemplateNamed("t"));
  const api::PodGroup group = scene_.Add(GroupFrom("g", "t"));
  scene_.Add(Joined(PodFrom("p", "t"), "g"));
  scene_.Settle(controller_);
  const std::string claim = ClaimOf("p");
  Allocate(claim, group);
  scene_.Delete<api::Pod>("p");
  scene_.Settle(controller_, garbage_);
  EXPECT_TRUE(scene_.Get<api::ResourceClaim>(claim).status.allocation.has_value());
  scene_.Delete<api::PodGroup>("g");
  scene_.Settle(controller_, garbage_);
  EXPECT_FALSE(scene_.Has<api::ResourceClaim>(claim));
}

// Row 56.
TEST_F(GroupClaimTest, AnotherGroupByTheSameNameHasNoPartInIt) {
  scene_.Add(ClaimNamed("c"));
  api::PodGroup group = GroupNamed("g");
  group.spec.resource_claims = {{.name = "gpu", .resource_claim_name = "c"}};
  const api::PodGroup first = scene_.Add(group);
  Allocate("c", first);
  scene_.Settle(controller_);
  EXPECT_TRUE(scene_.Get<api::ResourceClaim>("c").status.allocation.has_value());
  scene_.Delete<api::PodGroup>("g");
  scene_.Add(group);
  scene_.Settle(controller_);
  EXPECT_FALSE(scene_.Get<api::ResourceClaim>("c").status.allocation.has_value());
  EXPECT_THAT(scene_.Get<api::ResourceClaim>("c").status.reserved_for, IsEmpty());
}

TEST_F(GroupClaimTest, AClaimThatWentIsMadeAgainAndATemplateThatIsMissingIsTold) {
  scene_.Add(GroupFrom("g", "t"));
  scene_.Settle(controller_);
  EXPECT_THAT(scene_.Events(),
              ElementsAre(HasSubstr("FailedResourceClaimCreation: PodGroupResourceClaim gpu: "
                                    "resource claim template \"t\"")));
  scene_.Add(TemplateNamed("t"));
  scene_.Add(Joined(PodFrom("p", "t"), "g"));
  scene_.Settle(controller_);
  const std::string before = ClaimOf("p");
  ASSERT_FALSE(before.empty());
  scene_.Delete<api::ResourceClaim>(before);
  scene_.Settle(controller_);
  EXPECT_NE(ClaimOf("p"), before);
  EXPECT_TRUE(scene_.Has<api::ResourceClaim>(ClaimOf("p")));
}

TEST_F(GroupClaimTest, WithoutTheGateReservationsOfGroupsAreLeftAlone) {
  ResourceClaimController off(scene_.cluster(), scene_.clock(), {});
  scene_.Add(ClaimNamed("c"));
  api::PodGroup gone = GroupNamed("g");
  gone.metadata.uid = "gone";
  Allocate("c", gone);
  scene_.Settle(off);
  EXPECT_THAT(scene_.Get<api::ResourceClaim>("c").status.reserved_for, SizeIs(1));
}

// Row 14.
TEST_F(GroupClaimTest, AGroupStaysUntilItsLastPodHasEnded) {
  api::PodGroup group = GroupNamed("g");
  group.metadata.finalizers = {std::string(api::kPodGroupProtection)};
  scene_.Add(group);
  scene_.Add(Joined(PodNamed("a"), "g"));
  scene_.Add(Joined(PodNamed("b"), "g"));
  scene_.Delete<api::PodGroup>("g");
  scene_.Settle(protection_);
  EXPECT_TRUE(scene_.Has<api::PodGroup>("g"));
  scene_.SetPhase("a", api::kPodSucceeded);
  scene_.Settle(protection_);
  EXPECT_TRUE(scene_.Has<api::PodGroup>("g"));
  scene_.Delete<api::Pod>("b");
  scene_.Settle(protection_);
  EXPECT_FALSE(scene_.Has<api::PodGroup>("g"));
}

}  // namespace
}  // namespace dray::controllers

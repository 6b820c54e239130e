// SPDX-License-Identifier: Apache-2.0
#include "controllers/resource_claim_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "api/pod_claims.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class ResourceClaimTest : public ::testing::Test {
 protected:
  void Start(api::FeatureGates gates = {}) {
    controller_ =
        std::make_unique<ResourceClaimController>(scene_.cluster(), scene_.clock(), gates);
  }
  void SetUp() override { Start(); }
  std::string ClaimOf(std::string_view pod) {
    const auto statuses = scene_.Get<api::Pod>(pod).status.resource_claim_statuses;
    if (!statuses.has_value() || statuses->empty()) return "";
    return (*statuses)[0].resource_claim_name.value_or("");
  }
  Scene scene_;
  std::unique_ptr<ResourceClaimController> controller_;
};

TEST_F(ResourceClaimTest, ATemplateBecomesAClaim) {
  auto made_from = TemplateNamed("t");
  made_from.spec.metadata.labels["l"] = "1";
  made_from.spec.metadata.annotations["a"] = "2";
  scene_.Add(made_from);
  const api::Pod pod = scene_.Add(PodFrom("p", "t"));
  EXPECT_EQ(controller_->Sync(), 2u);  // the claim, the pod's status
  const auto claims = scene_.All<api::ResourceClaim>();
  ASSERT_THAT(claims, SizeIs(1));
  const api::ResourceClaim& claim = claims[0];
  EXPECT_THAT(claim.metadata.name, StartsWith("p-gpu-"));
  EXPECT_EQ(claim.metadata.labels, (api::Map<std::string>{{"l", "1"}}));
  EXPECT_EQ(claim.metadata.annotations,
            (api::Map<std::string>{{"a", "2"}, {"resource.kubernetes.io/pod-claim-name", "gpu"}}));
  EXPECT_THAT(claim.metadata.owner_references,
              ElementsAre(api::OwnerReference{.api_version = "v1",
                                              .kind = "Pod",
                                              .name = "p",
                                              .uid = pod.metadata.uid,
                                              .controller = true}));
  EXPECT_EQ(claim.spec.devices.requests[0].exactly->device_class_name, "gpu.example.com");
  EXPECT_EQ(ClaimOf("p"), claim.metadata.name);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_EQ(controller_->NextDue(), std::nullopt);
}

TEST_F(ResourceClaimTest, LongNamesAreCutInProportion) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(PodFrom(std::string(60, 'p'), "t", std::string(30, 'e')));
  controller_->Sync();
  const auto claims = scene_.All<api::ResourceClaim>();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].metadata.generate_name, std::string(37, 'p') + "-" + std::string(18, 'e'));
}

TEST_F(ResourceClaimTest, EachEntryGetsItsOwnClaim) {
  scene_.Add(TemplateNamed("t"));
  api::Pod pod = PodFrom("p", "t", "z");
  pod.spec.resource_claims.push_back({.name = "a", .resource_claim_template_name = "t"});
  pod.spec.resource_claims.push_back({.name = "named", .resource_claim_name = "mine"});
  scene_.Add(pod);
  EXPECT_EQ(controller_->Sync(), 3u);
  const auto statuses = *scene_.Get<api::Pod>("p").status.resource_claim_statuses;
  ASSERT_THAT(statuses, SizeIs(2));
  EXPECT_EQ(statuses[0].name, "a");
  EXPECT_THAT(*statuses[0].resource_claim_name, StartsWith("p-a-"));
  EXPECT_THAT(*statuses[1].resource_claim_name, StartsWith("p-z-"));
}

TEST_F(ResourceClaimTest, AMissingTemplateIsToldAndWaitedFor) {
  scene_.Add(PodFrom("p", "t"));
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(scene_.Events(),
              ElementsAre("FailedResourceClaimCreation: PodResourceClaim gpu: resource claim "
                          "template \"t\": resourceclaimtemplate.resource.k8s.io \"t\" not found"));
  EXPECT_EQ(controller_->NextDue(), std::nullopt);
  scene_.Add(TemplateNamed("t"));
  controller_->Sync();
  EXPECT_NE(ClaimOf("p"), "");
}

TEST_F(ResourceClaimTest, AClaimThatWasMadeBeforeARestartIsTaken) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(PodFrom("p", "t"));
  scene_.cluster().SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdateStatus ? base::Unavailable("down") : Status();
  });
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_EQ(ClaimOf("p"), "");
  scene_.cluster().SetWriteHook(nullptr);
  Start();
  EXPECT_EQ(controller_->Sync(), 1u);
  ASSERT_THAT(scene_.All<api::ResourceClaim>(), SizeIs(1));
  EXPECT_EQ(ClaimOf("p"), scene_.All<api::ResourceClaim>()[0].metadata.name);
}

TEST_F(ResourceClaimTest, AFailedWriteIsToldAndTriedAgain) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(PodFrom("p", "t"));
  scene_.cluster().SetWriteHook(
      [](api::Verb, const api::Object&) { return base::Unavailable("down"); });
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(
      scene_.Events(),
      ElementsAre("FailedResourceClaimCreation: PodResourceClaim gpu: create ResourceClaim: down"));
  scene_.cluster().SetWriteHook(nullptr);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_EQ(controller_->NextDue(), 5ms);
  scene_.clock().Advance(5ms);
  EXPECT_EQ(controller_->Sync(), 2u);
}

TEST_F(ResourceClaimTest, AClaimThatWasDeletedIsMadeAgain) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(PodFrom("p", "t"));
  controller_->Sync();
  const std::string first = ClaimOf("p");
  scene_.Delete<api::ResourceClaim>(first);
  controller_->Sync();
  EXPECT_NE(ClaimOf("p"), first);
  EXPECT_TRUE(scene_.Has<api::ResourceClaim>(ClaimOf("p")));
}

TEST_F(ResourceClaimTest, AClaimThatBelongsToAnotherIsNotTaken) {
  scene_.Add(TemplateNamed("t"));
  scene_.Add(ClaimNamed("foreign"));
  api::Pod pod = PodFrom("p", "t");
  pod.status.phase = api::kPodPending;
  pod.status.resource_claim_statuses.emplace().push_back(
      {.name = "gpu", .resource_claim_name = "foreign"});
  scene_.Add(pod);
  controller_->Sync();
  EXPECT_THAT(ClaimOf("p"), StartsWith("p-gpu-"));
  EXPECT_TRUE(scene_.Has<api::ResourceClaim>("foreign"));
}

TEST_F(ResourceClaimTest, AnEntryThatNeedsNoClaimGetsNone) {
  scene_.Add(TemplateNamed("t"));
  api::Pod pod = PodFrom("p", "t");
  pod.status.phase = api::kPodPending;
  pod.status.resource_claim_statuses.emplace().push_back({.name = "gpu"});
  scene_.Add(pod);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
}

TEST_F(ResourceClaimTest, PodsThatAreOverGetNoClaim) {
  scene_.Add(TemplateNamed("t"));
  api::Pod done = PodFrom("done", "t");
  done.status.phase = api::kPodSucceeded;
  scene_.Add(done);
  api::Pod going = PodFrom("going", "t");
  going.metadata.finalizers = {"example.com/wait"};
  scene_.Add(going);
  scene_.Delete<api::Pod>("going");
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
}

TEST_F(ResourceClaimTest, DisabledFeaturesAreRefused) {
  struct Case {
    api::Gate gate;
    std::string_view message;
  };
  auto admin = TemplateNamed("t");
  admin.spec.spec.devices.requests[0].exactly->admin_access = true;
  auto list = TemplateNamed("t");
  list.spec.spec.devices.requests[0].exactly.reset();
  list.spec.spec.devices.requests[0].first_available.push_back(
      {.name = "a", .device_class_name = "gpu.example.com"});
  const std::pair<api::ResourceClaimTemplate, Case> cases[] = {
      {admin,
       {api::Gate::kDRAAdminAccess, "admin access is requested, but the feature is disabled"}},
      {list,
       {api::Gate::kDRAPrioritizedList,
        "template includes a prioritized list of subrequests, but the feature is disabled"}},
  };
  for (const auto& [made_from, expected] : cases) {
    Scene scene;
    scene.Add(made_from);
    scene.Add(PodFrom("p", "t"));
    api::FeatureGates gates;
    gates.Set(expected.gate, false);
    ResourceClaimController controller(scene.cluster(), scene.clock(), gates);
    EXPECT_EQ(controller.Sync(), 0u);
    EXPECT_THAT(scene.Events(), ElementsAre(HasSubstr(expected.message)));
  }
}

TEST_F(ResourceClaimTest, APodThatFoundItsNodeItselfGetsItsReservation) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  scene_.Add(claim);
  api::Pod pod = PodWith("p", "c");
  pod.spec.node_name = "node-1";
  const api::Pod stored = scene_.Add(pod);
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_THAT(scene_.Get<api::ResourceClaim>("c").status.reserved_for,
              ElementsAre(api::ConsumerOf(stored)));
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(ResourceClaimTest, APodThatWaitsForItsNodeIsLeftToTheScheduler) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  scene_.Add(claim);
  scene_.Add(PodWith("p", "c"));
  EXPECT_EQ(controller_->Sync(), 0u);
}

// Each pod costs the same, however many there are.
TEST_F(ResourceClaimTest, FiveThousandPodsCostAConstantEach) {
  constexpr std::size_t kPods = 5'000;
  scene_.Add(TemplateNamed("t"));
  for (std::size_t i = 0; i < kPods; ++i) scene_.Add(PodFrom("p" + std::to_string(i), "t"));
  EXPECT_EQ(controller_->Sync(), 2 * kPods);
  // The pod, its claim, and the pod again because its status has changed.
  EXPECT_EQ(controller_->reconciled(), 3 * kPods);
  EXPECT_EQ(controller_->Sync(), 0u);
  scene_.SetPhase("p7", api::kPodRunning);
  controller_->Sync();
  EXPECT_EQ(controller_->reconciled(), 3 * kPods + 1);
}

}  // namespace
}  // namespace dray::controllers

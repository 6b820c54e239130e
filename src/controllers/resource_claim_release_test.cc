// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "api/pod_claims.h"
#include "controllers/resource_claim_controller.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class ResourceClaimReleaseTest : public ::testing::Test {
 protected:
  void Start() {
    controller_ = std::make_unique<ResourceClaimController>(scene_.cluster(), scene_.clock(),
                                                            api::FeatureGates());
  }
  void SetUp() override { Start(); }
  // Running on a node.
  api::Pod Running(api::Pod pod) {
    pod.spec.node_name = "node-1";
    pod.status.phase = api::kPodRunning;
    return scene_.Add(std::move(pod));
  }
  // Allocated, protected and reserved.
  api::ResourceClaim Used(std::string_view name, const std::vector<api::Pod>& pods) {
    api::ResourceClaim claim = ClaimNamed(name);
    claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
    claim.status.allocation = OneResult();
    for (const auto& pod : pods) claim.status.reserved_for.push_back(api::ConsumerOf(pod));
    return scene_.Add(std::move(claim));
  }
  api::ResourceClaim Claim(std::string_view name) { return scene_.Get<api::ResourceClaim>(name); }

  Scene scene_;
  std::unique_ptr<ResourceClaimController> controller_;
};

TEST_F(ResourceClaimReleaseTest, APodThatIsOverLosesItsReservation) {
  const auto a = Running(PodWith("a", "c"));
  const auto b = Running(PodWith("b", "c"));
  Used("c", {a, b});
  EXPECT_EQ(controller_->Sync(), 0u);
  scene_.SetPhase("a", api::kPodFailed);
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_THAT(Claim("c").status.reserved_for, ElementsAre(api::ConsumerOf(b)));
  EXPECT_TRUE(Claim("c").status.allocation.has_value());
}

TEST_F(ResourceClaimReleaseTest, TheLastUserTakesTheDevicesAlong) {
  const auto a = Running(PodWith("a", "c"));
  Used("c", {a});
  controller_->Sync();
  scene_.Delete<api::Pod>("a");
  EXPECT_EQ(controller_->Sync(), 2u);  // status, finalizer
  EXPECT_THAT(Claim("c").status.reserved_for, IsEmpty());
  EXPECT_FALSE(Claim("c").status.allocation.has_value());
  EXPECT_THAT(Claim("c").metadata.finalizers, IsEmpty());
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(ResourceClaimReleaseTest, AReservationOfAPodThatWasReplacedIsStale) {
  const auto first = Running(PodWith("a", "c"));
  Used("c", {first});
  scene_.Delete<api::Pod>("a");
  api::Pod again = PodWith("a", "c");
  scene_.Add(again);
  controller_->Sync();
  EXPECT_THAT(Claim("c").status.reserved_for, IsEmpty());
}

TEST_F(ResourceClaimReleaseTest, ReservationsOfStrangersStay) {
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  claim.status.reserved_for.push_back(
      {.api_group = "example.com", .resource = "things", .name = "x", .uid = "u"});
  scene_.Add(claim);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(Claim("c").status.reserved_for, SizeIs(1));
}

TEST_F(ResourceClaimReleaseTest, AnAllocationThatWasNeverUsedStays) {
  Used("c", {});
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Claim("c").status.allocation.has_value());
}

// A scheduler takes a pod out that it could not bind, and leaves the devices for the next attempt.
TEST_F(ResourceClaimReleaseTest, DevicesThatASchedulerLeftGoWithTheLastPodThatNamesTheClaim) {
  const auto a = scene_.Add(PodWith("a", "c"));
  scene_.Add(PodWith("b", "c"));
  Used("c", {a});
  controller_->Sync();
  auto claim = Claim("c");
  claim.status.reserved_for.clear();
  scene_.PutStatus(claim);
  EXPECT_EQ(controller_->Sync(), 0u);
  scene_.Delete<api::Pod>("a");
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Claim("c").status.allocation.has_value());
  scene_.SetPhase("b", api::kPodFailed);
  EXPECT_EQ(controller_->Sync(), 2u);  // status, finalizer
  EXPECT_FALSE(Claim("c").status.allocation.has_value());
  EXPECT_THAT(Claim("c").metadata.finalizers, IsEmpty());
}

// The pod goes first, and both are told together.
TEST_F(ResourceClaimReleaseTest, DevicesThatASchedulerLeftAfterThePodWasGoneAreGivenBack) {
  const auto a = scene_.Add(PodWith("a", "c"));
  Used("c", {a});
  controller_->Sync();
  scene_.Delete<api::Pod>("a");
  auto claim = Claim("c");
  claim.status.reserved_for.clear();
  scene_.PutStatus(claim);
  controller_->Sync();
  EXPECT_FALSE(Claim("c").status.allocation.has_value());
}

TEST_F(ResourceClaimReleaseTest, DevicesThatWereLeftAndAreUsedAgainStay) {
  const auto a = scene_.Add(PodWith("a", "c"));
  Used("c", {a});
  controller_->Sync();
  auto claim = Claim("c");
  claim.status.reserved_for.clear();
  scene_.PutStatus(claim);
  controller_->Sync();
  const auto stranger = Running(PodNamed("stranger"));
  claim = Claim("c");
  claim.status.reserved_for.push_back(api::ConsumerOf(stranger));
  scene_.PutStatus(claim);
  scene_.Delete<api::Pod>("a");
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Claim("c").status.allocation.has_value());
}

// A scheduler's write was under way when the pod was deleted, or the one that was to undo it is gone.
TEST_F(ResourceClaimReleaseTest, AReservationThatComesAfterItsPodWentIsTakenBack) {
  for (const bool restarts : {false, true}) {
    const auto a = scene_.Add(PodWith("a", "c"));
    controller_->Sync();
    scene_.Delete<api::Pod>("a");
    controller_->Sync();
    if (restarts) controller_ = nullptr;
    Used("c", {a});
    if (restarts) Start();
    controller_->Sync();
    EXPECT_FALSE(Claim("c").status.allocation.has_value()) << restarts;
    EXPECT_THAT(Claim("c").status.reserved_for, IsEmpty());
    scene_.Delete<api::ResourceClaim>("c");
  }
}

TEST_F(ResourceClaimReleaseTest, ADeletedClaimWaitsForItsUser) {
  const auto a = Running(PodWith("a", "c"));
  Used("c", {a});
  scene_.Delete<api::ResourceClaim>("c");
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(scene_.Has<api::ResourceClaim>("c"));
  scene_.SetPhase("a", api::kPodSucceeded);
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::ResourceClaim>("c"));
}

TEST_F(ResourceClaimReleaseTest, ADeletedClaimThatNobodyUsesGivesItsDevicesBackAndGoes) {
  Used("c", {});
  scene_.Delete<api::ResourceClaim>("c");
  EXPECT_EQ(controller_->Sync(), 2u);
  EXPECT_FALSE(scene_.Has<api::ResourceClaim>("c"));
}

TEST_F(ResourceClaimReleaseTest, AClaimFromATemplateGoesWithItsPod) {
  scene_.Add(TemplateNamed("t"));
  for (const std::string_view name : {"succeeds", "goes"}) Running(PodFrom(name, "t"));
  controller_->Sync();
  ASSERT_THAT(scene_.All<api::ResourceClaim>(), SizeIs(2));
  for (auto claim : scene_.All<api::ResourceClaim>()) {
    claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
    scene_.Put(claim);
    claim = Claim(claim.metadata.name);
    claim.status.allocation = OneResult();
    scene_.PutStatus(claim);
  }
  controller_->Sync();  // reserves them
  scene_.SetPhase("succeeds", api::kPodSucceeded);
  scene_.Delete<api::Pod>("goes");
  controller_->Sync();
  EXPECT_THAT(scene_.All<api::ResourceClaim>(), IsEmpty());
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(ResourceClaimReleaseTest, AClaimForExtendedResourcesGoesWithItsPod) {
  api::Pod asking = PodNamed("a");
  for (auto* list : {&asking.spec.containers[0].resources.requests,
                     &asking.spec.containers[0].resources.limits}) {
    (*list)["example.com/gpu"] = base::Quantity::FromInt(1);
  }
  const auto pod = Running(asking);
  api::ResourceClaim claim = ClaimNamed("a-extended");
  claim.metadata.annotations[api::kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references = {{.api_version = "v1",
                                      .kind = "Pod",
                                      .name = "a",
                                      .uid = pod.metadata.uid,
                                      .controller = true}};
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  claim.status.reserved_for.push_back(api::ConsumerOf(pod));
  scene_.Add(claim);
  auto changed = scene_.Get<api::Pod>("a");
  auto& special = changed.status.extended_resource_claim_status.emplace();
  special.resource_claim_name = "a-extended";
  special.request_mappings.push_back(
      {.container_name = "c", .resource_name = "example.com/gpu", .request_name = "gpu"});
  scene_.PutStatus(changed);
  EXPECT_EQ(controller_->Sync(), 0u);
  // Whoever takes the reservation away does not take the devices from a pod that runs.
  auto unreserved = Claim("a-extended");
  unreserved.status.reserved_for.clear();
  scene_.PutStatus(unreserved);
  controller_->Sync();
  EXPECT_TRUE(Claim("a-extended").status.allocation.has_value());
  scene_.SetPhase("a", api::kPodSucceeded);
  controller_->Sync();
  EXPECT_FALSE(scene_.Has<api::ResourceClaim>("a-extended"));
}

TEST_F(ResourceClaimReleaseTest, AWriterThatWasFasterIsNotOverwritten) {
  const auto a = Running(PodWith("a", "c"));
  const auto b = Running(PodWith("b", "c"));
  Used("c", {a});
  controller_->Sync();  // reserves it for b, too
  scene_.SetPhase("a", api::kPodSucceeded);
  scene_.SetPhase("b", api::kPodSucceeded);
  const auto next = Running(PodNamed("next"));
  bool done = false;
  scene_.cluster().SetWriteHook([&](api::Verb, const api::Object& object) {
    if (!std::exchange(done, true)) {
      auto claim = Claim(object.metadata().name);
      claim.status.reserved_for.push_back(api::ConsumerOf(next));
      scene_.PutStatus(claim);
    }
    return Status();
  });
  controller_->Sync();
  EXPECT_THAT(Claim("c").status.reserved_for, ElementsAre(api::ConsumerOf(next)));
  EXPECT_TRUE(Claim("c").status.allocation.has_value());
}

TEST_F(ResourceClaimReleaseTest, AFinalizerThatARestartLeftBehindGoesAfterAWhile) {
  const auto a = Running(PodWith("a", "c"));
  Used("c", {a});
  controller_->Sync();
  scene_.Delete<api::Pod>("a");
  scene_.cluster().SetWriteHook([](api::Verb verb, const api::Object&) {
    return verb == api::Verb::kUpdate ? base::Unavailable("down") : Status();
  });
  EXPECT_EQ(controller_->Sync(), 1u);
  scene_.cluster().SetWriteHook(nullptr);
  Start();
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(Claim("c").metadata.finalizers, SizeIs(1));
  EXPECT_EQ(*controller_->NextDue() - scene_.clock().Monotonic(), 30s);
  scene_.clock().Advance(30s);
  EXPECT_EQ(controller_->Sync(), 1u);
  EXPECT_THAT(Claim("c").metadata.finalizers, IsEmpty());
  EXPECT_EQ(controller_->NextDue(), std::nullopt);
}

// The scheduler's two writes: protection, then allocation and reservation.
TEST_F(ResourceClaimReleaseTest, AFinalizerThatJustCameIsLeftAlone) {
  const auto a = Running(PodWith("a", "c"));
  scene_.Add(ClaimNamed("c"));
  controller_->Sync();
  auto claim = Claim("c");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  scene_.Put(claim);
  EXPECT_EQ(controller_->Sync(), 0u);
  claim = Claim("c");
  claim.status.allocation = OneResult();
  claim.status.reserved_for.push_back(api::ConsumerOf(a));
  scene_.PutStatus(claim);
  scene_.clock().Advance(60s);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_THAT(Claim("c").metadata.finalizers, SizeIs(1));
}

}  // namespace
}  // namespace dray::controllers

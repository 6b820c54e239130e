// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules and corners; the rest is in the recorded cases
// (test/conformance/quota_cases.cc).
#include "api/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "api/pod_resources.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;

using ::testing::IsEmpty;
const base::Time kNow = base::Time::FromUnix(1'000);
constexpr std::string_view kImplicit = "requests.deviceclass.resource.kubernetes.io/mygpuclass";
constexpr std::string_view kExplicit = "requests.example.com/gpu";
constexpr std::string_view kPerClass = "mygpuclass.deviceclass.resource.k8s.io/devices";

// A namespace with pods and claims.
class World final : public QuotaObjects {
 public:
  World() { classes_.OnAdd(Class("mygpuclass", "example.com/gpu")); }

  static DeviceClass Class(std::string name, std::string extended) {
    DeviceClass result;
    result.metadata.name = std::move(name);
    result.spec.extended_resource_name = std::move(extended);
    return result;
  }
  static ResourceClaim Claim(std::string name, std::int64_t count,
                             std::string class_name = "mygpuclass") {
    ResourceClaim claim;
    claim.metadata.name = std::move(name);
    claim.spec.devices.requests.resize(1);
    claim.spec.devices.requests[0].exactly =
        ExactDeviceRequest{.device_class_name = std::move(class_name),
                           .allocation_mode = std::string(kAllocationModeExactCount),
                           .count = count};
    return claim;
  }
  static Pod PodAsking(std::string name, std::string resource) {
    Pod pod;
    pod.metadata.name = name;
    pod.metadata.uid = std::move(name);
    pod.spec.containers.resize(1);
    pod.spec.containers[0].resources.requests[resource] = base::Quantity::FromInt(1);
    return pod;
  }
  // What the scheduler makes for such a pod.
  static ResourceClaim ClaimFor(const Pod& pod, std::string annotation = "true") {
    ResourceClaim claim = Claim(pod.metadata.name + "-extended-resources", 1);
    claim.metadata.annotations[kExtendedResourceClaimAnnotation] = std::move(annotation);
    claim.metadata.owner_references = {{.api_version = "v1",
                                        .kind = "Pod",
                                        .name = pod.metadata.name,
                                        .uid = pod.metadata.uid,
                                        .controller = true}};
    return claim;
  }

  const Pod* FindPod(std::string_view, std::string_view name) const override {
    const auto found =
        std::ranges::find_if(pods_, [&](const Pod& pod) { return pod.metadata.name == name; });
    return found != pods_.end() ? &*found : nullptr;
  }
  std::vector<const ResourceClaim*> ExtendedResourceClaimsOf(std::string_view,
                                                             std::string_view uid) const override {
    std::vector<const ResourceClaim*> owned;
    for (const ResourceClaim& claim : claims_) {
      const OwnerReference* pod = ExtendedResourcePod(claim);
      if (pod != nullptr && pod->uid == uid) owned.push_back(&claim);
    }
    return owned;
  }

  Map<base::Quantity> UsageOf(const ResourceClaim& claim) const {
    return ClaimQuotaUsage(claim,
                           {.classes = classes_, .objects = *this, .gates = gates_, .now = kNow});
  }
  std::int64_t Used(std::string_view name) const {
    Map<base::Quantity> total;
    for (const Pod& pod : pods_) AddResources(total, PodQuotaUsage(pod, kNow));
    for (const ResourceClaim& claim : claims_) AddResources(total, UsageOf(claim));
    const base::Quantity* amount = total.Find(name);
    return amount != nullptr ? amount->Value() : 0;
  }

  std::vector<Pod> pods_;
  std::vector<ResourceClaim> claims_;
  ExtendedResourceIndex classes_;
  FeatureGates gates_;
};

// KEP-5004 "Resource Quota", its example: gpu-0 comes from a device plugin, gpu-1 and gpu-2 serve
// extended resources, gpu-3 and gpu-4 claims.
TEST(Quota, AddsUpAsInTheProposal) {
  World world;
  world.pods_ = {World::PodAsking("plugin", "example.com/gpu"),
                 World::PodAsking("explicit", "example.com/gpu"),
                 World::PodAsking("implicit", ImplicitResourceName("mygpuclass"))};
  world.claims_ = {World::ClaimFor(world.pods_[1]), World::ClaimFor(world.pods_[2]),
                   World::Claim("direct", 1), World::Claim("from-template", 1)};
  EXPECT_EQ(world.Used(kExplicit), 5);
  EXPECT_EQ(world.Used(kImplicit), 4);
  EXPECT_EQ(world.Used(kPerClass), 4);
}

TEST(Quota, TheAnnotationMayBeThePodsName) {
  World world;
  world.pods_ = {World::PodAsking("p", "example.com/gpu")};
  for (const std::string annotation : {"true", "p"}) {
    const auto usage = world.UsageOf(World::ClaimFor(world.pods_[0], annotation));
    EXPECT_EQ(usage.Find(kExplicit), nullptr) << annotation;
  }
  EXPECT_NE(world.UsageOf(World::ClaimFor(world.pods_[0], "else")).Find(kExplicit), nullptr);
}

TEST(Quota, OnlyTheFirstClaimOfAPodIsPaidForByThePod) {
  World world;
  world.pods_ = {World::PodAsking("p", "example.com/gpu")};
  ResourceClaim first = World::ClaimFor(world.pods_[0]);
  ResourceClaim second = first;
  second.metadata.name += "-2";
  world.claims_ = {first, second};
  EXPECT_EQ(world.Used(kExplicit), 2);
  // A later one with a smaller name is not the first.
  world.claims_[0].metadata.creation_timestamp = kNow + std::chrono::seconds(1);
  world.claims_[1].metadata.creation_timestamp = kNow;
  EXPECT_NE(world.UsageOf(world.claims_[0]).Find(kExplicit), nullptr);
  EXPECT_EQ(world.UsageOf(world.claims_[1]).Find(kExplicit), nullptr);
  // The pod's status overrules that.
  world.pods_[0].status.extended_resource_claim_status.emplace();
  world.pods_[0].status.extended_resource_claim_status->resource_claim_name =
      world.claims_[0].metadata.name;
  EXPECT_EQ(world.UsageOf(world.claims_[0]).Find(kExplicit), nullptr);
  EXPECT_NE(world.UsageOf(world.claims_[1]).Find(kExplicit), nullptr);
}

TEST(Quota, APodOfTheSameNameWithAnotherUidPaysForNothing) {
  World world;
  world.pods_ = {World::PodAsking("p", "example.com/gpu")};
  const ResourceClaim claim = World::ClaimFor(world.pods_[0]);
  world.pods_[0].metadata.uid = "another";
  EXPECT_NE(world.UsageOf(claim).Find(kExplicit), nullptr);
}

TEST(Quota, TwoClassesWithOneNameAddUp) {
  World world;
  world.classes_.OnAdd(World::Class("other", "example.com/gpu"));
  ResourceClaim claim = World::Claim("c", 2);
  claim.spec.devices.requests.push_back(World::Claim("", 3, "other").spec.devices.requests[0]);
  EXPECT_EQ(*world.UsageOf(claim).Find(kExplicit), base::Quantity::FromInt(5));
}

TEST(Quota, WithoutTheGateOnlyTheClassIsCharged) {
  World world;
  world.gates_.Set(Gate::kDRAExtendedResource, false);
  const auto usage = world.UsageOf(World::Claim("c", 2));
  EXPECT_EQ(usage.size(), 2U);
  EXPECT_EQ(*usage.Find(kPerClass), base::Quantity::FromInt(2));
}

TEST(Quota, TheProposalsSpellingIsUnderstood) {
  const std::string kep = "request.deviceclass.resource.kubernetes.io/mygpuclass";
  EXPECT_EQ(NormalizeQuotaName(kep), kImplicit);
  EXPECT_EQ(NormalizeQuotaName(kImplicit), kImplicit);
  EXPECT_EQ(NormalizeQuotaName("request.example.com/gpu"), "request.example.com/gpu");
  const World world;
  const std::vector<std::string> names = {kep, std::string(kImplicit), "requests.other.com/x",
                                          "requests.cpu"};
  EXPECT_THAT(ClaimQuotaNames(names, world.classes_, world.gates_), ElementsAre(kep, kImplicit));
  EXPECT_THAT(PodQuotaNames(names),
              ElementsAre(kep, kImplicit, "requests.other.com/x", "requests.cpu"));
}

TEST(Quota, OfTwoSpellingsTheSmallerAmountHolds) {
  const std::string kep = "request.deviceclass.resource.kubernetes.io/mygpuclass";
  const auto hard = NormalizeHard({{kep, base::Quantity::FromInt(3)},
                                   {std::string(kImplicit), base::Quantity::FromInt(5)},
                                   {"pods", base::Quantity::FromInt(1)}});
  ASSERT_EQ(hard.size(), 2U);
  EXPECT_EQ(*hard.Find(kImplicit), base::Quantity::FromInt(3));
}

TEST(Quota, ALostPodOnlyCountsAsAnObject) {
  Pod pod = World::PodAsking("p", "cpu");
  EXPECT_EQ(PodQuotaUsage(pod, kNow).size(), 4U);  // count/pods, pods, cpu, requests.cpu
  pod.metadata.deletion_timestamp = kNow;
  pod.metadata.deletion_grace_period_seconds = 30;
  EXPECT_EQ(PodQuotaUsage(pod, kNow + std::chrono::seconds(30)).size(), 4U);
  EXPECT_EQ(PodQuotaUsage(pod, kNow + std::chrono::seconds(31)).size(), 1U);
  // As nanoseconds, so many seconds are over before they have begun.
  for (const std::int64_t grace :
       {std::numeric_limits<std::int64_t>::max(), std::int64_t{13'000'000'000}}) {
    pod.metadata.deletion_grace_period_seconds = grace;
    EXPECT_EQ(PodQuotaUsage(pod, kNow + std::chrono::seconds(31)).size(), 4U) << grace;
  }
}

TEST(Quota, PodsAreCountedWhenMadeResizedOrGivenADeadline) {
  Pod without;
  Pod with;
  with.spec.active_deadline_seconds = 5;
  EXPECT_TRUE(PodQuotaHandles("create", ""));
  EXPECT_TRUE(PodQuotaHandles("update", "resize"));
  EXPECT_FALSE(PodQuotaHandles("update", "status"));
  EXPECT_FALSE(PodQuotaHandles("delete", ""));
  EXPECT_FALSE(PodQuotaHandles("update", "", &with, &with));
  EXPECT_TRUE(PodQuotaHandles("update", "", &with, &without));
}

TEST(MissingForQuota, EveryContainerSaysWhatItTakesOfWhatIsLimited) {
  const auto one = base::Quantity::FromInt(1);
  Pod pod;
  pod.spec.containers.resize(2);
  pod.spec.containers[0].name = "b";
  pod.spec.containers[1].name = "a";
  pod.spec.init_containers.resize(1);
  pod.spec.init_containers[0].name = "i";
  EXPECT_THAT(MissingForQuota(pod, {{"pods", one}, {"requests.example.com/gpu", one}}), IsEmpty());
  EXPECT_THAT(MissingForQuota(pod, {{"requests.ephemeral-storage", one}}), IsEmpty());
  const Map<base::Quantity> hard = {{"limits.cpu", one}, {"memory", one}};
  EXPECT_EQ(MissingForQuota(pod, hard), "must specify limits.cpu for: a,b,i; memory for: a,b,i");
  pod.spec.containers[0].resources.limits["cpu"] = one;
  pod.spec.init_containers[0].resources.requests["memory"] = one;
  EXPECT_EQ(MissingForQuota(pod, hard), "must specify limits.cpu for: a,i; memory for: a,b");
  EXPECT_EQ(MissingForQuota(pod, {{"requests.cpu", one}}), "must specify requests.cpu for: a,b,i");
  // Or the pod says it for all of them.
  pod.spec.resources = ResourceRequirements{};
  pod.spec.resources->requests["memory"] = one;
  EXPECT_EQ(MissingForQuota(pod, hard), "must specify limits.cpu for: a,i");
  pod.spec.resources->limits["cpu"] = one;
  EXPECT_THAT(MissingForQuota(pod, hard), IsEmpty());
}

}  // namespace
}  // namespace dray::api

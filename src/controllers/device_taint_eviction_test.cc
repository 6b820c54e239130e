// SPDX-License-Identifier: Apache-2.0
#include "controllers/device_taint_eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "controllers/scene_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class TaintTest : public ::testing::Test {
 protected:
  void Start(api::FeatureGates gates = {}) {
    controller_ = std::make_unique<DeviceTaintEviction>(scene_.cluster(), scene_.clock(), gates);
  }
  void SetUp() override { Start(); }

  // gpu-0 of the pool node-1, tainted from now on.
  void Taint(std::string_view effect, std::int64_t generation = 1, std::string_view slice = "s") {
    api::ResourceSlice changed;
    const bool there = scene_.Has<api::ResourceSlice>(slice, "");
    if (there) changed = scene_.Get<api::ResourceSlice>(slice, "");
    changed.metadata.name = slice;
    changed.spec.driver = "gpu.example.com";
    changed.spec.pool = {.name = "node-1", .generation = generation, .resource_slice_count = 1};
    changed.spec.node_name = "node-1";
    auto& device = changed.spec.devices.emplace().emplace_back();
    device.name = "gpu-0";
    if (!effect.empty()) {
      device.taints.push_back({.key = "broken",
                               .effect = std::string(effect),
                               .time_added = scene_.clock().Now().TruncateToSeconds()});
    }
    there ? scene_.Put(changed) : static_cast<void>(scene_.Add(changed));
  }
  void AddRule(std::optional<std::string> device,
               std::string_view effect = api::kTaintEffectNoExecute) {
    api::DeviceTaintRule rule;
    rule.metadata.name = "rule";
    rule.spec.device_selector.emplace().device = std::move(device);
    rule.spec.taint = {.key = "broken",
                       .effect = std::string(effect),
                       .time_added = scene_.clock().Now().TruncateToSeconds()};
    scene_.Add(rule);
  }
  // A pod on a node that uses gpu-0 through a claim.
  void AddUser(std::string_view name, std::vector<api::DeviceToleration> tolerations = {}) {
    api::Pod pod = PodWith(name, std::string(name) + "-claim");
    pod.spec.node_name = "node-1";
    const api::Pod stored = scene_.Add(pod);
    api::ResourceClaim claim = ClaimNamed(std::string(name) + "-claim");
    claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
    claim.spec.devices.requests[0].exactly->tolerations = tolerations;
    claim.status.allocation = OneResult();
    claim.status.allocation->devices.results[0].tolerations = std::move(tolerations);
    claim.status.reserved_for.push_back(api::ConsumerOf(stored));
    scene_.Add(claim);
  }
  static api::DeviceToleration Tolerates(std::optional<std::int64_t> seconds) {
    return {.key = "broken",
            .operator_ = std::string(api::kTolerationOpExists),
            .effect = std::string(api::kTaintEffectNoExecute),
            .toleration_seconds = seconds};
  }
  bool Has(std::string_view pod) { return scene_.Has<api::Pod>(pod); }

  Scene scene_;
  std::unique_ptr<DeviceTaintEviction> controller_;
};

TEST_F(TaintTest, AUserOfATaintedDeviceIsDeleted) {
  Taint("");
  AddUser("a");
  scene_.Add(PodNamed("bystander"));
  EXPECT_EQ(controller_->Sync(), 0u);
  api::PodStatus last;
  scene_.cluster().SetWriteHook([&](api::Verb verb, const api::Object& object) {
    if (verb == api::Verb::kDelete) last = object.As<api::Pod>()->status;
    return Status();
  });
  Taint(api::kTaintEffectNoExecute);
  EXPECT_EQ(controller_->Sync(), 2u);  // the condition, the deletion
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("bystander"));
  ASSERT_EQ(last.conditions.size(), 1u);
  EXPECT_EQ(last.conditions[0].type, api::kDisruptionTargetCondition);
  EXPECT_EQ(last.conditions[0].status, "True");
  EXPECT_EQ(last.conditions[0].reason, "DeletionByDeviceTaintManager");
  EXPECT_THAT(scene_.Events(), ElementsAre("DeviceTaintManagerEviction: Marking for deletion"));
}

TEST_F(TaintTest, OtherEffectsEvictNobody) {
  AddUser("a");
  Taint(api::kTaintEffectNoSchedule);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Has("a"));
}

TEST_F(TaintTest, ATolerationHoldsForItsTime) {
  AddUser("a", {Tolerates(60)});
  AddUser("b", {Tolerates(60), Tolerates(20)});  // the shorter one counts
  AddUser("c", {Tolerates(std::nullopt)});
  AddUser("d", {Tolerates(-5)});
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  EXPECT_TRUE(Has("a") && Has("b") && Has("c"));
  EXPECT_FALSE(Has("d"));
  scene_.clock().Advance(20s);
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  scene_.clock().Advance(40s);
  controller_->Sync();
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("c"));
  EXPECT_EQ(controller_->NextDue(), std::nullopt);
}

// People write the largest number that there is when they mean for ever.
TEST_F(TaintTest, WhoToleratesForLongerThanCanBeCountedStays) {
  AddUser("a", {Tolerates(std::numeric_limits<std::int64_t>::max())});
  AddUser("b", {Tolerates(10'000'000'000)});
  Taint(api::kTaintEffectNoExecute);
  EXPECT_EQ(controller_->Sync(), 0u);
  scene_.clock().Advance(24h);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Has("a") && Has("b"));
}

TEST_F(TaintTest, ATolerationOfAnotherTaintDoesNotHelp) {
  auto other = Tolerates(std::nullopt);
  other.key = "slow";
  AddUser("a", {other});
  auto schedule = Tolerates(std::nullopt);
  schedule.effect = api::kTaintEffectNoSchedule;
  AddUser("b", {schedule});
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  EXPECT_FALSE(Has("a"));
  EXPECT_FALSE(Has("b"));
}

TEST_F(TaintTest, ATaintThatGoesInTimeIsForgotten) {
  AddUser("a", {Tolerates(60)});
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  Taint("");
  scene_.clock().Advance(60s);
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
  EXPECT_THAT(scene_.Events(), ElementsAre("DeviceTaintManagerEviction: Cancelling deletion"));
}

TEST_F(TaintTest, OnlyTheNewestGenerationOfAPoolCounts) {
  AddUser("a", {Tolerates(60)});
  Taint(api::kTaintEffectNoExecute, 1, "old");
  controller_->Sync();
  Taint("", 2, "new");
  scene_.clock().Advance(60s);
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
}

TEST_F(TaintTest, ARuleTaintsTheDevicesThatItSelects) {
  AddUser("a");
  AddRule("gpu-1");
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
  scene_.Delete<api::DeviceTaintRule>("rule", "");
  AddRule(std::nullopt);
  controller_->Sync();
  EXPECT_FALSE(Has("a"));
}

// "True PodsPendingEviction: ..." of the rule.
std::string Said(Scene& scene) {
  const auto rule = scene.Get<api::DeviceTaintRule>("rule", "");
  if (rule.status.conditions.size() != 1) return "";
  const api::Condition& condition = rule.status.conditions[0];
  EXPECT_EQ(condition.type, "EvictionInProgress");
  EXPECT_EQ(condition.observed_generation, rule.metadata.generation);
  return fmt::format("{} {}: {}", condition.status, condition.reason, condition.message);
}

TEST_F(TaintTest, ARuleTellsHowFarItsEvictionIs) {
  Taint("");
  AddUser("a", {Tolerates(60)});
  AddUser("b", {Tolerates(60)});
  AddUser("c", {Tolerates(std::nullopt)});
  AddRule(std::nullopt);
  controller_->Sync();
  EXPECT_EQ(Said(scene_), "True PodsPendingEviction: 2 pods need to be evicted in 1 namespace.");
  scene_.clock().Advance(60s);
  controller_->Sync();
  scene_.clock().Advance(10s);
  controller_->Sync();
  EXPECT_EQ(Said(scene_), "False Completed: No pod needs to be evicted.");
  EXPECT_TRUE(Has("c"));
  // Whoever has nothing new to tell writes nothing, and nor does a successor.
  EXPECT_EQ(controller_->Sync(), 0u);
  Start();
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(TaintTest, ARuleHearsOfPodsThatGoByThemselves) {
  AddUser("a", {Tolerates(3600)});
  AddRule(std::nullopt);
  controller_->Sync();
  EXPECT_EQ(Said(scene_), "True PodsPendingEviction: 1 pod needs to be evicted in 1 namespace.");
  scene_.Delete<api::Pod>("a");
  controller_->Sync();
  scene_.clock().Advance(10s);
  controller_->Sync();
  EXPECT_EQ(Said(scene_), "False Completed: No pod needs to be evicted.");
}

// KEP-5729: who uses a claim is not named in it when it is reserved for a group.
TEST(TaintedGroups, PodsOfAGroupAreCountedAndEvicted) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kGenericWorkload, true);
  gates.Set(api::Gate::kDRAWorkloadResourceClaims, true);
  Scene scene(1, gates);
  DeviceTaintEviction controller(scene.cluster(), scene.clock(), gates);
  const auto add = [&](std::string_view name, std::string_view group, std::string_view claim) {
    api::Pod pod = PodWith(name, claim);
    pod.spec.node_name = "node-1";
    pod.spec.scheduling_group.emplace().pod_group_name = std::string(group);
    scene.Add(pod);
  };
  add("a", "g", "shared");
  add("b", "g", "shared");
  add("alone", "g", "other");
  add("stranger", "h", "shared");
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = "g";
  group.spec.scheduling_policy.basic.emplace();
  const api::DeviceToleration for_a_minute = {.key = "broken",
                                              .operator_ = std::string(api::kTolerationOpExists),
                                              .effect = std::string(api::kTaintEffectNoExecute),
                                              .toleration_seconds = 60};
  api::ResourceClaim claim = ClaimNamed("shared");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.spec.devices.requests[0].exactly->tolerations = {for_a_minute};
  claim.status.allocation = OneResult();
  claim.status.allocation->devices.results[0].tolerations = {for_a_minute};
  claim.status.reserved_for = {api::ConsumerOf(scene.Add(group))};
  scene.Add(claim);
  api::DeviceTaintRule rule;
  rule.metadata.name = "rule";
  rule.spec.device_selector.emplace();
  rule.spec.taint = {.key = "broken",
                     .effect = std::string(api::kTaintEffectNoExecute),
                     .time_added = scene.clock().Now().TruncateToSeconds()};
  scene.Add(rule);
  controller.Sync();
  EXPECT_EQ(Said(scene), "True PodsPendingEviction: 2 pods need to be evicted in 1 namespace.");
  scene.clock().Advance(60s);
  controller.Sync();
  EXPECT_FALSE(scene.Has<api::Pod>("a"));
  EXPECT_FALSE(scene.Has<api::Pod>("b"));
  EXPECT_TRUE(scene.Has<api::Pod>("alone"));
  EXPECT_TRUE(scene.Has<api::Pod>("stranger"));
}

// KEP-5055: what would it do?
TEST_F(TaintTest, ARuleWithoutEffectTellsOnceWhomItWouldEvict) {
  Taint("");
  AddUser("a");
  AddUser("c", {Tolerates(std::nullopt)});
  AddRule(std::nullopt, api::kTaintEffectNone);
  controller_->Sync();
  EXPECT_EQ(Said(scene_),
            "False NoEffect: 1 published device selected. 2 allocated devices selected. 1 pod "
            "would be evicted in 1 namespace if the effect was NoExecute. This information will "
            "not be updated again. Recreate the DeviceTaintRule to trigger an update.");
  EXPECT_TRUE(Has("a"));
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(TaintTest, ARuleThatKeepsAwayOnlyEvictsNobody) {
  AddRule(std::nullopt, api::kTaintEffectNoSchedule);
  controller_->Sync();
  EXPECT_EQ(Said(scene_), "False OtherEffect: Eviction only happens for the NoExecute effect.");
}

TEST_F(TaintTest, WithoutTheGateOfRulesNothingIsTold) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRADeviceTaintRules, false);
  Start(gates);
  AddRule(std::nullopt);
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_EQ(Said(scene_), "");
}

TEST_F(TaintTest, APodThatDoesNotUseTheClaimStays) {
  Taint(api::kTaintEffectNoExecute);
  api::Pod pod = PodWith("a", "c");
  pod.spec.node_name = "node-1";
  scene_.Add(pod);
  api::ResourceClaim claim = ClaimNamed("c");
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  scene_.Add(claim);  // reserved for nobody
  EXPECT_EQ(controller_->Sync(), 0u);
  EXPECT_TRUE(Has("a"));
}

TEST_F(TaintTest, ADeviceBehindAnExtendedResourceCountsToo) {
  api::Pod pod = PodNamed("a");
  auto& resources = pod.spec.containers[0].resources;
  resources.requests["example.com/gpu"] = base::Quantity::FromInt(1);
  resources.limits = resources.requests;
  pod.spec.node_name = "node-1";
  const api::Pod stored = scene_.Add(pod);
  api::ResourceClaim claim = ClaimNamed("special");
  claim.metadata.annotations[api::kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references = {{.api_version = "v1",
                                      .kind = "Pod",
                                      .name = "a",
                                      .uid = stored.metadata.uid,
                                      .controller = true}};
  claim.metadata.finalizers = {std::string(api::kClaimFinalizer)};
  claim.status.allocation = OneResult();
  claim.status.reserved_for.push_back(api::ConsumerOf(stored));
  scene_.Add(claim);
  auto changed = scene_.Get<api::Pod>("a");
  auto& special = changed.status.extended_resource_claim_status.emplace();
  special.resource_claim_name = "special";
  special.request_mappings.push_back(
      {.container_name = "c", .resource_name = "example.com/gpu", .request_name = "gpu"});
  scene_.PutStatus(changed);
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  EXPECT_FALSE(Has("a"));
}

TEST_F(TaintTest, PodsThatHaveEndedStay) {
  AddUser("a");
  scene_.SetPhase("a", api::kPodSucceeded);
  Taint(api::kTaintEffectNoExecute);
  EXPECT_EQ(controller_->Sync(), 0u);
}

TEST_F(TaintTest, WithTheGatesOffNobodyIsEvicted) {
  api::FeatureGates gates;
  gates.Set(api::Gate::kDRADeviceTaintRules, false);
  Start(gates);
  AddUser("a");
  AddRule(std::nullopt);
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
  gates.Set(api::Gate::kDRADeviceTaints, false);
  Start(gates);
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  EXPECT_TRUE(Has("a"));
}

TEST_F(TaintTest, ARestartDoesNotLengthenATolerance) {
  AddUser("a", {Tolerates(60)});
  Taint(api::kTaintEffectNoExecute);
  controller_->Sync();
  scene_.clock().Advance(45s);
  Start();
  controller_->Sync();
  EXPECT_EQ(*controller_->NextDue() - scene_.clock().Monotonic(), 15s);
}

}  // namespace
}  // namespace dray::controllers

// SPDX-License-Identifier: Apache-2.0
//
// Pods with claims, phase by phase. Extended resources: extended_resources_test.cc.
#include "scheduler/plugins/dynamic_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "allocator/explanation.h"
#include "scheduler/plugins/dynamic_resources_test_support.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler::scenes {
namespace {

using ::testing::HasSubstr;

struct EarlyCase {
  std::string name;
  std::string objects;
  std::string pre_enqueue = "ok";
  std::string pre_filter;
  std::vector<api::Gate> off;
  friend void PrintTo(const EarlyCase& c, std::ostream* os) { *os << c.name; }
};
class BeforeNodesTest : public ::testing::TestWithParam<EarlyCase> {};

TEST_P(BeforeNodesTest, SaysWhatIsMissing) {
  api::FeatureGates gates;
  for (const api::Gate gate : GetParam().off) gates.Set(gate, false);
  Scene scene(gates);
  scene.Load(std::string(kTwoNodes) + "---\n" + GetParam().objects);
  EXPECT_EQ(Say(scene.plugin_->PreEnqueue(*scene.Pod("p"))), GetParam().pre_enqueue);
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), GetParam().pre_filter);
}

std::string TemplatePod(std::string_view status) {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default, uid: uid-p}}
spec:
  containers: [{{name: c, image: i}}]
  resourceClaims: [{{name: a, resourceClaimTemplateName: t}}]
status: {{{}}}
---
)",
                     status);
}
std::string OwnedClaim(std::string_view owner_uid) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: p-a
  namespace: default
  annotations: {{resource.kubernetes.io/pod-claim-name: a}}
  ownerReferences: [{{apiVersion: v1, kind: Pod, name: p, uid: {}, controller: true}}]
spec:
  devices:
    requests: [{{name: r, exactly: {{deviceClassName: gpu}}}}]
)",
                     owner_uid);
}
const std::string kMade = "resourceClaimStatuses: [{name: a, resourceClaimName: p-a}]";

std::string Prioritized(std::string_view name, std::string_view second_class) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}, namespace: default}}
spec:
  devices:
    requests:
    - name: r
      firstAvailable:
      - {{name: two, deviceClassName: gpu, count: 2}}
      - {{name: one, deviceClassName: {}}}
---
)",
                     name, second_class);
}

INSTANTIATE_TEST_SUITE_P(
    Phases, BeforeNodesTest,
    ::testing::ValuesIn(std::vector<EarlyCase>{
        {.name = "no_claims", .objects = PodYaml("p", {}), .pre_filter = "skip"},
        {.name = "named_claim",
         .objects = ClaimYaml("a") + PodYaml("p", {"a"}),
         .pre_filter = "ok"},
        {.name = "named_claim_missing",
         .objects = PodYaml("p", {"a"}),
         .pre_enqueue = "unresolvable: could not find ResourceClaim \"default/a\"",
         .pre_filter = "unresolvable: could not find ResourceClaim \"default/a\""},
        {.name = "template_claim_not_made",
         .objects = TemplatePod(""),
         .pre_enqueue = "unresolvable: pod \"default/p\": ResourceClaim not created yet",
         .pre_filter = "unresolvable: pod \"default/p\": ResourceClaim not created yet"},
        {.name = "template_claim_made",
         .objects = TemplatePod(kMade) + OwnedClaim("uid-p"),
         .pre_filter = "ok"},
        {.name = "template_claim_of_another_pod",
         .objects = TemplatePod(kMade) + OwnedClaim("uid-q"),
         .pre_enqueue = "unresolvable: ResourceClaim default/p-a was not created for Pod default/p "
                        "(Pod is not owner)",
         .pre_filter = "unresolvable: ResourceClaim default/p-a was not created for Pod default/p "
                       "(Pod is not owner)"},
        // The controller decided that the entry needs no claim.
        {.name = "template_claim_not_needed",
         .objects = TemplatePod("resourceClaimStatuses: [{name: a}]"),
         .pre_filter = "skip"},
        {.name = "class_missing",
         .objects = ClaimYaml("a", 1, "tpu") + PodYaml("p", {"a"}),
         .pre_filter = "unresolvable: request r: device class tpu does not exist"},
        {.name = "class_of_an_alternative_missing",
         .objects = Prioritized("a", "tpu") + PodYaml("p", {"a"}),
         .pre_filter = "unresolvable: request r/one: device class tpu does not exist"},
        {.name = "prioritized_list_off",
         .objects = Prioritized("a", "gpu") + PodYaml("p", {"a"}),
         .pre_filter =
             "unresolvable: resource claim default/a, request r: has subrequests, but the "
             "DRAPrioritizedList feature is disabled",
         .off = {api::Gate::kDRAPrioritizedList}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(DynamicResources, AClaimThatIsBeingDeletedIsWaitedFor) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}));
  scene.Change(
      "a", [](auto& claim) { claim.metadata.finalizers = {"x.io/y"}; }, false);
  scene.Delete(KindOf<api::ResourceClaim>(), "a");
  EXPECT_EQ(Say(scene.plugin_->PreEnqueue(*scene.Pod("p"))),
            "unresolvable: resourceclaim \"a\" is being deleted");
}

TEST(DynamicResources, AClaimIsAllocatedReservedAndProtected) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a", 2) + PodYaml("p", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  const auto claim = scene.Find<api::ResourceClaim>("a");
  EXPECT_EQ(DevicesOf(claim.get()), "n1-gpu-0 n1-gpu-1");
  EXPECT_THAT(claim->metadata.finalizers, ::testing::ElementsAre(kClaimFinalizer));
  ASSERT_EQ(claim->status.reserved_for.size(), 1U);
  EXPECT_EQ(claim->status.reserved_for[0], ConsumerOf(*scene.Pod("p")->pod));
  EXPECT_EQ(claim->status.allocation->allocation_timestamp, base::Time::FromUnix(1'700'000'000));
  EXPECT_FALSE(scene.world_.ledger().InFlight(claim->metadata.uid));
}

TEST(DynamicResources, DevicesAreGivenOnceAndTheNextNodeIsUsed) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a", 2) + ClaimYaml("b") +
             ClaimYaml("c", 2) + PodYaml("p", {"a"}) + PodYaml("q", {"b"}) + PodYaml("r", {"c"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(scene.Schedule("q"), "bound to n2");
  EXPECT_EQ(scene.Schedule("r"),
            "Filter unresolvable: cannot allocate all claims; PostFilter unschedulable");
}

TEST(DynamicResources, ASharedClaimTakesItsPodsToItsNodeAndIsReservedForEach) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  Cycle cycle = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Filter(cycle, "n2"), "unresolvable: resourceclaim not available on the node");
  EXPECT_EQ(scene.Filter(cycle, "n1"), "ok");
  EXPECT_FALSE(scene.plugin_->Local(cycle.state, *cycle.pod));
  // It is in use by another pod, so that it cannot be given back.
  EXPECT_EQ(scene.PostFilter(cycle), "unschedulable");
  EXPECT_EQ(scene.Schedule("q"), "bound to n1");
  EXPECT_EQ(scene.Find<api::ResourceClaim>("a")->status.reserved_for.size(), 2U);
}

TEST(DynamicResources, AClaimNamedTwiceIsOneClaim) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: first, resourceClaimName: a}, {name: second, resourceClaimName: a}]
)");
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-0");
}

TEST(DynamicResources, AClaimWithoutRoomForAnotherPodIsInUse) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  scene.Change("a", [](api::ResourceClaim& claim) {
    while (claim.status.reserved_for.size() < api::kResourceClaimReservedForMaxSize) {
      const std::string name = fmt::format("other-{}", claim.status.reserved_for.size());
      claim.status.reserved_for.push_back({.resource = "pods", .name = name, .uid = name});
    }
  });
  Cycle cycle = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(cycle), "unresolvable: resourceclaim in use");
  Cycle again = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(again), "ok");
}

TEST(DynamicResources, AClaimInFlightIsWaitedFor) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  Cycle first = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(first), "ok");
  EXPECT_EQ(scene.Reserve(first, "n1"), "ok");
  Cycle second = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(second),
            "unresolvable: resource claim default/a is in the process of being allocated");
  // As soon as it is stored, even before the change comes back, it can be shared.
  EXPECT_EQ(scene.PreBind(first, "n1"), "ok");
  EXPECT_EQ(scene.PreFilter(second), "ok");
  EXPECT_EQ(scene.Filter(second, "n1"), "ok");
}

TEST(DynamicResources, UnreserveGivesTheDevicesBackAndMayBeCalledTwice) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a", 2) + ClaimYaml("b", 2) +
             PodYaml("p", {"a"}) + PodYaml("q", {"b"}));
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  scene.Unreserve(cycle);
  EXPECT_EQ(scene.Reserve(cycle, "n1"), "ok");
  Cycle other = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(other), "ok");
  EXPECT_EQ(scene.Filter(other, "n1"), "unresolvable: cannot allocate all claims");
  scene.Unreserve(cycle);
  scene.Unreserve(cycle);
  EXPECT_EQ(scene.Filter(other, "n1"), "ok");
}

// A claim whose node cannot take the pod is given back when nobody else uses it.
TEST(DynamicResources, PostFilterGivesAClaimBackThatPinsThePod) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + ClaimYaml("b", 2) +
             PodYaml("p", {"a"}) + PodYaml("q", {"a", "b"}));
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Reserve(cycle, "n1"), "ok");
  EXPECT_EQ(scene.PreBind(cycle, "n1"), "ok");
  // As another scheduler leaves it.
  scene.Change("a", [](api::ResourceClaim& claim) { claim.status.reserved_for.clear(); });
  // One GPU is left on n1, b needs two: on n2 both would do, but a is on n1.
  EXPECT_EQ(scene.Schedule("q"),
            "Filter unresolvable: resourceclaim not available on the node; PostFilter "
            "unschedulable: deallocation of ResourceClaim completed");
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "not allocated");
  // Now they compete for the same node, and three GPUs are nowhere.
  EXPECT_EQ(scene.Schedule("q"),
            "Filter unresolvable: cannot allocate all claims; PostFilter unschedulable");
}

// KEP-5729: others of the group use it, although there is one reservation, and the pod may use it by that.
TEST(DynamicResources, PostFilterLeavesAClaimThatIsReservedForThePodsGroup) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + ClaimYaml("b", 2) +
             PodYaml("p", {"a"}) + R"(
apiVersion: v1
kind: Pod
metadata: {name: q, namespace: default, uid: uid-q}
spec:
  schedulingGroup: {podGroupName: g}
  containers: [{name: c, image: i}]
  resourceClaims:
  - {name: a, resourceClaimName: a}
  - {name: b, resourceClaimName: b}
---
)");
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  // As another scheduler leaves it.
  scene.Change("a", [](api::ResourceClaim& claim) {
    claim.status.reserved_for = {
        {.api_group = "scheduling.k8s.io", .resource = "podgroups", .name = "g", .uid = "uid-g"}};
  });
  EXPECT_EQ(scene.Schedule("q"),
            "Filter unresolvable: resourceclaim not available on the node; PostFilter "
            "unschedulable");
  EXPECT_NE(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "not allocated");
}

TEST(DynamicResources, ABrokenExpressionEndsTheCycleAndNamesThePodsClaim) {
  Scene scene;
  const auto broken = [](std::string_view name) {
    return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}, namespace: default}}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu
        selectors: [{{cel: {{expression: 'device.attributes["gpu.example.com"].nothing == "x"'}}}}]
---
)",
                       name);
  };
  scene.Load(std::string(kTwoNodes) + "---\n" + broken("a") + PodYaml("p", {"a"}));
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("Filter error: "));
}

TEST(DynamicResources, MoreThan32DevicesAreRefusedWithTheLimit) {
  Scene scene;
  std::string claim = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: CLAIM, namespace: default}
spec:
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 20}}
    - {name: s, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 20}}
---
)";
  const auto named = [&](std::string_view name) {
    std::string text = claim;
    return text.replace(text.find("CLAIM"), 5, name);
  };
  scene.Load(std::string(kTwoNodes) + "---\n" + named("a") + named("b") + PodYaml("p", {"a"}) +
             PodYaml("q", {"b"}));
  EXPECT_EQ(scene.Schedule("p"),
            "Filter error: claim default/a: it asks for 40 devices; one claim can have at most 32");
  // One plan serves both claims; the message is still about the pod's own.
  EXPECT_EQ(scene.Schedule("q"),
            "Filter error: claim default/b: it asks for 40 devices; one claim can have at most 32");
}

TEST(DynamicResources, ASearchThatGivesUpRulesOutThisNodeOnly) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a", 2) + PodYaml("p", {"a"}));
  scene.options_.search.work_budget = 1;
  DynamicResources hasty(scene.world_, scene.cluster_, scene.clock_, scene.ids_, scene.options_);
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(Say(hasty.PreFilter(cycle.state, *cycle.pod, scene.world_)), "ok");
  EXPECT_EQ(Say(hasty.Filter(cycle.state, *cycle.pod, scene.Node("n1"))),
            "unresolvable: gave up looking for devices: whether the claims fit is not known");
}

TEST(DynamicResources, PodsWithEqualClaimsAreOfOneClassAndAClassChangeMakesAnother) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + ClaimYaml("b") +
             ClaimYaml("c", 2) + PodYaml("p", {"a"}) + PodYaml("q", {"b"}) + PodYaml("r", {"c"}));
  const auto class_of = [&](std::string_view pod) {
    Cycle cycle = scene.Start(pod);
    EXPECT_EQ(scene.PreFilter(cycle), "ok");
    EXPECT_TRUE(scene.plugin_->Local(cycle.state, *cycle.pod));
    return scene.plugin_->ClassOf(cycle.state, *cycle.pod);
  };
  const std::uint64_t before = class_of("p");
  EXPECT_EQ(class_of("q"), before);
  EXPECT_NE(class_of("r"), before);
  api::DeviceClass changed = *scene.Find<api::DeviceClass>("gpu");
  changed.spec.selectors[0].cel->expression = "device.driver == \"other.example.com\"";
  ASSERT_TRUE(scene.cluster_.Update(api::Object::Of(changed)).ok());
  scene.Sync();
  EXPECT_NE(class_of("p"), before);
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("cannot allocate all claims"));
}

TEST(DynamicResources, EarlierAlternativesScoreHigher) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("x") + PodYaml("o", {"x"}) +
             Prioritized("a", "gpu") + PodYaml("p", {"a"}));
  EXPECT_EQ(scene.Schedule("o"), "bound to n1");  // one GPU is left on n1
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(Say(scene.plugin_->PreScore(cycle.state, *cycle.pod, scene.world_)), "ok");
  std::vector<std::int64_t> scores = {
      scene.plugin_->Score(cycle.state, *cycle.pod, scene.Node("n1")),
      scene.plugin_->Score(cycle.state, *cycle.pod, scene.Node("n2"))};
  EXPECT_EQ(scores, (std::vector<std::int64_t>{7, 8}));
  scene.plugin_->Normalize(cycle.state, *cycle.pod, scores);
  EXPECT_EQ(scores, (std::vector<std::int64_t>{87, 100}));
  Cycle plain = scene.Start("o");
  EXPECT_EQ(scene.PreFilter(plain), "ok");
  EXPECT_EQ(Say(scene.plugin_->PreScore(plain.state, *plain.pod, scene.world_)), "skip");
}

TEST(DynamicResources, DetailsNameTheDevicesAndNodesAlikeAreOneGroup) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a", 3) + ClaimYaml("b") +
             PodYaml("p", {"a"}) + PodYaml("q", {"b"}));
  const auto groups = [&] {
    Cycle cycle = scene.Start("p");
    EXPECT_EQ(scene.PreFilter(cycle), "ok");
    return std::pair(scene.plugin_->DetailGroup(cycle.state, *cycle.pod, scene.Node("n1")),
                     scene.plugin_->DetailGroup(cycle.state, *cycle.pod, scene.Node("n2")));
  };
  const auto alike = groups();
  EXPECT_EQ(alike.first, alike.second);
  EXPECT_EQ(scene.Schedule("q"), "bound to n1");
  const auto different = groups();
  EXPECT_NE(different.first, different.second);

  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  const std::vector<Reason> reasons =
      scene.plugin_->Detail(cycle.state, *cycle.pod, scene.Node("n1"));
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons[0].code, "cannot_allocate_claims");
  ASSERT_NE(reasons[0].devices, nullptr);
  EXPECT_EQ(reasons[0].devices->claims.at(0).name, "default/a");
  ASSERT_FALSE(reasons[0].shortages.empty());
  EXPECT_EQ(reasons[0].shortages[0].needed, "3");
  EXPECT_EQ(reasons[0].shortages[0].free, "1");
}

TEST(DynamicResources, AnAllocationThatSkipsNodeOperationsNeedsANodeThatCanDoThat) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("p", {"a"}) +
             PodYaml("q", {"a"}));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  Cycle cycle = scene.Start("q");
  auto changed = *scene.Find<api::ResourceClaim>("a");
  changed.status.allocation->devices.results[0].skip_node_operations = {
      std::string(api::kSkipAllNodeOperations)};
  scene.world_.AssumeClaim(std::make_shared<const api::ResourceClaim>(changed));
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Filter(cycle, "n1"), "unresolvable: resourceclaim not available on the node");
  api::Node node = *scene.Find<api::Node>("n1");
  node.status.declared_features = {"DRAOptionalNodeOperations"};
  ASSERT_TRUE(scene.cluster_.UpdateStatus(api::Object::Of(node)).ok());
  scene.Sync();
  EXPECT_EQ(scene.Filter(cycle, "n1"), "ok");
}

}  // namespace
}  // namespace dray::scheduler::scenes

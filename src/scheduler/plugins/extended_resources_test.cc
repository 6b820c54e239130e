// SPDX-License-Identifier: Apache-2.0
//
// KEP-5004 in the scheduler: mixed clusters, the special claim, and every path of the section
// "Failure handling".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "api/extended_resources.h"
#include "scheduler/plugins/dynamic_resources_test_support.h"

namespace dray::scheduler::scenes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// n0 has two GPUs by a device plugin.
constexpr std::string_view kDevicePluginNode = R"(
---
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110", example.com/gpu: "2"}}
---
)";

std::shared_ptr<const api::ResourceClaim> OnlyClaim(const Scene& scene) {
  const auto names = scene.ClaimNames();
  return names.size() == 1 ? scene.Find<api::ResourceClaim>(names[0]) : nullptr;
}

TEST(ExtendedResourcePods, GetAClaimOfTheirOwnAndSayWhichContainerUsesIt) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  const auto claim = OnlyClaim(scene);
  ASSERT_NE(claim, nullptr);
  EXPECT_TRUE(claim->metadata.name.starts_with("p-extended-resources-"));
  EXPECT_EQ(*claim->metadata.annotations.Find(api::kExtendedResourceClaimAnnotation), "true");
  EXPECT_EQ(api::ExtendedResourcePod(*claim)->uid, "uid-p");
  EXPECT_THAT(claim->metadata.finalizers, ElementsAre(kClaimFinalizer));
  ASSERT_THAT(claim->spec.devices.requests, SizeIs(1));
  EXPECT_EQ(claim->spec.devices.requests[0].name, "container-0-request-1");
  EXPECT_EQ(claim->spec.devices.requests[0].exactly->device_class_name, "gpu");
  EXPECT_EQ(DevicesOf(claim.get()), "n1-gpu-0 n1-gpu-1");
  EXPECT_THAT(claim->status.reserved_for, SizeIs(1));

  const auto pod = scene.Find<api::Pod>("p");
  ASSERT_TRUE(pod->status.extended_resource_claim_status.has_value());
  const auto& status = *pod->status.extended_resource_claim_status;
  EXPECT_EQ(status.resource_claim_name, claim->metadata.name);
  ASSERT_THAT(status.request_mappings, SizeIs(1));
  EXPECT_EQ(status.request_mappings[0].container_name, "c");
  EXPECT_EQ(status.request_mappings[0].resource_name, "example.com/gpu");
  EXPECT_EQ(status.request_mappings[0].request_name, "container-0-request-1");
}

TEST(ExtendedResourcePods, MayUseTheImplicitNameOfAClass) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" +
             GpuPodYaml("p", 1, "deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(OnlyClaim(scene).get()), "n1-gpu-0");
}

TEST(ExtendedResourcePods, ShareDevicesWithClaims) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("q", {"a"}) +
             GpuPodYaml("p", 2));
  EXPECT_EQ(scene.Schedule("q"), "bound to n1");
  EXPECT_EQ(scene.Schedule("p"), "bound to n2");
}

TEST(ExtendedResourcePods, MayHaveClaimsToo) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers:
  - {name: c, image: i, resources: {requests: {example.com/gpu: "1"}, limits: {example.com/gpu: "1"}}}
  resourceClaims: [{name: a, resourceClaimName: a}]
)");
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(scene.Find<api::ResourceClaim>("a").get()), "n1-gpu-0");
  const auto pod = scene.Find<api::Pod>("p");
  const auto special = scene.Find<api::ResourceClaim>(
      pod->status.extended_resource_claim_status->resource_claim_name);
  EXPECT_EQ(DevicesOf(special.get()), "n1-gpu-1");
}

// A server refuses such pods; what is stored all the same is not run without its devices.
TEST(ExtendedResourcePods, AnAmountThatIsNoWholeNumberIsRefusedOnEveryNode) {
  for (const std::string amount : {"500m", "1500m", "-1", "1e20"}) {
    Scene scene;
    scene.Load(std::string(kTwoNodes) + std::string(kDevicePluginNode) + R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers:
  - name: c
    image: i
    resources: {requests: {example.com/gpu: )" +
               amount + "}, limits: {example.com/gpu: " + amount + "}}\n");
    Cycle cycle = scene.Start("p");
    EXPECT_THAT(scene.PreFilter(cycle),
                AllOf(HasSubstr("container c asks for"),
                      HasSubstr("of example.com/gpu, which devices of class gpu serve: the amount "
                                "must be a whole number")))
        << amount;
  }
}

// Together they are more than 64 bits hold.
TEST(ExtendedResourcePods, ManyContainersThatAskForVeryManyAreRefusedWithTheLimit) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + R"(
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers:
  - {name: a, image: i, resources: {requests: {example.com/gpu: "9223372036854775807"}, limits: {example.com/gpu: "9223372036854775807"}}}
  - {name: b, image: i, resources: {requests: {example.com/gpu: "9223372036854775807"}, limits: {example.com/gpu: "9223372036854775807"}}}
)");
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_THAT(scene.Filter(cycle, "n1"), HasSubstr("one claim can have at most 32"));
}

TEST(MixedClusters, ANodeWithADevicePluginNeedsNoClaim) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + std::string(kDevicePluginNode) + GpuPodYaml("p", 2) +
             GpuPodYaml("q", 2));
  EXPECT_EQ(scene.Schedule("p"), "bound to n0");
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_FALSE(scene.Find<api::Pod>("p")->status.extended_resource_claim_status.has_value());
  // The same pod fits on nodes with DRA.
  Cycle cycle = scene.Start("q");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Filter(cycle, "n1"), "ok");
  EXPECT_TRUE(scene.plugin_->Local(cycle.state, *cycle.pod));
}

TEST(MixedClusters, TheClaimHasOnlyWhatTheNodesPluginsDoNotServe) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + std::string(kDevicePluginNode) + R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec:
  selectors: [{cel: {expression: device.driver == "nic.example.com"}}]
  extendedResourceName: example.com/nic
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  allNodes: true
  pool: {name: nics, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}, {name: nic-1}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers:
  - name: c
    image: i
    resources:
      requests: {example.com/gpu: "1", example.com/nic: "1"}
      limits: {example.com/gpu: "1", example.com/nic: "1"}
)");
  EXPECT_EQ(scene.Schedule("p"), "bound to n0");
  const auto claim = OnlyClaim(scene);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(DevicesOf(claim.get()), "nic-0");
  ASSERT_THAT(claim->spec.devices.requests, SizeIs(1));
  EXPECT_EQ(claim->spec.devices.requests[0].name, "container-0-request-1");
}

TEST(MixedClusters, AResourceThatNobodyServesDoesNotFit) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + R"(
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers:
  - name: c
    image: i
    resources:
      requests: {example.com/gpu: "1", other.com/thing: "1"}
      limits: {example.com/gpu: "1", other.com/thing: "1"}
)");
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Filter(cycle, "n1"), "unresolvable: cannot fit resource");
}

TEST(ExtendedResourcePods, MoreThan32DevicesAreRefusedOnThisNodeWithTheLimit) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 33) + R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {example.com/gpu: "64"}}
)");
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_EQ(scene.Filter(cycle, "n1"),
            "unresolvable: node(s) would have to give 33 devices for extended resources; one claim "
            "can have at most 32");
  EXPECT_EQ(scene.Filter(cycle, "n0"), "ok");
}

// Failure handling: writes in PreBind that fail, and clean-up in Unreserve.
struct FailureCase {
  std::string name;
  api::Verb verb;
  bool of_pod = false;
  std::string said;
  friend void PrintTo(const FailureCase& c, std::ostream* os) { *os << c.name; }
};
class SpecialClaimFailureTest : public ::testing::TestWithParam<FailureCase> {};

api::MemoryCluster::WriteHook FailFirst(api::Verb verb, bool of_pod, Status status, int count = 1) {
  auto left = std::make_shared<int>(count);
  return [=](api::Verb wanted, const api::Object& object) -> Status {
    if (wanted != verb || (object.As<api::Pod>() != nullptr) != of_pod) return {};
    return (*left)-- > 0 ? status : Status();
  };
}

TEST_P(SpecialClaimFailureTest, DeletesWhatWasCreatedAndTheNextAttemptSucceeds) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  scene.cluster_.SetWriteHook(
      FailFirst(GetParam().verb, GetParam().of_pod, base::Unavailable("the server is down")));
  EXPECT_THAT(scene.Schedule("p"), HasSubstr(GetParam().said));
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(DevicesOf(OnlyClaim(scene).get()), "n1-gpu-0 n1-gpu-1");
}
INSTANTIATE_TEST_SUITE_P(
    PreBind, SpecialClaimFailureTest,
    ::testing::ValuesIn(std::vector<FailureCase>{
        {.name = "create",
         .verb = api::Verb::kCreate,
         .said = "error: create claim for extended resources default/p-extended-resources-: the "
                 "server is down"},
        {.name = "claim_status",
         .verb = api::Verb::kUpdateStatus,
         .said = "error: add allocation and reservation to claim default/p-extended-resources-"},
        {.name = "pod_status",
         .verb = api::Verb::kUpdateStatus,
         .of_pod = true,
         .said = "error: update pod default/p ExtendedResourceClaimStatus: the server is down"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(SpecialClaimFailures, ConflictsAreTriedAgain) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  scene.cluster_.SetWriteHook(FailFirst(api::Verb::kUpdateStatus, true,
                                        base::MakeStatus(StatusCode::kAborted, "moved"), 3));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
}

// Whether a request was answered or not, and whether it was sent once or twice: there is one claim.
TEST(SpecialClaimFailures, AClaimWhoseAnswerWasLostIsNotMadeTwice) {
  for (const StatusCode code : {StatusCode::kUnknown, StatusCode::kAlreadyExists}) {
    Scene scene;
    scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
    scene.cluster_.SetAnswerHook(
        FailFirst(api::Verb::kCreate, false, base::MakeStatus(code, "lost")));
    EXPECT_EQ(scene.Schedule("p"), "bound to n1");
    EXPECT_EQ(DevicesOf(OnlyClaim(scene).get()), "n1-gpu-0 n1-gpu-1");
  }
}

// Quota, for example. Every attempt has another name; the event is one.
TEST(SpecialClaimFailures, ARefusalIsTheSameTextEachTime) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  base::SeededRandomSource random(3);
  scene.cluster_.SetWriteHook([&](api::Verb verb, const api::Object& object) -> Status {
    if (verb != api::Verb::kCreate) return {};
    return base::FailedPrecondition(
        fmt::format("resourceclaims \"{}\" is forbidden: exceeded quota: devices",
                    api::CompletedName(object.metadata().generate_name, random)));
  });
  const std::string first = scene.Schedule("p");
  EXPECT_THAT(first, HasSubstr("resourceclaims \"p-extended-resources-\" is forbidden: exceeded "
                               "quota: devices"));
  EXPECT_EQ(scene.Schedule("p"), first);
}

// KEP-5004, version skew: the mapping is what kubelets find the devices by.
TEST(SpecialClaimFailures, APodWhoseMappingTheServerDropsIsNotBound) {
  api::FeatureGates server;
  server.Set(api::Gate::kDRAExtendedResource, false);
  Scene scene({}, 1, server);
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  EXPECT_THAT(scene.Schedule("p"),
              HasSubstr("error: update pod default/p ExtendedResourceClaimStatus: the server "
                        "dropped it: its feature gate DRAExtendedResource is off"));
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_EQ(scene.Find<api::Pod>("p")->spec.node_name, "");
}

// Takes a pod up to the end of PreBind on n1, with the writes that follow failing: the claim stays
// behind.
void LeaveClaimBehind(Scene& scene, api::Verb fails) {
  Cycle cycle = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(cycle), "ok");
  ASSERT_EQ(scene.Filter(cycle, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(cycle, "n1"), "ok");
  scene.cluster_.SetWriteHook(FailFirst(fails, false, base::Unavailable("the server is down"), 99));
  scene.Unreserve(cycle);
  scene.Unreserve(cycle);  // may be called again, and nobody hears of the failure
  scene.cluster_.SetWriteHook({});
  scene.Sync();
}

TEST(SpecialClaimFailures, UnreserveThatCannotRemoveTheFinalizerLeavesAClaimThatIsUsedAgain) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2) + GpuPodYaml("q", 2));
  LeaveClaimBehind(scene, api::Verb::kUpdate);
  ASSERT_THAT(scene.ClaimNames(), SizeIs(1));
  const std::string name = scene.ClaimNames()[0];
  // The devices stay its own.
  EXPECT_EQ(scene.Schedule("q"), "bound to n2");
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_NE(scene.Find<api::ResourceClaim>(name), nullptr);
  EXPECT_EQ(scene.Find<api::Pod>("p")->status.extended_resource_claim_status->resource_claim_name,
            name);
  EXPECT_THAT(scene.ClaimNames(), SizeIs(2));
}

TEST(SpecialClaimFailures, UnreserveThatCannotDeleteLeavesAClaimThatIsUsedAgain) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kDelete);
  ASSERT_THAT(scene.ClaimNames(), SizeIs(1));
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_THAT(scene.ClaimNames(), SizeIs(1));
}

// Deleted, without an answer and before the watch tells: nothing is left to write by which the next
// attempt would notice, so it looks.
TEST(SpecialClaimFailures, AClaimWhoseDeletionWasNotAnsweredIsNotReliedUpon) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  Cycle first = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(first), "ok");
  ASSERT_EQ(scene.Filter(first, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(first, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(first, "n1"), "ok");
  scene.cluster_.SetAnswerHook(
      FailFirst(api::Verb::kDelete, false, api::OutcomeUnknown("the answer was lost"), 99));
  scene.Unreserve(first);
  scene.cluster_.SetAnswerHook({});
  ASSERT_THAT(scene.ClaimNames(), IsEmpty());
  // Nothing is synced: the scheduler still has the claim.
  Cycle second = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(second), "ok");
  ASSERT_EQ(scene.Filter(second, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(second, "n1"), "ok");
  EXPECT_THAT(scene.PreBind(second, "n1"), HasSubstr("got deleted in the meantime"));
  scene.Unreserve(second);
  // What was stored is taken until the watch tells that it is gone.
  scene.Sync();
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_THAT(scene.ClaimNames(), SizeIs(1));
}

// The status write failed, and so did the clean-up: the claim is stored without an allocation.
TEST(SpecialClaimFailures, AStoredClaimWithoutAllocationIsAllocated) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  scene.cluster_.SetWriteHook([](api::Verb verb, const api::Object& object) -> Status {
    if (object.As<api::ResourceClaim>() == nullptr) return {};
    return verb == api::Verb::kCreate ? Status() : base::Unavailable("the server is down");
  });
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("error: add allocation and reservation"));
  scene.cluster_.SetWriteHook({});
  ASSERT_THAT(scene.ClaimNames(), SizeIs(1));
  const std::string name = scene.ClaimNames()[0];
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_THAT(scene.ClaimNames(), ElementsAre(name));
  EXPECT_EQ(DevicesOf(OnlyClaim(scene).get()), "n1-gpu-0 n1-gpu-1");
}

void MakeUnschedulable(Scene& scene, std::string_view node) {
  api::Node changed = *scene.Find<api::Node>(node);
  changed.metadata.name = node;
  ASSERT_TRUE(scene.cluster_.Delete(KindOf<api::Node>(), "", node).ok());
  scene.Sync();
}

// Filter: its node selector does not match; PostFilter deletes it.
TEST(SpecialClaimFailures, AClaimOfANodeThatIsGoneIsDeletedInPostFilter) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kDelete);
  MakeUnschedulable(scene, "n1");
  EXPECT_EQ(scene.Schedule("p"),
            "Filter unresolvable: resourceclaim not available on the node; PostFilter "
            "unschedulable: deletion of ResourceClaim completed");
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_EQ(scene.Schedule("p"), "bound to n2");
}

// Somebody has named the claim of p in a pod of his own, which runs.
TEST(SpecialClaimFailures, AClaimThatAnotherPodUsesIsNotDeleted) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kUpdate);
  MakeUnschedulable(scene, "n1");
  const auto use = [&](std::vector<api::ResourceClaimConsumerReference> users) {
    api::ResourceClaim claim = *OnlyClaim(scene);
    claim.status.reserved_for = std::move(users);
    ASSERT_TRUE(scene.cluster_.UpdateStatus(api::Object::Of(claim)).ok());
  };
  use({{.resource = "pods", .name = "q", .uid = "uid-q"}});
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("is in use by pods q"));
  const auto claim = OnlyClaim(scene);
  ASSERT_NE(claim, nullptr);
  EXPECT_THAT(claim->metadata.finalizers, ElementsAre(kClaimFinalizer));
  EXPECT_EQ(DevicesOf(claim.get()), "n1-gpu-0 n1-gpu-1");
  use({});
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("deletion of ResourceClaim completed"));
}

TEST(SpecialClaimFailures, PostFilterSaysWhenItCannotDelete) {
  for (const api::Verb verb : {api::Verb::kUpdate, api::Verb::kDelete}) {
    Scene scene;
    scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
    LeaveClaimBehind(scene, api::Verb::kUpdate);
    MakeUnschedulable(scene, "n1");
    scene.cluster_.SetWriteHook(
        FailFirst(verb, false, base::Unavailable("the server is down"), 99));
    EXPECT_THAT(scene.Schedule("p"), HasSubstr("PostFilter error: "));
    scene.cluster_.SetWriteHook({});
    EXPECT_THAT(scene.ClaimNames(), SizeIs(1));
    EXPECT_THAT(scene.Schedule("p"), HasSubstr("deletion of ResourceClaim completed"));
    EXPECT_EQ(scene.Schedule("p"), "bound to n2");
  }
}

// PreFilter and Filter: the claim is there, but is not what is needed any more.
TEST(SpecialClaimFailures, AClaimThatAsksForSomethingElseIsDeletedInPostFilter) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kDelete);
  // The name moves to another class.
  scene.clock_.Advance(std::chrono::seconds(1));
  scene.Load(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: newer, creationTimestamp: "2030-01-01T00:00:00Z"}
spec: {extendedResourceName: example.com/gpu}
)");
  EXPECT_EQ(scene.Schedule("p"),
            "Filter unresolvable: cannot schedule extended resource claim; PostFilter "
            "unschedulable: deletion of ResourceClaim completed");
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
  EXPECT_EQ(OnlyClaim(scene)->spec.devices.requests[0].exactly->device_class_name, "newer");
}

TEST(SpecialClaimFailures, AClaimThatIsBeingDeletedIsRemovedAndMadeAnew) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kUpdate);
  scene.Delete(KindOf<api::ResourceClaim>(), scene.ClaimNames().at(0));
  ASSERT_THAT(scene.ClaimNames(), SizeIs(1));  // the finalizer keeps it
  EXPECT_THAT(scene.Schedule("p"), HasSubstr("deletion of ResourceClaim completed"));
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_EQ(scene.Schedule("p"), "bound to n1");
}

// On a node that serves everything by a device plugin a claim left behind would hold devices for
// nothing.
TEST(SpecialClaimFailures, AClaimLeftBehindKeepsThePodFromDevicePluginNodes) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + std::string(kDevicePluginNode) + GpuPodYaml("p", 2));
  LeaveClaimBehind(scene, api::Verb::kDelete);
  Cycle cycle = scene.Start("p");
  EXPECT_EQ(scene.PreFilter(cycle), "ok");
  EXPECT_FALSE(scene.plugin_->Local(cycle.state, *cycle.pod));
  EXPECT_EQ(scene.Filter(cycle, "n0"), "unresolvable: cannot schedule extended resource claim");
  EXPECT_EQ(scene.Filter(cycle, "n1"), "ok");
}

// The attempt that failed has written a name which no update takes away again (decision 454). On a
// node with device plugins nobody looks at it, and no claim is made for it.
TEST(SpecialClaimFailures, TheNameOfAnAttemptBeforeMeansNothingOnADevicePluginNode) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + std::string(kDevicePluginNode) + GpuPodYaml("p", 2));
  Cycle first = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(first), "ok");
  ASSERT_EQ(scene.Filter(first, "n1"), "ok");
  ASSERT_EQ(scene.Reserve(first, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(first, "n1"), "ok");
  scene.Unreserve(first);
  scene.Sync();
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  const auto before = scene.Find<api::Pod>("p")->status.extended_resource_claim_status;
  ASSERT_TRUE(before.has_value());
  Cycle second = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(second), "ok");
  ASSERT_EQ(scene.Filter(second, "n0"), "ok");
  ASSERT_EQ(scene.Reserve(second, "n0"), "ok");
  EXPECT_EQ(scene.PreBind(second, "n0"), "ok");
  EXPECT_THAT(scene.ClaimNames(), IsEmpty());
  EXPECT_EQ(scene.Find<api::Pod>("p")->status.extended_resource_claim_status->resource_claim_name,
            before->resource_claim_name);
  // And on a node of drivers the next attempt has a claim of its own.
  Cycle third = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(third), "ok");
  ASSERT_EQ(scene.Filter(third, "n2"), "ok");
  ASSERT_EQ(scene.Reserve(third, "n2"), "ok");
  EXPECT_EQ(scene.PreBind(third, "n2"), "ok");
  ASSERT_THAT(scene.ClaimNames(), SizeIs(1));
  EXPECT_EQ(scene.Find<api::Pod>("p")->status.extended_resource_claim_status->resource_claim_name,
            scene.ClaimNames()[0]);
}

TEST(ExtendedResourceGate, OffThenOnThenOff) {
  api::FeatureGates off;
  off.Set(api::Gate::kDRAExtendedResource, false);
  {
    Scene scene(off);
    scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 1));
    Cycle cycle = scene.Start("p");
    EXPECT_EQ(scene.PreFilter(cycle), "skip");
  }
  Scene on;
  on.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 1));
  EXPECT_EQ(on.Schedule("p"), "bound to n1");
  const auto claim = OnlyClaim(on);
  ASSERT_NE(claim, nullptr);
  // Off again: the claim is not touched and its device stays taken; new pods get none.
  Scene again(off, 2);
  again.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("q", 1) + ClaimYaml("a", 2) +
             PodYaml("r", {"a"}));
  ASSERT_TRUE(again.cluster_.Load({api::Object::Of(*claim)}).ok());
  again.Sync();
  Cycle cycle = again.Start("q");
  EXPECT_EQ(again.PreFilter(cycle), "skip");
  EXPECT_EQ(again.Schedule("r"), "bound to n2");
  EXPECT_THAT(again.ClaimNames(), SizeIs(2));
  // And on: the device is known to be taken.
  Scene last({}, 3);
  last.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("q", 2));
  ASSERT_TRUE(last.cluster_.Load({api::Object::Of(*claim)}).ok());
  last.Sync();
  EXPECT_EQ(last.Schedule("q"), "bound to n2");
}

}  // namespace
}  // namespace dray::scheduler::scenes

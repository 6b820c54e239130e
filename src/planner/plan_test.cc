// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "planner/cures.h"
#include "planner/plan_for_test.h"
#include "testing/slice_yaml.h"
#include "testing/status_matchers.h"

namespace dray::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct PlanCase {
  std::string name;
  std::string yaml;  // besides the class and the templates
  std::vector<std::string> want;
  friend void PrintTo(const PlanCase& c, std::ostream* os) { *os << c.name; }
};
class PlanTest : public ::testing::TestWithParam<PlanCase> {};

TEST_P(PlanTest, SaysWhoGetsWhatWhere) {
  EXPECT_EQ(Lines(PlanOf(ClassYaml() + GetParam().yaml)), GetParam().want);
}

// A claim that has a device, as a dump has it.
std::string AllocatedYaml(std::string_view name, std::string_view node, std::string_view device,
                          std::string_view reserved_for = "") {
  std::string text = ClaimYaml(name, 1) + fmt::format(R"(status:
  allocation:
    devices:
      results:
      - {{request: gpu, driver: gpu.example.com, pool: {0}, device: {1}}}
    nodeSelector:
      nodeSelectorTerms:
      - matchFields:
        - {{key: metadata.name, operator: In, values: [{0}]}}
)",
                                                      node, device);
  if (reserved_for.empty()) return text;
  return text + fmt::format("  reservedFor:\n  - {{resource: pods, name: {0}, uid: uid-{0}}}\n",
                            reserved_for);
}

std::string OnNode(std::string_view node, std::string_view phase = "Running") {
  return fmt::format("  nodeName: {}\nstatus: {{phase: {}}}\n", node, phase);
}

INSTANTIATE_TEST_SUITE_P(
    Planner, PlanTest,
    ::testing::ValuesIn(std::vector<PlanCase>{
        {"nothing_to_do", NodeYaml("n1", 1), {}},
        {"devices_from_a_template",
         NodeYaml("n1", 2) + GpuPodYaml("a", 2),
         {"a placed n1 gpu-0,gpu-1"}},
        {"the_node_with_enough_devices",
         NodeYaml("n1", 1) + NodeYaml("n2", 3) + GpuPodYaml("a", 3),
         {"a placed n2 gpu-0,gpu-1,gpu-2"}},
        {"devices_run_out",
         NodeYaml("n1", 2) + GpuPodYaml("a", 1) + GpuPodYaml("b", 1) + GpuPodYaml("c", 1),
         {"a placed n1 gpu-0", "b placed n1 gpu-1", "c refused"}},
        {"a_running_pod_occupies_its_node",
         NodeYaml("n1", 0) + PodYaml("a", OnNode("n1"), "6") + PodYaml("b", "", "4"),
         {"a existing n1", "b refused"}},
        {"a_finished_pod_does_not",
         NodeYaml("n1", 0) + PodYaml("a", OnNode("n1", "Succeeded"), "6") + PodYaml("b", "", "4"),
         {"b placed n1"}},
        {"an_allocated_claim_keeps_its_device",
         NodeYaml("n1", 2) + AllocatedYaml("c", "n1", "gpu-0") + GpuPodYaml("a", 1),
         {"a placed n1 gpu-1", "claim/c existing n1 gpu-0"}},
        {"a_pod_goes_where_its_claim_is",
         NodeYaml("n1", 1) + NodeYaml("n2", 1) + AllocatedYaml("c", "n2", "gpu-0") +
             ClaimPodYaml("a", "c"),
         {"a placed n2 gpu-0"}},
        {"pods_share_a_claim",
         NodeYaml("n1", 1) + ClaimYaml("c", 1) + ClaimPodYaml("a", "c") + ClaimPodYaml("b", "c"),
         {"a placed n1 gpu-0", "b placed n1 gpu-0"}},
        {"a_claim_without_a_pod_gets_devices",
         NodeYaml("n1", 2) + ClaimYaml("c", 2),
         {"claim/c placed n1 gpu-0,gpu-1"}},
        // It waits for a pod; pods that are there do not.
        {"a_claim_without_a_pod_comes_last",
         NodeYaml("n1", 1) + ClaimYaml("a", 1) + GpuPodYaml("b", 1),
         {"b placed n1 gpu-0", "claim/a refused"}},
        {"the_more_important_pod_is_first",
         NodeYaml("n1", 1) + GpuPodYaml("a", 1) + GpuPodYaml("b", 1, "  priority: 10\n"),
         {"a refused", "b placed n1 gpu-0"}},
        {"a_pod_of_another_scheduler_is_left_alone",
         NodeYaml("n1", 1) + PodYaml("a", "  schedulerName: mine\n"),
         {"a refused"}},
        {"a_gated_pod_waits",
         NodeYaml("n1", 1) + PodYaml("a", "  schedulingGates: [{name: example.com/quota}]\n"),
         {"a refused"}},
        {"a_less_important_pod_makes_room",
         NodeYaml("n1", 0) + PodYaml("low", OnNode("n1"), "6") +
             PodYaml("high", "  priority: 10\n", "4"),
         {"high placed n1", "low preempted n1"}},
        {"an_extended_resource_is_served_by_devices",
         NodeYaml("n1", 2) + R"(---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  containers:
  - name: c
    image: i
    resources: {limits: {deviceclass.resource.kubernetes.io/gpu: 2}}
)",
         {"a placed n1 gpu-0,gpu-1"}},
        {"generated_names_are_completed",
         NodeYaml("n1", 0) + R"(---
apiVersion: v1
kind: Pod
metadata: {generateName: a-, namespace: default}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
)" + PodYaml("a"),
         {"a placed n1", "a-8d65b existing n1"}},
    }),
    [](const auto& info) { return info.param.name; });

// In a dump the oldest pod is first, whatever it is called.
TEST(PlanOrder, IsByAgeThenByName) {
  const std::string yaml =
      ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1) + GpuPodYaml("b", 1);
  std::vector<api::Object> objects = testing::ObjectsFrom(yaml);
  for (api::Object& object : objects) {
    if (object.metadata().name != "b") continue;
    object.MutableMetadata().creation_timestamp = base::Time::FromUnix(1'000'000'000);
    object.MutableMetadata().uid = "uid-b";
  }
  EXPECT_THAT(Lines(PlanOf(objects)), ElementsAre("a refused", "b placed n1 gpu-0"));
  EXPECT_THAT(Lines(PlanOf(yaml)), ElementsAre("a placed n1 gpu-0", "b refused"));
}

// kubectl get resourceclaims,resourceslices -o yaml: for a controller its pods would be gone.
TEST(PlanDump, ClaimsOfPodsThatAreNotGivenKeepTheirDevices) {
  const std::string cluster = ClassYaml() + NodeYaml("n1", 1);
  Plan first = PlanOf(cluster + GpuPodYaml("a", 1));
  std::erase_if(first.objects, [](const api::Object& o) { return o.As<api::Pod>() != nullptr; });
  std::vector<api::Object> objects = first.objects;
  for (api::Object& pod : testing::ObjectsFrom(GpuPodYaml("b", 1))) objects.push_back(pod);
  const Plan plan = PlanOf(objects);
  ASSERT_THAT(Lines(plan), SizeIs(2));
  EXPECT_EQ(Lines(plan)[0], "b refused");
  EXPECT_THAT(Lines(plan)[1], EndsWith("existing n1 gpu-0"));
  EXPECT_THAT(plan.notes,
              ElementsAre("1 claim is for pods that are not in the input; treated as in use"));
  EXPECT_EQ(JsonOf(PlanOf(first.objects).objects), JsonOf(first.objects));
}

// No server has seen these files, and filled the policy in.
TEST(PlanDump, APolicyOfNeverMayBeThatOfTheClass) {
  const auto class_of = [](std::string_view more) {
    return fmt::format(
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: high}}\n"
        "value: 1000\n{}",
        more);
  };
  const std::string yaml = NodeYaml("n1", 0) + PodYaml("low", "  nodeName: n1\n", "8") +
                           PodYaml("high", "  priorityClassName: high\n", "8");
  EXPECT_THAT(Lines(PlanOf(class_of("") + yaml)),
              ElementsAre("high placed n1", "low preempted n1"));
  const Plan plan = PlanOf(class_of("preemptionPolicy: Never\n") + yaml);
  EXPECT_THAT(Lines(plan), ElementsAre("high refused", "low existing n1"));
}

// Nobody wants the claim that is left of a pod that had to leave.
TEST(PlanDump, WhatAPodThatIsSentAwayGivesBackIsNotAskedForAgain) {
  PlanOptions options = DefaultOptions();
  options.config.profiles.front().preemption.devices = true;
  std::vector<api::Object> objects = testing::ObjectsFrom(
      ClassYaml() + NodeYaml("n1", 1) + AllocatedYaml("c", "n1", "gpu-0", "low") +
      ClaimPodYaml("low", "c", OnNode("n1")) + GpuPodYaml("high", 1, "  priority: 10\n"));
  for (api::Object& object : objects) {
    if (object.metadata().name == "low") object.MutableMetadata().uid = "uid-low";
    if (object.metadata().name == "c") {
      object.MutableMetadata().finalizers = {std::string(api::kClaimFinalizer)};
    }
  }
  EXPECT_THAT(Lines(PlanOf(objects, options)),
              ElementsAre("high placed n1 gpu-0", "low preempted n1"));
}

template <typename T>
const T* Find(const Plan& plan, std::string_view name) {
  for (const api::Object& object : plan.objects) {
    if (object.As<T>() != nullptr && object.metadata().name == name) return object.As<T>();
  }
  return nullptr;
}

TEST(PlanObjects, AreTheClusterAsItWouldBe) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1));
  const auto* pod = Find<api::Pod>(plan, "a");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->spec.node_name, "n1");
  ASSERT_THAT(plan.pods, SizeIs(1));
  ASSERT_THAT(plan.pods[0].claims, SizeIs(1));
  EXPECT_EQ(plan.pods[0].claims[0].pod_claim, "gpus");
  const auto* claim = Find<api::ResourceClaim>(plan, plan.pods[0].claims[0].name);
  ASSERT_NE(claim, nullptr);
  ASSERT_TRUE(claim->status.allocation);
  ASSERT_THAT(claim->status.reserved_for, SizeIs(1));
  EXPECT_EQ(claim->status.reserved_for[0].uid, pod->metadata.uid);
}

TEST(PlanObjects, AClaimWithoutAPodHasNeitherPodNorReservation) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 1) + ClaimYaml("c", 1));
  const auto* claim = Find<api::ResourceClaim>(plan, "c");
  ASSERT_NE(claim, nullptr);
  EXPECT_TRUE(claim->status.allocation);
  EXPECT_THAT(claim->status.reserved_for, IsEmpty());
  EXPECT_TRUE(std::ranges::none_of(
      plan.objects, [](const api::Object& object) { return object.As<api::Pod>() != nullptr; }));
}

// GPU nodes are often tainted, and a claim cannot say that it does not mind.
TEST(PlanClaims, WithoutAPodTolerateTaintsButThoseThatKeepAllPodsAway) {
  const std::string claim = ClassYaml() + ClaimYaml("c", 1) + NodeYaml("n1", 1);
  const auto tainted = [&](std::string_view key) {
    std::vector<api::Object> objects = testing::ObjectsFrom(claim);
    for (api::Object& object : objects) {
      if (auto* node = object.Mutable<api::Node>()) {
        node->spec.taints.push_back({.key = std::string(key), .effect = "NoSchedule"});
      }
    }
    return Lines(PlanOf(objects));
  };
  EXPECT_THAT(tainted("example.com/gpu"), ElementsAre("claim/c placed n1 gpu-0"));
  EXPECT_THAT(tainted("node.kubernetes.io/not-ready"), ElementsAre("claim/c refused"));
}

TEST(PlanExplanation, IsOfTheEndNotOfTheAttempt) {
  // `a` is tried first and finds three devices; then `b`, which is smaller, takes one of them.
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 3) +
                           GpuPodYaml("a", 4, "  priority: 10\n  preemptionPolicy: Never\n") +
                           GpuPodYaml("b", 1));
  ASSERT_THAT(Lines(plan), ElementsAre("a refused", "b placed n1 gpu-0"));
  EXPECT_THAT(scheduler::EventMessage(*plan.pods[0].explanation),
              HasSubstr("needs 4 devices, 2 of 3 usable (1 that would go first to others)"));
}

TEST(PlanExplanation, NodesWithoutDevicesAreNotToldWithThoseWhoseDevicesDoNotMatch) {
  const Plan plan = PlanOf(ClassYaml() + NodeYaml("n1", 0) + NodeYaml("n2", 2) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        selectors: [{cel: {expression: device.name == "other"}}]
)");
  ASSERT_THAT(Lines(plan), ElementsAre("claim/c refused"));
  EXPECT_THAT(plan.claims[0].explanation->groups, SizeIs(2));
}

TEST(PlanExplanation, SaysWhatControllersCouldNotDo) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + GpuPodYaml("a", 1));
  ASSERT_THAT(Lines(plan), ElementsAre("a refused"));
  EXPECT_THAT(scheduler::ToText(*plan.pods[0].explanation), HasSubstr("gpus-1"));
}

TEST(PlanExplanation, NamesTheSchedulerThatNobodyIs) {
  const Plan plan = PlanOf(NodeYaml("n1", 0) + PodYaml("a", "  schedulerName: mine\n"));
  ASSERT_TRUE(plan.pods[0].explanation);
  EXPECT_THAT(scheduler::ToText(*plan.pods[0].explanation),
              HasSubstr("this pod uses scheduler \"mine\", which dray does not simulate"));
}

// Of a cluster in which there is such a scheduler: what is not known is a note.
TEST(PlanExplanation, SchedulersOfAClusterAreTakenForTheDefaultOne) {
  PlanOptions options = DefaultOptions();
  options.assume_schedulers = true;
  const Plan plan = PlanOf(
      NodeYaml("n1", 1) + PodYaml("a", "  schedulerName: mine\n") + PodYaml("b", ""), options);
  EXPECT_THAT(Lines(plan), ElementsAre("a placed n1", "b placed n1"));
  EXPECT_THAT(plan.notes,
              ElementsAre("the configuration of scheduler mine is unknown: its pods are planned "
                          "with the default profile; provide others with --config"));
}

// What would help is tried with the same schedulers.
TEST(PlanExplanation, WhatWouldHelpIsKnownOfSchedulersOfAClusterToo) {
  PlanOptions options = DefaultOptions();
  options.assume_schedulers = true;
  const Plan plan = PlanOf(NodeYaml("n1", 1) + PodYaml("a", R"(  schedulerName: mine
  nodeSelector: {disk: ssd}
)"),
                           options);
  ASSERT_THAT(Lines(plan), ElementsAre("a refused"));
  CureFinder cures(plan, options);
  EXPECT_FALSE(cures.For(plan.pods[0]).cures.empty());
}

// A plan cannot know what a driver will say; the pod has its node and its devices.
TEST(PlanWaiting, IsForDevicesThatMustBecomeReady) {
  std::vector<api::Object> objects =
      testing::ObjectsFrom(ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1));
  for (api::Object& object : objects) {
    if (auto* slice = object.Mutable<api::ResourceSlice>()) {
      slice->spec.devices->front().binding_conditions = {"attached"};
      slice->spec.devices->front().binding_failure_conditions = {"failed"};
    }
  }
  EXPECT_THAT(Lines(PlanOf(objects)), ElementsAre("a waiting n1 gpu-0"));
}

TEST(PlanNotes, APriorityThatIsNotGivenIsAssumed) {
  const std::string_view pod =
      "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: NAME, "
      "containers: [{name: c, image: i}]}\n";
  const auto notes = [&](std::string name, std::string_view more = "") {
    std::string text(pod);
    text.replace(text.find("NAME"), 4, name);
    return PlanOf(testing::ObjectsFrom(NodeYaml("n1", 0) + text + std::string(more))).notes;
  };
  EXPECT_THAT(notes("high"),
              ElementsAre("PriorityClass high is not in the input; assuming priority 0 for the "
                          "pods that name it"));
  EXPECT_THAT(notes("system-node-critical"), IsEmpty());
  EXPECT_THAT(notes("high",
                    "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
                    "metadata: {name: high}\nvalue: 7\n"),
              IsEmpty());
}

TEST(PlanNodes, AreAssumedWhenNoneIsGiven) {
  std::vector<api::Object> objects =
      testing::ObjectsFrom(ClassYaml() + NodeYaml("n1", 1) + GpuPodYaml("a", 1));
  std::erase_if(objects, [](const api::Object& o) { return o.As<api::Node>() != nullptr; });
  const Plan plan = PlanOf(objects);
  EXPECT_THAT(Lines(plan), ElementsAre("a placed n1 gpu-0"));
  EXPECT_THAT(
      plan.notes,
      ElementsAre("Node n1 is not in the input; assuming unlimited CPU and memory, 110 pods"));
  PlanOptions never = DefaultOptions();
  never.assume_nodes = AssumeNodes::kNever;
  EXPECT_THAT(Lines(PlanOf(objects, never)), ElementsAre("a refused"));
}

TEST(PlanNodes, AreNotAssumedBesideOthersUnlessAsked) {
  std::vector<api::Object> objects = testing::ObjectsFrom(ClassYaml() + NodeYaml("n1", 1) +
                                                          NodeYaml("n2", 0) + GpuPodYaml("a", 1));
  std::erase_if(objects, [](const api::Object& o) {
    return o.As<api::Node>() != nullptr && o.metadata().name == "n1";
  });
  const Plan plan = PlanOf(objects);
  EXPECT_THAT(Lines(plan), ElementsAre("a refused"));
  EXPECT_THAT(plan.notes,
              ElementsAre(HasSubstr(
                  "Node n1 is not in the input, while other nodes are; treated as gone")));
  PlanOptions always = DefaultOptions();
  always.assume_nodes = AssumeNodes::kAlways;
  EXPECT_THAT(Lines(PlanOf(objects, always)), ElementsAre("a placed n1 gpu-0"));
}

TEST(PlanNodes, MayLeaveRoomToTheKubelet) {
  const std::string node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\n";
  const Plan silent = PlanOf(node + PodYaml("a"));
  EXPECT_THAT(Lines(silent), ElementsAre("a placed n1"));
  EXPECT_THAT(silent.notes, ElementsAre(HasSubstr("Node n1 says no capacity; assuming unlimited")));
  const std::string with_capacity =
      node + "status: {capacity: {cpu: \"2\", memory: 1Gi, pods: 10}}\n";
  EXPECT_THAT(Lines(PlanOf(with_capacity + PodYaml("a", "", "2"))), ElementsAre("a placed n1"));
  EXPECT_THAT(Lines(PlanOf(with_capacity + PodYaml("a", "", "3"))), ElementsAre("a refused"));
}

TEST(PlanNodes, WithoutAnyItIsSaid) {
  const Plan plan = PlanOf(PodYaml("a"));
  EXPECT_THAT(Lines(plan), ElementsAre("a refused"));
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("there are no nodes")));
}

// A server drops what is written while its gate is off, and keeps what is stored.
TEST(PlanGates, AreAppliedAsByAServer) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 1) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        capacity: {requests: {memory: 1Gi}}
)";
  const auto asks = [](const Plan& plan) {
    const auto* claim = Find<api::ResourceClaim>(plan, "c");
    return claim->spec.devices.requests[0].exactly->capacity.has_value();
  };
  EXPECT_TRUE(asks(PlanOf(yaml)));
  PlanOptions off = DefaultOptions();
  off.gates = *api::FeatureGates::Parse("DRAConsumableCapacity=false", api::FeatureGates());
  EXPECT_FALSE(asks(PlanOf(yaml, off)));
}

// A manifest of 20 kB that wants 12,800 shares of one device.
TEST(PlanInput, APodWithFourHundredClaimsIsDecided) {
  std::string text = NodeYaml("n1", 0) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: shared}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, allowMultipleAllocations: true}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: greedy, namespace: default}
spec:
  spec:
    devices:
      requests:
)";
  for (int i = 0; i < 32; ++i) {
    text += fmt::format(
        "      - name: r{}\n        exactly: {{deviceClassName: gpu, allocationMode: ExactCount, "
        "count: 1}}\n",
        i);
  }
  std::string claims = "  resourceClaims:\n";
  for (int i = 0; i < 400; ++i) {
    claims += fmt::format("  - {{name: c{}, resourceClaimTemplateName: greedy}}\n", i);
  }
  const Plan plan = PlanOf(ClassYaml() + text + PodYaml("a", claims));
  ASSERT_THAT(plan.pods, SizeIs(1));
  EXPECT_EQ(plan.pods[0].state, State::kPlaced);
  EXPECT_THAT(plan.pods[0].claims, SizeIs(400));
}

TEST(PlanInput, AnObjectThatIsGivenTwiceIsAnError) {
  const auto plan =
      MakePlan(testing::ObjectsFrom(NodeYaml("n1", 0) + NodeYaml("n1", 0)), DefaultOptions());
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(base::Message(plan.status())), HasSubstr("Node n1"));
}

TEST(PlanPolicy, BestFitLeavesMoreForOthers) {
  // The first device of the node is the larger one.
  const std::string yaml = ClassYaml() + testing::SliceYaml(R"(
  devices:
  - {name: large, allowMultipleAllocations: true, capacity: {memory: {value: 80Gi}}}
  - {name: small, allowMultipleAllocations: true, capacity: {memory: {value: 20Gi}}}
)") + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, capacity: {requests: {memory: 20Gi}}}
)";
  EXPECT_THAT(Lines(PlanOf(yaml)), ElementsAre("claim/c placed n1 large"));
  PlanOptions best = DefaultOptions();
  best.policy = allocator::Policy::kBestFit;
  EXPECT_THAT(Lines(PlanOf(yaml, best)), ElementsAre("claim/c placed n1 small"));
}

}  // namespace
}  // namespace dray::planner

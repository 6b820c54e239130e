// SPDX-License-Identifier: Apache-2.0
//
// Lists of moves: what they are for, who is moved, and who is not.
#include "planner/defrag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/defrag_for_test.h"
#include "testing/status_matchers.h"

namespace dray::planner {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two nodes of two devices with a pod on each, and one that wants two together.
std::string TwoHalves(const Running& a = {.name = "a", .node = "n1", .gpus = {0}},
                      const Running& b = {.name = "b", .node = "n2", .gpus = {1}}) {
  return ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) + RunningYaml(a) + RunningYaml(b) +
         GpuPodYaml("big", 2);
}

Defrag Found(const std::string& yaml, const DefragGoal& goal = {},
             const DefragOptions& options = {}) {
  auto found = DefragOf(yaml, goal, options);
  EXPECT_TRUE(found.ok()) << base::Message(found.status());
  return found.ok() ? *std::move(found) : Defrag();
}

std::string RuleOf(const Defrag& found, std::string_view pod) {
  for (const KeptPod& kept : found.kept) {
    if (kept.pod.name == pod) return std::string(CodeOf(kept.rule));
  }
  return "";
}

TEST(Defrag, OneMoveMakesRoomForAPodThatWaits) {
  const Defrag found = Found(TwoHalves());
  EXPECT_TRUE(found.reached);
  EXPECT_TRUE(found.shortest);
  EXPECT_TRUE(found.cheapest);
  EXPECT_THAT(Lines(found), ElementsAre("a n1>n2", "big >n1"));
  ASSERT_EQ(found.moves.size(), 1U);
  EXPECT_EQ(found.moves[0].before[0].devices[0].device, "gpu-0");
  EXPECT_EQ(found.moves[0].after[0].devices[0].device, "gpu-0");
  EXPECT_EQ(found.moves[0].after[0].devices[0].pool, "n2");
  EXPECT_EQ(found.arrivals[0].claims[0].devices.size(), 2U);
}

TEST(Defrag, WhereEverybodyHasAPlaceNobodyMoves) {
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 2) +
            RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) + GpuPodYaml("small", 1));
  EXPECT_TRUE(found.reached);
  EXPECT_THAT(found.moves, IsEmpty());
  DefragGoal goal{.pods = {PodName{"default", "small"}}};
  EXPECT_THAT(Lines(Found(ClassYaml() + NodeYaml("n1", 2) + GpuPodYaml("small", 1), goal)),
              ElementsAre("small >n1"));
}

TEST(Defrag, OfEquallyManyTheLeastImportantMove) {
  const Defrag found = Found(ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) +
                             RunningYaml({.name = "a", .node = "n1", .gpus = {0}, .priority = 5}) +
                             RunningYaml({.name = "b", .node = "n2", .gpus = {0}, .priority = 3}) +
                             GpuPodYaml("big", 2, "  priority: 10\n"));
  EXPECT_THAT(Lines(found), ElementsAre("b n2>n1", "big >n2"));
}

// Nobody has filled in the number of a pod in a file.
TEST(Defrag, APriorityMayBeThatOfAClass) {
  const std::string classes = R"(---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: important}
value: 100
)";
  const auto yaml = [&](std::string_view class_of_big) {
    return classes + ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 1) +
           RunningYaml({.name = "a", .node = "n1", .gpus = {0}, .priority = 100}) +
           GpuPodYaml("big", 2, class_of_big);
  };
  EXPECT_TRUE(Found(yaml("  priorityClassName: important\n")).reached);
  const Defrag found = Found(yaml(""));
  EXPECT_FALSE(found.reached);
  EXPECT_EQ(RuleOf(found, "a"), "priority");
}

TEST(Defrag, WhoMovesMaySendOthersAway) {
  // Only n1 has cpu for big; a fits only on n2, which b has to leave for n3.
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) + NodeYaml("n3", 1) +
            RunningYaml({.name = "a", .node = "n1", .gpus = {0, 1}}) +
            RunningYaml({.name = "b", .node = "n2", .gpus = {0}}) +
            GpuPodYaml("big", 1, "  nodeSelector: {kubernetes.io/hostname: n1}\n"));
  EXPECT_THAT(Lines(found), ElementsAre("b n2>n3", "a n1>n2", "big >n1"));
  EXPECT_TRUE(found.shortest);
}

TEST(Defrag, RulesThatKeepAPodAreNamed) {
  const auto rule = [&](Running a, const DefragOptions& options = {},
                        const std::string& more = "") {
    a.name = "a";
    a.node = "n1";
    if (a.gpus.empty()) a.gpus = {0};
    Running b{.name = "b", .node = "n2", .gpus = {0}, .controlled = false};
    const Defrag found = Found(TwoHalves(a, b) + more, {}, options);
    EXPECT_EQ(found.reached, RuleOf(found, "a").empty() || options.bare_pods);
    return RuleOf(found, "a");
  };
  EXPECT_EQ(rule({}), "");
  EXPECT_EQ(rule({.controlled = false}), "no_controller");
  EXPECT_EQ(rule({.controlled = false}, {.bare_pods = true}), "");
  EXPECT_EQ(rule({.metadata = "  annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "
                              "\"false\"}\n"}),
            "not_safe_to_evict");
  const std::string scratch = "  volumes: [{name: scratch, emptyDir: {}}]\n";
  EXPECT_EQ(rule({.spec = scratch}), "local_storage");
  EXPECT_EQ(rule({.spec = scratch}, {.empty_dirs = true}), "");
  EXPECT_EQ(rule({.metadata = "  annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "
                              "\"true\"}\n",
                  .spec = scratch}),
            "");
  EXPECT_EQ(rule({.spec = "  volumes: [{name: scratch, emptyDir: {medium: Memory}}]\n"}), "");
  EXPECT_EQ(
      rule({.spec = "  volumes: [{name: host, hostPath: {path: /srv}}]\n"}, {.empty_dirs = true}),
      "local_storage");
  EXPECT_EQ(rule({.priority = 7}), "priority");
  EXPECT_EQ(rule({.priority = 7}, {.max_priority = 7}), "");
  EXPECT_EQ(rule({.metadata = "  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n"}), "terminating");
  EXPECT_EQ(
      rule({.controlled = false, .metadata = "  annotations: {kubernetes.io/config.mirror: x}\n"}),
      "static_pod");
  EXPECT_EQ(rule({.controlled = false,
                  .metadata = "  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, "
                              "uid: d, controller: true}]\n"}),
            "daemon_set");
  const auto budget = [](int allowed) {
    return fmt::format(R"(---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: all-of-a, namespace: default}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: a}}}}}}
status: {{disruptionsAllowed: {}, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}}
)",
                       allowed);
  };
  EXPECT_EQ(rule({}, {}, budget(0)), "budget");
  EXPECT_EQ(rule({}, {}, budget(1)), "");
}

TEST(Defrag, APodWithAClaimThatIsNotItsOwnStays) {
  std::string shared = RunningYaml({.name = "a", .node = "n1", .gpus = {0}});
  shared.replace(shared.find("resourceClaimTemplateName: gpus-1"), 33, "resourceClaimName: a-gpus");
  const auto owners = shared.find("  ownerReferences", shared.find("kind: ResourceClaim\n"));
  shared.erase(owners, shared.find('\n', owners) - owners + 1);
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 1) + shared + GpuPodYaml("big", 2));
  EXPECT_FALSE(found.reached);
  EXPECT_EQ(RuleOf(found, "a"), "shared_claim");
}

TEST(Defrag, APodThatFitsNowhereIsSaidToFitNowhere) {
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) +
            RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) + GpuPodYaml("big", 3));
  EXPECT_FALSE(found.reached);
  EXPECT_FALSE(found.gave_up);
  EXPECT_THAT(found.reasons,
              ElementsAre("pod big fits on no node, even without all pods that may be moved"));
}

TEST(Defrag, ThereMayBeRoomForThePodAndNoneForThoseThatWouldLeave) {
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 2) +
            RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) + GpuPodYaml("big", 2));
  EXPECT_FALSE(found.reached);
  EXPECT_FALSE(found.gave_up);
  EXPECT_THAT(found.reasons, IsEmpty());
}

TEST(Defrag, WithoutAttemptsItGivesUp) {
  const Defrag found = Found(TwoHalves(), {}, {.budget = 3});
  EXPECT_FALSE(found.reached);
  EXPECT_TRUE(found.gave_up);
}

TEST(Defrag, ANodeIsFreedOfAllButDaemons) {
  const std::string yaml =
      ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) +
      RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) +
      RunningYaml({.name = "b", .node = "n1", .cpu = "2"}) +
      RunningYaml({.name = "d",
                   .node = "n1",
                   .controlled = false,
                   .metadata = "  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: "
                               "d, uid: d, controller: true}]\n"}) +
      RunningYaml({.name = "c", .node = "n2", .gpus = {0}});
  EXPECT_THAT(Lines(Found(yaml, {.nodes = {"n1"}})),
              ::testing::UnorderedElementsAre("a n1>n2", "b n1>n2", "n1 free"));
  // The other one is emptied with one move.
  EXPECT_THAT(Lines(Found(yaml, {.node_count = 1})), ElementsAre("c n2>n1", "n2 free"));
  const Defrag both = Found(yaml, {.node_count = 2});
  EXPECT_FALSE(both.reached);
  EXPECT_THAT(DefragOf(yaml, {.nodes = {"n9"}}),
              testing::StatusIs(StatusCode::kNotFound, HasSubstr("node n9 not found")));
}

TEST(Defrag, ANodeWithAPodThatStaysIsNotFreed) {
  const std::string yaml = NodeYaml("n1", 0) + NodeYaml("n2", 0) +
                           RunningYaml({.name = "a", .node = "n1", .controlled = false});
  const Defrag found = Found(yaml, {.nodes = {"n1"}});
  EXPECT_FALSE(found.reached);
  EXPECT_THAT(found.reasons,
              ElementsAre(AllOf(HasSubstr("node n1 cannot be freed: pod a cannot be moved"),
                                HasSubstr("no controller"))));
}

TEST(Defrag, AnEmptyNodeCountsAndStaysEmpty) {
  const std::string yaml = NodeYaml("n1", 0) + NodeYaml("n2", 0) + NodeYaml("n3", 0) +
                           RunningYaml({.name = "a", .node = "n1"}) +
                           RunningYaml({.name = "b", .node = "n3", .cpu = "3"});
  EXPECT_THAT(Lines(Found(yaml, {.node_count = 1})), ElementsAre("n2 free"));
  EXPECT_THAT(Lines(Found(yaml, {.node_count = 2})), ElementsAre("a n1>n3", "n1 free", "n2 free"));
}

TEST(Defrag, NodesCanBeSelectedByLabels) {
  const std::string yaml =
      NodeYaml("n1", 0) + NodeYaml("n2", 0) + RunningYaml({.name = "a", .node = "n1"});
  DefragGoal goal{.node_count = 1,
                  .node_selector = *api::LabelMatcher::Parse("kubernetes.io/hostname=n1")};
  EXPECT_THAT(Lines(Found(yaml, goal)), ElementsAre("a n1>n2", "n1 free"));
}

TEST(Defrag, DevicesAreFreedTogetherOnOneNode) {
  const std::string yaml = ClassYaml() + NodeYaml("n1", 2) + NodeYaml("n2", 2) +
                           RunningYaml({.name = "a", .node = "n1", .gpus = {0}, .priority = 9}) +
                           RunningYaml({.name = "b", .node = "n2", .gpus = {1}, .priority = 8});
  EXPECT_THAT(Lines(Found(yaml, {.devices = {{"gpu", 2}}})), ElementsAre("b n2>n1", "gpu=2 >n2"));
  EXPECT_THAT(DefragOf(yaml, {.devices = {{"none", 2}}}),
              testing::StatusIs(StatusCode::kNotFound, HasSubstr("no DeviceClass none")));
  EXPECT_FALSE(Found(yaml, {.devices = {{"gpu", 3}}}).reached);
}

TEST(Defrag, ASharedDeviceIsFreeWhenNobodyHasAPartOfIt) {
  std::string yaml = ClassYaml() + NodeYaml("n1", 1) + NodeYaml("n2", 1) +
                     RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) +
                     RunningYaml({.name = "b", .node = "n2", .gpus = {0}});
  const auto all = [&](std::string_view what, std::string_view with) {
    for (auto at = yaml.find(what); at != std::string::npos;
         at = yaml.find(what, at + with.size())) {
      yaml.replace(at, what.size(), with);
    }
  };
  all("- name: gpu-0",
      "- {name: gpu-0, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}}}");
  all("exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}",
      "exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1, capacity: {requests: "
      "{memory: 4Gi}}}");
  all("device: gpu-0}",
      "device: gpu-0, shareID: 5f3e2c1a-0000-4000-8000-000000000001, consumedCapacity: {memory: "
      "4Gi}}");
  const Defrag found = Found(yaml, {.devices = {{"gpu", 1}}});
  EXPECT_TRUE(found.reached);
  EXPECT_EQ(found.moves.size(), 1U);
}

TEST(Defrag, PodsThatAreNotMeantAreNotMadeRoomFor) {
  const std::string yaml = TwoHalves() + GpuPodYaml("bigger", 4);
  EXPECT_FALSE(Found(yaml).reached);
  const Defrag found = Found(yaml, {.pods = {PodName{"default", "big"}}});
  EXPECT_TRUE(found.reached);
  EXPECT_THAT(found.others, ElementsAre(PodName{"default", "bigger"}));
  EXPECT_THAT(DefragOf(yaml, {.pods = {PodName{"default", "none"}}}),
              testing::StatusIs(StatusCode::kNotFound, HasSubstr("there is no pod none")));
  EXPECT_THAT(
      DefragOf(yaml, {.pods = {PodName{"default", "a"}}}),
      testing::StatusIs(StatusCode::kInvalidArgument, HasSubstr("pod a is already on node n1")));
}

TEST(Defrag, OnlyThosePodsMoveThatWereNamed) {
  DefragOptions options;
  options.only = std::vector<PodName>{PodName{"default", "b"}};
  EXPECT_THAT(Lines(Found(TwoHalves(), {}, options)), ElementsAre("b n2>n1", "big >n2"));
}

// One of them alone would get no place, whoever moves.
TEST(Defrag, RoomIsMadeForAllOfAGang) {
  PlanOptions options = DefaultOptions();
  options.gates.Set(api::Gate::kGenericWorkload, true);
  const auto member = [](std::string_view name) {
    return PodYaml(name, "  schedulingGroup: {podGroupName: g}\n", "6");
  };
  const std::string yaml = NodeYaml("n1", 0) + NodeYaml("n2", 0) + NodeYaml("n3", 0) +
                           RunningYaml({.name = "a", .node = "n1", .gpus = {}, .cpu = "4"}) +
                           RunningYaml({.name = "b", .node = "n2", .gpus = {}, .cpu = "4"}) +
                           RunningYaml({.name = "c", .node = "n3", .gpus = {}, .cpu = "2"}) +
                           "---\napiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
                           "metadata: {name: g, namespace: default}\n"
                           "spec: {schedulingPolicy: {gang: {minCount: 2}}}\n" +
                           member("g-0") + member("g-1");
  for (const DefragGoal& goal : {DefragGoal{}, DefragGoal{.pods = {{"default", "g-1"}}}}) {
    const auto found = DefragOf(yaml, goal, {}, options);
    ASSERT_TRUE(found.ok()) << base::Message(found.status());
    EXPECT_TRUE(found->reached) << fmt::format("{}", fmt::join(found->reasons, "; "));
    EXPECT_EQ(found->moves.size(), 1u);
    EXPECT_TRUE(found->shortest);
    EXPECT_EQ(found->arrivals.size(), 2u);
  }
}

TEST(Defrag, NobodyIsPreempted) {
  const Defrag found =
      Found(ClassYaml() + NodeYaml("n1", 0) +
            RunningYaml({.name = "a", .node = "n1", .cpu = "6", .controlled = false}) +
            PodYaml("big", "  priority: 100\n", "4"));
  EXPECT_FALSE(found.reached);
}

TEST(Defrag, ClaimsThatNoPodUsesHaveNothingYet) {
  const Defrag found = Found(ClassYaml() + NodeYaml("n1", 2) + ClaimYaml("later", 2) +
                             RunningYaml({.name = "a", .node = "n1", .gpus = {0}}) +
                             NodeYaml("n2", 1) + GpuPodYaml("big", 2));
  EXPECT_THAT(Lines(found), ElementsAre("a n1>n2", "big >n1"));
}

// Where nodes share devices, who leaves another node may help too: nothing is called the shortest.
TEST(Defrag, WithPoolsThatNodesShareNothingIsCalledTheShortest) {
  const Defrag found = Found(TwoHalves() + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: everywhere}
spec:
  driver: other.example.com
  allNodes: true
  pool: {name: everywhere, generation: 1, resourceSliceCount: 1}
  devices: [{name: d}]
)");
  EXPECT_TRUE(found.reached);
  EXPECT_FALSE(found.shortest);
}

}  // namespace
}  // namespace dray::planner

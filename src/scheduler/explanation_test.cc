// SPDX-License-Identifier: Apache-2.0
#include "scheduler/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "allocator/explanation.h"
#include "scheduler/explain_groups.h"
#include "scheduler/explanation_text.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Reason Cpu(std::string needed, std::string free) {
  return {.plugin = "NodeResourcesFit",
          .code = "insufficient_resource",
          .text = "Insufficient cpu",
          .shortages = {{"cpu", std::move(needed), std::move(free)}}};
}
Reason Taint() {
  return {.plugin = "TaintToleration",
          .code = "node_taint",
          .text = "node(s) had untolerated taint {key: value}",
          .shortages = {{"toleration for key=value:NoSchedule", "", ""}}};
}
Reason Devices(std::string summary) {
  auto explanation = std::make_shared<allocator::Explanation>();
  explanation->summary = std::move(summary);
  return {.plugin = "DynamicResources",
          .code = "cannot_allocate_claims",
          .text = "cannot allocate all claims",
          .devices = std::move(explanation)};
}

class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() {
    for (int i = 0; i < 9; ++i) world_.Apply(Added(MakeNode("n" + std::to_string(i))));
  }
  std::vector<const NodeInfo*> Nodes(std::size_t first, std::size_t n) {
    return {world_.nodes().begin() + static_cast<std::ptrdiff_t>(first),
            world_.nodes().begin() + static_cast<std::ptrdiff_t>(first + n)};
  }
  World world_{WorldOptions{}};
  GroupBuilder builder_;
};

TEST_F(GroupsTest, NodesThatSayTheSameAreOneGroupWhateverTheirAmounts) {
  builder_.Add({Cpu("2", "1")}, Nodes(0, 2));
  builder_.Add({Cpu("2", "1500m")}, Nodes(2, 3));
  builder_.Add({Taint()}, Nodes(5, 1));
  const std::vector<NodeGroup> groups = builder_.Take();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].nodes, 5u);
  EXPECT_THAT(groups[0].examples, ElementsAre("n0", "n1", "n2"));
  // The amounts of those that come closest.
  EXPECT_EQ(groups[0].reasons.front().shortages.front().free, "1500m");
  EXPECT_EQ(groups[1].reasons.front().code, "node_taint");
}

TEST_F(GroupsTest, DevicesMakeGroupsByWhatIsMissing) {
  builder_.Add({Devices("2 of 3 GPUs")}, Nodes(0, 4));
  builder_.Add({Devices("no device of class gpu")}, Nodes(4, 5));
  EXPECT_EQ(builder_.Take().size(), 2u);
}

TEST(ClosestMiss, FewerAndSmallerShortagesAreCloser) {
  EXPECT_LT(DistanceOf({Cpu("2", "1500m")}), DistanceOf({Cpu("2", "1")}));
  EXPECT_LT(DistanceOf({Cpu("2", "0")}), DistanceOf({Cpu("2", "1900m"), Taint()}));
}

// One of its two devices is in use; the other node has none of the class at all.
TEST(ClosestMiss, ANodeThatCouldServeOnceIsCloserThanOneThatNeverWill) {
  const auto reason = [](allocator::Reason why, std::int64_t of_class) {
    auto explanation = std::make_shared<allocator::Explanation>();
    explanation->conflict = {{.claim = 0}};
    explanation->claims = {
        {.requests = {{.in_conflict = true,
                       .alternatives = {{.needed = 1,
                                         .considered = 2,
                                         .of_class = of_class,
                                         .drops = {{.reason = why, .devices = 2}}}}}}}};
    Reason made = Devices("");
    made.shortages = {{"devices of class gpu", "1", "0"}};
    made.devices = std::move(explanation);
    return made;
  };
  const Reason full = reason(allocator::Reason::kInUse, 2);
  const Reason other = reason(allocator::Reason::kSelectorFalse, 0);
  EXPECT_LT(DistanceOf({full}), DistanceOf({other}));
  EXPECT_LT(DistanceOf({full, Cpu("2", "1")}), DistanceOf({other}));
}

TEST(ClosestMiss, SaysWhatIsLacking) {
  EXPECT_EQ(LacksOf({Cpu("2", "1500m")}), "short of 500m cpu");
  EXPECT_EQ(LacksOf({Cpu("2", "1"), Taint()}),
            "short of 1 cpu, without a toleration for key=value:NoSchedule");
  EXPECT_EQ(LacksOf({{.code = "node_unschedulable", .text = "node(s) were unschedulable"}}),
            "marked unschedulable");
  EXPECT_EQ(LacksOf({{.code = "something", .text = "odd"}}), "odd");
  EXPECT_EQ(LacksOf({{.code = "cannot_allocate_claims", .text = "cannot allocate all claims"}}),
            "without devices that fit together");
}

TEST(EventMessage, IsKubernetesSentenceWithSortedParts) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 500};
  explanation.groups.push_back({.nodes = 412, .reasons = {Cpu("2", "1")}});
  explanation.groups.push_back({.nodes = 88, .reasons = {Taint()}});
  EXPECT_EQ(EventMessage(explanation),
            "0/500 nodes are available: 412 Insufficient cpu, 88 node(s) had untolerated taint "
            "{key: value}.");
  explanation.after.push_back({.text = "preemption: 0/500 nodes are available: none."});
  EXPECT_THAT(EventMessage(explanation),
              EndsWith("}. preemption: 0/500 nodes are available: none."));
}

TEST(EventMessage, CountsEachReasonOfANode) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 3};
  Reason memory = Cpu("2", "1");
  memory.text = "Insufficient memory";
  explanation.groups.push_back({.nodes = 2, .reasons = {Cpu("2", "1"), memory}});
  explanation.groups.push_back({.nodes = 1, .reasons = {Cpu("2", "1")}});
  EXPECT_EQ(EventMessage(explanation),
            "0/3 nodes are available: 2 Insufficient memory, 3 Insufficient cpu.");
}

TEST(EventMessage, SaysMoreWhereDevicesAreInTheWay) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 2};
  explanation.groups.push_back({.nodes = 2, .reasons = {Devices("request r needs 3, 2 usable")}});
  explanation.closest = {.node = "n1", .lacks = "short of 1 device"};
  EXPECT_EQ(EventMessage(explanation),
            "0/2 nodes are available: 2 cannot allocate all claims: request r needs 3, 2 usable. "
            "Nearest fit: node n1, short of 1 device.");
}

TEST(EventMessage, KeepsKubernetesPhrasesWhenThereIsNoRoomForMore) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 2};
  explanation.groups.push_back({.nodes = 2, .reasons = {Devices(std::string(2000, 'x'))}});
  EXPECT_EQ(EventMessage(explanation), "0/2 nodes are available: 2 cannot allocate all claims.");
  explanation.groups.front().reasons.front().text = std::string(2000, 'y');
  EXPECT_EQ(EventMessage(explanation).size(), kMaxEventMessage);
  EXPECT_THAT(EventMessage(explanation), EndsWith("yyy..."));
}

TEST(EventMessage, OfAClusterWithoutNodes) {
  EXPECT_EQ(EventMessage({.pod = "ns/p"}), "no nodes available to schedule pods");
}

TEST(Explanation, IsATreeForPeople) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 10};
  explanation.groups.push_back(
      {.nodes = 9, .examples = {"a", "b", "c"}, .reasons = {Cpu("2", "1")}});
  explanation.groups.push_back({.nodes = 1, .examples = {"d"}, .reasons = {Devices("2 of 3")}});
  explanation.closest = {.node = "a", .lacks = "short of 1 cpu"};
  EXPECT_EQ(ToText(explanation),
            "Pod ns/p is pending: none of the 10 nodes can run it\n"
            "├─ nearest fit: node a, short of 1 cpu\n"
            "├─ 9 nodes: a, b, c, ...\n"
            "│  └─ Insufficient cpu (NodeResourcesFit)\n"
            "│     └─ cpu: 2 needed, 1 free\n"
            "└─ 1 node: d\n"
            "   └─ cannot allocate all claims (DynamicResources)\n"
            "      └─ 2 of 3\n");
}

// A request for `needed` devices of a node that has so many, of which so many are usable.
Reason ShortOf(std::string node, std::int64_t needed, std::int64_t there, std::int64_t usable) {
  auto devices = std::make_shared<allocator::Explanation>();
  devices->node = std::move(node);
  devices->summary = "some summary";
  devices->conflict = {{.claim = 0, .constraint = false, .index = 0}};
  devices->claims.push_back({.name = "ns/c",
                             .requests = {{.name = "gpu",
                                           .in_conflict = true,
                                           .alternatives = {{.name = "gpu",
                                                             .device_class = "gpu",
                                                             .needed = needed,
                                                             .considered = there,
                                                             .of_class = there,
                                                             .usable = usable}}}}});
  return {.plugin = "DynamicResources",
          .code = "cannot_allocate_claims",
          .text = "cannot allocate all claims",
          .shortages = {{"devices of class gpu", std::to_string(needed), std::to_string(usable)}},
          .devices = std::move(devices)};
}

TEST(Explanation, TheNearestNodesComeFirstAndThoseWithoutTheClassAreOneLine) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 7};
  explanation.groups.push_back(
      {.nodes = 3, .examples = {"x", "y", "z"}, .reasons = {ShortOf("x", 4, 0, 0)}});
  explanation.groups.push_back({.nodes = 2, .examples = {"m"}, .reasons = {ShortOf("m", 4, 4, 1)}});
  explanation.groups.push_back({.nodes = 1, .examples = {"n"}, .reasons = {ShortOf("n", 4, 4, 3)}});
  explanation.groups.push_back({.nodes = 1, .examples = {"o"}, .reasons = {ShortOf("o", 4, 0, 0)}});
  explanation.closest = {.node = "n", .lacks = "short of 1 device of class gpu"};
  EXPECT_EQ(ToText(explanation, {.heading = "head", .devices = true}),
            "head\n"
            "├─ nearest fit: node n, short of 1 device of class gpu\n"
            "├─ 1 node: n\n"
            "│  └─ cannot allocate all claims (DynamicResources)\n"
            "│     └─ claim ns/c, on n\n"
            "│        └─ request gpu (class gpu): needs 4, 3 of 4 devices usable\n"
            "├─ 2 nodes: m, ...\n"
            "│  └─ cannot allocate all claims (DynamicResources)\n"
            "│     └─ claim ns/c, on m\n"
            "│        └─ request gpu (class gpu): needs 4, 1 of 4 devices usable\n"
            "└─ 4 nodes without devices of class gpu: x, y, z, ...\n");
}

TEST(Explanation, IsJsonForPrograms) {
  PodExplanation explanation{.pod = "ns/p", .nodes = 1};
  explanation.groups.push_back({.nodes = 1, .examples = {"a"}, .reasons = {Cpu("2", "1")}});
  explanation.closest = {.node = "a", .lacks = "short of 1 cpu"};
  EXPECT_EQ(ToJson(explanation),
            R"({"pod":"ns/p","message":"0/1 nodes are available: 1 Insufficient cpu. )"
            R"(Nearest fit: node a, short of 1 cpu.","nodes":1,"groups":[{"nodes":1,)"
            R"("examples":["a"],"reasons":[{"plugin":"NodeResourcesFit",)"
            R"("code":"insufficient_resource","text":"Insufficient cpu",)"
            R"("shortages":[{"what":"cpu","needed":"2","free":"1"}]}]}],)"
            R"("closest":{"node":"a","lacks":"short of 1 cpu"}})");
}

TEST(ExplanationText, TheAllocatorsTreeHangsBelowItsReason) {
  Reason reason = Devices("request gpu needs 2 devices, 1 of 2 usable (1 in use)");
  auto devices = std::make_shared<allocator::Explanation>(*reason.devices);
  devices->node = "n1";
  devices->claims.push_back({.name = "ns/c",
                             .requests = {{.name = "gpu",
                                           .in_conflict = true,
                                           .alternatives = {{.name = "gpu",
                                                             .device_class = "gpu",
                                                             .needed = 2,
                                                             .considered = 2,
                                                             .of_class = 2,
                                                             .usable = 1}}}}});
  reason.devices = std::move(devices);
  const PodExplanation explanation{
      .pod = "ns/p",
      .nodes = 1,
      .groups = {{.nodes = 1, .examples = {"n1"}, .reasons = {std::move(reason)}}}};
  EXPECT_EQ(ToText(explanation, {.heading = "claim ns/c", .devices = true}),
            "claim ns/c\n"
            "└─ 1 node: n1\n"
            "   └─ cannot allocate all claims (DynamicResources)\n"
            "      ├─ request gpu needs 2 devices, 1 of 2 usable (1 in use)\n"
            "      └─ claim ns/c, on n1\n"
            "         └─ request gpu (class gpu): needs 2, 1 of 2 devices usable\n");
}

TEST(ExplanationText, OneDeviceIsNotSeveral) {
  Reason reason = Devices("");
  reason.shortages = {{"devices of class gpu", "3", "2"}};
  EXPECT_EQ(LacksOf({reason}), "short of 1 device of class gpu");
  reason.shortages = {{"devices of class gpu", "3", "1"}};
  EXPECT_EQ(LacksOf({reason}), "short of 2 devices of class gpu");
}

}  // namespace
}  // namespace dray::scheduler

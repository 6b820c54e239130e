// SPDX-License-Identifier: Apache-2.0
//
// Groups that must be in one rack or zone (KEP-5732). Rows are those of the acceptance table for workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "scheduler/group_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class RackTest : public GroupDevicesTest {
 protected:
  void AddRack(const std::string& rack, const std::vector<std::string>& cpus) {
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      api::Node node = MakeNode(fmt::format("{}-{}", rack, i), cpus[i]);
      if (rack != "none") node.metadata.labels["rack"] = rack;
      Create(std::move(node));
    }
  }
  void AddRackGroup(std::int32_t least, const std::string& name = "g") {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    if (least > 0) {
      group.spec.scheduling_policy.gang.emplace().min_count = least;
    } else {
      group.spec.scheduling_policy.basic.emplace();
    }
    group.spec.scheduling_constraints.emplace().topology.push_back({.key = "rack"});
    Create(std::move(group));
  }
  std::vector<std::string> Nodes() {
    std::vector<std::string> nodes;
    for (const std::string& pod : Bound()) nodes.push_back(NodeOf(pod));
    return nodes;
  }
};

TEST_F(RackTest, Row35WhereNoRackHoldsEnoughNobodyIsBound) {
  AddRack("a", {"1", "1"});
  AddRack("b", {"2"});
  AddRackGroup(3);
  for (const char* name : {"x", "y", "z"}) AddPod(name);
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("0/2 placements are available, first placement status: "
                                     "minCount (3) cannot be satisfied: 2 scheduled"));
  EXPECT_THAT(Condition(), AllOf(HasSubstr("rack=a: no assignment of pods to nodes places them: "
                                           "at most 2 could run"),
                                 HasSubstr("rack=b: no assignment")));
  EXPECT_THAT(Said("x"), HasSubstr("pod group is unschedulable, 0/2 placements are available"));
  // One more node in a rack, and they fit there.
  api::Node node = MakeNode("b-1", "1");
  node.metadata.labels["rack"] = "b";
  Create(std::move(node));
  Run();
  EXPECT_THAT(Nodes(), AllOf(SizeIs(3), Each(StartsWith("b-"))));
}

TEST_F(RackTest, Row36TheOneThatIsFullestWithThemIsTaken) {
  AddRack("a", {"4"});
  AddRack("b", {"4"});
  AddRack("c", {"2"});
  AddRackGroup(2);
  for (const char* name : {"x", "y"}) AddPod(name);
  Run();
  EXPECT_THAT(Nodes(), AllOf(SizeIs(2), Each(StartsWith("c-"))));
}

// A rack that would be fuller but takes only a part of the group does not go before one that takes all.
TEST_F(RackTest, MoreOfTheGroupCountsAsMuchAsAFullerRack) {
  AddRack("a", {"2"});
  AddRack("b", {"5"});
  AddRackGroup(2);
  for (const char* name : {"w", "x", "y", "z"}) AddPod(name);
  Run();
  EXPECT_THAT(Nodes(), AllOf(SizeIs(4), Each(StartsWith("b-"))));
}

TEST_F(RackTest, Row37And38TheRestGoesWhereTheFirstOnesAre) {
  AddRack("a", {"8"});
  AddRack("b", {"2"});
  AddRackGroup(0);
  AddPod("x");
  Run();
  EXPECT_THAT(Nodes(), Each(StartsWith("b-")));
  for (const char* name : {"y", "z"}) AddPod(name);
  Run();
  EXPECT_THAT(Nodes(), AllOf(SizeIs(2), Each(StartsWith("b-"))));
}

TEST_F(RackTest, NodesWithoutTheLabelAreLeftOut) {
  AddRack("none", {"8"});
  AddRackGroup(1);
  AddPod("x");
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("no feasible placements found: no node has label rack"));
  auto stored = cluster_->Stored(KindOf<api::Node>(), "", "none-0");
  stored->MutableMetadata().labels["rack"] = "a";
  ASSERT_TRUE(cluster_->Update(*stored).ok());
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("x"));
}

TEST_F(RackTest, PodsInTwoRacksAreAnError) {
  AddRack("a", {"8"});
  AddRack("b", {"8"});
  AddRackGroup(1);
  for (const char* rack : {"a", "b"}) {
    Create(Member(MakePod({.name = std::string("on-") + rack, .node = std::string(rack) + "-0"})));
  }
  AddPod("x");
  Run();
  EXPECT_EQ(NodeOf("x"), "");
  EXPECT_THAT(Said("x"),
              HasSubstr("cannot determine domain for already scheduled pods: more than 1 "
                        "domain found for key rack: ns/on-a is in a, ns/on-b is in b"));
}

// The first fit of each rack fails; only one of them has another way.
TEST_F(RackTest, EachRackIsSearchedForAnyAssignment) {
  for (const char* rack : {"a", "b"}) {
    AddRack(rack, {"4", "2"});
  }
  Create(MakePod({.name = "other", .node = "a-1", .cpu = "1"}));
  AddRackGroup(2);
  AddPod("x", "2");
  AddPod("y", "4");
  Run();
  EXPECT_EQ(NodeOf("x"), "b-1");
  EXPECT_EQ(NodeOf("y"), "b-0");
}

TEST_F(RackTest, WithoutTheGateThePodsMayBeAnywhere) {
  gates_.Set(api::Gate::kTopologyAwareWorkloadScheduling, false);
  Start();
  AddRack("a", {"1"});
  AddRack("b", {"1"});
  AddRackGroup(2);
  for (const char* name : {"x", "y"}) AddPod(name);
  Run();
  EXPECT_THAT(Nodes(), UnorderedElementsAre("a-0", "b-0"));
  EXPECT_THAT(Condition(), Not(HasSubstr("placements")));
}

}  // namespace
}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
//
// Claims that pods of a group share (KEP-5729): allocated once, where all who name them can be, and
// reserved for the group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "scheduler/group_cluster_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

api::NodeSelector Racks(const std::string& rack) {
  api::NodeSelector selector;
  auto& expression = selector.node_selector_terms.emplace_back().match_expressions.emplace_back();
  expression.key = "rack";
  expression.operator_ = "In";
  expression.values = {rack};
  return selector;
}

class SharedClaimTest : public GroupDevicesTest {
 protected:
  void AddNodeIn(const std::string& rack, const std::string& name, const std::string& cpu = "8") {
    api::Node node = MakeNode(name, cpu);
    node.metadata.labels["rack"] = rack;
    Create(std::move(node));
  }
  // Devices that every node of a rack reaches.
  void AddFabric(const std::string& rack, int devices) {
    testing::Slice slice("fabric-" + rack);
    slice.Pool("fabric-" + rack).Where(Racks(rack));
    for (int i = 0; i < devices; ++i) {
      slice.With(testing::Device(fmt::format("{}-link-{}", rack, i)));
    }
    Create<api::ResourceSlice>(slice);
  }
  void AddMember(const std::string& name, const std::vector<std::string>& claims,
                 const std::string& cpu = "1") {
    Create(MemberWith(MakePod({.name = name, .cpu = cpu}), claims));
  }
};

TEST_F(SharedClaimTest, IsAllocatedOnceAndReservedForTheGroup) {
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 1));
  AddGroupClaim(3, DeviceCluster::GpuClaim("shared", 1));
  for (const char* name : {"a", "b", "c"}) AddMember(name, {"shared"});
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  const auto& users = Claim("shared")->status.reserved_for;
  ASSERT_THAT(users, SizeIs(1));
  EXPECT_EQ(users.front().resource, "podgroups");
  EXPECT_EQ(users.front().name, "g");
  EXPECT_EQ(Condition(), "True Scheduled: ");
}

// Row 54: more pods than a claim can be reserved for.
TEST_F(SharedClaimTest, Row54ThreeHundredPodsUseOneClaim) {
  testing::Slice slice("everywhere");
  slice.Pool("everywhere").OnAllNodes().With(testing::Device("d"));
  Create<api::ResourceSlice>(slice);
  for (int i = 0; i < 4; ++i) Create(MakeNode(fmt::format("n{}", i), "100"));
  AddGroupClaim(300, DeviceCluster::GpuClaim("shared", 1));
  for (int i = 0; i < 300; ++i) AddMember(fmt::format("p{:03}", i), {"shared"});
  Run();
  EXPECT_THAT(Bound(), SizeIs(300));
  EXPECT_THAT(Claim("shared")->status.reserved_for, SizeIs(1));
}

// A claim that pods name without the group: they share its allocation, too, and each is a user of it.
TEST_F(SharedClaimTest, AClaimThatTheGroupDoesNotListIsReservedForItsPods) {
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 1));
  AddGroup(2);
  Create(DeviceCluster::GpuClaim("shared", 1));
  for (const char* name : {"a", "b"}) AddMember(name, {"shared"});
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
  const auto& users = Claim("shared")->status.reserved_for;
  ASSERT_THAT(users, SizeIs(2));
  EXPECT_EQ(users.front().resource, "pods");
}

// The node that would be taken first has the device of its own, and no room for both pods.
TEST_F(SharedClaimTest, TheDeviceIsOneThatAllPodsReach) {
  for (const char* node : {"n1", "n2", "n3"})
    AddNodeIn(node == std::string("n1") ? "x" : "y", node, "1");
  Create(DeviceCluster::GpuSlice("n1", 1));
  AddFabric("y", 1);
  AddGroupClaim(2, DeviceCluster::GpuClaim("shared", 1));
  for (const char* name : {"a", "b"}) AddMember(name, {"shared"});
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b")}), UnorderedElementsAre("n2", "n3"));
  EXPECT_EQ(DeviceOf("shared"), "y-link-0");
  ASSERT_TRUE(Claim("shared")->status.allocation->node_selector.has_value());
}

// Each rack has a fabric with room for one group; the pods have devices of their own beside it.
TEST_F(SharedClaimTest, DevicesOfItsOwnAndOneOfTheRack) {
  for (const char* rack : {"x", "y"}) {
    for (int i = 0; i < 3; ++i) {
      const std::string node = fmt::format("{}{}", rack, i);
      AddNodeIn(rack, node);
      // Rack x has a device less than the group needs.
      if (rack == std::string("y") || i > 0) Create(DeviceCluster::GpuSlice(node, 1));
    }
    AddFabric(rack, 1);
  }
  api::ResourceClaim link = DeviceCluster::GpuClaim("link", 1);
  link.spec.devices.requests.front().exactly->selectors.emplace_back().cel.emplace().expression =
      R"("link" in device.attributes["gpu.example.com"])";
  // Told apart by an attribute that fabrics alone have.
  for (const char* rack : {"x", "y"}) {
    auto stored =
        cluster_->Stored(KindOf<api::ResourceSlice>(), "", fmt::format("fabric-{}", rack));
    api::ResourceSlice& slice = *stored->Mutable<api::ResourceSlice>();
    slice.spec.devices->clear();
    slice.spec.devices->push_back(
        testing::Device(fmt::format("{}-link-0", rack)).String("link", rack));
    ASSERT_TRUE(cluster_->Update(*stored).ok());
  }
  AddGroupClaim(3, std::move(link));
  for (const char* name : {"a", "b", "c"}) {
    api::ResourceClaim own = DeviceCluster::GpuClaim(name, 1);
    own.spec.devices.requests.front().exactly->selectors.emplace_back().cel.emplace().expression =
        R"(!("link" in device.attributes["gpu.example.com"]))";
    Create(std::move(own));
    AddMember(name, {"link", name});
  }
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b"), NodeOf("c")}),
              UnorderedElementsAre("y0", "y1", "y2"))
      << Condition() << Said("a");
  EXPECT_EQ(DeviceOf("link"), "y-link-0");
}

TEST_F(SharedClaimTest, WhatNoNodeCanHaveIsSaid) {
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 1));
  AddGroupClaim(2, DeviceCluster::GpuClaim("shared", 2));
  for (const char* name : {"a", "b"}) AddMember(name, {"shared"});
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("claim ns/shared, which pods of the group share, can be "
                                     "allocated for no node"));
  EXPECT_FALSE(Claim("shared")->status.allocation.has_value());
}

// Row 55: pods that are tied to different nodes cannot share what one of these has.
TEST_F(SharedClaimTest, Row55PodsOnDifferentNodesCannotShareADeviceOfOne) {
  for (const char* node : {"n", "m"}) {
    AddNodeIn(node, node);
    Create(DeviceCluster::GpuSlice(node, 1));
  }
  AddGroupClaim(2, DeviceCluster::GpuClaim("shared", 1));
  for (const char* name : {"n", "m"}) {
    api::Pod pod = MemberWith(MakePod({.name = name}), {"shared"});
    pod.spec.node_selector["rack"] = name;
    Create(std::move(pod));
  }
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("at most 1 could run"));
}

// Whichever write is the last one that was done: all run in the end, also where the room of those that
// were first has gone to others meanwhile.
TEST_F(SharedClaimTest, AfterAKillAtAnyWriteAllRunEvenWhereOthersHaveTakenTheRoom) {
  for (const bool taken : {false, true}) {
    for (int writes = 0; writes < 12; ++writes) {
      SCOPED_TRACE(fmt::format("{} writes{}", writes, taken ? ", room taken" : ""));
      cluster_ = std::make_unique<api::MemoryCluster>(
          clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
      api::DeviceClass gpu;
      gpu.metadata.name = "gpu";
      Create(std::move(gpu));
      Start();
      for (const char* rack : {"x", "y"}) {
        for (int i = 0; i < 2; ++i) AddNodeIn(rack, fmt::format("{}{}", rack, i), "1");
        AddFabric(rack, 1);
      }
      AddGroupClaim(2, DeviceCluster::GpuClaim("shared", 1));
      for (const char* name : {"a", "b"}) AddMember(name, {"shared"});
      int left = writes;
      cluster_->SetWriteHook([&](api::Verb, const api::Object&) -> Status {
        if (left-- > 0) return {};
        return base::Unavailable("gone");
      });
      scheduler_->Run();
      cluster_->SetWriteHook(nullptr);
      const bool begun = !Bound().empty();
      if (taken && !begun) {
        Create(MakePod({.name = "other", .node = "x0"}));
      }
      Start();
      Run();
      if (taken && !begun) {
        EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "other"));
      } else {
        EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
      }
      EXPECT_THAT(Claim("shared")->status.reserved_for, SizeIs(1));
    }
  }
}

TEST_F(SharedClaimTest, WithoutTheGateAClaimOfAGroupIsRefused) {
  gates_.Set(api::Gate::kDRAWorkloadResourceClaims, false);
  Start();
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 1));
  AddGroup(1);
  api::ResourceClaim claim = DeviceCluster::GpuClaim("shared", 1);
  claim.metadata.owner_references.push_back({.api_version = "scheduling.k8s.io/v1beta1",
                                             .kind = "PodGroup",
                                             .name = "g",
                                             .uid = "u",
                                             .controller = true});
  Create(std::move(claim));
  AddMember("a", {"shared"});
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Said("a"), HasSubstr("claim ns/shared is a PodGroup claim but the "
                                   "DRAWorkloadResourceClaims feature is disabled"));
}

}  // namespace
}  // namespace dray::scheduler

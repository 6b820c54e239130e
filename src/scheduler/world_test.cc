// SPDX-License-Identifier: Apache-2.0
#include "scheduler/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/device_class.h"
#include "api/namespace.h"
#include "api/priority_class.h"
#include "scheduler/objects_for_test.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using testing::AllocatedClaim;
using testing::Device;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::Slice;

class WorldTest : public ::testing::Test {
 protected:
  WorldTest() {
    for (const char* name : {"b", "a", "c"}) world_.Apply(Added(MakeNode(name)));
  }
  std::vector<std::string> ChangedNames(std::uint64_t since) const {
    std::vector<std::string> names;
    const World::ChangedNodes changed = world_.ChangedSince(since);
    if (changed.all) return {"all"};
    for (const NodeIndex index : changed.nodes) names.push_back(world_.node(index)->name());
    return names;
  }
  const NodeInfo& At(std::string_view node) const { return *world_.FindNode(node); }

  World world_{WorldOptions{}};
};

TEST_F(WorldTest, NodesAreInTheOrderOfTheirNames) {
  std::vector<std::string> names;
  for (const NodeInfo* node : world_.nodes()) names.push_back(node->name());
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(At("c").rank, 2u);
  world_.Apply(Deleted(MakeNode("a")));
  EXPECT_EQ(world_.nodes().size(), 2u);
  EXPECT_EQ(At("c").rank, 1u);
}

TEST_F(WorldTest, ABoundPodCountsOnItsNodeUntilItEnds) {
  world_.Apply(Added(MakePod({.name = "p", .node = "a", .cpu = "2"})));
  EXPECT_EQ(At("a").requested.milli_cpu, 2000);
  EXPECT_EQ(At("a").requested.pods, 1);
  world_.Apply(Updated(MakePod({.name = "p", .node = "a", .cpu = "2", .phase = "Succeeded"})));
  EXPECT_EQ(At("a").requested, Resources());
  EXPECT_THAT(At("a").pods, IsEmpty());
}

TEST_F(WorldTest, APodOnANodeThatComesLaterCountsThere) {
  world_.Apply(Added(MakePod({.name = "p", .node = "late"})));
  EXPECT_EQ(world_.FindNode("late"), nullptr);
  EXPECT_EQ(world_.nodes().size(), 3u);
  world_.Apply(Added(MakeNode("late")));
  EXPECT_EQ(At("late").requested.milli_cpu, 1000);
}

TEST_F(WorldTest, AContainerThatAsksForNothingIsScoredWithALittle) {
  world_.Apply(Added(MakePod({.name = "p", .node = "a", .cpu = ""})));
  EXPECT_EQ(At("a").requested.milli_cpu, 0);
  EXPECT_EQ(At("a").non_zero.milli_cpu, 100);
  EXPECT_EQ(At("a").non_zero.memory, 200 * 1024 * 1024);
}

TEST_F(WorldTest, AnAssumedPodCountsUntilItIsForgotten) {
  world_.Apply(Added(MakePod({.name = "p"})));
  world_.Assume(world_.FindPod("ns/p"), *world_.FindNode("a"));
  EXPECT_TRUE(world_.Assumed("ns/p"));
  EXPECT_EQ(At("a").requested.milli_cpu, 1000);
  world_.Forget("ns/p");
  EXPECT_EQ(At("a").requested, Resources());
  EXPECT_NE(world_.FindPod("ns/p"), nullptr);
}

TEST_F(WorldTest, AnUpdateOfAnAssumedPodLeavesItAssumed) {
  world_.Apply(Added(MakePod({.name = "p"})));
  world_.Assume(world_.FindPod("ns/p"), *world_.FindNode("a"));
  api::Pod labelled = MakePod({.name = "p"});
  labelled.metadata.labels["app"] = "x";
  world_.Apply(Updated(labelled));
  EXPECT_TRUE(world_.Assumed("ns/p"));
  EXPECT_EQ(At("a").requested.milli_cpu, 1000);
}

TEST_F(WorldTest, StoringWhatWasAssumedChangesNoVersion) {
  world_.Apply(Added(MakePod({.name = "p"})));
  world_.Assume(world_.FindPod("ns/p"), *world_.FindNode("a"));
  const std::uint64_t before = world_.version();
  world_.Apply(Updated(MakePod({.name = "p", .node = "a"})));
  EXPECT_EQ(world_.version(), before);
  EXPECT_FALSE(world_.Assumed("ns/p"));
  EXPECT_EQ(At("a").pods.size(), 1u);
  EXPECT_EQ(At("a").pods.front()->pod->spec.node_name, "a");
}

TEST_F(WorldTest, APodThatWasBoundElsewhereIsCountedThereAlone) {
  world_.Apply(Added(MakePod({.name = "p"})));
  world_.Assume(world_.FindPod("ns/p"), *world_.FindNode("a"));
  world_.Apply(Updated(MakePod({.name = "p", .node = "b"})));
  EXPECT_EQ(At("a").requested, Resources());
  EXPECT_EQ(At("b").requested.milli_cpu, 1000);
}

TEST_F(WorldTest, AnotherPodOfTheSameNameIsNotAssumed) {
  world_.Apply(Added(MakePod({.name = "p"})));
  world_.Assume(world_.FindPod("ns/p"), *world_.FindNode("a"));
  api::Pod other = MakePod({.name = "p"});
  other.metadata.uid = "another";
  world_.Apply(Updated(other));
  EXPECT_FALSE(world_.Assumed("ns/p"));
  EXPECT_EQ(At("a").requested, Resources());
}

TEST_F(WorldTest, AHeartbeatOfANodeIsNoChange) {
  const std::uint64_t before = world_.version();
  api::Node node = MakeNode("a");
  node.metadata.resource_version = "77";
  node.status.phase = "whatever";
  world_.Apply(Updated(node));
  EXPECT_EQ(world_.version(), before);
  node.spec.unschedulable = true;
  world_.Apply(Updated(node));
  EXPECT_THAT(ChangedNames(before), ElementsAre("a"));
}

TEST_F(WorldTest, OnlyTheNodesThatAChangeConcernsAreNamed) {
  const std::uint64_t before = world_.version();
  world_.Apply(Added(MakePod({.name = "p", .node = "b"})));
  EXPECT_THAT(ChangedNames(before), ElementsAre("b"));
  const std::uint64_t then = world_.version();
  EXPECT_THAT(ChangedNames(then), IsEmpty());
  world_.Apply(Added(api::ResourceSlice(Slice("s").Pool("c").OnNode("c").With(Device("d")))));
  EXPECT_THAT(ChangedNames(then), ElementsAre("c"));
}

TEST_F(WorldTest, ASliceWithoutANodeConcernsEveryNode) {
  using Kind = World::PoolChange::Kind;
  const std::uint64_t before = world_.version();
  const auto pools = [&] { return world_.PoolChangesSince(before); };
  world_.Apply(Added(api::ResourceSlice(Slice("s").OnAllNodes().With(Device("d")))));
  EXPECT_GT(world_.global_version(), before);
  ASSERT_EQ(pools()->size(), 1u);
  EXPECT_EQ(pools()->back().kind, Kind::kNew);
  for (const NodeInfo* node : world_.nodes()) {
    NodeInfo& mine = *world_.node(node->index);
    ASSERT_THAT(world_.RefreshDevices(mine), IsOk());
    EXPECT_EQ(mine.devices->devices().size(), 1u) << node->name();
  }
  // No node by itself: who does not look at devices has nothing to ask again.
  EXPECT_THAT(ChangedNames(before), IsEmpty());
  world_.Apply(Updated(api::ResourceSlice(Slice("s").OnAllNodes().With(Device("e")))));
  EXPECT_EQ(pools()->back().kind, Kind::kSlices);
  EXPECT_TRUE(world_.PoolChangesSince(world_.version())->empty());
  api::DeviceTaintRule rule;
  rule.metadata.name = "r";
  rule.spec.device_selector.emplace().driver = "gpu.example.com";
  rule.spec.taint = {.key = "k", .effect = "NoSchedule"};
  world_.Apply(Added(rule));
  EXPECT_EQ(pools(), std::nullopt);
}

// A pool may get a slice without a node, and lose it: those that had it by name are named.
TEST_F(WorldTest, APoolThatComesToConcernEveryNodeConcernsItsOwnAsWell) {
  world_.Apply(Added(api::ResourceSlice(Slice("s").Pool("p").OnNode("c").With(Device("d")))));
  const std::uint64_t before = world_.version();
  world_.Apply(Added(api::ResourceSlice(Slice("t").Pool("p").OnAllNodes().With(Device("e")))));
  EXPECT_THAT(ChangedNames(before), ElementsAre("c"));
  EXPECT_EQ(world_.PoolChangesSince(before)->size(), 1u);
}

// Thousands of nodes would be looked at again, for every pod, after something that concerns none of them.
TEST_F(WorldTest, NamespacesAndClassesConcernNoNode) {
  const std::uint64_t before = world_.version();
  api::Namespace space;
  space.metadata.name = "team";
  space.metadata.labels["a"] = "b";
  world_.Apply(Added(space));
  api::DeviceClass device_class;
  device_class.metadata.name = "gpu";
  world_.Apply(Added(device_class));
  EXPECT_EQ(world_.classes_version(), 1u);
  world_.Apply(Updated(device_class));
  EXPECT_EQ(world_.classes_version(), 1u);
  world_.Apply(Deleted(device_class));
  EXPECT_EQ(world_.classes_version(), 2u);
  EXPECT_THAT(ChangedNames(before), IsEmpty());
  EXPECT_EQ(world_.version(), before);
}

TEST_F(WorldTest, AClaimConcernsTheNodeOfItsDevices) {
  world_.Apply(Added(api::ResourceSlice(Slice("s").OnNode("c").With(Device("d")))));
  const std::uint64_t before = world_.version();
  world_.Apply(Added(api::ResourceClaim(AllocatedClaim("x").Exclusive("d"))));
  EXPECT_THAT(ChangedNames(before), ElementsAre("c"));
  NodeInfo& node = *world_.FindNode("c");
  ASSERT_THAT(world_.RefreshDevices(node), IsOk());
  EXPECT_EQ(node.usage.taken().Count(), 1u);
  world_.Apply(Deleted(api::ResourceClaim(AllocatedClaim("x").Exclusive("d"))));
  ASSERT_THAT(world_.RefreshDevices(node), IsOk());
  EXPECT_EQ(node.usage.taken().Count(), 0u);
}

TEST_F(WorldTest, AReservationConcernsTheNodeOfItsDevices) {
  world_.Apply(Added(api::ResourceSlice(Slice("s").OnNode("c").With(Device("d")))));
  const std::uint64_t before = world_.version();
  const AllocatedClaim claim = AllocatedClaim("x").Exclusive("d");
  auto reservation = world_.ledger().Reserve(claim.Pending(), claim.allocation());
  ASSERT_THAT(reservation, IsOk());
  EXPECT_THAT(ChangedNames(before), ElementsAre("c"));
  const std::uint64_t then = world_.version();
  reservation->Release();
  EXPECT_THAT(ChangedNames(then), ElementsAre("c"));
}

TEST_F(WorldTest, ChangedLabelsBringOtherDevices) {
  world_.Apply(
      Added(api::ResourceSlice(Slice("s").Where(testing::LabelIs("rack", "1")).With(Device("d")))));
  NodeInfo& node = *world_.FindNode("a");
  ASSERT_THAT(world_.RefreshDevices(node), IsOk());
  EXPECT_THAT(node.devices->devices(), IsEmpty());
  api::Node labelled = MakeNode("a");
  labelled.metadata.labels["rack"] = "1";
  world_.Apply(Updated(labelled));
  ASSERT_THAT(world_.RefreshDevices(node), IsOk());
  EXPECT_EQ(node.devices->devices().size(), 1u);
}

TEST_F(WorldTest, AnAssumedClaimGoesBeforeTheStoredOneUntilThatIsNewer) {
  const AllocatedClaim allocated = AllocatedClaim("x").Version("5").Exclusive("d");
  api::ResourceClaim stored = allocated.Pending();
  world_.Apply(Added(stored));
  world_.AssumeClaim(std::make_shared<const api::ResourceClaim>(allocated));
  EXPECT_TRUE(world_.FindClaim("ns", "x")->status.allocation.has_value());
  world_.Apply(Updated(stored));
  EXPECT_TRUE(world_.FindClaim("ns", "x")->status.allocation.has_value());
  stored.metadata.resource_version = "6";
  world_.Apply(Updated(stored));
  EXPECT_FALSE(world_.FindClaim("ns", "x")->status.allocation.has_value());
}

TEST_F(WorldTest, AForgottenClaimIsTheStoredOneAgain) {
  const AllocatedClaim allocated = AllocatedClaim("x").Version("5").Exclusive("d");
  world_.AssumeClaim(std::make_shared<const api::ResourceClaim>(allocated));
  EXPECT_NE(world_.FindClaim("ns", "x"), nullptr);
  world_.ForgetClaim("ns", "x");
  EXPECT_EQ(world_.FindClaim("ns", "x"), nullptr);
}

TEST_F(WorldTest, PodsAreFoundByTheirClaims) {
  api::Pod pod = MakePod({.name = "p"});
  pod.spec.resource_claims.push_back({.name = "r", .resource_claim_name = "x"});
  pod.spec.resource_claims.push_back({.name = "t", .resource_claim_template_name = "template"});
  world_.Apply(Added(pod));
  EXPECT_THAT(world_.PodsOfClaim("ns", "x"), ElementsAre("ns/p"));
  EXPECT_THAT(world_.PodsOfClaim("ns", "p-t"), IsEmpty());
  pod.status.resource_claim_statuses.emplace().push_back(
      {.name = "t", .resource_claim_name = "p-t"});
  world_.Apply(Updated(pod));
  EXPECT_THAT(world_.PodsOfClaim("ns", "p-t"), ElementsAre("ns/p"));
  world_.Apply(Deleted(pod));
  EXPECT_THAT(world_.PodsOfClaim("ns", "x"), IsEmpty());
}

TEST_F(WorldTest, TheClaimForExtendedResourcesIsFoundByItsPod) {
  const api::Pod pod = MakePod({.name = "p"});
  api::ResourceClaim claim;
  claim.metadata.namespace_ = "ns";
  claim.metadata.name = "p-extended";
  claim.metadata.annotations[api::kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references.push_back({.api_version = "v1",
                                             .kind = "Pod",
                                             .name = "p",
                                             .uid = pod.metadata.uid,
                                             .controller = true});
  EXPECT_EQ(world_.FindExtendedResourceClaim(pod), nullptr);
  world_.Apply(Added(claim));
  ASSERT_NE(world_.FindExtendedResourceClaim(pod), nullptr);
  EXPECT_EQ(world_.FindExtendedResourceClaim(pod)->metadata.name, "p-extended");
  world_.Apply(Deleted(claim));
  EXPECT_EQ(world_.FindExtendedResourceClaim(pod), nullptr);
}

TEST_F(WorldTest, APriorityComesFromItsClassUnlessThePodHasTheNumber) {
  api::PriorityClass high{.value = 1000};
  high.metadata.name = "high";
  api::PriorityClass fallback{.value = 5, .global_default = true};
  fallback.metadata.name = "default";
  api::Pod pod = MakePod({.name = "p"});
  pod.spec.priority.reset();
  pod.spec.priority_class_name = "high";
  world_.Apply(Added(pod));
  EXPECT_EQ(world_.FindPod("ns/p")->priority, 0);
  world_.Apply(Added(high));
  EXPECT_EQ(world_.FindPod("ns/p")->priority, 1000);
  world_.Apply(Added(fallback));
  EXPECT_EQ(world_.FindPod("ns/p")->priority, 1000);
  pod.spec.priority_class_name.clear();
  EXPECT_EQ(world_.PriorityOf(pod), 5);
  pod.spec.priority = 7;
  EXPECT_EQ(world_.PriorityOf(pod), 7);
}

TEST(PodShape, IsThatOfWhatThePodAsksOfANode) {
  ResourceNames names;
  const auto info = [&](api::Pod pod) {
    return PodInfo::From(std::make_shared<const api::Pod>(std::move(pod)), names);
  };
  const auto a = info(MakePod({.name = "a"}));
  EXPECT_TRUE(SameShape(*a, *info(MakePod({.name = "b"}))));
  EXPECT_FALSE(SameShape(*a, *info(MakePod({.name = "a", .cpu = "2"}))));
  api::Pod tolerant = MakePod({.name = "a"});
  tolerant.spec.tolerations.push_back({.key = "k", .operator_ = "Exists"});
  EXPECT_FALSE(SameShape(*a, *info(tolerant)));
  api::Pod choosy = MakePod({.name = "a"});
  choosy.spec.node_selector["zone"] = "1";
  EXPECT_FALSE(SameShape(*a, *info(choosy)));
  api::Pod listening = MakePod({.name = "a"});
  listening.spec.containers.front().ports.push_back({.host_port = 80});
  EXPECT_FALSE(SameShape(*a, *info(listening)));
}

TEST(PodShape, HostPortsOfSidecarsCountAndThoseOfOtherInitContainersDoNot) {
  ResourceNames names;
  api::Pod pod = MakePod({.name = "a"});
  api::Container init;
  init.ports.push_back({.host_port = 1});
  pod.spec.init_containers.push_back(init);
  init.ports.front().host_port = 2;
  init.restart_policy = "Always";
  pod.spec.init_containers.push_back(init);
  const auto info = PodInfo::From(std::make_shared<const api::Pod>(pod), names);
  ASSERT_EQ(info->host_ports.size(), 1u);
  EXPECT_EQ(info->host_ports.front(), (HostPort{.protocol = "TCP", .port = 2}));
}

TEST(ResourceNamesTest, NamesThatNobodyHasAnyMoreAreForgotten) {
  ResourceNames names;
  const auto pod = [&](const std::string& resource) {
    api::Pod made = MakePod({.name = "a"});
    made.spec.containers.front().resources.requests[resource] = testing::ToQuantity("1");
    return PodInfo::From(std::make_shared<const api::Pod>(std::move(made)), names);
  };
  const auto stays = pod("example.com/stays");
  const base::Symbol name = stays->requests.scalars.front().name;
  for (int i = 0; i < 100'000; ++i) {
    pod("example.com/" + std::to_string(i));
    names.Reclaim();
    ASSERT_LE(names.size(), 2000u);
  }
  EXPECT_EQ(names.View(name), "example.com/stays");
  EXPECT_EQ(names.Intern("example.com/stays"), name);
}

}  // namespace
}  // namespace dray::scheduler

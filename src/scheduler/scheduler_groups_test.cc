// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods on a cluster in memory, with the default plugins. Rows are those of the acceptance table
// for workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/extended_resources.h"
#include "api/memory_cluster.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "scheduler/group_cluster_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(GroupTest, Row15And16NobodyIsTriedBeforeEnoughAreThere) {
  Create(MakeNode("n", "8"));
  AddGroup(3);
  AddPod("a");
  AddPod("b");
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(Condition(), "");
  EXPECT_EQ(Said("a"), "");
  ASSERT_NE(scheduler_->Explain("ns/a"), nullptr);
  EXPECT_THAT(scheduler_->Explain("ns/a")->before.front().text, HasSubstr("2 of 3"));
  AddPod("c");
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(Condition(), "True Scheduled: ");
}

TEST_F(GroupTest, Row17PodsWaitForTheirGroup) {
  Create(MakeNode("n", "8"));
  AddPod("a");
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  AddGroup(0);
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a"));
}

TEST_F(GroupTest, Row18And19WithRoomForSomeNobodyIsBoundUntilThereIsRoomForAll) {
  Create(MakeNode("n", "3"));
  Create(MakePod({.name = "blocker", .node = "n"}));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("blocker"));
  EXPECT_THAT(Condition(),
              HasSubstr("False Unschedulable: minCount (3) cannot be satisfied: 2 scheduled, 0 "
                        "remaining"));
  EXPECT_THAT(Condition(), HasSubstr("at most 2 could run"));
  EXPECT_THAT(Said("a"), HasSubstr("pod group is unschedulable, minCount (3) cannot be"));
  EXPECT_THAT(Said("c"), HasSubstr("0/1 nodes are available: 1 Insufficient cpu"));
  ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", "blocker").ok());
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

// Long before those that wait are tried again anyway, which is after five minutes.
TEST_F(GroupTest, FewerThanWereAskedForAreBoundWhenFewerAreAskedFor) {
  Create(MakeNode("n", "2"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  auto stored = cluster_->Stored(KindOf<api::PodGroup>(), "ns", "g");
  stored->Mutable<api::PodGroup>()->spec.scheduling_policy.gang->min_count = 2;
  ASSERT_TRUE(cluster_->Update(*stored).ok());
  Run();
  EXPECT_EQ(Bound().size(), 2u);
}

TEST_F(GroupTest, Row20ExtrasWaitAndTheConditionStays) {
  Create(MakeNode("n", "3"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c", "d"}) AddPod(name);
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(Condition(), "True Scheduled: ");
  EXPECT_THAT(Said("d"), HasSubstr("Insufficient cpu"));
  // Row 21: a pod that comes later counts those that are there.
  Create(MakeNode("m", "8"));
  Run();
  EXPECT_EQ(NodeOf("d"), "m");
}

TEST_F(GroupTest, Row22OfTwoGroupsOneIsBoundWholeAndTheOtherHoldsNothing) {
  Create(MakeNode("n", "3"));
  AddGroup(2, "g");
  AddGroup(2, "h");
  for (const char* name : {"a", "b"}) AddPod(name, "1", "g");
  for (const char* name : {"x", "y"}) AddPod(name, "1", "h");
  Run();
  EXPECT_EQ(Bound().size(), 2u);
  EXPECT_EQ(NodeOf("a"), NodeOf("b"));
  // Row 23.
  Create(MakePod({.name = "single"}));
  Run();
  EXPECT_EQ(NodeOf("single"), "n");
}

TEST_F(GroupTest, Row26OneThatIsHeldBackHoldsBackAll) {
  Create(MakeNode("n", "8"));
  AddGroup(2);
  AddPod("a");
  api::Pod gated = Member(MakePod({.name = "b"}));
  gated.spec.scheduling_gates = {{.name = "later"}};
  Create(gated);
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", "b");
  stored->Mutable<api::Pod>()->spec.scheduling_gates.clear();
  ASSERT_TRUE(cluster_->Update(*stored).ok());
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupTest, Row30PodsOfAnotherPriorityAreAnError) {
  Create(MakeNode("n", "8"));
  AddGroup(2);
  AddPod("a");
  Create(Member(MakePod({.name = "b", .priority = 10})));
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("False SchedulerError: all pods in a single pod group should "
                                     "have the same priority as the pod group's priority, got 10 "
                                     "and 0"));
}

TEST_F(GroupTest, Row30PodsOfAnotherSchedulerAreAnError) {
  SchedulerOptions options;
  options.gates = gates_;
  options.config.profiles.push_back(options.config.profiles.front());
  options.config.profiles.back().scheduler_name = "other";
  scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  Create(MakeNode("n", "8"));
  AddGroup(2);
  AddPod("a");
  api::Pod b = Member(MakePod({.name = "b"}));
  b.spec.scheduler_name = "other";
  Create(std::move(b));
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("False SchedulerError: all pods in a single pod group should "
                                     "have the same .spec.schedulerName set, got: "));
}

TEST_F(GroupTest, Row21WhoComesWhenTheGangRunsJoinsIt) {
  Create(MakeNode("n", "4"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Run();
  ASSERT_EQ(Bound().size(), 3u);
  AddPod("d");
  Run();
  EXPECT_EQ(NodeOf("d"), "n");
}

// One of the gang's nodes has failed, and its pods are made anew: those that run count.
TEST_F(GroupTest, WhatIsLostOfARunningGangIsReplaced) {
  Create(MakeNode("n1", "2"));
  Create(MakeNode("n2", "2"));
  AddGroup(4);
  for (const char* name : {"a", "b", "c", "d"}) AddPod(name);
  Run();
  ASSERT_EQ(Bound().size(), 4u);
  ASSERT_TRUE(cluster_->Delete(KindOf<api::Node>(), "", "n2").ok());
  std::size_t lost = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    if (NodeOf(name) != "n2") continue;
    ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", name).ok());
    AddPod(fmt::format("again-{}", name));
    ++lost;
  }
  ASSERT_EQ(lost, 2u);
  Run();
  EXPECT_EQ(Bound().size(), 2u);
  Create(MakeNode("n3", "1"));
  Run();
  EXPECT_EQ(Bound().size(), 2u) << "one alone is too few";
  Create(MakeNode("n4", "1"));
  Run();
  EXPECT_EQ(Bound().size(), 4u);
}

TEST_F(GroupTest, Row23APodAloneFitsBesideAGangThatIsTooLarge) {
  Create(MakeNode("n", "2"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Create(MakePod({.name = "alone"}));
  Run();
  EXPECT_THAT(Bound(), ElementsAre("alone"));
}

TEST_F(GroupTest, Row33ABasicGroupIsBoundAsFarAsItFits) {
  Create(MakeNode("n", "1"));
  AddGroup(0);
  AddPod("a");
  AddPod("b");
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a"));
  EXPECT_EQ(Condition(), "True Scheduled: ");
}

// The small pod would go to the large node, where scores send it.
TEST_F(GroupTest, NodesOfFourAndTwoCpus) {
  Create(MakeNode("large", "4"));
  Create(MakeNode("small", "2"));
  AddGroup(2);
  AddPod("a", "2");
  AddPod("b", "4");
  Run();
  EXPECT_EQ(NodeOf("a"), "small");
  EXPECT_EQ(NodeOf("b"), "large");
}

// Somebody else has said the same meanwhile: found out after a conflict, when the attempt is long over.
TEST_F(GroupTest, WhatIsSaidOfAGroupAlreadyIsNotSaidAgainAfterAConflict) {
  Create(MakeNode("n", "1"));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddPod(name);
  Run();
  const auto said = cluster_->Stored(KindOf<api::PodGroup>(), "ns", "g");
  const auto conditions = said->As<api::PodGroup>()->status.conditions;
  ASSERT_EQ(conditions.size(), 1u);
  const auto say = [&](std::vector<api::Condition> what) {
    auto stored = cluster_->Stored(KindOf<api::PodGroup>(), "ns", "g");
    stored->Mutable<api::PodGroup>()->status.conditions = std::move(what);
    ASSERT_TRUE(cluster_->UpdateStatus(*stored).ok());
  };
  say({});
  WritesLater later;
  Start(&later);
  scheduler_->Run();
  say(conditions);
  const auto version = [&] {
    return cluster_->Stored(KindOf<api::PodGroup>(), "ns", "g")->metadata().resource_version;
  };
  const auto before = version();
  later.DoAll();
  EXPECT_EQ(version(), before);
  EXPECT_THAT(Condition(), HasSubstr("False Unschedulable: minCount (2)"));
}

// The first one is ready to be bound and counted as such when it is deleted; then the second one is ready.
TEST_F(GroupTest, AGroupThatHasLostAPodBeforeItWasBoundWasNotScheduled) {
  WritesLater later;
  Start(&later);
  Create(MakeNode("n", "2"));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddPod(name);
  scheduler_->Run();
  later.DoOne();
  scheduler_->Run();
  ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", "a").ok());
  scheduler_->Run();
  RunWith(later);
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_EQ(Condition(), "");
  // Nothing is kept for the other one.
  Create(MakePod({.name = "single", .cpu = "2"}));
  RunWith(later);
  EXPECT_EQ(NodeOf("single"), "n");
}

// kubernetes#138765, row 57: a board that is one whole device or two halves. Each pod alone would take the
// whole one.
TEST_F(GroupDevicesTest, Row57WholeOrHalf) {
  Create(MakeNode("n", "8"));
  testing::Slice counters("counters");
  counters.Pool("n").OnNode("n").Of(2).Counters("cs", {{"widgets", "2"}});
  Create<api::ResourceSlice>(counters);
  testing::Slice slice("devices");
  slice.Pool("n").OnNode("n").Of(2);
  slice.With(testing::Device("whole").String("kind", "whole").Consumes("cs", {{"widgets", "2"}}));
  for (const char* name : {"half-1", "half-2"}) {
    slice.With(testing::Device(name).String("kind", "half").Consumes("cs", {{"widgets", "1"}}));
  }
  Create<api::ResourceSlice>(slice);
  AddGroup(2);
  for (const char* name : {"g-0", "g-1"}) {
    AddClaimed(name, {{"whole", R"(device.attributes["gpu.example.com"].kind == "whole")"},
                      {"half", R"(device.attributes["gpu.example.com"].kind == "half")"}});
  }
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("g-0", "g-1"));
  EXPECT_THAT((std::vector{DeviceOf("g-0"), DeviceOf("g-1")}),
              UnorderedElementsAre("half-1", "half-2"));
}

// The same where pods name no claim: the whole one is first in the class that serves the resource.
TEST_F(GroupDevicesTest, ExtendedResourcesOfSeveralPodsAreChosenTogether) {
  Create(MakeNode("n", "8"));
  testing::Slice counters("counters");
  counters.Pool("n").OnNode("n").Of(2).Counters("cs", {{"widgets", "2"}});
  Create<api::ResourceSlice>(counters);
  testing::Slice slice("devices");
  slice.Pool("n").OnNode("n").Of(2);
  slice.With(testing::Device("whole").Consumes("cs", {{"widgets", "2"}}));
  for (const char* name : {"half-1", "half-2"}) {
    slice.With(testing::Device(name).Consumes("cs", {{"widgets", "1"}}));
  }
  Create<api::ResourceSlice>(slice);
  AddGroup(2);
  for (const char* name : {"g-0", "g-1"}) {
    api::Pod pod = Member(MakePod({.name = name}));
    pod.metadata.uid = fmt::format("uid-{}", name);
    for (auto* list : {&pod.spec.containers.front().resources.requests,
                       &pod.spec.containers.front().resources.limits}) {
      (*list)[api::ImplicitResourceName("gpu")] = testing::ToQuantity("1");
    }
    Create(std::move(pod));
  }
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("g-0", "g-1")) << Condition();
  std::vector<std::string> devices;
  for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
    const auto& allocation = object.As<api::ResourceClaim>()->status.allocation;
    if (allocation) devices.push_back(allocation->devices.results.at(0).device);
  }
  EXPECT_THAT(devices, UnorderedElementsAre("half-1", "half-2"));
}

// Row 58: any device, or the big one; first fit gives the big one to who takes any.
TEST_F(GroupDevicesTest, Row58AnyAndBigInBothOrders) {
  for (const bool any_first : {true, false}) {
    const std::string node = any_first ? "n" : "m";
    const std::string any = any_first ? "a-any" : "d-any";
    const std::string big = any_first ? "b-big" : "c-big";
    const std::string group = any_first ? "g" : "h";
    Create(MakeNode(node, "2"));
    testing::Slice slice("slice-" + node);
    slice.Pool(node).OnNode(node);
    slice.With(testing::Device("a").String("size", "big"));
    slice.With(testing::Device("b").String("size", "small"));
    Create<api::ResourceSlice>(slice);
    AddGroup(2);
    AddClaimed(any, {{"any", ""}});
    AddClaimed(big, {{"big", R"(device.attributes["gpu.example.com"].size == "big")"}});
    Run();
    EXPECT_EQ(DeviceOf(any), "b");
    EXPECT_EQ(DeviceOf(big), "a");
    for (const std::string& name : {any, big}) {
      ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", name).ok());
      ASSERT_TRUE(cluster_->Delete(KindOf<api::ResourceClaim>(), "ns", name).ok());
    }
    ASSERT_TRUE(cluster_->Delete(KindOf<api::PodGroup>(), "ns", "g").ok());
    ASSERT_TRUE(cluster_->Delete(KindOf<api::Node>(), "", node).ok());
    Run();
  }
}

// No pod is bound before the claims of all are stored; one that cannot be undoes the rest.
TEST_F(GroupDevicesTest, WhereOneClaimCannotBeWrittenNobodyIsBound) {
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 4));
  AddGroup(2);
  AddClaimed("a", {{"any", ""}});
  AddClaimed("b", {{"any", ""}});
  int refused = 0;
  bool bound_early = false;
  cluster_->SetWriteHook([&](api::Verb verb, const api::Object& object) -> Status {
    if (verb == api::Verb::kBind) bound_early = bound_early || refused < 2;
    if (verb == api::Verb::kUpdateStatus && object.metadata().name == "b" &&
        object.As<api::ResourceClaim>() != nullptr && refused < 2) {
      ++refused;
      return base::FailedPrecondition("no");
    }
    return {};
  });
  Run();
  Run();
  EXPECT_EQ(refused, 2);
  EXPECT_FALSE(bound_early);
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

// A pod that comes while the others are being bound does not count them before they are.
TEST_F(GroupDevicesTest, WhoComesLaterIsNotBoundWithoutTheOthers) {
  WritesLater later;
  Start(&later);
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 4));
  AddGroup(2);
  AddClaimed("a", {{"any", ""}});
  AddPod("b");
  bool refuse = true;
  cluster_->SetWriteHook([&](api::Verb verb, const api::Object& object) -> Status {
    const bool of_claim = object.As<api::ResourceClaim>() != nullptr;
    if (!refuse || verb != api::Verb::kUpdateStatus || !of_claim) return {};
    return base::FailedPrecondition("no");
  });
  scheduler_->Run();
  AddPod("c");
  RunWith(later);
  EXPECT_THAT(Bound(), IsEmpty());
  refuse = false;
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(std::chrono::seconds(20));
    RunWith(later);
  }
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

// Whichever write is the last one that was done: a scheduler that comes after it ends with all or none.
TEST_F(GroupDevicesTest, AfterAKillAtAnyWriteAllRun) {
  for (int writes = 0; writes < 20; ++writes) {
    SCOPED_TRACE(writes);
    const std::string node = fmt::format("n{}", writes);
    Create(MakeNode(node, "8"));
    Create(DeviceCluster::GpuSlice(node, 3));
    AddGroup(3);
    for (const char* name : {"a", "b", "c"}) AddClaimed(name, {{"any", ""}});
    int left = writes;
    cluster_->SetWriteHook([&](api::Verb, const api::Object&) -> Status {
      if (left-- > 0) return {};
      return base::Unavailable("gone");
    });
    scheduler_->Run();
    cluster_->SetWriteHook(nullptr);
    Start();
    Run();
    EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", name).ok());
      ASSERT_TRUE(cluster_->Delete(KindOf<api::ResourceClaim>(), "ns", name).ok());
      // A finalizer may keep it.
      if (auto claim = cluster_->Stored(KindOf<api::ResourceClaim>(), "ns", name)) {
        claim->MutableMetadata().finalizers.clear();
        ASSERT_TRUE(cluster_->Update(*claim).ok());
      }
    }
    ASSERT_TRUE(cluster_->Delete(KindOf<api::PodGroup>(), "ns", "g").ok());
    ASSERT_TRUE(cluster_->Delete(KindOf<api::Node>(), "", node).ok());
    ASSERT_TRUE(cluster_->Delete(KindOf<api::ResourceSlice>(), "", "slice-" + node).ok());
  }
}

// Fifty pods that need all eight devices of a node each: no pod is tried twice.
TEST_F(GroupDevicesTest, ManyPodsInFewSteps) {
  for (int i = 0; i < 60; ++i) {
    const std::string node = fmt::format("n{:03}", i);
    Create(MakeNode(node, "8"));
    Create(DeviceCluster::GpuSlice(node, 8));
  }
  AddGroup(50);
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("p{:03}", i);
    Create(DeviceCluster::GpuClaim(name, 8));
    Create(Member(DeviceCluster::WithClaim(MakePod({.name = name}), name)));
  }
  Run();
  EXPECT_EQ(Bound().size(), 50u);
  EXPECT_LE(scheduler_->statistics().attempts, 50u);
}

// Nothing ties pods without claims to where they were going but what is written into them. Whichever write
// is the last one that was done, and whoever comes before the next scheduler does: all or none run.
TEST_F(GroupTest, AfterAKillAtAnyWriteOthersDoNotTakeTheRoomOfAGangThatHasBegun) {
  for (int writes = 0; writes < 12; ++writes) {
    for (const std::int32_t priority : {0, 10}) {
      SCOPED_TRACE(fmt::format("{} writes, others of priority {}", writes, priority));
      cluster_ = std::make_unique<api::MemoryCluster>(
          clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
      for (const char* node : {"n", "m", "o"}) Create(MakeNode(node, "1"));
      AddGroup(3);
      for (const char* name : {"a", "b", "c"}) AddPod(name);
      Start();
      int left = writes;
      cluster_->SetWriteHook([&](api::Verb, const api::Object&) -> Status {
        if (left-- > 0) return {};
        return base::Unavailable("gone");
      });
      scheduler_->Run();
      cluster_->SetWriteHook(nullptr);
      const bool begun = !Bound().empty();
      for (const char* name : {"other-1", "other-2"}) {
        // A more important one may send a pod away that runs; it does not take what is kept.
        api::Pod other = MakePod({.name = name, .priority = priority});
        other.spec.preemption_policy = api::kPreemptNever;
        Create(std::move(other));
      }
      Start();
      Run();
      if (begun) {
        EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
      } else {
        const std::size_t gang = static_cast<std::size_t>(std::ranges::count_if(
            Bound(), [](const std::string& name) { return name.size() == 1; }));
        EXPECT_TRUE(gang == 0 || gang == 3) << gang;
      }
    }
  }
}

// What was kept for pods of a gang that does not fit any more is given up.
TEST_F(GroupTest, AGangThatIsRefusedKeepsNoRoom) {
  for (const char* node : {"n", "m"}) Create(MakeNode(node, "1"));
  AddGroup(2);
  for (const char* name : {"a", "b"}) {
    api::Pod pod = Member(MakePod({.name = name}));
    pod.status.nominated_node_name = name == std::string("a") ? "n" : "m";
    Create(std::move(pod));
  }
  Create(MakePod({.name = "first", .node = "m", .priority = 10}));
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("first"));
  Create(MakePod({.name = "single"}));
  Run();
  EXPECT_EQ(NodeOf("single"), "n");
}

TEST_F(GroupTest, WithoutTheGateAPodOfAGroupIsRefused) {
  gates_.Set(api::Gate::kGenericWorkload, false);
  Start();
  Create(MakeNode("n", "8"));
  AddPod("a");
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Said("a"), HasSubstr("the feature gate GenericWorkload is off"));
}

}  // namespace
}  // namespace dray::scheduler

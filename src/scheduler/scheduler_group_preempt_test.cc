// SPDX-License-Identifier: Apache-2.0
//
// Preemption for groups, and of groups, through the whole scheduler. Rows are those of the acceptance table for
// workloads. That the victims are those that cost least is held against brute force in test/preemption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/disruption_budget.h"
#include "api/event.h"
#include "api/priority_class.h"
#include "scheduler/group_cluster_for_test.h"
#include "scheduler/world.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kHoldsVictims = "example.com/ends-slowly";

// Pods end when the test says so, and so are claims given back.
class GroupPreemptTest : public GroupTest {
 protected:
  GroupPreemptTest() { Restart(); }
  void Restart(bool devices = true) {
    SchedulerOptions options;
    options.gates = gates_;
    options.config.profiles.front().preemption.devices = devices;
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  }
  void AddImportantGroup(std::int32_t least, std::int32_t priority, const std::string& name = "g",
                         bool all = false) {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    group.spec.priority = priority;
    if (least > 0) {
      group.spec.scheduling_policy.gang.emplace().min_count = least;
    } else {
      group.spec.scheduling_policy.basic.emplace();
    }
    if (all) group.spec.disruption_mode.emplace().all.emplace();
    Create(std::move(group));
  }
  void Add(const PodText& text, const std::string& group = "", int gpus = 0) {
    api::Pod pod = MakePod(text);
    pod.metadata.finalizers.emplace_back(kHoldsVictims);
    if (gpus > 0) {
      Create(DeviceCluster::GpuClaim(text.name, gpus));
      pod = DeviceCluster::WithClaim(std::move(pod), text.name);
    }
    if (!group.empty()) pod = Member(std::move(pod), group);
    Create(std::move(pod));
  }
  void AddByName(const PodText& text) {
    api::Pod pod = MakePod(text);
    auto& resources = pod.spec.containers.front().resources;
    resources.requests["example.com/gpu"] = testing::ToQuantity("1");
    resources.limits["example.com/gpu"] = testing::ToQuantity("1");
    Create(Member(std::move(pod), "g"));
  }
  void AddGpus(const std::string& node, int gpus) {
    Create(MakeNode(node));
    Create(DeviceCluster::GpuSlice(node, gpus));
  }
  std::vector<std::string> SentAway() {
    std::vector<std::string> names;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      if (object.metadata().deletion_timestamp) names.push_back(object.metadata().name);
    }
    return names;
  }
  void End(const std::string& name) {
    api::Pod pod = *cluster_->Stored(KindOf<api::Pod>(), "ns", name)->As<api::Pod>();
    ASSERT_TRUE(pod.metadata.deletion_timestamp.has_value()) << name << " was not sent away";
    pod.metadata.finalizers.clear();
    ASSERT_THAT(cluster_->Update(api::Object::Of(std::move(pod))), testing::IsOk());
  }
  void GiveBack(const std::string& name) {
    api::ResourceClaim claim = *Claim(name);
    claim.status.allocation.reset();
    claim.status.reserved_for.clear();
    ASSERT_THAT(cluster_->UpdateStatus(api::Object::Of(std::move(claim))), testing::IsOk());
  }
  std::string GroupUid() {
    return cluster_->Stored(KindOf<api::PodGroup>(), "ns", "g")->metadata().uid;
  }
  std::string Nominated(const std::string& pod) {
    return cluster_->Stored(KindOf<api::Pod>(), "ns", pod)
        ->As<api::Pod>()
        ->status.nominated_node_name;
  }
  std::vector<std::string> Events(std::string_view reason) {
    std::vector<std::string> texts;
    for (const api::Object& object : cluster_->All(KindOf<api::Event>())) {
      const api::Event& event = *object.As<api::Event>();
      if (event.reason == reason) {
        texts.push_back(event.involved_object.name + ": " + event.message);
      }
    }
    return texts;
  }
};

TEST_F(GroupPreemptTest, Row41OnlyWhoIsNeededGoesAndTheLeastImportantFirst) {
  for (const char* node : {"n1", "n2", "n3"}) Create(MakeNode(node, "1"));
  Add({.name = "five", .node = "n1", .priority = 5});
  Add({.name = "three", .node = "n2", .priority = 3});
  Add({.name = "four", .node = "n3", .priority = 4});
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g");
  Add({.name = "b", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("three", "four"));
  EXPECT_THAT((std::vector{Nominated("a"), Nominated("b")}), UnorderedElementsAre("n2", "n3"));
  EXPECT_THAT(Condition(),
              HasSubstr("pod group preemption: waiting for 2 pods of lower priority to "
                        "leave: ns/four, ns/three."));
  const std::string event = fmt::format("Preempted by podgroup {} on node cluster", GroupUid());
  EXPECT_THAT(Events("Preempted"), UnorderedElementsAre("four: " + event, "three: " + event));
  End("three");
  Run();
  EXPECT_EQ(NodeOf("a") + NodeOf("b"), "");
  EXPECT_THAT(SentAway(), UnorderedElementsAre("four"));
  End("four");
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b")}), UnorderedElementsAre("n2", "n3"));
  EXPECT_EQ(Condition(), "True Scheduled: ");
  EXPECT_EQ(scheduler_->rooms_kept(), 0u);
}

TEST_F(GroupPreemptTest, Row42OfAGroupWithModeAllEverybodyGoesAlsoOnOtherNodes) {
  for (const char* node : {"n1", "n2"}) Create(MakeNode(node, "1"));
  AddImportantGroup(2, 1, "low", /*all=*/true);
  Add({.name = "low-1", .node = "n1", .priority = 1}, "low");
  Add({.name = "low-2", .node = "n2", .priority = 1}, "low");
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
}

TEST_F(GroupPreemptTest, Row42ASinglePodSendsAllOfSuchAGroupAway) {
  for (const char* node : {"n1", "n2"}) Create(MakeNode(node, "1"));
  AddImportantGroup(2, 1, "low", /*all=*/true);
  Add({.name = "low-1", .node = "n1", .priority = 1}, "low");
  Add({.name = "low-2", .node = "n2", .priority = 1}, "low");
  Add({.name = "high", .priority = 10});
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
}

TEST_F(GroupPreemptTest, ASinglePodOfAsLowAPriorityGoesRatherThanAWholeGroup) {
  for (const char* node : {"n1", "n2", "n3"}) Create(MakeNode(node, "1"));
  AddImportantGroup(2, 1, "low", /*all=*/true);
  Add({.name = "low-1", .node = "n1", .priority = 1}, "low");
  Add({.name = "low-2", .node = "n2", .priority = 1}, "low");
  Add({.name = "alone", .node = "n3", .priority = 1});
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("alone"));
}

TEST_F(GroupPreemptTest, Row43OfAGroupWithModeSingleOnlyWhoIsNeeded) {
  for (const char* node : {"n1", "n2"}) Create(MakeNode(node, "1"));
  AddImportantGroup(2, 1, "low");
  Add({.name = "low-1", .node = "n1", .priority = 1}, "low");
  Add({.name = "low-2", .node = "n2", .priority = 1}, "low");
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), SizeIs(1));
}

TEST_F(GroupPreemptTest, Row44NobodyOfEqualPriorityGoes) {
  Create(MakeNode("n1", "1"));
  Add({.name = "equal", .node = "n1", .priority = 10});
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Condition(), ::testing::Not(HasSubstr("preemption")));
}

TEST_F(GroupPreemptTest, Row45NobodyGoesWhereTheGangWouldNotFitAllTheSame) {
  for (const char* node : {"n1", "n2"}) Create(MakeNode(node, "1"));
  Add({.name = "low", .node = "n1", .priority = 1});
  Add({.name = "equal", .node = "n2", .priority = 10});
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g");
  Add({.name = "b", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Condition(),
              HasSubstr("pod group preemption: it would not fit without the one pod of "
                        "lower priority either"));
}

TEST_F(GroupPreemptTest, Row46WhomABudgetKeepsGoesLast) {
  for (const char* node : {"n1", "n2"}) Create(MakeNode(node, "1"));
  api::PodDisruptionBudget budget;
  budget.metadata = {.name = "keep", .namespace_ = "ns"};
  budget.spec.selector.emplace().match_labels["app"] = "kept";
  Create(std::move(budget));
  api::Pod kept = MakePod({.name = "kept", .node = "n1", .priority = 1});
  kept.metadata.labels["app"] = "kept";
  Create(std::move(kept));
  Add({.name = "other", .node = "n2", .priority = 5});
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("other"));
}

TEST_F(GroupPreemptTest, Row47AsManyArePlacedAsCanBe) {
  for (const char* node : {"n1", "n2", "n3", "n4"}) Create(MakeNode(node, "1"));
  Add({.name = "low-1", .node = "n1", .priority = 10});
  Add({.name = "low-2", .node = "n2", .priority = 10});
  Add({.name = "high-1", .node = "n3", .priority = 200});
  Add({.name = "high-2", .node = "n4", .priority = 200});
  AddImportantGroup(1, 100);
  for (const char* pod : {"a", "b", "c"}) Add({.name = pod, .priority = 100}, "g");
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  End("low-1");
  End("low-2");
  Run();
  EXPECT_THAT(Bound(), SizeIs(4));
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(GroupPreemptTest, Row48WithPolicyNeverNobodyGoes) {
  Create(MakeNode("n1", "1"));
  Add({.name = "low", .node = "n1", .priority = 1});
  AddImportantGroup(1, 10);
  api::Pod pod = Member(MakePod({.name = "a", .priority = 10}));
  pod.spec.preemption_policy = api::kPreemptNever;
  Create(std::move(pod));
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Condition(), HasSubstr("not eligible due to preemptionPolicy=Never."));
}

// With the gate the group's own policy is asked.
TEST_F(GroupPreemptTest, Row48ThePolicyOfTheGroupCountsWithItsGate) {
  scheduler_ = nullptr;
  gates_.Set(api::Gate::kPodGroupPreemptionPolicy, true);
  cluster_ = std::make_unique<api::MemoryCluster>(
      clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
  Restart();
  Create(MakeNode("n1", "1"));
  Add({.name = "low", .node = "n1", .priority = 1});
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = "g";
  group.spec.priority = 10;
  group.spec.preemption_policy = api::kPreemptNever;
  group.spec.scheduling_policy.gang.emplace().min_count = 1;
  Create(std::move(group));
  Add({.name = "a", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(GroupPreemptTest, Row49AStartedGangTakesWhatIsThereAndThenMakesRoom) {
  for (const char* node : {"n1", "n2", "n3"}) Create(MakeNode(node, "1"));
  Add({.name = "low", .node = "n3", .priority = 1});
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g");
  Run();
  ASSERT_THAT(Bound(), Contains("a"));
  Add({.name = "b", .priority = 10}, "g");
  Add({.name = "c", .priority = 10}, "g");
  scheduler_->Run();
  EXPECT_THAT(Bound(), SizeIs(3));
  EXPECT_THAT(SentAway(), IsEmpty());
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  End("low");
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(GroupPreemptTest, Row50NoSecondWaveWhileVictimsEndAndTheRoomIsKept) {
  for (const char* node : {"n1", "n2", "n3"}) Create(MakeNode(node, "1"));
  for (int i = 1; i <= 3; ++i) {
    Add({.name = fmt::format("low-{}", i), .node = fmt::format("n{}", i), .priority = i});
  }
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g");
  Add({.name = "b", .priority = 10}, "g");
  Run();
  ASSERT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  for (int i = 0; i < 3; ++i) Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  End("low-1");
  // It would fit where the first victim was.
  Add({.name = "late", .priority = 10});
  Run();
  EXPECT_EQ(NodeOf("late"), "");
  EXPECT_NE(Nominated("a"), "");
  EXPECT_NE(Nominated("b"), "");
  End("low-2");
  Run();
  EXPECT_THAT(Bound(), ::testing::IsSupersetOf({"a", "b"}));
}

TEST_F(GroupPreemptTest, ForDevicesNobodyGoesUnlessItIsAskedFor) {
  Restart(/*devices=*/false);
  AddGpus("n1", 1);
  Add({.name = "low", .priority = 1}, "", 1);
  Run();
  ASSERT_EQ(NodeOf("low"), "n1");
  AddImportantGroup(1, 10);
  Add({.name = "a", .priority = 10}, "g", 1);
  Run();
  EXPECT_THAT(SentAway(), IsEmpty());
}

TEST_F(GroupPreemptTest, DevicesAreGivenBackForAllOfTheGroupAndKeptForIt) {
  AddGpus("n1", 2);
  AddGpus("n2", 1);
  Add({.name = "low-1", .priority = 1}, "", 1);
  Add({.name = "low-2", .priority = 2}, "", 1);
  Add({.name = "low-3", .priority = 3}, "", 1);
  Run();
  ASSERT_THAT(Bound(), SizeIs(3));
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g", 1);
  Add({.name = "b", .priority = 10}, "g", 1);
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  EXPECT_THAT(
      Events("Preempted"),
      Contains(HasSubstr(fmt::format("Preempted by podgroup {} on node cluster to give back "
                                     "device gpu.example.com/",
                                     GroupUid()))));
  EXPECT_THAT(Condition(), HasSubstr("are kept for it"));
  End("low-1");
  End("low-2");
  Run();
  GiveBack("low-1");
  // Somebody as important comes before the rest is given back.
  Add({.name = "late", .priority = 10}, "", 1);
  Run();
  EXPECT_EQ(NodeOf("late"), "");
  EXPECT_THAT(SentAway(), ElementsAre("low-3")) << "the other pod makes room for itself";
  EXPECT_EQ(NodeOf("a") + NodeOf("b"), "");
  GiveBack("low-2");
  Run();
  EXPECT_NE(NodeOf("a"), "");
  EXPECT_NE(NodeOf("b"), "");
}

// One of the group can never be bound: what was made free for all of it is not kept for ever, nor made free again.
TEST_F(GroupPreemptTest, AGroupThatFailsWithItsRoomGivesItUp) {
  AddGpus("n1", 1);
  AddGpus("n2", 1);
  Add({.name = "low-1", .priority = 1}, "", 1);
  Add({.name = "low-2", .priority = 1}, "", 1);
  Run();
  ASSERT_THAT(Bound(), SizeIs(2));
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g", 1);
  Add({.name = "b", .priority = 10}, "g", 1);
  Run();
  ASSERT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  cluster_->SetWriteHook([](api::Verb verb, const api::Object& object) {
    const auto* claim = object.As<api::ResourceClaim>();
    return verb == api::Verb::kUpdateStatus && claim != nullptr && claim->metadata.name == "a" &&
                   claim->status.allocation
               ? base::FailedPrecondition("a webhook says no")
               : Status();
  });
  for (const std::string name : {"low-1", "low-2"}) {
    End(name);
    GiveBack(name);
  }
  Add({.name = "next-1", .priority = 1}, "", 1);
  Add({.name = "next-2", .priority = 1}, "", 1);
  Run();
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("next-1", "next-2"));
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_THAT(Events("Preempted"), SizeIs(2));
  EXPECT_EQ(Nominated("a") + Nominated("b"), "");
  EXPECT_EQ(scheduler_->rooms_kept(), 0u);
  EXPECT_THAT(Condition(), HasSubstr("pod group preemption: not again for now: room was made "
                                     "before, and then it failed: "));
  EXPECT_THAT(Condition(), HasSubstr("a webhook says no"));
}

TEST_F(GroupPreemptTest, AfterARestartWhatWasHeldIsHeldAgain) {
  AddGpus("n1", 1);
  AddGpus("n2", 1);
  AddGpus("n3", 1);
  for (int i = 1; i <= 3; ++i) {
    Add({.name = fmt::format("low-{}", i), .priority = i}, "", 1);
  }
  Run();
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g", 1);
  Add({.name = "b", .priority = 10}, "g", 1);
  Run();
  ASSERT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  End("low-1");
  Restart();
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low-2"));
  End("low-2");
  Restart();
  Run();
  // Nobody leaves any more, and nothing has been given back.
  EXPECT_THAT(SentAway(), IsEmpty());
  EXPECT_EQ(NodeOf("low-3").empty(), false);
  GiveBack("low-1");
  GiveBack("low-2");
  Run();
  EXPECT_NE(NodeOf("a"), "");
  EXPECT_NE(NodeOf("b"), "");
  EXPECT_EQ(scheduler_->rooms_kept(), 0u);
}

// kubernetes#138765, with somebody in the way: pod by pod the gang would not fit with him gone either.
TEST_F(GroupPreemptTest, TheJointSearchIsAskedWhoMustGo) {
  Create(MakeNode("n1", "4"));
  Create(MakeNode("n2", "2"));
  Add({.name = "low", .node = "n1", .cpu = "3", .priority = 1});
  AddImportantGroup(2, 10);
  Add({.name = "a", .cpu = "2", .priority = 10}, "g");
  Add({.name = "b", .cpu = "4", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
  End("low");
  Run();
  EXPECT_EQ(NodeOf("a"), "n2");
  EXPECT_EQ(NodeOf("b"), "n1");
}

TEST_F(GroupPreemptTest, InARackOnlyThatRackIsCleared) {
  for (const char* node : {"a1", "a2", "b1", "b2"}) {
    api::Node made = MakeNode(node, "1");
    made.metadata.labels["rack"] = std::string(1, node[0]);
    Create(std::move(made));
  }
  Add({.name = "one", .node = "a1", .priority = 1});
  Add({.name = "two", .node = "b1", .priority = 2});
  Add({.name = "three", .node = "b2", .priority = 2});
  Add({.name = "equal", .node = "a2", .priority = 10});
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = "g";
  group.spec.priority = 10;
  group.spec.scheduling_policy.gang.emplace().min_count = 2;
  group.spec.scheduling_constraints.emplace().topology.push_back({.key = "rack"});
  Create(std::move(group));
  Add({.name = "a", .priority = 10}, "g");
  Add({.name = "b", .priority = 10}, "g");
  Run();
  EXPECT_THAT(SentAway(), UnorderedElementsAre("two", "three"));
}

TEST_F(GroupPreemptTest, AGangThatIsNoGangAnyMoreKeepsNothing) {
  AddGpus("n1", 2);
  Add({.name = "low", .priority = 1}, "", 1);
  Run();
  AddImportantGroup(2, 10);
  for (const char* pod : {"a", "b"}) {
    Create(DeviceCluster::GpuClaim(pod, 1));
    Create(Member(DeviceCluster::WithClaim(MakePod({.name = pod, .priority = 10}), pod)));
  }
  Run();
  ASSERT_THAT(SentAway(), ElementsAre("low"));
  ASSERT_FALSE(scheduler_->world().holds().empty());
  ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", "b").ok());
  Run();
  EXPECT_EQ(scheduler_->rooms_kept(), 0u);
  EXPECT_TRUE(scheduler_->world().holds().empty());
}

// One by one the first pod takes the larger node, and what refuses the second one is cpu; yet what the gang
// waits for is a device of the smaller node.
TEST_F(GroupPreemptTest, WhatAnyOfItsPodsWaitsForWakesTheGang) {
  for (const auto& [name, cpu] : {std::pair("n1", "2"), std::pair("n2", "1")}) {
    api::Node node = MakeNode(name, cpu);
    node.metadata.labels["kubernetes.io/hostname"] = name;
    Create(std::move(node));
    Create(DeviceCluster::GpuSlice(name, 1));
  }
  Create(DeviceCluster::GpuClaim("blocker", 1));
  api::Pod blocker =
      DeviceCluster::WithClaim(MakePod({.name = "blocker", .cpu = "", .priority = 10}), "blocker");
  blocker.spec.node_selector["kubernetes.io/hostname"] = "n2";
  Create(std::move(blocker));
  Run();
  ASSERT_EQ(NodeOf("blocker"), "n2");
  AddImportantGroup(2, 10);
  Add({.name = "a", .priority = 10}, "g", 1);
  Add({.name = "b", .cpu = "2", .priority = 10}, "g");
  Run();
  ASSERT_TRUE(cluster_->Delete(KindOf<api::Pod>(), "ns", "blocker").ok());
  Run();
  EXPECT_EQ(NodeOf("a") + NodeOf("b"), "");
  GiveBack("blocker");
  Run();
  EXPECT_EQ(NodeOf("a"), "n2");
  EXPECT_EQ(NodeOf("b"), "n1");
}

// As in files, which no admission has seen: the number is the class's, for the group and its pods.
TEST_F(GroupPreemptTest, APriorityIsThatOfTheClassWhereNobodyHasFilledItIn) {
  api::PriorityClass important;
  important.metadata.name = "important";
  important.value = 100;
  Create(std::move(important));
  Create(MakeNode("n1", "1"));
  Add({.name = "low", .node = "n1", .priority = 1});
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = "g";
  group.spec.priority_class_name = "important";
  group.spec.scheduling_policy.gang.emplace().min_count = 1;
  Create(std::move(group));
  api::Pod pod = Member(MakePod({.name = "a"}));
  pod.spec.priority.reset();
  pod.spec.priority_class_name = "important";
  Create(std::move(pod));
  Run();
  EXPECT_THAT(SentAway(), ElementsAre("low"));
}

// Nor are they one where pods that cannot be placed one by one are placed together on one node.
TEST_F(GroupPreemptTest, PodsThatAskByTheNameOfAResourceHaveADeviceEachOnOneNode) {
  api::DeviceClass named;
  named.metadata.name = "named";
  named.spec.extended_resource_name = "example.com/gpu";
  Create(std::move(named));
  AddGpus("n1", 2);
  AddGpus("n2", 1);
  AddImportantGroup(3, 0);
  AddByName({.name = "a"});
  AddByName({.name = "b"});
  AddByName({.name = "c", .cpu = "8"});
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b"), NodeOf("c")}), ElementsAre("n1", "n1", "n2"));
  std::vector<std::string> devices;
  for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
    for (const auto& result : object.As<api::ResourceClaim>()->status.allocation->devices.results) {
      devices.push_back(result.pool + "/" + result.device);
    }
  }
  EXPECT_THAT(devices, UnorderedElementsAre("n1/gpu-0", "n1/gpu-1", "n2/gpu-0"));
}

// Claims for extended resources have no names before they are stored, and are not one for all of that. Found by test/system:
// one device was held for the whole group, whoever came took the others, and was sent away again.
TEST_F(GroupPreemptTest, DevicesByTheNamesOfResourcesAreHeldForEachPod) {
  api::DeviceClass named;
  named.metadata.name = "named";
  named.spec.extended_resource_name = "example.com/gpu";
  Create(std::move(named));
  AddGpus("n1", 2);
  for (const char* low : {"low-1", "low-2"}) Add({.name = low, .priority = 1}, "", 1);
  Run();
  AddImportantGroup(2, 10);
  for (const char* name : {"a", "b"}) AddByName({.name = name, .priority = 10});
  Run();
  ASSERT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  EXPECT_THAT(Condition(), HasSubstr("devices gpu.example.com/n1/gpu-0, gpu.example.com/n1/gpu-1"));
  End("low-1");
  GiveBack("low-1");
  Add({.name = "next", .priority = 1}, "", 1);
  Run();
  EXPECT_EQ(NodeOf("next"), "");
  End("low-2");
  GiveBack("low-2");
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b"), NodeOf("next")}), ElementsAre("n1", "n1", ""));
}

TEST_F(GroupPreemptTest, ForAGroupOfWhichAClaimHasGoneNothingIsKept) {
  AddGpus("n1", 1);
  AddGpus("n2", 1);
  for (const char* low : {"low-1", "low-2"}) Add({.name = low, .priority = 1}, "", 1);
  Run();
  AddImportantGroup(2, 10);
  for (const char* pod : {"a", "b"}) Add({.name = pod, .priority = 10}, "g", 1);
  Run();
  ASSERT_THAT(SentAway(), UnorderedElementsAre("low-1", "low-2"));
  ASSERT_EQ(scheduler_->rooms_kept(), 2u);
  ASSERT_THAT(cluster_->Delete(KindOf<api::ResourceClaim>(), "ns", "b"), testing::IsOk());
  Run();
  EXPECT_EQ(scheduler_->rooms_kept(), 0u);
  EXPECT_TRUE(scheduler_->world().holds().empty());
  End("low-1");
  GiveBack("low-1");
  Add({.name = "next", .priority = 10}, "", 1);
  Run();
  EXPECT_EQ(NodeOf("next"), "n1");
}

// And so is the policy: that of the group's class where groups have one, else that of its pods'.
TEST_F(GroupPreemptTest, APolicyIsThatOfTheClassWhereNobodyHasFilledItIn) {
  for (const bool of_group : {false, true}) {
    scheduler_ = nullptr;
    gates_.Set(api::Gate::kPodGroupPreemptionPolicy, of_group);
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
    Restart();
    for (const bool never : {false, true}) {
      api::PriorityClass made;
      made.metadata.name = never ? "patient" : "hasty";
      made.value = 100;
      if (never) made.preemption_policy = api::kPreemptNever;
      Create(std::move(made));
    }
    Create(MakeNode("n1", "1"));
    Add({.name = "low", .node = "n1", .priority = 1});
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = "g";
    group.spec.priority_class_name = of_group ? "patient" : "hasty";
    group.spec.scheduling_policy.gang.emplace().min_count = 1;
    Create(std::move(group));
    api::Pod pod = Member(MakePod({.name = "a"}));
    pod.spec.priority.reset();
    pod.spec.priority_class_name = of_group ? "hasty" : "patient";
    Create(std::move(pod));
    Run();
    EXPECT_THAT(SentAway(), IsEmpty()) << of_group;
    EXPECT_THAT(Condition(), HasSubstr("not eligible due to preemptionPolicy=Never."));
  }
}

class CountsAttempts final : public Observer {
 public:
  void OnAttempt(const AttemptReport& attempt) override {
    ++(attempt.result == AttemptReport::Result::kScheduled ? scheduled : unschedulable);
  }
  void OnPhase(std::string_view, Phase, PluginStatus::Code, std::chrono::nanoseconds) override {}
  void OnPlugin(std::string_view, Phase, PluginStatus::Code, std::chrono::nanoseconds) override {}
  void OnRefusal(const PodExplanation&) override {}
  void OnPreemption(std::size_t) override {}
  void OnBindingConditions(std::string_view, std::string_view, std::string_view,
                           std::chrono::nanoseconds) override {}
  int scheduled = 0;
  int unschedulable = 0;
};

TEST_F(GroupPreemptTest, EveryPodOfARefusedGroupIsAnAttempt) {
  CountsAttempts counts;
  SchedulerOptions options;
  options.gates = gates_;
  options.observer = &counts;
  scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  Create(MakeNode("n1", "2"));
  AddImportantGroup(3, 0);
  for (const char* pod : {"a", "b", "c"}) Add({.name = pod}, "g");
  scheduler_->Run();
  EXPECT_EQ(counts.unschedulable, 3);
  Create(MakeNode("n2", "1"));
  Run();
  EXPECT_EQ(counts.scheduled, 3);
  scheduler_ = nullptr;  // before who looks on
}

}  // namespace
}  // namespace dray::scheduler

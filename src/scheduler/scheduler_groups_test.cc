// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods on a cluster in memory, with the default plugins. Rows are those of the acceptance table
// for workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Work is done when the test says so.
class Later final : public Background {
 public:
  void Run(std::function<void()> work) override { works_.push_back(std::move(work)); }
  void DoOne() {
    const std::function<void()> work = std::move(works_.front());
    works_.pop_front();
    work();
  }
  void DoAll() {
    while (!works_.empty()) DoOne();
  }

 private:
  std::deque<std::function<void()>> works_;
};

class GroupTest : public ::testing::Test {
 protected:
  GroupTest() {
    gates_.Set(api::Gate::kGenericWorkload, true);
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    Start();
  }
  void Start(Background* background = nullptr) {
    SchedulerOptions options;
    options.gates = gates_;
    options.background = background;
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  }
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  template <typename T>
  void Create(T object) {
    const auto created = cluster_->Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  void AddGroup(std::int32_t least, const std::string& name = "g") {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = name;
    if (least > 0) {
      group.spec.scheduling_policy.gang.emplace().min_count = least;
    } else {
      group.spec.scheduling_policy.basic.emplace();
    }
    Create(std::move(group));
  }
  static api::Pod Member(api::Pod pod, const std::string& group = "g") {
    pod.spec.scheduling_group.emplace().pod_group_name = group;
    return pod;
  }
  void AddPod(const std::string& name, const std::string& cpu = "1",
              const std::string& group = "g") {
    Create(Member(MakePod({.name = name, .cpu = cpu}), group));
  }
  // Backoffs go by, and whatever is to be tried is.
  void Run() {
    for (int i = 0; i < 3; ++i) {
      scheduler_->Run();
      clock_.Advance(std::chrono::seconds(20));
      scheduler_->Tick();
    }
    scheduler_->Run();
  }
  // With writes in the background: until nothing is left to be done now. No time goes by.
  void RunWith(Later& later) {
    for (int i = 0; i < 4; ++i) {
      scheduler_->Run();
      later.DoAll();
    }
    scheduler_->Run();
  }
  std::string NodeOf(const std::string& pod) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", pod);
    return stored ? stored->As<api::Pod>()->spec.node_name : "gone";
  }
  std::vector<std::string> Bound() {
    std::vector<std::string> bound;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      if (!object.As<api::Pod>()->spec.node_name.empty()) bound.push_back(object.metadata().name);
    }
    return bound;
  }
  // "status reason: message"
  std::string Condition(const std::string& group = "g") {
    const auto stored = cluster_->Stored(KindOf<api::PodGroup>(), "ns", group);
    for (const api::Condition& condition : stored->As<api::PodGroup>()->status.conditions) {
      return fmt::format("{} {}: {}", condition.status, condition.reason, condition.message);
    }
    return "";
  }
  std::string Said(const std::string& pod) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", pod);
    for (const api::PodCondition& condition : stored->As<api::Pod>()->status.conditions) {
      if (condition.type == api::kPodScheduledCondition) return condition.message;
    }
    return "";
  }

  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::FeatureGates gates_;
  std::unique_ptr<api::MemoryCluster> cluster_;
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
};

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
  Later later;
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
  Later later;
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

class GroupDevicesTest : public GroupTest {
 protected:
  void AddClaimed(const std::string& name, std::vector<std::pair<std::string, std::string>> wants) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "r";
    for (const auto& [alternative, expression] : wants) {
      api::DeviceSubRequest& sub = request.first_available.emplace_back();
      sub.name = alternative;
      sub.device_class_name = "gpu";
      sub.allocation_mode = api::kAllocationModeExactCount;
      sub.count = 1;
      if (expression.empty()) continue;
      sub.selectors.emplace_back().cel.emplace().expression = expression;
    }
    Create(std::move(claim));
    Create(Member(DeviceCluster::WithClaim(MakePod({.name = name}), name)));
  }
  std::string DeviceOf(const std::string& claim) {
    const auto stored = cluster_->Stored(KindOf<api::ResourceClaim>(), "ns", claim);
    const auto& allocation = stored->As<api::ResourceClaim>()->status.allocation;
    return allocation ? allocation->devices.results.at(0).device : "none";
  }
};

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
  Later later;
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

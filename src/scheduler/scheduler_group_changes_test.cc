// SPDX-License-Identifier: Apache-2.0
//
// What happens to a group while it waits, is being bound, or makes room: its pods, its nodes, its claims and the
// group itself change, go, or come again. Rows are those of the acceptance table for workloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/group_cluster_for_test.h"
#include "testing/status_matchers.h"

namespace dray::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class GroupChangesTest : public GroupDevicesTest {
 protected:
  void SetMinCount(std::int32_t least, const std::string& name = "g") {
    auto stored = cluster_->Stored(KindOf<api::PodGroup>(), "ns", name);
    stored->Mutable<api::PodGroup>()->spec.scheduling_policy.gang->min_count = least;
    ASSERT_THAT(cluster_->Update(*stored), testing::IsOk());
  }
  template <typename T>
  void Delete(const std::string& name, const std::string& space = "ns") {
    ASSERT_TRUE(cluster_->Delete(KindOf<T>(), space, name).ok());
  }
  void AddWithAntiAffinity(const std::string& name, const std::string& cpu,
                           const std::string& key = "kubernetes.io/hostname") {
    api::Pod pod = Member(MakePod({.name = name, .cpu = cpu}));
    pod.metadata.labels["app"] = "train";
    api::PodAffinityTerm& term =
        pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.emplace_back();
    term.topology_key = key;
    term.label_selector.emplace().match_labels["app"] = "train";
    Create(std::move(pod));
  }
  void AddNamedNode(const std::string& name, const std::string& cpu) {
    api::Node node = MakeNode(name, cpu);
    node.metadata.labels["kubernetes.io/hostname"] = name;
    Create(std::move(node));
  }
};

TEST_F(GroupChangesTest, Row24FewerAreWaitedForWhenFewerAreAskedFor) {
  Create(MakeNode("n", "8"));
  AddGroup(5, "g");
  AddGroup(5, "h");
  for (int i = 0; i < 4; ++i) {
    AddPod(fmt::format("g-{}", i), "1", "g");
    AddPod(fmt::format("h-{}", i), "1", "h");
  }
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  SetMinCount(4, "g");
  SetMinCount(6, "h");
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("g-0", "g-1", "g-2", "g-3"));
}

TEST_F(GroupChangesTest, Row28PodsOfAGroupThatIsDeletedWaitForOneOfItsName) {
  Create(MakeNode("n", "1"));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddPod(name);
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  Delete<api::PodGroup>("g");
  Create(MakeNode("m", "8"));
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  AddGroup(2);
  Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupChangesTest, Row29OneThatCannotBeBoundIsTriedAgainAndTheOthersStay) {
  Create(MakeNode("n", "8"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  int refused = 0;
  cluster_->SetWriteHook([&](api::Verb verb, const api::Object& object) -> Status {
    if (verb != api::Verb::kBind || object.metadata().name != "b" || refused > 0) return {};
    ++refused;
    return base::FailedPrecondition("no");
  });
  scheduler_->Run();
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "c"));
  Run();
  EXPECT_EQ(refused, 1);
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(GroupChangesTest, Row31PodsThatKeepAwayFromEachOtherNeedAsManyNodes) {
  AddNamedNode("n", "8");
  AddGroup(2);
  AddWithAntiAffinity("a", "1");
  AddWithAntiAffinity("b", "1");
  Run();
  EXPECT_THAT(Bound(), IsEmpty());
  AddNamedNode("m", "8");
  Run();
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b")}), UnorderedElementsAre("n", "m"));
}

TEST_F(GroupChangesTest, Row34ABasicGroupWithoutRoomIsToldSo) {
  Create(MakeNode("n", "1"));
  AddGroup(0);
  AddPod("a", "2");
  Run();
  EXPECT_THAT(Condition(), HasSubstr("False Unschedulable: "));
}

// The first pod's claim is stored and the second one's is not when more pods are asked for.
TEST_F(GroupChangesTest, MorePodsAreAskedForWhileThoseThereAreAreBeingBound) {
  WritesLater later;
  Start(&later);
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 4));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddClaimed(name, {{"any", ""}});
  scheduler_->Run();
  later.DoOne();
  scheduler_->Run();
  SetMinCount(3);
  RunWith(later);
  EXPECT_THAT(Bound(), IsEmpty());
  EXPECT_THAT(Condition(), Not(HasSubstr("True")));
  AddClaimed("c", {{"any", ""}});
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(std::chrono::seconds(20));
    RunWith(later);
  }
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(GroupChangesTest, TheGroupGoesWhileItsPodsAreBeingBound) {
  WritesLater later;
  Start(&later);
  Create(MakeNode("n", "8"));
  Create(DeviceCluster::GpuSlice("n", 4));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddClaimed(name, {{"any", ""}});
  scheduler_->Run();
  later.DoOne();
  scheduler_->Run();
  Delete<api::PodGroup>("g");
  RunWith(later);
  EXPECT_THAT(Bound(), IsEmpty());
  AddGroup(2);
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(std::chrono::seconds(20));
    RunWith(later);
  }
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
}

TEST_F(GroupChangesTest, ANodeGoesWhileTheGroupIsBeingBound) {
  WritesLater later;
  Start(&later);
  for (const char* node : {"n", "m"}) {
    Create(MakeNode(node, "1"));
    Create(DeviceCluster::GpuSlice(node, 1));
  }
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddClaimed(name, {{"any", ""}});
  scheduler_->Run();
  later.DoOne();
  scheduler_->Run();
  Delete<api::Node>("m", "");
  Delete<api::ResourceSlice>("slice-m", "");
  RunWith(later);
  EXPECT_THAT(Bound(), IsEmpty());
  Create(MakeNode("o", "1"));
  Create(DeviceCluster::GpuSlice("o", 1));
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(std::chrono::seconds(20));
    RunWith(later);
  }
  EXPECT_THAT((std::vector{NodeOf("a"), NodeOf("b")}), UnorderedElementsAre("n", "o"));
}

// Another pod by the name of one that was counted.
TEST_F(GroupChangesTest, APodIsReplacedByOneOfItsNameWhileTheGroupIsBeingBound) {
  WritesLater later;
  Start(&later);
  Create(MakeNode("n", "8"));
  AddGroup(2);
  for (const char* name : {"a", "b"}) AddPod(name);
  scheduler_->Run();
  later.DoOne();
  scheduler_->Run();
  Delete<api::Pod>("a");
  AddPod("a");
  const auto uid = [&] { return cluster_->Stored(KindOf<api::Pod>(), "ns", "a")->metadata().uid; };
  const std::string another = uid();
  for (int i = 0; i < 4; ++i) {
    RunWith(later);
    clock_.Advance(std::chrono::seconds(20));
  }
  EXPECT_THAT(Bound(), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(uid(), another);
}

// A claim of one node that pods of two groups name: both come there, or the second one waits.
TEST_F(GroupChangesTest, TwoGroupsShareAClaim) {
  for (const char* node : {"n", "m"}) {
    Create(MakeNode(node, "3"));
    Create(DeviceCluster::GpuSlice(node, 1));
  }
  AddGroup(2, "g");
  AddGroup(2, "h");
  Create(DeviceCluster::GpuClaim("shared", 1));
  for (const char* name : {"a", "b"}) {
    Create(MemberWith(MakePod({.name = name}), {"shared"}, "g"));
  }
  for (const char* name : {"x", "y"}) {
    Create(MemberWith(MakePod({.name = name}), {"shared"}, "h"));
  }
  Run();
  ASSERT_THAT(Bound(), SizeIs(2));
  const std::string first = Bound().front();
  EXPECT_THAT(Claim("shared")->status.reserved_for, SizeIs(2));
  const bool g_first = first == "a" || first == "b";
  const std::string node = NodeOf(first);
  // The first group goes, one pod after the other; the other one joins where there is room then.
  Delete<api::Pod>(g_first ? "a" : "x");
  Run();
  EXPECT_EQ(NodeOf(g_first ? "x" : "a"), node);
  EXPECT_EQ(NodeOf(g_first ? "y" : "b"), node);
}

// While others leave for it the group is told to be larger than it can be: nobody else is sent away, and what
// was kept for it is for others.
TEST_F(GroupChangesTest, AGroupThatBecomesTooLargeWhileOthersLeaveKeepsNothing) {
  SchedulerOptions options;
  options.gates = gates_;
  options.config.profiles.front().preemption.devices = true;
  scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  for (const char* node : {"n", "m"}) {
    Create(MakeNode(node, "8"));
    Create(DeviceCluster::GpuSlice(node, 1));
  }
  for (const char* name : {"low-1", "low-2"}) {
    api::Pod low = MakePod({.name = name, .priority = 1});
    low.metadata.finalizers.emplace_back("example.com/ends-slowly");
    Create(DeviceCluster::GpuClaim(name, 1));
    Create(DeviceCluster::WithClaim(std::move(low), name));
  }
  Run();
  ASSERT_THAT(Bound(), SizeIs(2));
  api::PodGroup group;
  group.metadata.namespace_ = "ns";
  group.metadata.name = "g";
  group.spec.priority = 10;
  group.spec.scheduling_policy.gang.emplace().min_count = 1;
  Create(std::move(group));
  const auto add = [&](const char* name) {
    Create(DeviceCluster::GpuClaim(name, 1));
    Create(Member(DeviceCluster::WithClaim(MakePod({.name = name, .priority = 10}), name)));
  };
  add("a");
  Run();
  ASSERT_FALSE(scheduler_->world().holds().empty());
  SetMinCount(3);
  Run();
  EXPECT_TRUE(scheduler_->world().holds().empty());
  add("b");
  add("c");
  Run();
  // Three devices are not to be had: the other one stays.
  std::size_t sent = 0;
  for (const api::Object& pod : cluster_->All(KindOf<api::Pod>())) {
    sent += pod.metadata().deletion_timestamp ? 1 : 0;
  }
  EXPECT_EQ(sent, 1u);
  EXPECT_TRUE(scheduler_->world().holds().empty());
}

// Of a gang that does not fit, a pod that would fit alone is not said to be tried again soon.
TEST_F(GroupChangesTest, WhatIsSaidOfAPodOfAGroupStaysTrueWhenSomethingElseChanges) {
  Create(MakeNode("n", "2"));
  AddGroup(3);
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Run();
  ASSERT_THAT(Bound(), IsEmpty());
  ASSERT_NE(scheduler_->Explain("ns/a"), nullptr);
  const std::string before = scheduler_->Explain("ns/a")->before.front().text;
  EXPECT_THAT(before, HasSubstr("minCount (3) cannot be satisfied"));
  Create(MakePod({.name = "other", .cpu = "100"}));
  auto node = cluster_->Stored(KindOf<api::Node>(), "", "n");
  node->MutableMetadata().labels["of"] = "no interest";
  ASSERT_THAT(cluster_->Update(*node), testing::IsOk());
  scheduler_->Sync();
  ASSERT_THAT(scheduler_->Explain("ns/a")->before, Not(IsEmpty()));
  EXPECT_EQ(scheduler_->Explain("ns/a")->before.front().text, before);
}

// Row 59: by itself a pod gets what it likes best; row 60: a gang that fits pod by pod is placed so.
TEST_F(GroupChangesTest, Row59And60WhatFitsOneByOneIsPlacedSo) {
  for (const char* name : {"n", "m"}) {
    Create(MakeNode(name, "8"));
    testing::Slice counters(fmt::format("counters-{}", name));
    counters.Pool(name).OnNode(name).Of(2).Counters("cs", {{"widgets", "2"}});
    Create<api::ResourceSlice>(counters);
    testing::Slice slice(fmt::format("devices-{}", name));
    slice.Pool(name).OnNode(name).Of(2);
    slice.With(testing::Device("whole").String("kind", "whole").Consumes("cs", {{"widgets", "2"}}));
    slice.With(testing::Device("half").String("kind", "half").Consumes("cs", {{"widgets", "1"}}));
    Create<api::ResourceSlice>(slice);
  }
  AddGroup(2);
  for (const char* name : {"a", "b"}) {
    AddClaimed(name, {{"whole", R"(device.attributes["gpu.example.com"].kind == "whole")"},
                      {"half", R"(device.attributes["gpu.example.com"].kind == "half")"}});
  }
  Run();
  EXPECT_EQ(DeviceOf("a"), "whole");
  EXPECT_EQ(DeviceOf("b"), "whole");
}

}  // namespace
}  // namespace dray::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "controllers/node_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/lease.h"
#include "api/node.h"
#include "controllers/scene_for_test.h"
#include "controllers/taint_eviction.h"

namespace dray::controllers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

class NodeLifecycleTest : public ::testing::Test {
 protected:
  void AddNode(std::string_view name, std::string_view zone = "") {
    api::Node node;
    node.metadata.name = name;
    if (!zone.empty()) node.metadata.labels["topology.kubernetes.io/zone"] = zone;
    node.status.conditions.push_back({.type = "Ready",
                                      .status = "True",
                                      .last_heartbeat_time = scene_.clock().Now(),
                                      .last_transition_time = scene_.clock().Now(),
                                      .reason = "KubeletReady"});
    scene_.Add(node);
  }
  void AddLease(std::string_view node, std::int32_t seconds = 40) {
    api::Lease lease;
    lease.metadata.namespace_ = std::string(kNodeLeaseNamespace);
    lease.metadata.name = node;
    lease.spec.lease_duration_seconds = seconds;
    lease.spec.renew_time = api::MicroTime{scene_.clock().Now()};
    scene_.Add(lease);
  }
  void AddAlive(std::string_view name, std::string_view zone = "") {
    AddNode(name, zone);
    AddLease(name);
  }
  void Renew(std::string_view node) {
    auto lease = scene_.Get<api::Lease>(node, kNodeLeaseNamespace);
    lease.spec.renew_time = api::MicroTime{scene_.clock().Now()};
    scene_.Put(lease);
  }
  // Time goes by, in which only these renew their leases, every 10 s.
  void Pass(std::chrono::seconds time, std::vector<std::string> alive = {}) {
    scene_.Settle(controller_, eviction_);
    for (auto left = time; left > 0s; left -= 10s) {
      scene_.clock().Advance(std::min(left, std::chrono::seconds(10s)));
      for (const std::string& node : alive) Renew(node);
      scene_.Settle(controller_, eviction_);
    }
  }
  std::string Ready(std::string_view node) {
    for (const auto& condition : scene_.Get<api::Node>(node, "").status.conditions) {
      if (condition.type == "Ready") return condition.status + " " + condition.reason;
    }
    return "";
  }
  std::vector<std::string> Taints(std::string_view node) {
    std::vector<std::string> taints;
    for (const auto& taint : scene_.Get<api::Node>(node, "").spec.taints) {
      taints.push_back(taint.key + ":" + taint.effect);
    }
    return taints;
  }
  void AddPod(std::string_view name, std::string_view node,
              std::optional<std::int64_t> tolerates = std::nullopt) {
    api::Pod pod = PodNamed(name);
    pod.spec.node_name = node;
    if (tolerates) {
      pod.spec.tolerations.push_back({.key = "node.kubernetes.io/unreachable",
                                      .operator_ = "Exists",
                                      .effect = "NoExecute",
                                      .toleration_seconds = tolerates});
    }
    pod.status.phase = api::kPodRunning;
    pod.status.conditions.push_back(
        {.type = "Ready", .status = "True", .last_transition_time = scene_.clock().Now()});
    scene_.Add(pod);
  }

  Scene scene_;
  NodeLifecycle controller_{scene_.cluster(), scene_.clock()};
  TaintEviction eviction_{scene_.cluster(), scene_.clock()};
};

TEST_F(NodeLifecycleTest, WhoRenewsItsLeaseStaysReady) {
  AddAlive("a");
  Pass(300s, {"a"});
  EXPECT_EQ(Ready("a"), "True KubeletReady");
  EXPECT_THAT(Taints("a"), IsEmpty());
}

TEST_F(NodeLifecycleTest, AStatusThatIsWrittenIsASignOfLifeToo) {
  AddAlive("a");
  for (int i = 0; i < 10; ++i) {
    Pass(40s);
    auto node = scene_.Get<api::Node>("a", "");
    node.status.conditions[0].last_heartbeat_time = scene_.clock().Now();
    scene_.PutStatus(node);
    scene_.Settle(controller_);
  }
  EXPECT_EQ(Ready("a"), "True KubeletReady");
}

TEST_F(NodeLifecycleTest, SilenceMakesItUnreachable) {
  AddAlive("a");
  AddAlive("b");
  AddPod("p", "a", 300);
  Pass(40s, {"b"});
  EXPECT_EQ(Ready("a"), "True KubeletReady");
  Pass(20s, {"b"});
  EXPECT_EQ(Ready("a"), "Unknown NodeStatusUnknown");
  EXPECT_EQ(Ready("b"), "True KubeletReady");
  EXPECT_THAT(Taints("a"), UnorderedElementsAre("node.kubernetes.io/unreachable:NoSchedule",
                                                "node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_EQ(scene_.Get<api::Node>("a", "").status.conditions.size(), 4u);
  EXPECT_EQ(scene_.Get<api::Pod>("p").status.conditions[0].status, "False");
  EXPECT_THAT(scene_.Events(), Contains("NodeNotReady: Node a status is now: NodeNotReady"));
  EXPECT_THAT(scene_.Events(), Contains("NodeNotReady: Node is not ready"));
}

TEST_F(NodeLifecycleTest, PodsStayAsLongAsTheyTolerateIt) {
  AddAlive("a");
  AddAlive("b");
  AddPod("at-once", "a");
  AddPod("later", "a", 300);
  AddPod("elsewhere", "b");
  Pass(60s, {"b"});
  EXPECT_FALSE(scene_.Has<api::Pod>("at-once"));
  EXPECT_TRUE(scene_.Has<api::Pod>("later"));
  Pass(280s, {"b"});
  EXPECT_TRUE(scene_.Has<api::Pod>("later"));
  Pass(30s, {"b"});
  EXPECT_FALSE(scene_.Has<api::Pod>("later"));
  EXPECT_TRUE(scene_.Has<api::Pod>("elsewhere"));
}

TEST_F(NodeLifecycleTest, WhoComesBackLosesTheTaintsAndKeepsItsPods) {
  AddAlive("a");
  AddAlive("b");
  AddPod("p", "a", 300);
  Pass(60s, {"b"});
  auto node = scene_.Get<api::Node>("a", "");
  node.spec.taints.push_back({.key = "mine", .effect = "NoSchedule"});
  scene_.Put(node);
  node = scene_.Get<api::Node>("a", "");
  for (auto& condition : node.status.conditions) {
    condition.status = condition.type == "Ready" ? "True" : "False";
    condition.last_heartbeat_time = scene_.clock().Now();
  }
  scene_.PutStatus(node);
  Pass(400s, {"a", "b"});
  EXPECT_THAT(Taints("a"), ElementsAre("mine:NoSchedule"));
  EXPECT_TRUE(scene_.Has<api::Pod>("p"));
  EXPECT_THAT(scene_.Events(), Contains("TaintManagerEviction: Cancelling deletion of Pod ns/p"));
}

TEST_F(NodeLifecycleTest, ANodeWithoutALeaseIsNobodysPromise) {
  AddNode("by-hand");
  Pass(3600s);
  EXPECT_EQ(Ready("by-hand"), "True KubeletReady");
}

TEST_F(NodeLifecycleTest, ALeaseMayLastLonger) {
  AddNode("slow");
  AddLease("slow", 600);
  AddAlive("b");
  Pass(590s, {"b"});
  EXPECT_EQ(Ready("slow"), "True KubeletReady");
  Pass(20s, {"b"});
  EXPECT_EQ(Ready("slow"), "Unknown NodeStatusUnknown");
}

TEST_F(NodeLifecycleTest, WhenEverybodyIsSilentNobodyIsDrivenAway) {
  AddAlive("a");
  AddAlive("b");
  AddPod("p", "a");
  Pass(600s);
  EXPECT_EQ(Ready("a"), "Unknown NodeStatusUnknown");
  EXPECT_THAT(Taints("a"), ElementsAre("node.kubernetes.io/unreachable:NoSchedule"));
  EXPECT_TRUE(scene_.Has<api::Pod>("p"));
}

TEST_F(NodeLifecycleTest, NodesOfAZoneGoOneAfterTheOther) {
  std::vector<std::string> alive;
  for (int i = 0; i < 8; ++i) {
    AddAlive("n" + std::to_string(i));
    if (i >= 3) alive.push_back("n" + std::to_string(i));
  }
  AddPod("p0", "n0");
  AddPod("p1", "n1");
  AddPod("p2", "n2");
  Pass(50s, alive);
  std::vector<std::size_t> left;
  for (int i = 0; i < 3; ++i) {
    left.push_back(scene_.All<api::Pod>().size());
    Pass(10s, alive);
  }
  EXPECT_THAT(left, ElementsAre(2, 1, 0));
}

TEST_F(NodeLifecycleTest, WhenMostOfASmallZoneIsSilentNobodyIsDrivenAway) {
  for (const char* name : {"a", "b", "c"}) AddAlive(name, "east");
  for (const char* name : {"d"}) AddAlive(name, "east");
  AddAlive("w", "west");
  AddPod("p", "a");
  Pass(300s, {"d", "w"});
  EXPECT_TRUE(scene_.Has<api::Pod>("p"));
  EXPECT_THAT(Taints("a"), ElementsAre("node.kubernetes.io/unreachable:NoSchedule"));
}

TEST_F(NodeLifecycleTest, PressureAndCordonKeepNewPodsAway) {
  AddAlive("a");
  auto node = scene_.Get<api::Node>("a", "");
  node.spec.unschedulable = true;
  scene_.Put(node);
  node = scene_.Get<api::Node>("a", "");
  node.status.conditions.push_back({.type = "MemoryPressure", .status = "True"});
  scene_.PutStatus(node);
  scene_.Settle(controller_);
  EXPECT_THAT(Taints("a"), UnorderedElementsAre("node.kubernetes.io/memory-pressure:NoSchedule",
                                                "node.kubernetes.io/unschedulable:NoSchedule"));
  node = scene_.Get<api::Node>("a", "");
  node.spec.unschedulable = false;
  scene_.Put(node);
  scene_.Settle(controller_);
  EXPECT_THAT(Taints("a"), Not(Contains("node.kubernetes.io/unschedulable:NoSchedule")));
}

// Pods that nobody may drive away yet are told once that nobody knows how they are, not each time
// that their node is looked at.
TEST_F(NodeLifecycleTest, PodsOfANodeThatWaitsAreLookedAtOnce) {
  std::vector<std::string> alive;
  for (int i = 0; i < 8; ++i) {
    AddAlive("n" + std::to_string(i));
    if (i >= 3) alive.push_back("n" + std::to_string(i));
  }
  for (int i = 0; i < 50; ++i) AddPod("p" + std::to_string(i), "n2", 3600);
  Pass(50s, alive);
  ASSERT_THAT(Taints("n2"), ElementsAre("node.kubernetes.io/unreachable:NoSchedule"));
  EXPECT_EQ(scene_.Get<api::Pod>("p49").status.conditions[0].status, "False");
  const std::size_t before = controller_.reconciled();
  Pass(20s, alive);
  EXPECT_THAT(Taints("n2"), Contains("node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_LT(controller_.reconciled() - before, 30u);
}

// One that cannot be written does not stop those behind it, and comes later.
TEST_F(NodeLifecycleTest, WhoLeavesTheLineIsNotWaitedFor) {
  std::vector<std::string> alive;
  for (int i = 0; i < 9; ++i) {
    AddAlive("n" + std::to_string(i));
    if (i >= 4) alive.push_back("n" + std::to_string(i));
  }
  Pass(50s, alive);
  const auto evicted = [&] {
    std::vector<int> nodes;
    for (int i = 0; i < 4; ++i) {
      const auto taints = Taints("n" + std::to_string(i));
      if (std::ranges::count(taints, "node.kubernetes.io/unreachable:NoExecute") != 0) {
        nodes.push_back(i);
      }
    }
    return nodes;
  };
  const std::vector<int> first = evicted();
  ASSERT_EQ(first.size(), 1u);
  // Another comes back, another goes.
  const int back = first[0] == 1 ? 0 : 1;
  const int gone = first[0] == 2 ? 0 : 2;
  auto node = scene_.Get<api::Node>("n" + std::to_string(back), "");
  for (auto& condition : node.status.conditions) {
    condition.status = condition.type == "Ready" ? "True" : "False";
    condition.last_heartbeat_time = scene_.clock().Now();
  }
  scene_.PutStatus(node);
  alive.push_back(node.metadata.name);
  scene_.Delete<api::Node>("n" + std::to_string(gone), "");
  Pass(10s, alive);
  std::size_t left = 0;
  for (int i = 0; i < 4; ++i) {
    if (i == gone || i == back) continue;
    left += Taints("n" + std::to_string(i)).size();
  }
  EXPECT_EQ(left, 4u);
}

TEST_F(NodeLifecycleTest, AnotherOneGoesOnWhereOneStopped) {
  AddAlive("a");
  AddAlive("b");
  AddPod("p", "a", 300);
  Pass(60s, {"b"});
  NodeLifecycle next(scene_.cluster(), scene_.clock());
  EXPECT_EQ(next.Sync(), 0u);
}

}  // namespace
}  // namespace dray::controllers

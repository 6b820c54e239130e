// SPDX-License-Identifier: Apache-2.0
#include "hollow/hollow_nodes.h"

#include <gtest/gtest.h>

#include "api/lease.h"
#include "api/pod_claims.h"
#include "controllers/scene_for_test.h"
#include "hollow/pod_life.h"

namespace dray::hollow {
namespace {

using controllers::KindOf;
using controllers::PodNamed;
using namespace std::chrono_literals;

class HollowNodesTest : public ::testing::Test {
 protected:
  void AddNode(std::string_view name, std::string_view label = "") {
    api::Node node;
    node.metadata.name = name;
    if (!label.empty()) node.metadata.labels[kHollowLabel] = label;
    scene_.Add(node);
  }
  api::Pod AddPod(std::string_view name, std::string_view node,
                  std::string_view policy = api::kRestartPolicyAlways) {
    api::Pod pod = PodNamed(name);
    pod.spec.node_name = node;
    pod.spec.restart_policy = policy;
    return scene_.Add(pod);
  }
  std::string Phase(std::string_view pod) { return scene_.Get<api::Pod>(pod).status.phase; }

  controllers::Scene scene_;
  HollowNodes nodes_{scene_.cluster(), scene_.clock()};
};

TEST_F(HollowNodesTest, ANodeBecomesReadyAndStaysSo) {
  AddNode("a");
  nodes_.Sync();
  const auto node = scene_.Get<api::Node>("a", "");
  ASSERT_EQ(node.status.conditions.size(), 1u);
  EXPECT_EQ(node.status.conditions[0].status, "True");
  EXPECT_TRUE(node.status.allocatable.contains("cpu"));
  EXPECT_EQ(nodes_.Sync(), 0u);
  scene_.clock().Advance(301s);
  EXPECT_EQ(nodes_.Sync(), 2u);  // its status and its lease
  const auto later = scene_.Get<api::Node>("a", "");
  EXPECT_EQ(later.status.conditions[0].last_transition_time,
            node.status.conditions[0].last_transition_time);
  EXPECT_GT(later.status.conditions[0].last_heartbeat_time,
            node.status.conditions[0].last_heartbeat_time);
}

TEST_F(HollowNodesTest, ANodeRenewsItsLease) {
  AddNode("a");
  AddNode("real", "false");
  nodes_.Sync();
  const auto lease = scene_.Get<api::Lease>("a", "kube-node-lease");
  EXPECT_EQ(lease.spec.holder_identity, "a");
  EXPECT_EQ(lease.spec.lease_duration_seconds, 40);
  EXPECT_EQ(lease.metadata.owner_references.at(0).uid, scene_.Get<api::Node>("a", "").metadata.uid);
  EXPECT_FALSE(scene_.Has<api::Lease>("real", "kube-node-lease"));
  scene_.clock().Advance(10s);
  EXPECT_EQ(nodes_.Sync(), 1u);
  EXPECT_EQ(scene_.Get<api::Lease>("a", "kube-node-lease").spec.renew_time->time,
            scene_.clock().Now());
  scene_.Delete<api::Lease>("a", "kube-node-lease");
  nodes_.Sync();
  EXPECT_TRUE(scene_.Has<api::Lease>("a", "kube-node-lease"));
}

// Thousands of them cost what a hundred cost, and the leases say that they last longer.
TEST_F(HollowNodesTest, ManyNodesRenewLessOften) {
  for (int i = 0; i < 1000; ++i) AddNode("n" + std::to_string(i));
  nodes_.Sync();
  EXPECT_EQ(scene_.Get<api::Lease>("n999", "kube-node-lease").spec.lease_duration_seconds, 400);
  std::size_t writes = 0;
  for (int second = 0; second < 200; ++second) {
    scene_.clock().Advance(1s);
    writes += nodes_.Sync();
  }
  EXPECT_GE(writes, 2000u);
  EXPECT_LE(writes, 4000u);
}

// Nor do they write their statuses all the time.
TEST_F(HollowNodesTest, ManyNodesWriteTheirStatusLessOften) {
  HollowNodes nodes(scene_.cluster(), scene_.clock(), {.heartbeat = 10s, .renewal = 1h});
  for (int i = 0; i < 1000; ++i) AddNode("n" + std::to_string(i));
  nodes.Sync();
  std::size_t writes = 0;
  for (int second = 0; second < 200; ++second) {
    scene_.clock().Advance(1s);
    writes += nodes.Sync();
  }
  EXPECT_GE(writes, 2000u);
  EXPECT_LE(writes, 4000u);
}

// As a kubelet does: pods choose nodes and spread by these.
TEST_F(HollowNodesTest, ANodeHasTheLabelsThatAKubeletGivesIt) {
  api::Node node;
  node.metadata.name = "a";
  node.metadata.labels["kubernetes.io/arch"] = "arm64";
  scene_.Add(node);
  nodes_.Sync();
  const auto labelled = scene_.Get<api::Node>("a", "");
  EXPECT_EQ(*labelled.metadata.labels.Find("kubernetes.io/hostname"), "a");
  EXPECT_EQ(*labelled.metadata.labels.Find("kubernetes.io/os"), "linux");
  EXPECT_EQ(*labelled.metadata.labels.Find("kubernetes.io/arch"), "arm64");  // somebody's own
  EXPECT_EQ(labelled.status.conditions.at(0).status, "True");
}

TEST_F(HollowNodesTest, NodesWithAKubeletOfTheirOwnAreLeftAlone) {
  AddNode("real", "false");
  api::Node kubelets;
  kubelets.metadata.name = "kubelets";
  kubelets.status.node_info.container_runtime_version = "containerd://2.1.9";
  scene_.Add(kubelets);
  AddPod("q", "kubelets");
  AddPod("p", "real");
  EXPECT_EQ(nodes_.Sync(), 0u);
}

TEST_F(HollowNodesTest, ABoundPodRunsAndANewNodeStartsItsPods) {
  AddPod("early", "a");
  AddPod("unbound", "");
  nodes_.Sync();
  EXPECT_EQ(Phase("early"), api::kPodPending);
  AddNode("a");
  nodes_.Sync();
  EXPECT_EQ(Phase("early"), api::kPodRunning);
  EXPECT_EQ(Phase("unbound"), api::kPodPending);
}

TEST_F(HollowNodesTest, APodThatEndsSucceedsAfterItsTime) {
  AddNode("a");
  AddPod("once", "a", api::kRestartPolicyNever);
  nodes_.Sync();
  EXPECT_EQ(Phase("once"), api::kPodRunning);
  ASSERT_TRUE(nodes_.NextDue().has_value());
  scene_.clock().Advance(1s);
  nodes_.Sync();
  EXPECT_EQ(Phase("once"), api::kPodSucceeded);
  EXPECT_EQ(nodes_.Sync(), 0u);
}

TEST_F(HollowNodesTest, ANewOneGoesOnWhereAnotherStopped) {
  AddNode("a");
  AddPod("once", "a", api::kRestartPolicyNever);
  nodes_.Sync();
  scene_.clock().Advance(1s);
  HollowNodes next(scene_.cluster(), scene_.clock());
  next.Sync();
  EXPECT_EQ(Phase("once"), api::kPodSucceeded);
}

TEST_F(HollowNodesTest, ADeletedPodEndsBeforeItGoes) {
  AddNode("a");
  api::Pod pod = PodNamed("held");
  pod.spec.node_name = "a";
  pod.spec.restart_policy = api::kRestartPolicyAlways;
  pod.metadata.finalizers = {"example.com/count-me"};
  scene_.Add(pod);
  nodes_.Sync();
  scene_.Delete<api::Pod>("held");
  nodes_.Sync();
  EXPECT_EQ(Phase("held"), api::kPodSucceeded);
  pod = scene_.Get<api::Pod>("held");
  pod.metadata.finalizers.clear();
  scene_.Put(pod);
  nodes_.Sync();
  EXPECT_FALSE(scene_.Has<api::Pod>("held"));
}

TEST_F(HollowNodesTest, NothingStartsBeforeItsDevicesAreThere) {
  AddNode("a");
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  claim.metadata.namespace_ = "ns";
  claim.spec = controllers::OneDevice();
  scene_.Add(claim);
  api::Pod pod = PodNamed("p");
  pod.spec.node_name = "a";
  pod.spec.restart_policy = api::kRestartPolicyAlways;
  pod.spec.resource_claims = {{.name = "gpu", .resource_claim_name = "c"}};
  pod = scene_.Add(pod);
  nodes_.Sync();
  EXPECT_EQ(Phase("p"), api::kPodPending);
  claim = scene_.Get<api::ResourceClaim>("c");
  claim.status.allocation = api::AllocationResult();
  claim.status.reserved_for = {api::ConsumerOf(pod)};
  scene_.PutStatus(claim);
  nodes_.Sync();
  EXPECT_EQ(Phase("p"), api::kPodRunning);
}

}  // namespace
}  // namespace dray::hollow

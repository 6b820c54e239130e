// SPDX-License-Identifier: Apache-2.0
//
// Plugins that look at nothing but the pod and the node's object.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/node_affinity.h"
#include "scheduler/plugins/node_declared_features.h"
#include "scheduler/plugins/node_name.h"
#include "scheduler/plugins/node_ports.h"
#include "scheduler/plugins/node_unschedulable.h"
#include "scheduler/plugins/scheduling_gates.h"
#include "scheduler/plugins/small_world_for_test.h"
#include "scheduler/plugins/taint_toleration.h"
#include "scheduler/plugins/unsupported_fields.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using testing::Pod;
using testing::Worker;

// PreFilter, where there is one, then Filter on the one node.
template <typename P>
std::string Filtered(const Pod& pod, const Worker& node, const std::vector<Pod>& there = {}) {
  SmallWorld small;
  small.Node(node);
  for (const Pod& other : there) small.Pod(other);
  P plugin;
  CycleState state;
  const auto info = small.Info(pod);
  if constexpr (std::is_base_of_v<PreFilterPlugin, P>) {
    const PluginStatus before = plugin.PreFilter(state, *info, small.world());
    if (!before.ok()) return Said(before);
  }
  EXPECT_TRUE(plugin.Local(state, *info));
  return Said(plugin.Filter(state, *info, *small.world().nodes()[0]));
}

template <typename P>
bool Wakes(const Pod& pod, const api::Change& change, std::optional<api::Object> old = {}) {
  SmallWorld small;
  P plugin;
  return plugin.Wake(*small.Info(pod), change, old.has_value() ? &*old : nullptr) == Hint::kQueue;
}

TEST(NodeDeclaredFeatures, IsOnlyAboutPodsThatNeedSomething) {
  EXPECT_EQ(Filtered<NodeDeclaredFeatures>(Pod("p"), Worker("n")), "skip");
  Pod host("p");
  host.spec().host_network = true;
  EXPECT_EQ(Filtered<NodeDeclaredFeatures>(host, Worker("n")), "skip");
}

TEST(NodeDeclaredFeatures, WhatASpecNeedsTheNodeHasToDeclare) {
  const auto node = [](std::vector<std::string> declared) {
    api::Node made = Worker("n");
    made.status.declared_features = std::move(declared);
    return made;
  };
  const auto filtered = [](const Pod& pod, const api::Node& there) {
    SmallWorld small;
    small.Add(there);
    NodeDeclaredFeatures plugin;
    CycleState state;
    const auto info = small.Info(pod);
    EXPECT_TRUE(plugin.PreFilter(state, *info, small.world()).ok());
    EXPECT_NE(plugin.ClassOf(state, *info), 0u);
    return plugin.Filter(state, *info, *small.world().nodes()[0]);
  };
  Pod users("p");
  users.spec().host_network = true;
  users.spec().host_users = false;
  EXPECT_EQ(Said(filtered(users, node({}))),
            "unresolvable: node(s) didn't match Pod's required features");
  EXPECT_EQ(filtered(users, node({})).reasons[0].shortages[0].what,
            "declared feature UserNamespacesHostNetworkSupport");
  EXPECT_EQ(Said(filtered(users, node({"A", "UserNamespacesHostNetworkSupport"}))), "ok");

  Pod restarts("p");
  restarts.spec().containers.resize(1);
  restarts.spec().containers[0].restart_policy_rules = {{.action = "RestartAllContainers"}};
  EXPECT_FALSE(filtered(restarts, node({"UserNamespacesHostNetworkSupport"})).ok());
  EXPECT_TRUE(filtered(restarts, node({"RestartAllContainersOnContainerExits"})).ok());

  Pod mounts("p");
  mounts.spec().init_containers.resize(1);
  mounts.spec().init_containers[0].volume_mounts = {{.bind_mount_options = {"noexec"}}};
  EXPECT_FALSE(filtered(mounts, node({})).ok());
  EXPECT_TRUE(filtered(mounts, node({"VolumeBindMountOptions"})).ok());
}

TEST(NodeDeclaredFeatures, ANodeThatDeclaresOthersWakes) {
  api::Node before = Worker("n");
  api::Node after = before;
  after.status.declared_features = {"A"};
  EXPECT_TRUE(Wakes<NodeDeclaredFeatures>(Pod("p"), Updated(after), api::Object::Of(before)));
  EXPECT_FALSE(Wakes<NodeDeclaredFeatures>(Pod("p"), Updated(after), api::Object::Of(after)));
  EXPECT_TRUE(Wakes<NodeDeclaredFeatures>(Pod("p"), Added(after)));
}

TEST(SchedulingGates, HoldsBackUntilTheLastGateIsGone) {
  SmallWorld small;
  SchedulingGates plugin;
  Pod gated("p");
  gated.spec().scheduling_gates = {{.name = "a"}, {.name = "b"}};
  EXPECT_EQ(Said(plugin.PreEnqueue(*small.Info(gated))),
            "unresolvable: waiting for scheduling gates: [a b]");
  EXPECT_EQ(Said(plugin.PreEnqueue(*small.Info(Pod("p")))), "ok");

  Pod fewer("p");
  fewer.spec().scheduling_gates = {{.name = "b"}};
  EXPECT_FALSE(Wakes<SchedulingGates>(gated, Updated(api::Pod(fewer))));
  EXPECT_TRUE(Wakes<SchedulingGates>(gated, Updated(api::Pod(Pod("p")))));
  EXPECT_FALSE(Wakes<SchedulingGates>(gated, Updated(api::Pod(Pod("other")))));
}

TEST(NodeName, OnlyTheNamedNodeWillDo) {
  EXPECT_EQ(Filtered<NodeName>(Pod("p").On("n1"), Worker("n1")), "ok");
  EXPECT_EQ(Filtered<NodeName>(Pod("p").On("n2"), Worker("n1")),
            "unresolvable: node(s) didn't match the requested node name");
  EXPECT_EQ(Filtered<NodeName>(Pod("p"), Worker("n1")), "skip");
  EXPECT_TRUE(Wakes<NodeName>(Pod("p").On("n2"), Added(api::Node(Worker("n2")))));
  EXPECT_FALSE(Wakes<NodeName>(Pod("p").On("n2"), Added(api::Node(Worker("n3")))));
}

TEST(NodeUnschedulable, TakesOnlyPodsThatTolerateIt) {
  const Worker closed = Worker("n1").Unschedulable();
  const Pod tolerant = Pod("p").Tolerates(
      {.key = "node.kubernetes.io/unschedulable", .operator_ = "Exists", .effect = "NoSchedule"});
  EXPECT_EQ(Filtered<NodeUnschedulable>(Pod("p"), Worker("n1")), "ok");
  EXPECT_EQ(Filtered<NodeUnschedulable>(Pod("p"), closed),
            "unresolvable: node(s) were unschedulable");
  EXPECT_EQ(Filtered<NodeUnschedulable>(tolerant, closed), "ok");

  const api::Node was = closed;
  const api::Node open = Worker("n1");
  EXPECT_TRUE(Wakes<NodeUnschedulable>(Pod("p"), Updated(open), api::Object::Of(was)));
  EXPECT_FALSE(Wakes<NodeUnschedulable>(Pod("p"), Updated(open), api::Object::Of(open)));
  EXPECT_FALSE(Wakes<NodeUnschedulable>(Pod("p"), Updated(was), api::Object::Of(open)));
  EXPECT_TRUE(Wakes<NodeUnschedulable>(Pod("p"), Updated(api::Pod(tolerant))));
}

struct TaintCase {
  std::string name;
  api::Toleration toleration;
  std::string want = "ok";
  friend void PrintTo(const TaintCase& c, std::ostream* os) { *os << c.name; }
};
class TaintTest : public ::testing::TestWithParam<TaintCase> {};

TEST_P(TaintTest, KeepsAwayWhoDoesNotTolerateIt) {
  const Worker node = Worker("n1").Tainted("gpu", "only", "NoSchedule");
  EXPECT_EQ(Filtered<TaintToleration>(Pod("p").Tolerates(GetParam().toleration), node),
            GetParam().want);
}

constexpr char kUntolerated[] = "unresolvable: node(s) had untolerated taint {gpu: only}";
INSTANTIATE_TEST_SUITE_P(
    Tolerations, TaintTest,
    ::testing::ValuesIn(std::vector<TaintCase>{
        {.name = "exists", .toleration = {.key = "gpu", .operator_ = "Exists"}},
        {.name = "equal", .toleration = {.key = "gpu", .operator_ = "Equal", .value = "only"}},
        {.name = "no_operator_is_equal", .toleration = {.key = "gpu", .value = "only"}},
        {.name = "no_key_tolerates_all", .toleration = {.operator_ = "Exists"}},
        {.name = "effect", .toleration = {.operator_ = "Exists", .effect = "NoSchedule"}},
        {.name = "other_effect",
         .toleration = {.operator_ = "Exists", .effect = "NoExecute"},
         .want = kUntolerated},
        {.name = "other_value",
         .toleration = {.key = "gpu", .operator_ = "Equal", .value = "maybe"},
         .want = kUntolerated},
        {.name = "other_key",
         .toleration = {.key = "cpu", .operator_ = "Exists"},
         .want = kUntolerated},
        {.name = "comparison_is_not_known",
         .toleration = {.key = "gpu", .operator_ = "Gt", .value = "0"},
         .want = kUntolerated},
    }),
    [](const auto& info) { return info.param.name; });

TEST(TaintToleration, PreferredTaintsOnlyCostPoints) {
  SmallWorld small;
  small.Node(Worker("a"))
      .Node(Worker("b").Tainted("x", "", "PreferNoSchedule"))
      .Node(Worker("c").Tainted("x", "", "PreferNoSchedule").Tainted("y", "", "PreferNoSchedule"))
      .Node(Worker("d").Tainted("z", "", "PreferNoSchedule"));
  TaintToleration plugin;
  CycleState state;
  const auto pod = small.Info(Pod("p").Tolerates({.key = "z", .operator_ = "Exists"}));
  std::vector<std::int64_t> scores;
  for (const NodeInfo* node : small.world().nodes()) {
    EXPECT_TRUE(plugin.Filter(state, *pod, *node).ok());
    scores.push_back(plugin.Score(state, *pod, *node));
  }
  EXPECT_THAT(scores, ElementsAre(0, 1, 2, 0));
  plugin.Normalize(state, *pod, scores);
  EXPECT_THAT(scores, ElementsAre(100, 50, 0, 100));
}

TEST(TaintToleration, IsNotAskedForPointsWhereNoNodeHasSuchATaint) {
  SmallWorld small;
  small.Node(Worker("a").Tainted("x", "", "NoSchedule"));
  TaintToleration plugin;
  CycleState state;
  const auto pod = small.Info(Pod("p"));
  const auto asked = [&] { return plugin.PreScore(state, *pod, small.world()).ok(); };
  EXPECT_FALSE(asked());
  small.Node(Worker("b").Tainted("x", "", "PreferNoSchedule"));
  EXPECT_TRUE(asked());
  small.Node(Worker("b"));
  EXPECT_FALSE(asked());
}

TEST(TaintToleration, WakesWhenTheTaintIsGoneOrTolerated) {
  const api::Node tainted = Worker("n1").Tainted("gpu", "", "NoExecute");
  const api::Node clean = Worker("n1");
  const Pod pod("p");
  EXPECT_TRUE(Wakes<TaintToleration>(pod, Updated(clean), api::Object::Of(tainted)));
  EXPECT_TRUE(Wakes<TaintToleration>(pod, Added(clean)));
  EXPECT_FALSE(Wakes<TaintToleration>(pod, Added(tainted)));
  EXPECT_FALSE(Wakes<TaintToleration>(pod, Updated(clean), api::Object::Of(clean)));
  EXPECT_TRUE(Wakes<TaintToleration>(pod,
                                     Updated(api::Pod(Pod("p").Tolerates({.operator_ = "Exists"}))),
                                     api::Object::Of(api::Pod(pod))));
  EXPECT_FALSE(Wakes<TaintToleration>(pod, Updated(api::Pod(pod)), api::Object::Of(api::Pod(pod))));
}

api::NodeSelectorTerm ZoneIn(std::vector<std::string> zones) {
  return {.match_expressions = {{.key = "zone", .operator_ = "In", .values = std::move(zones)}}};
}
api::NodeSelectorTerm Named(std::vector<std::string> names) {
  api::NodeSelectorTerm term;
  for (std::string& name : names) {
    term.match_fields.push_back({.key = "metadata.name", .operator_ = "In", .values = {name}});
  }
  return term;
}

TEST(NodeAffinity, RequiredTermsDecide) {
  const Worker node = Worker("n1").Label("zone", "a");
  EXPECT_EQ(Filtered<NodeAffinity>(Pod("p"), node), "skip");
  EXPECT_EQ(Filtered<NodeAffinity>(Pod("p").NodeTerms({ZoneIn({"a"})}), node), "ok");
  EXPECT_EQ(Filtered<NodeAffinity>(Pod("p").NodeTerms({ZoneIn({"b"})}), node),
            "unresolvable: node(s) didn't match Pod's node affinity/selector");
  EXPECT_EQ(Filtered<NodeAffinity>(Pod("p").NodeTerms({Named({"n1", "n2"})}), node),
            "unresolvable: pod affinity terms conflict");
}

TEST(NodeAffinity, AProfileCanBeLimitedToNodes) {
  SmallWorld small;
  small.Node(Worker("a").Label("zone", "a")).Node(Worker("b").Label("zone", "b"));
  api::NodeAffinity affinity;
  api::NodeSelector& required = affinity.required.emplace();
  required.node_selector_terms = {ZoneIn({"b"})};
  affinity.preferred.push_back({.weight = 7, .preference = ZoneIn({"b"})});
  NodeAffinity plugin({.added_affinity = affinity});
  const auto pod = small.Info(Pod("p"));
  CycleState state;
  ASSERT_TRUE(plugin.PreFilter(state, *pod, small.world()).ok());
  const auto& nodes = small.world().nodes();
  EXPECT_EQ(Said(plugin.Filter(state, *pod, *nodes[0])),
            "unresolvable: node(s) didn't match scheduler-enforced node affinity");
  EXPECT_EQ(Said(plugin.Filter(state, *pod, *nodes[1])), "ok");
  ASSERT_TRUE(plugin.PreScore(state, *pod, small.world()).ok());
  EXPECT_EQ(plugin.Score(state, *pod, *nodes[0]), 0);
  EXPECT_EQ(plugin.Score(state, *pod, *nodes[1]), 7);
  // The pod's own terms count besides.
  const auto elsewhere = small.Info(Pod("q").NodeTerms({ZoneIn({"a"})}));
  CycleState other;
  ASSERT_TRUE(plugin.PreFilter(other, *elsewhere, small.world()).ok());
  EXPECT_EQ(Said(plugin.Filter(other, *elsewhere, *nodes[1])),
            "unresolvable: node(s) didn't match Pod's node affinity/selector");
}

TEST(NodeAffinity, TermsThatNameNodesNarrowDownWhoIsAsked) {
  SmallWorld small;
  NodeAffinity plugin;
  CycleState named;
  plugin.PreFilter(named, *small.Info(Pod("p").NodeTerms({Named({"n2"}), Named({"n1"})})),
                   small.world());
  EXPECT_THAT(named.Get<CandidateNodes>().names, ElementsAre("n1", "n2"));
  CycleState open;
  plugin.PreFilter(open, *small.Info(Pod("p").NodeTerms({Named({"n2"}), ZoneIn({"a"})})),
                   small.world());
  EXPECT_FALSE(open.Get<CandidateNodes>().restricted);
}

TEST(NodeAffinity, PreferredTermsAddUp) {
  SmallWorld small;
  small.Node(Worker("a").Label("zone", "a")).Node(Worker("b").Label("zone", "b")).Node(Worker("c"));
  NodeAffinity plugin;
  CycleState state;
  const auto pod =
      small.Info(Pod("p").PrefersNodes(20, ZoneIn({"a", "b"})).PrefersNodes(60, ZoneIn({"b"})));
  EXPECT_EQ(Said(plugin.PreScore(state, *pod, small.world())), "ok");
  EXPECT_EQ(Said(plugin.PreScore(state, *small.Info(Pod("p")), small.world())), "skip");
  std::vector<std::int64_t> scores;
  for (const NodeInfo* node : small.world().nodes()) {
    scores.push_back(plugin.Score(state, *pod, *node));
  }
  plugin.Normalize(state, *pod, scores);
  EXPECT_THAT(scores, ElementsAre(25, 100, 0));
}

TEST(NodeAffinity, WakesWhenANodeBeginsToMatch) {
  const Pod pod = Pod("p").NodeTerms({ZoneIn({"a"})});
  const api::Node in_a = Worker("n").Label("zone", "a");
  const api::Node in_b = Worker("n").Label("zone", "b");
  EXPECT_TRUE(Wakes<NodeAffinity>(pod, Added(in_a)));
  EXPECT_FALSE(Wakes<NodeAffinity>(pod, Added(in_b)));
  EXPECT_TRUE(Wakes<NodeAffinity>(pod, Updated(in_a), api::Object::Of(in_b)));
  EXPECT_FALSE(Wakes<NodeAffinity>(pod, Updated(in_a), api::Object::Of(in_a)));
  EXPECT_FALSE(Wakes<NodeAffinity>(pod, Deleted(in_a)));
}

struct PortCase {
  std::string name;
  Pod pod = Pod("p");
  Pod there = Pod("q").On("n1");
  std::string want = "ok";
  friend void PrintTo(const PortCase& c, std::ostream* os) { *os << c.name; }
};
class PortTest : public ::testing::TestWithParam<PortCase> {};

TEST_P(PortTest, IsForOnePod) {
  EXPECT_EQ(Filtered<NodePorts>(GetParam().pod, Worker("n1"), {GetParam().there}), GetParam().want);
}

constexpr char kNoPorts[] =
    "unschedulable: node(s) didn't have free ports for the requested pod ports";
INSTANTIATE_TEST_SUITE_P(Ports, PortTest,
                         ::testing::ValuesIn(std::vector<PortCase>{
                             {.name = "none_asked", .want = "skip"},
                             {.name = "free", .pod = Pod("p").HostPort(80)},
                             {.name = "taken",
                              .pod = Pod("p").HostPort(80),
                              .there = Pod("q").On("n1").HostPort(80),
                              .want = kNoPorts},
                             {.name = "other_protocol",
                              .pod = Pod("p").HostPort(53, "UDP"),
                              .there = Pod("q").On("n1").HostPort(53)},
                             {.name = "other_address",
                              .pod = Pod("p").HostPort(80, "TCP", "10.0.0.1"),
                              .there = Pod("q").On("n1").HostPort(80, "TCP", "10.0.0.2")},
                             {.name = "any_address_conflicts_with_each",
                              .pod = Pod("p").HostPort(80, "TCP", "0.0.0.0"),
                              .there = Pod("q").On("n1").HostPort(80, "TCP", "10.0.0.2"),
                              .want = kNoPorts},
                             {.name = "each_conflicts_with_any_address",
                              .pod = Pod("p").HostPort(80, "TCP", "10.0.0.1"),
                              .there = Pod("q").On("n1").HostPort(80),
                              .want = kNoPorts},
                             {.name = "ended_pods_hold_none",
                              .pod = Pod("p").HostPort(80),
                              .there = Pod("q").On("n1").HostPort(80).Phase("Succeeded")},
                         }),
                         [](const auto& info) { return info.param.name; });

TEST(NodePorts, WakesForPodsThatFreeAPortThatItWants) {
  const Pod pod = Pod("p").HostPort(80);
  EXPECT_TRUE(Wakes<NodePorts>(pod, Deleted(api::Pod(Pod("q").On("n").HostPort(80)))));
  EXPECT_FALSE(Wakes<NodePorts>(pod, Deleted(api::Pod(Pod("q").On("n").HostPort(81)))));
  EXPECT_FALSE(Wakes<NodePorts>(pod, Deleted(api::Pod(Pod("q").HostPort(80)))));
  EXPECT_TRUE(Wakes<NodePorts>(pod,
                               Updated(api::Pod(Pod("q").On("n").HostPort(80).Phase("Failed"))),
                               api::Object::Of(api::Pod(Pod("q").On("n").HostPort(80)))));
  EXPECT_TRUE(Wakes<NodePorts>(pod, Added(api::Node(Worker("n")))));
}

TEST(UnsupportedFields, RefusesByTheNameOfTheField) {
  SmallWorld small;
  UnsupportedFields plugin;
  CycleState state;
  Pod plain("p");
  plain.spec().volumes = {
      {.name = "tmp", .empty_dir = api::EmptyDirVolumeSource{}},
      {.name = "host", .host_path = api::HostPathVolumeSource{}},
      {.name = "data", .persistent_volume_claim = api::PersistentVolumeClaimVolumeSource{}},
      {.name = "secrets", .csi = api::RawJson{"{}"}}};
  plain.spec().runtime_class_name = "kata";
  EXPECT_EQ(Said(plugin.PreFilter(state, *small.Info(plain), small.world())), "skip");

  Pod bound("p");
  bound.spec().volumes.resize(2);
  bound.spec().volumes[0].cinder.emplace();
  bound.spec().volumes[1].iscsi.emplace();
  EXPECT_EQ(Said(plugin.PreFilter(state, *small.Info(bound), small.world())),
            "unresolvable: spec.volumes[0].cinder: limits of attached volumes per node are not "
            "supported, spec.volumes[1].iscsi: conflicts between mounted disks are not supported");

  Pod gang("p");
  gang.spec().scheduling_group.emplace();
  EXPECT_EQ(Said(plugin.PreFilter(state, *small.Info(gang), small.world())),
            "unresolvable: spec.schedulingGroup: the feature gate GenericWorkload is off");
  EXPECT_FALSE(Wakes<UnsupportedFields>(gang, Added(api::Node(Worker("n")))));
}

}  // namespace
}  // namespace dray::scheduler

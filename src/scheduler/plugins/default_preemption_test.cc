// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/default_preemption.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/plugins/default_plugins.h"
#include "scheduler/plugins/inter_pod_affinity.h"
#include "scheduler/plugins/node_ports.h"
#include "scheduler/plugins/node_resources_fit.h"
#include "scheduler/plugins/pod_topology_spread.h"
#include "scheduler/plugins/small_world_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Labelled;
using testing::Pod;
using testing::PodsWith;
using ::testing::UnorderedElementsAre;
using testing::Worker;

// Holds pods and writes down what is done to them.
class PodCluster final : public api::Cluster {
 public:
  void Put(const api::Pod& pod) { pods_.insert_or_assign(pod.metadata.name, api::Object::Of(pod)); }

  StatusOr<std::vector<api::Object>> List(const api::KindInfo&) const override {
    return std::vector<api::Object>();
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo&, std::string_view,
                                            std::string_view name) const override {
    const auto found = pods_.find(std::string(name));
    return found == pods_.end() ? std::nullopt : std::optional(found->second);
  }
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const>,
                                          const api::Selection&) override {
    return nullptr;
  }
  StatusOr<api::Object> Create(api::Object object) override { return object; }
  StatusOr<api::Object> Update(api::Object object) override { return object; }
  StatusOr<api::Object> UpdateStatus(api::Object object) override {
    for (const api::PodCondition& c : object.As<api::Pod>()->status.conditions) {
      conditions.push_back(object.metadata().name + ": " + c.type + "=" + c.status + " " +
                           c.reason + ", " + c.message);
    }
    return object;
  }
  Status Delete(const api::KindInfo&, std::string_view, std::string_view name,
                std::string_view) override {
    if (!delete_error.ok()) return delete_error;
    deleted.emplace_back(name);
    return {};
  }
  Status Bind(std::string_view, std::string_view, std::string_view, std::string_view) override {
    return {};
  }
  void Note(const api::EventNote& note) override {
    notes.push_back(note.about.metadata().name + ": " + note.type + " " + note.reason + " " +
                    note.message);
  }

  std::vector<std::string> deleted;
  std::vector<std::string> conditions;
  std::vector<std::string> notes;
  Status delete_error;

 private:
  std::map<std::string, api::Object> pods_;
};

// Runs the filters that a pod can be kept away by for the sake of other pods.
class Bench final : public WhatIf {
 public:
  Bench() : fit_({}, small.world()), affinity_(small.world()) {}

  Bench& Node(const Worker& node) {
    small.Node(node);
    return *this;
  }
  Bench& Pod(const testing::Pod& pod) {
    cluster.Put(api::Pod(pod));
    small.Pod(pod);
    return *this;
  }

  // What PostFilter says after a cycle in which no node fits: "n1" or the reason.
  std::string Preempt(const testing::Pod& pod, PreemptionArgs args = {}) {
    const auto info = small.Info(pod);
    CycleState state;
    filters_.clear();
    curable_.clear();
    Prepare(fit_, fit_, state, *info);
    Prepare(ports_, ports_, state, *info);
    Prepare(spread_, spread_, state, *info);
    Prepare(affinity_, affinity_, state, *info);
    for (const NodeInfo* node : small.world().nodes()) {
      const PluginStatus status = Filter(state, *info, *node);
      EXPECT_FALSE(status.ok()) << node->name() << " fits";
      if (status.code == PluginStatus::Code::kUnschedulable) curable_.push_back(node);
    }
    DefaultPreemption plugin(cluster, clock, *this, args);
    PostFilterResult result = plugin.PostFilter(state, *info, small.world());
    searched = plugin.NodesSearchedForTest();
    // A what-if leaves nothing behind.
    for (const NodeInfo* node : small.world().nodes()) {
      EXPECT_FALSE(Filter(state, *info, *node).ok()) << node->name() << " fits afterwards";
    }
    said.clear();
    for (const Reason& reason : result.status.reasons) said.push_back(reason.text);
    return result.status.ok() ? result.nominated_node : Said(result.status);
  }

  std::vector<const NodeInfo*> Curable(const CycleState&) const override { return curable_; }
  std::size_t NodeCount(const CycleState&) const override { return small.world().nodes().size(); }
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override {
    for (FilterPlugin* filter : filters_) {
      if (PluginStatus status = filter->Filter(state, pod, node); !status.ok()) return status;
    }
    return PluginStatus::Success();
  }
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override {
    for (FilterPlugin* filter : filters_) {
      if (auto* counting = dynamic_cast<CountingPlugin*>(filter)) {
        counting->Count(state, pod, other, node, delta);
      }
    }
  }

  std::size_t searched = 0;       // nodes, by the last PostFilter
  std::vector<std::string> said;  // by the last PostFilter, also when it made room
  mutable SmallWorld small;
  PodCluster cluster;
  base::ManualClock clock;

 private:
  void Prepare(PreFilterPlugin& before, FilterPlugin& filter, CycleState& state,
               const PodInfo& pod) {
    if (before.PreFilter(state, pod, small.world()).ok()) filters_.push_back(&filter);
  }

  NodeResourcesFit fit_;
  NodePorts ports_;
  PodTopologySpread spread_;
  InterPodAffinity affinity_;
  std::vector<FilterPlugin*> filters_;
  std::vector<const NodeInfo*> curable_;
};

Worker Cores(std::string_view name, std::string_view cores) {
  return Worker(name).Has("cpu", cores);
}
Pod Uses(std::string_view name, std::string_view cores, std::string_view node,
         std::int32_t priority = 0, std::int64_t started = 100) {
  return Pod(name).Request("cpu", cores).On(node).Priority(priority).Started(started);
}
Pod Wants(std::string_view cores, std::int32_t priority = 1000) {
  return Pod("p").Request("cpu", cores).Priority(priority);
}

TEST(DefaultPreemption, RemovesAPodOfLowerPriorityAndSaysWhy) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Pod(Uses("low", "2", "n1"));
  EXPECT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("low"));
  EXPECT_THAT(bench.cluster.conditions,
              ElementsAre("low: DisruptionTarget=True PreemptionByScheduler, default-scheduler: "
                          "preempting to accommodate a higher priority pod"));
  EXPECT_THAT(bench.cluster.notes,
              ElementsAre("low: Normal Preempted Preempted by pod uid-p on node n1"));
}

TEST(DefaultPreemption, WhoPreemptsIsToldWhatItWaitsFor) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Pod(Uses("low", "2", "n1"));
  ASSERT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.said, ElementsAre("preemption: waiting for 1 pod of lower priority to leave "
                                      "node n1: ns/low."));
}

TEST(DefaultPreemption, OfManyVictimsSomeAreNamed) {
  Bench bench;
  bench.Node(Cores("n1", "5"));
  for (const char* name : {"a", "b", "c", "d", "e"}) bench.Pod(Uses(name, "1", "n1"));
  ASSERT_EQ(bench.Preempt(Wants("5")), "n1");
  EXPECT_THAT(bench.said, ElementsAre("preemption: waiting for 5 pods of lower priority to leave "
                                      "node n1: ns/a, ns/b, ns/c and 2 more."));
}

TEST(DefaultPreemption, NeverRemovesPodsOfTheSamePriority) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Pod(Uses("same", "2", "n1", 1000));
  EXPECT_EQ(bench.Preempt(Wants("1")),
            "unschedulable: preemption: 0/1 nodes are available: 1 No preemption victims found for "
            "incoming pod.");
  EXPECT_THAT(bench.cluster.deleted, IsEmpty());
}

TEST(DefaultPreemption, LooksAtPodsOnlyWhereOneOfThemIsOfLowerPriority) {
  Bench bench;
  for (const char* node : {"n1", "n2", "n3"}) {
    bench.Node(Cores(node, "2"))
        .Pod(Uses(std::string(node) + "-a", "1", node, 1000))
        .Pod(Uses(std::string(node) + "-b", "1", node, 2000));
  }
  EXPECT_EQ(bench.Preempt(Wants("1", 1000)),
            "unschedulable: preemption: 0/3 nodes are available: 3 No preemption victims found for "
            "incoming pod.");
  EXPECT_EQ(bench.searched, 0);

  // One becomes less important where it is, and another one comes; what is lowest goes up again when
  // the pod becomes important.
  bench.Pod(Uses("n2-a", "1", "n2", 10));
  bench.Pod(Uses("n3-c", "0", "n3", 20)).Pod(Uses("n3-c", "0", "n3", 3000));
  EXPECT_EQ(bench.Preempt(Wants("1", 1000)), "n2");
  EXPECT_EQ(bench.searched, 1);
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("n2-a"));
}

TEST(DefaultPreemption, SaysNothingAboutNodesWhenThereAreNone) {
  Bench bench;
  EXPECT_EQ(bench.Preempt(Wants("1")), "unschedulable: ");
}

TEST(DefaultPreemption, DoesNotTryNodesThatAreTooSmall) {
  Bench bench;
  bench.Node(Cores("n1", "1")).Node(Cores("n2", "1")).Pod(Uses("low", "1", "n1"));
  EXPECT_EQ(bench.Preempt(Wants("2")),
            "unschedulable: preemption: 0/2 nodes are available: 2 Preemption is not helpful for "
            "scheduling.");
}

TEST(DefaultPreemption, SparesWhomItCan) {
  Bench bench;
  bench.Node(Cores("n1", "4"))
      .Pod(Uses("a", "1", "n1", 1))
      .Pod(Uses("b", "1", "n1", 3))
      .Pod(Uses("c", "1", "n1", 2))
      .Pod(Uses("d", "1", "n1", 2000));
  EXPECT_EQ(bench.Preempt(Wants("2")), "n1");
  EXPECT_THAT(bench.cluster.deleted, UnorderedElementsAre("a", "c"));
}

TEST(DefaultPreemption, SparesTheLongerRunningOfEquals) {
  Bench bench;
  bench.Node(Cores("n1", "2"))
      .Pod(Uses("young", "1", "n1", 1, 200))
      .Pod(Uses("old", "1", "n1", 1, 100));
  EXPECT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("young"));
}

struct CheapestCase {
  std::string name;
  std::vector<Pod> there;  // on n1 and n2, each with four cores, all taken
  std::string want;
  friend void PrintTo(const CheapestCase& c, std::ostream* os) { *os << c.name; }
};
class CheapestTest : public ::testing::TestWithParam<CheapestCase> {};

TEST_P(CheapestTest, IsTheNodeWherePreemptionCostsLeast) {
  Bench bench;
  bench.Node(Cores("n1", "4")).Node(Cores("n2", "4"));
  for (const Pod& pod : GetParam().there) bench.Pod(pod);
  EXPECT_EQ(bench.Preempt(Wants("4")), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Order, CheapestTest,
    ::testing::ValuesIn(std::vector<CheapestCase>{
        {.name = "lowest_highest_priority",
         .there = {Uses("a", "4", "n1", 10), Uses("b", "2", "n2", 9), Uses("c", "2", "n2", 9)},
         .want = "n2"},
        {.name = "then_the_smallest_sum",
         .there = {Uses("a", "2", "n1", 10), Uses("b", "2", "n1", 8), Uses("c", "2", "n2", 10),
                   Uses("d", "2", "n2", 7)},
         .want = "n2"},
        {.name = "fewer_victims_are_a_smaller_sum_even_of_negative_priorities",
         .there = {Uses("a", "2", "n1", -10), Uses("b", "2", "n1", -10), Uses("c", "4", "n2", -10)},
         .want = "n2"},
        {.name = "then_the_latest_start",
         .there = {Uses("a", "4", "n1", 10, 100), Uses("b", "4", "n2", 10, 200)},
         .want = "n2"},
        {.name = "then_the_first",
         .there = {Uses("a", "4", "n1", 10), Uses("b", "4", "n2", 10)},
         .want = "n1"},
    }),
    [](const auto& info) { return info.param.name; });

api::PodDisruptionBudget Budget(std::string_view name, std::int32_t allowed,
                                std::optional<api::LabelSelector> selector) {
  api::PodDisruptionBudget budget;
  budget.metadata.namespace_ = "ns";
  budget.metadata.name = name;
  if (selector) budget.spec.selector = *std::move(selector);
  budget.status.disruptions_allowed = allowed;
  return budget;
}

TEST(DefaultPreemption, SparesWhomABudgetKeepsBeforeWhoIsMoreImportant) {
  Bench bench;
  bench.Node(Cores("n1", "3"))
      .Pod(Uses("kept", "1", "n1", 1).Label("app", "db"))
      .Pod(Uses("b", "1", "n1", 5))
      .Pod(Uses("c", "1", "n1", 4));
  bench.small.Add(Budget("db", 0, Labelled("app", "db")));
  EXPECT_EQ(bench.Preempt(Wants("2")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("b", "c"));
}

TEST(DefaultPreemption, ABudgetLetsGoAsManyAsItAllows) {
  Bench bench;
  bench.Node(Cores("n1", "3"))
      .Pod(Uses("a", "1", "n1", 3).Label("app", "db"))
      .Pod(Uses("b", "1", "n1", 2).Label("app", "db"))
      .Pod(Uses("other", "1", "n1", 4));
  // The more important of the two is the one that it lets go; so the other is kept.
  bench.small.Add(Budget("db", 1, Labelled("app", "db")));
  EXPECT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("a"));
}

TEST(DefaultPreemption, WhereNothingElseHelpsABudgetIsViolated) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Pod(Uses("kept", "2", "n1", 1).Label("app", "db"));
  bench.small.Add(Budget("db", 0, Labelled("app", "db")));
  EXPECT_EQ(bench.Preempt(Wants("2")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("kept"));
}

TEST(DefaultPreemption, TheNodeWithTheFewestViolationsIsTheCheapest) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Node(Cores("n2", "2"));
  bench.Pod(Uses("kept", "2", "n1", 1).Label("app", "db")).Pod(Uses("dear", "2", "n2", 500));
  bench.small.Add(Budget("db", 0, Labelled("app", "db")));
  EXPECT_EQ(bench.Preempt(Wants("2")), "n2");
}

TEST(DefaultPreemption, IsLookedForUntilOneViolatesNoBudget) {
  Bench bench;
  bench.Node(Cores("n1", "2")).Node(Cores("n2", "2"));
  bench.Pod(Uses("kept", "2", "n1", 1).Label("app", "db")).Pod(Uses("free", "2", "n2", 5));
  bench.small.Add(Budget("db", 0, Labelled("app", "db")));
  EXPECT_EQ(bench.Preempt(Wants("2"),
                          {.min_candidate_nodes_percentage = 0, .min_candidate_nodes_absolute = 1}),
            "n2");
}

TEST(DefaultPreemption, BudgetsForNobodyKeepNobody) {
  Bench bench;
  bench.Node(Cores("n1", "3"))
      .Pod(Uses("a", "1", "n1", 1).Label("app", "db"))
      .Pod(Uses("b", "1", "n1", 5).Label("app", "db"))
      .Pod(Uses("c", "1", "n1", 4));
  bench.small.Add(Budget("empty", 0, api::LabelSelector{}));
  bench.small.Add(Budget("none", 0, std::nullopt));
  api::PodDisruptionBudget elsewhere = Budget("db", 0, Labelled("app", "db"));
  elsewhere.metadata.namespace_ = "other";
  bench.small.Add(elsewhere);
  // Who was let go already does not count against it again.
  api::PodDisruptionBudget gone = Budget("gone", 0, Labelled("app", "db"));
  gone.status.disrupted_pods["a"] = base::Time::FromUnix(1);
  gone.status.disrupted_pods["b"] = base::Time::FromUnix(1);
  bench.small.Add(gone);
  EXPECT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("a"));
}

TEST(DefaultPreemption, StopsWhenThereAreCandidatesEnough) {
  Bench bench;
  bench.Node(Cores("n1", "1")).Node(Cores("n2", "1"));
  bench.Pod(Uses("a", "1", "n1", 10)).Pod(Uses("b", "1", "n2", 1));
  EXPECT_EQ(bench.Preempt(Wants("1"),
                          {.min_candidate_nodes_percentage = 0, .min_candidate_nodes_absolute = 1}),
            "n1");
}

TEST(DefaultPreemption, RespectsAPolicyOfNever) {
  Bench bench;
  bench.Node(Cores("n1", "1")).Pod(Uses("low", "1", "n1"));
  Pod polite = Wants("1");
  polite.spec().preemption_policy = "Never";
  EXPECT_EQ(bench.Preempt(polite),
            "unschedulable: preemption: not eligible due to preemptionPolicy=Never.");
}

TEST(DefaultPreemption, WaitsForVictimsThatAreAlreadyGoing) {
  Bench bench;
  api::Pod going = Uses("low", "1", "n1").Deleting();
  going.status.conditions.push_back(
      {.type = "DisruptionTarget", .status = "True", .reason = "PreemptionByScheduler"});
  bench.Node(Cores("n1", "1")).Node(Cores("n2", "1")).Pod(Uses("other", "1", "n2"));
  bench.small.Add(going);
  EXPECT_EQ(bench.Preempt(Wants("1").Nominated("n1")),
            "unschedulable: preemption: not eligible due to a terminating pod on the nominated "
            "node.");
}

TEST(DefaultPreemption, FreesPorts) {
  Bench bench;
  bench.Node(Worker("n1")).Pod(Pod("low").On("n1").HostPort(80));
  EXPECT_EQ(bench.Preempt(Pod("p").Priority(1).HostPort(80)), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("low"));
}

TEST(DefaultPreemption, RemovesOnlyThePodThatDoesNotWantIt) {
  Bench bench;
  bench.Node(Worker("n1"))
      .Pod(Pod("hostile").On("n1").AwayFrom(PodsWith(Labelled("app", "web"), api::kHostnameLabel)))
      .Pod(Pod("friendly").On("n1"));
  EXPECT_EQ(bench.Preempt(Pod("p").Priority(1).Label("app", "web")), "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("hostile"));
}

TEST(DefaultPreemption, MakesRoomInADomain) {
  Bench bench;
  bench.Node(Worker("n1").Label("zone", "a"))
      .Node(Worker("n2").Label("zone", "b").Has("pods", "0"))
      .Pod(Pod("low").On("n1").Label("app", "web"));
  EXPECT_EQ(bench.Preempt(Pod("p")
                              .Priority(1)
                              .Label("app", "web")
                              .Spread({.max_skew = 1,
                                       .topology_key = "zone",
                                       .when_unsatisfiable = "DoNotSchedule",
                                       .label_selector = Labelled("app", "web")})),
            "n1");
  EXPECT_THAT(bench.cluster.deleted, ElementsAre("low"));
}

TEST(DefaultPreemption, AFailedDeletionIsAnError) {
  Bench bench;
  bench.Node(Cores("n1", "1")).Pod(Uses("low", "1", "n1"));
  bench.cluster.delete_error = base::Unavailable("no connection");
  EXPECT_EQ(bench.Preempt(Wants("1")), "error: preemption: no connection");
}

TEST(DefaultPreemption, AVictimThatHasGoneByItselfIsNoError) {
  Bench bench;
  bench.Node(Cores("n1", "1"));
  bench.small.Pod(Uses("low", "1", "n1"));  // known here, and no longer stored
  EXPECT_EQ(bench.Preempt(Wants("1")), "n1");
  EXPECT_THAT(bench.cluster.deleted, IsEmpty());
}

TEST(DefaultPlugins, AreInOrderAndCanBeDisabled) {
  Bench bench;
  const PluginContext context{bench.small.world(), bench.cluster, bench.clock, bench};
  const auto names = [&](const Profile& profile) {
    std::vector<std::string> found;
    for (const auto& plugin : MakeNodePlugins(profile, context)) found.emplace_back(plugin->name());
    return found;
  };
  EXPECT_THAT(names({}),
              ElementsAre("SchedulingGates", "UnsupportedFields", "NodeName", "NodeUnschedulable",
                          "TaintToleration", "NodeAffinity", "NodePorts", "NodeDeclaredFeatures",
                          "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
                          "VolumeBinding", "PodTopologySpread", "InterPodAffinity",
                          "DefaultPreemption", "NodeResourcesBalancedAllocation"));
  Profile without;
  without.disabled = {"DefaultPreemption", "NodePorts"};
  EXPECT_EQ(names(without).size(), 14);
  EXPECT_EQ(DefaultScoreWeight("TaintToleration"), 3);
  EXPECT_EQ(DefaultScoreWeight("NodeName"), 0);
}

}  // namespace
}  // namespace dray::scheduler

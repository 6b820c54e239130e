// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/pod_topology_spread.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/cycle_data.h"
#include "scheduler/plugins/small_world_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using testing::Labelled;
using testing::Pod;
using testing::Worker;

using Constraint = api::TopologySpreadConstraint;

constexpr char kSkewed[] = "unschedulable: node(s) didn't match pod topology spread constraints";
constexpr char kNoLabel[] =
    "unresolvable: node(s) didn't match pod topology spread constraints (missing required label)";

Constraint ByZone(std::int32_t max_skew = 1) {
  return {.max_skew = max_skew,
          .topology_key = "zone",
          .when_unsatisfiable = std::string(api::kDoNotSchedule),
          .label_selector = Labelled("app", "web")};
}
template <typename F>
Constraint With(Constraint constraint, F change) {
  change(constraint);
  return constraint;
}
Constraint Softly(Constraint constraint) {
  constraint.when_unsatisfiable = api::kScheduleAnyway;
  return constraint;
}

Pod Web(std::string_view name) { return Pod(name).Label("app", "web"); }

struct SpreadCase {
  std::string name;
  Pod pod = Web("p").Spread(ByZone());
  std::vector<Pod> there = {};
  std::vector<std::string> want;  // on a1, a2 (zone a), b1 (zone b), c1 (zone c, tainted), x (none)
  friend void PrintTo(const SpreadCase& c, std::ostream* os) { *os << c.name; }
};
class SpreadTest : public ::testing::TestWithParam<SpreadCase> {};

SmallWorld& Zones(SmallWorld& small) {
  return small.Node(Worker("a1").Label("zone", "a").Label("disk", "ssd"))
      .Node(Worker("a2").Label("zone", "a"))
      .Node(Worker("b1").Label("zone", "b").Label("disk", "ssd"))
      .Node(Worker("c1").Label("zone", "c").Tainted("t", "", "NoSchedule"))
      .Node(Worker("x"));
}

TEST_P(SpreadTest, KeepsTheSkew) {
  SmallWorld small;
  Zones(small);
  for (const Pod& pod : GetParam().there) small.Pod(pod);
  PodTopologySpread plugin;
  CycleState state;
  const auto pod = small.Info(GetParam().pod);
  ASSERT_TRUE(plugin.PreFilter(state, *pod, small.world()).ok());
  EXPECT_FALSE(plugin.Local(state, *pod));
  std::vector<std::string> said;
  for (const NodeInfo* node : small.world().nodes()) {
    said.push_back(Said(plugin.Filter(state, *pod, *node)));
  }
  EXPECT_EQ(said, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Zones, SpreadTest,
    ::testing::ValuesIn(std::vector<SpreadCase>{
        {.name = "empty", .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "one_more_than_the_emptiest_is_allowed",
         .there = {Web("q").On("a1")},
         .want = {kSkewed, kSkewed, "ok", "ok", kNoLabel}},
        {.name = "skew_of_two",
         .pod = Web("p").Spread(ByZone(2)),
         .there = {Web("q").On("a1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "other_pods_do_not_count",
         .there = {Pod("q").On("a1"), Web("r").Namespace("other").On("a1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "pods_about_to_go_do_not_count",
         .there = {Web("q").On("a1").Deleting()},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        // It does not count itself, so that it only may not widen a skew that is there.
        {.name = "a_pod_that_its_selector_does_not_mean",
         .pod = Pod("p").Spread(ByZone()),
         .there = {Web("q").On("a1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "too_few_domains_count_from_zero",
         .pod = Web("p").Spread(With(ByZone(), [](auto& c) { c.min_domains = 4; })),
         .there = {Web("q").On("a1"), Web("r").On("b1"), Web("s").On("c1")},
         .want = {kSkewed, kSkewed, kSkewed, kSkewed, kNoLabel}},
        {.name = "enough_domains",
         .pod = Web("p").Spread(With(ByZone(), [](auto& c) { c.min_domains = 3; })),
         .there = {Web("q").On("a1"), Web("r").On("b1"), Web("s").On("c1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        // Zone c holds no pod, yet counts although the pod cannot run there.
        {.name = "tainted_nodes_count_by_default",
         .there = {Web("q").On("a1"), Web("r").On("b1")},
         .want = {kSkewed, kSkewed, kSkewed, "ok", kNoLabel}},
        {.name = "tainted_nodes_do_not_count_when_honored",
         .pod = Web("p").Spread(With(ByZone(), [](auto& c) { c.node_taints_policy = "Honor"; })),
         .there = {Web("q").On("a1"), Web("r").On("b1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "nodes_that_are_not_selected_do_not_count_by_default",
         .pod = Web("p").NodeSelector("disk", "ssd").Spread(ByZone()),
         .there = {Web("q").On("a1"), Web("r").On("b1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
        {.name = "nodes_that_are_not_selected_count_when_ignored",
         .pod = Web("p")
                    .NodeSelector("disk", "ssd")
                    .Spread(With(ByZone(), [](auto& c) { c.node_affinity_policy = "Ignore"; })),
         .there = {Web("q").On("a1"), Web("r").On("b1")},
         .want = {kSkewed, kSkewed, kSkewed, "ok", kNoLabel}},
        {.name = "match_label_keys_make_generations",
         .pod = Web("p")
                    .Label("hash", "2")
                    .Spread(With(ByZone(), [](auto& c) { c.match_label_keys = {"hash"}; })),
         .there = {Web("q").Label("hash", "1").On("a1"), Web("r").Label("hash", "2").On("b1")},
         .want = {"ok", "ok", kSkewed, "ok", kNoLabel}},
        {.name = "all_constraints_must_hold",
         .pod = Web("p").Spread(ByZone(2)).Spread(
             With(ByZone(), [](auto& c) { c.topology_key = std::string(api::kHostnameLabel); })),
         .there = {Web("q").On("a1")},
         .want = {kSkewed, "ok", "ok", "ok", kNoLabel}},
        {.name = "an_empty_selector_counts_nobody",
         .pod = Web("p").Spread(With(ByZone(), [](auto& c) { c.label_selector.emplace(); })),
         .there = {Web("q").On("a1"), Web("r").On("a1")},
         .want = {"ok", "ok", "ok", "ok", kNoLabel}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(PodTopologySpread, HasNothingToSayWithoutConstraints) {
  SmallWorld small;
  PodTopologySpread plugin;
  CycleState state;
  const auto soft = small.Info(Web("p").Spread(Softly(ByZone())));
  const auto hard = small.Info(Web("p").Spread(ByZone()));
  EXPECT_EQ(Said(plugin.PreFilter(state, *soft, small.world())), "skip");
  EXPECT_EQ(Said(plugin.PreScore(state, *hard, small.world())), "skip");
}

TEST(PodTopologySpread, CountsForAndBackInAWhatIf) {
  SmallWorld small;
  Zones(small).Pod(Web("q").On("a1"));
  PodTopologySpread plugin;
  CycleState state;
  const auto pod = small.Info(Web("p").Spread(ByZone()));
  plugin.PreFilter(state, *pod, small.world());
  const auto there = small.At("a1").pods[0];
  plugin.Count(state, *pod, *there, small.At("a1"), -1);
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("a2"))), "ok");
  plugin.Count(state, *pod, *there, small.At("a1"), 1);
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("a2"))), kSkewed);
}

std::vector<std::int64_t> Scores(SmallWorld& small, const Pod& pod) {
  PodTopologySpread plugin;
  CycleState state;
  const auto info = small.Info(pod);
  const std::vector<const NodeInfo*> nodes(small.world().nodes().begin(),
                                           small.world().nodes().end());
  state.Get<FeasibleNodes>().list = [&] { return std::span(nodes); };
  EXPECT_TRUE(plugin.PreScore(state, *info, small.world()).ok());
  std::vector<std::int64_t> scores;
  for (const NodeInfo* node : nodes) scores.push_back(plugin.Score(state, *info, *node));
  plugin.Normalize(state, *info, scores);
  return scores;
}

TEST(PodTopologySpread, PrefersDomainsWithFewPods) {
  SmallWorld small;
  Zones(small).Pod(Web("q").On("a1")).Pod(Web("r").On("a2")).Pod(Web("s").On("b1"));
  // Zones hold 2, 1 and 0 pods; the weight is ln(3 + 2), so 3, 2 and 0 when rounded.
  EXPECT_THAT(Scores(small, Web("p").Spread(Softly(ByZone()))), ElementsAre(0, 0, 33, 100, 0));
}

TEST(PodTopologySpread, HostNamesCountByNode) {
  SmallWorld small;
  Zones(small).Pod(Web("q").On("a1"));
  Constraint by_host = Softly(ByZone());
  by_host.topology_key = api::kHostnameLabel;
  EXPECT_THAT(Scores(small, Web("p").Spread(by_host)), ElementsAre(0, 100, 100, 100, 100));
}

TEST(PodTopologySpread, WithoutAnyPodsAllDomainsAreAlike) {
  SmallWorld small;
  Zones(small);
  EXPECT_THAT(Scores(small, Web("p").Spread(Softly(ByZone()))), ElementsAre(100, 100, 100, 100, 0));
}

struct SpreadHintCase {
  std::string name;
  api::Change change;
  std::optional<api::Object> old = {};
  bool want = false;
  friend void PrintTo(const SpreadHintCase& c, std::ostream* os) { *os << c.name; }
};
class SpreadHintTest : public ::testing::TestWithParam<SpreadHintCase> {};

TEST_P(SpreadHintTest, WakesOnlyForWhatMayHelp) {
  SmallWorld small;
  PodTopologySpread plugin;
  const auto& c = GetParam();
  const Hint hint = plugin.Wake(*small.Info(Web("p").Spread(ByZone())), c.change,
                                c.old.has_value() ? &*c.old : nullptr);
  EXPECT_EQ(hint == Hint::kQueue, c.want);
}

api::Node InZone(std::string_view zone) { return Worker("n").Label("zone", zone); }
api::Node NoZone() { return Worker("n"); }

INSTANTIATE_TEST_SUITE_P(
    Changes, SpreadHintTest,
    ::testing::ValuesIn(std::vector<SpreadHintCase>{
        {.name = "pod_goes", .change = Deleted(api::Pod(Web("q").On("n"))), .want = true},
        {.name = "other_pod_goes", .change = Deleted(api::Pod(Pod("q").On("n")))},
        {.name = "pod_of_another_namespace_goes",
         .change = Deleted(api::Pod(Web("q").Namespace("x").On("n")))},
        // The emptiest domain has one more: others may, too.
        {.name = "pod_is_placed",
         .change = Updated(api::Pod(Web("q").On("n"))),
         .old = api::Object::Of(api::Pod(Web("q"))),
         .want = true},
        {.name = "pod_begins_to_go",
         .change = Updated(api::Pod(Web("q").On("n").Deleting())),
         .old = api::Object::Of(api::Pod(Web("q").On("n"))),
         .want = true},
        {.name = "pod_changes_its_label",
         .change = Updated(api::Pod(Pod("q").On("n"))),
         .old = api::Object::Of(api::Pod(Web("q").On("n"))),
         .want = true},
        {.name = "pod_changes_another_label",
         .change = Updated(api::Pod(Web("q").On("n").Label("a", "b"))),
         .old = api::Object::Of(api::Pod(Web("q").On("n")))},
        {.name = "node_of_a_zone_comes", .change = Added(InZone("d")), .want = true},
        {.name = "node_without_a_zone_comes", .change = Added(NoZone())},
        {.name = "node_of_a_zone_goes", .change = Deleted(InZone("d")), .want = true},
        {.name = "node_gets_a_zone",
         .change = Updated(InZone("d")),
         .old = api::Object::Of(NoZone()),
         .want = true},
        {.name = "node_changes_its_zone",
         .change = Updated(InZone("d")),
         .old = api::Object::Of(InZone("e")),
         .want = true},
        {.name = "node_stays", .change = Updated(InZone("d")), .old = api::Object::Of(InZone("d"))},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::scheduler

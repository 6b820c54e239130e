// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/inter_pod_affinity.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scheduler/plugins/small_world_for_test.h"

namespace dray::scheduler {
namespace {

using ::testing::ElementsAre;
using testing::Labelled;
using testing::Pod;
using testing::PodsWith;
using testing::Worker;

constexpr char kNotNear[] = "unresolvable: node(s) didn't match pod affinity rules";
constexpr char kTooNear[] = "unschedulable: node(s) didn't match pod anti-affinity rules";
constexpr char kUnwelcome[] =
    "unschedulable: node(s) didn't satisfy existing pods anti-affinity rules";

api::PodAffinityTerm WebInZone() { return PodsWith(Labelled("app", "web"), "zone"); }
api::PodAffinityTerm WebOnHost() { return PodsWith(Labelled("app", "web"), api::kHostnameLabel); }
api::PodAffinityTerm FastInZone() { return PodsWith(Labelled("fast", "yes"), "zone"); }
api::PodAffinityTerm InNamespaces(api::PodAffinityTerm term, api::LabelSelector selector) {
  term.namespace_selector = std::move(selector);
  return term;
}
Pod Web(std::string_view name) { return Pod(name).Label("app", "web"); }

api::Namespace Team(std::string_view tier) {
  api::Namespace team;
  team.metadata.name = "team";
  team.metadata.labels["tier"] = tier;
  return team;
}

SmallWorld& Zones(SmallWorld& small) {
  return small.Add(Team("gold"))
      .Node(Worker("a1").Label("zone", "a"))
      .Node(Worker("a2").Label("zone", "a"))
      .Node(Worker("b1").Label("zone", "b"))
      .Node(Worker("x"));
}

struct AffinityCase {
  std::string name;
  Pod pod = Pod("p");
  std::vector<Pod> there = {};
  std::vector<std::string> want;  // on a1, a2, b1 and x (without a zone); "skip": no node is asked
  friend void PrintTo(const AffinityCase& c, std::ostream* os) { *os << c.name; }
};
class AffinityTest : public ::testing::TestWithParam<AffinityCase> {};

TEST_P(AffinityTest, FollowsTheTermsOfBothSides) {
  SmallWorld small;
  Zones(small);
  for (const Pod& pod : GetParam().there) small.Pod(pod);
  InterPodAffinity plugin(small.world());
  CycleState state;
  const auto pod = small.Info(GetParam().pod);
  std::vector<std::string> said;
  if (const auto before = plugin.PreFilter(state, *pod, small.world()); !before.ok()) {
    said.push_back(Said(before));
  } else {
    for (const NodeInfo* node : small.world().nodes()) {
      said.push_back(Said(plugin.Filter(state, *pod, *node)));
    }
  }
  EXPECT_EQ(said, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Required, AffinityTest,
    ::testing::ValuesIn(std::vector<AffinityCase>{
        {.name = "no_terms_anywhere", .there = {Web("q").On("a1")}, .want = {"skip"}},
        {.name = "near",
         .pod = Pod("p").Near(WebInZone()),
         .there = {Web("q").On("a1")},
         .want = {"ok", "ok", kNotNear, kNotNear}},
        {.name = "near_on_the_host",
         .pod = Pod("p").Near(WebOnHost()),
         .there = {Web("q").On("a1")},
         .want = {"ok", kNotNear, kNotNear, kNotNear}},
        {.name = "near_nobody",
         .pod = Pod("p").Near(WebInZone()),
         .want = {kNotNear, kNotNear, kNotNear, kNotNear}},
        {.name = "first_of_its_group_starts_anywhere_with_the_label",
         .pod = Web("p").Near(WebInZone()),
         .want = {"ok", "ok", "ok", kNotNear}},
        {.name = "second_of_its_group_follows",
         .pod = Web("p").Near(WebInZone()),
         .there = {Web("q").On("b1")},
         .want = {kNotNear, kNotNear, "ok", kNotNear}},
        // One pod has to be meant by all terms.
        {.name = "near_a_pod_that_all_terms_mean",
         .pod = Pod("p").Near(WebInZone()).Near(FastInZone()),
         .there = {Web("q").On("a1"), Pod("r").Label("fast", "yes").On("a2"),
                   Web("s").Label("fast", "yes").On("b1")},
         .want = {kNotNear, kNotNear, "ok", kNotNear}},
        {.name = "pods_of_other_namespaces_are_not_meant",
         .pod = Pod("p").Near(WebInZone()),
         .there = {Web("q").Namespace("team").On("a1")},
         .want = {kNotNear, kNotNear, kNotNear, kNotNear}},
        {.name = "unless_a_namespace_selector_says_so",
         .pod = Pod("p").Near(InNamespaces(WebInZone(), Labelled("tier", "gold"))),
         .there = {Web("q").Namespace("team").On("a1")},
         .want = {"ok", "ok", kNotNear, kNotNear}},
        {.name = "away",
         .pod = Pod("p").AwayFrom(WebInZone()),
         .there = {Web("q").On("a1")},
         .want = {kTooNear, kTooNear, "ok", "ok"}},
        {.name = "away_from_any_term",
         .pod = Pod("p").AwayFrom(WebOnHost()).AwayFrom(FastInZone()),
         .there = {Web("q").On("a1"), Pod("r").Label("fast", "yes").On("b1")},
         .want = {kTooNear, "ok", kTooNear, "ok"}},
        {.name = "unwelcome",
         .pod = Web("p"),
         .there = {Pod("q").AwayFrom(WebInZone()).On("a1")},
         .want = {kUnwelcome, kUnwelcome, "ok", "ok"}},
        {.name = "others_are_unwelcome",
         .pod = Pod("p"),
         .there = {Pod("q").AwayFrom(WebInZone()).On("a1")},
         .want = {"skip"}},
        {.name = "unwelcome_by_namespace_selector",
         .pod = Web("p").Namespace("team"),
         .there = {Pod("q").AwayFrom(InNamespaces(WebInZone(), Labelled("tier", "gold"))).On("b1")},
         .want = {"ok", "ok", kUnwelcome, "ok"}},
        {.name = "one_per_host",
         .pod = Web("p").AwayFrom(WebOnHost()),
         .there = {Web("q").AwayFrom(WebOnHost()).On("a1")},
         .want = {kTooNear, "ok", "ok", "ok"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(InterPodAffinity, CountsForAndBackInAWhatIf) {
  SmallWorld small;
  Zones(small).Pod(Web("q").AwayFrom(WebInZone()).On("a1"));
  InterPodAffinity plugin(small.world());
  CycleState state;
  const auto pod = small.Info(Web("p").AwayFrom(WebInZone()));
  plugin.PreFilter(state, *pod, small.world());
  const auto there = small.At("a1").pods[0];
  plugin.Count(state, *pod, *there, small.At("a1"), -1);
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("a2"))), "ok");
  plugin.Count(state, *pod, *there, small.At("a1"), 1);
  EXPECT_EQ(Said(plugin.Filter(state, *pod, small.At("a2"))), kTooNear);
}

struct AffinityScoreCase {
  std::string name;
  Pod pod = Pod("p");
  std::vector<Pod> there = {};
  std::vector<std::int64_t> want;  // none: skipped
  friend void PrintTo(const AffinityScoreCase& c, std::ostream* os) { *os << c.name; }
};
class AffinityScoreTest : public ::testing::TestWithParam<AffinityScoreCase> {};

TEST_P(AffinityScoreTest, AddsUpPreferencesOfBothSides) {
  SmallWorld small;
  Zones(small);
  for (const Pod& pod : GetParam().there) small.Pod(pod);
  InterPodAffinity plugin(small.world());
  CycleState state;
  const auto pod = small.Info(GetParam().pod);
  std::vector<std::int64_t> scores;
  if (plugin.PreScore(state, *pod, small.world()).ok()) {
    for (const NodeInfo* node : small.world().nodes()) {
      scores.push_back(plugin.Score(state, *pod, *node));
    }
    plugin.Normalize(state, *pod, scores);
  }
  EXPECT_EQ(scores, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Preferred, AffinityScoreTest,
    ::testing::ValuesIn(std::vector<AffinityScoreCase>{
        {.name = "nobody_prefers_anything", .there = {Web("q").On("a1")}, .want = {}},
        {.name = "nobody_is_meant", .pod = Pod("p").RatherNear(1, WebInZone()), .want = {}},
        {.name = "near",
         .pod = Pod("p").RatherNear(10, WebInZone()).RatherNear(30, WebOnHost()),
         .there = {Web("q").On("a1")},
         .want = {100, 25, 0, 0}},
        {.name = "away",
         .pod = Pod("p").RatherAwayFrom(10, WebInZone()),
         .there = {Web("q").On("a1")},
         .want = {0, 0, 100, 100}},
        {.name = "preferred_by_a_pod_that_is_there",
         .pod = Web("p"),
         .there = {Pod("q").RatherNear(10, WebInZone()).On("b1")},
         .want = {0, 0, 100, 0}},
        {.name = "required_by_a_pod_that_is_there",
         .pod = Web("p"),
         .there = {Web("q").Near(WebInZone()).On("b1")},
         .want = {0, 0, 100, 0}},
        {.name = "not_preferred_by_a_pod_that_is_there",
         .pod = Web("p"),
         .there = {Pod("q").RatherAwayFrom(10, WebInZone()).On("b1")},
         .want = {100, 100, 0, 100}},
    }),
    [](const auto& info) { return info.param.name; });

struct AffinityHintCase {
  std::string name;
  Pod pod = Pod("p").Near(WebInZone());
  api::Change change;
  std::optional<api::Object> old = {};
  bool want = false;
  friend void PrintTo(const AffinityHintCase& c, std::ostream* os) { *os << c.name; }
};
class AffinityHintTest : public ::testing::TestWithParam<AffinityHintCase> {};

TEST_P(AffinityHintTest, WakesOnlyForWhatMayHelp) {
  SmallWorld small;
  InterPodAffinity plugin(small.world());
  const auto& c = GetParam();
  const Hint hint =
      plugin.Wake(*small.Info(c.pod), c.change, c.old.has_value() ? &*c.old : nullptr);
  EXPECT_EQ(hint == Hint::kQueue, c.want);
}

api::Node InZone(std::string_view zone) { return Worker("n").Label("zone", zone); }
api::Node NoZone() { return Worker("n"); }
const Pod kAway = Pod("p").AwayFrom(WebInZone());

INSTANTIATE_TEST_SUITE_P(
    Changes, AffinityHintTest,
    ::testing::ValuesIn(std::vector<AffinityHintCase>{
        {.name = "wanted_pod_is_placed",
         .change = Updated(api::Pod(Web("q").On("n"))),
         .old = api::Object::Of(api::Pod(Web("q"))),
         .want = true},
        {.name = "other_pod_is_placed",
         .change = Updated(api::Pod(Pod("q").On("n"))),
         .old = api::Object::Of(api::Pod(Pod("q")))},
        {.name = "pod_becomes_wanted",
         .change = Updated(api::Pod(Web("q").On("n"))),
         .old = api::Object::Of(api::Pod(Pod("q").On("n"))),
         .want = true},
        {.name = "unwanted_pod_is_placed",
         .pod = kAway,
         .change = Updated(api::Pod(Web("q").On("n"))),
         .old = api::Object::Of(api::Pod(Web("q")))},
        {.name = "unwanted_pod_goes",
         .pod = kAway,
         .change = Deleted(api::Pod(Web("q").On("n"))),
         .want = true},
        {.name = "pod_becomes_harmless",
         .pod = kAway,
         .change = Updated(api::Pod(Pod("q").On("n"))),
         .old = api::Object::Of(api::Pod(Web("q").On("n"))),
         .want = true},
        {.name = "pod_that_did_not_want_it_goes",
         .pod = Web("p"),
         .change = Deleted(api::Pod(Pod("q").AwayFrom(WebInZone()).On("n"))),
         .want = true},
        {.name = "other_pod_goes", .pod = kAway, .change = Deleted(api::Pod(Pod("q").On("n")))},
        {.name = "own_labels_change",
         .change = Updated(api::Pod(Web("p"))),
         .old = api::Object::Of(api::Pod(Pod("p"))),
         .want = true},
        {.name = "node_joins_a_zone",
         .change = Updated(InZone("a")),
         .old = api::Object::Of(NoZone()),
         .want = true},
        {.name = "node_stays", .change = Updated(InZone("a")), .old = api::Object::Of(InZone("a"))},
        {.name = "node_leaves_its_zone",
         .pod = kAway,
         .change = Updated(NoZone()),
         .old = api::Object::Of(InZone("a")),
         .want = true},
        {.name = "node_comes", .pod = kAway, .change = Added(NoZone()), .want = true},
        {.name = "node_goes", .pod = kAway, .change = Deleted(InZone("a"))},
        {.name = "namespace_gets_a_label",
         .change = Updated(Team("gold")),
         .old = api::Object::Of(Team("lead")),
         .want = true},
        {.name = "namespace_stays",
         .change = Updated(Team("gold")),
         .old = api::Object::Of(Team("gold"))},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::scheduler

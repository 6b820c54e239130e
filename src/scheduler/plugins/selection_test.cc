// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/selection.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "testing/pod_builder.h"

namespace dray::scheduler {
namespace {

using testing::Labelled;
using testing::Pod;
using testing::PodsWith;
using testing::Worker;

struct TermCase {
  std::string name;
  api::NodeSelectorTerm term;
  bool want = false;
  friend void PrintTo(const TermCase& c, std::ostream* os) { *os << c.name; }
};
class NodeTermTest : public ::testing::TestWithParam<TermCase> {};

TEST_P(NodeTermTest, MatchesNodesAsKubernetesDoes) {
  const api::Node node = Worker("n1").Label("zone", "a").Label("cores", "8");
  EXPECT_EQ(Matches(GetParam().term, node), GetParam().want);
}

api::NodeSelectorTerm Expr(std::string key, std::string op, std::vector<std::string> values) {
  return {.match_expressions = {
              {.key = std::move(key), .operator_ = std::move(op), .values = std::move(values)}}};
}
api::NodeSelectorTerm Field(std::string key, std::string op, std::vector<std::string> values) {
  return {.match_fields = {
              {.key = std::move(key), .operator_ = std::move(op), .values = std::move(values)}}};
}

INSTANTIATE_TEST_SUITE_P(
    Operators, NodeTermTest,
    ::testing::ValuesIn(std::vector<TermCase>{
        {.name = "no_requirements_match_nothing", .term = {}, .want = false},
        {.name = "in", .term = Expr("zone", "In", {"b", "a"}), .want = true},
        {.name = "in_other_value", .term = Expr("zone", "In", {"b"})},
        {.name = "not_in", .term = Expr("zone", "NotIn", {"b"}), .want = true},
        {.name = "not_in_without_the_label", .term = Expr("rack", "NotIn", {"b"}), .want = true},
        {.name = "not_in_with_a_value_no_label_can_have", .term = Expr("zone", "NotIn", {"a b"})},
        {.name = "exists", .term = Expr("zone", "Exists", {}), .want = true},
        {.name = "exists_takes_no_values", .term = Expr("zone", "Exists", {"a"})},
        {.name = "does_not_exist", .term = Expr("rack", "DoesNotExist", {}), .want = true},
        {.name = "greater", .term = Expr("cores", "Gt", {"7"}), .want = true},
        {.name = "greater_is_not_equal", .term = Expr("cores", "Gt", {"8"})},
        {.name = "less", .term = Expr("cores", "Lt", {"9"}), .want = true},
        {.name = "less_than_no_number", .term = Expr("zone", "Lt", {"9"})},
        {.name = "unknown_operator", .term = Expr("zone", "Near", {"a"})},
        {.name = "field", .term = Field("metadata.name", "In", {"n1"}), .want = true},
        {.name = "field_not_in", .term = Field("metadata.name", "NotIn", {"n2"}), .want = true},
        {.name = "field_takes_one_value", .term = Field("metadata.name", "In", {"n1", "n2"})},
    }),
    [](const auto& info) { return info.param.name; });

TEST(RequiredAffinity, NeedsTheSelectorAndAnyTerm) {
  const api::Node node = Worker("n1").Label("zone", "a");
  const api::Pod both =
      Pod("p").NodeSelector("zone", "a").NodeTerms({{}, Expr("zone", "Exists", {})});
  const api::Pod other_zone = Pod("p").NodeSelector("zone", "b");
  const api::Pod no_term = Pod("p").NodeTerms({});
  EXPECT_TRUE(MatchesRequiredAffinity(both, node));
  EXPECT_FALSE(MatchesRequiredAffinity(other_zone, node));
  EXPECT_FALSE(MatchesRequiredAffinity(no_term, node));
}

struct PodTermCase {
  std::string name;
  api::PodAffinityTerm term;
  bool want = false;
  friend void PrintTo(const PodTermCase& c, std::ostream* os) { *os << c.name; }
};
class PodTermTest : public ::testing::TestWithParam<PodTermCase> {};

// The owner is in "ns" with app=web,version=1; the other in "team" (labelled tier=gold) with
// app=web,version=2.
TEST_P(PodTermTest, SaysWhichPodsAreMeant) {
  const api::Pod owner = Pod("o").Label("app", "web").Label("version", "1");
  const api::Pod other = Pod("p").Namespace("team").Label("app", "web").Label("version", "2");
  const api::Map<std::string> namespace_labels = {{base::Text("tier"), "gold"}};
  EXPECT_EQ(Matches(owner, GetParam().term, other, &namespace_labels), GetParam().want);
}

api::PodAffinityTerm Web() { return PodsWith(Labelled("app", "web"), "zone"); }
api::PodAffinityTerm Everywhere() {
  api::PodAffinityTerm term = Web();
  term.namespace_selector.emplace();
  return term;
}
template <typename F>
api::PodAffinityTerm With(api::PodAffinityTerm term, F change) {
  change(term);
  return term;
}

INSTANTIATE_TEST_SUITE_P(
    Namespaces, PodTermTest,
    ::testing::ValuesIn(std::vector<PodTermCase>{
        {.name = "own_namespace_unless_said", .term = Web()},
        {.name = "listed_namespace",
         .term = With(Web(), [](auto& t) { t.namespaces = {"team"}; }),
         .want = true},
        {.name = "empty_namespace_selector_means_all", .term = Everywhere(), .want = true},
        {.name = "namespace_selector_matches",
         .term = With(Web(), [](auto& t) { t.namespace_selector = Labelled("tier", "gold"); }),
         .want = true},
        {.name = "namespace_selector_does_not_match",
         .term = With(Web(), [](auto& t) { t.namespace_selector = Labelled("tier", "lead"); })},
        {.name = "no_label_selector_means_nobody",
         .term = With(Everywhere(), [](auto& t) { t.label_selector.reset(); })},
        {.name = "match_label_keys_want_the_owners_value",
         .term = With(Everywhere(), [](auto& t) { t.match_label_keys = {"version"}; })},
        {.name = "match_label_keys_that_the_owner_lacks_ask_nothing",
         .term = With(Everywhere(), [](auto& t) { t.match_label_keys = {"colour"}; }),
         .want = true},
        {.name = "mismatch_label_keys_want_another_value",
         .term = With(Everywhere(), [](auto& t) { t.mismatch_label_keys = {"version"}; }),
         .want = true},
        {.name = "mismatch_label_keys_refuse_the_same_value",
         .term = With(Everywhere(), [](auto& t) { t.mismatch_label_keys = {"app"}; })},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::scheduler

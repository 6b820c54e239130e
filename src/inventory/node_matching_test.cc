// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/slice_builder.h"
#include "testing/status_matchers.h"

namespace dray::inventory {
namespace {

using ::dray::testing::IsOkAndHolds;
using ::dray::testing::Node;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

const api::Node kNode =
    Node("n1").Label("zone", "a").Label("cores", "64").Label("empty", "").Label("text", "x1");

api::NodeSelectorTerm Label(std::string key, std::string op, std::vector<std::string> values = {}) {
  return {.match_expressions = {
              {.key = std::move(key), .operator_ = std::move(op), .values = std::move(values)}}};
}
api::NodeSelectorTerm Field(std::string key, std::string op, std::vector<std::string> values) {
  return {.match_fields = {
              {.key = std::move(key), .operator_ = std::move(op), .values = std::move(values)}}};
}

StatusOr<bool> Matching(std::vector<api::NodeSelectorTerm> terms) {
  return Matches({.node_selector_terms = std::move(terms)}, kNode);
}

struct TermCase {
  std::string name;
  api::NodeSelectorTerm term;
  bool want = false;
  friend void PrintTo(const TermCase& c, std::ostream* os) { *os << c.name; }
};
class NodeSelectorTermTest : public ::testing::TestWithParam<TermCase> {};

TEST_P(NodeSelectorTermTest, Holds) {
  EXPECT_THAT(Matching({GetParam().term}), IsOkAndHolds(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(
    NodeSelector, NodeSelectorTermTest,
    ::testing::ValuesIn(std::vector<TermCase>{
        {"in_with_the_value", Label("zone", "In", {"b", "a"}), true},
        {"in_without_the_value", Label("zone", "In", {"b"}), false},
        {"in_without_the_label", Label("rack", "In", {"a"}), false},
        {"not_in_with_the_value", Label("zone", "NotIn", {"b", "a"}), false},
        {"not_in_without_the_value", Label("zone", "NotIn", {"b"}), true},
        {"not_in_without_the_label", Label("rack", "NotIn", {"a"}), true},
        {"exists", Label("zone", "Exists"), true},
        {"exists_with_an_empty_value", Label("empty", "Exists"), true},
        {"exists_without_the_label", Label("rack", "Exists"), false},
        {"does_not_exist", Label("rack", "DoesNotExist"), true},
        {"does_not_exist_but_does", Label("zone", "DoesNotExist"), false},
        {"greater", Label("cores", "Gt", {"63"}), true},
        {"greater_is_not_equal", Label("cores", "Gt", {"64"}), false},
        {"less", Label("cores", "Lt", {"65"}), true},
        {"less_is_not_equal", Label("cores", "Lt", {"64"}), false},
        {"greater_than_a_label_that_is_no_number", Label("text", "Gt", {"0"}), false},
        {"less_without_the_label", Label("rack", "Lt", {"9"}), false},
        {"name_in", Field("metadata.name", "In", {"n1"}), true},
        {"name_in_another", Field("metadata.name", "In", {"n2"}), false},
        {"name_not_in", Field("metadata.name", "NotIn", {"n1"}), false},
        {"name_not_in_another", Field("metadata.name", "NotIn", {"n2"}), true},
        {"other_fields_are_empty", Field("spec.providerID", "In", {"x"}), false},
        {"empty_term", api::NodeSelectorTerm{}, false},
    }),
    [](const auto& info) { return info.param.name; });

TEST(NodeSelector, TermsAreAlternatives) {
  EXPECT_THAT(Matching({Label("zone", "In", {"b"}), Label("zone", "In", {"a"})}),
              IsOkAndHolds(true));
}

TEST(NodeSelector, AllRequirementsOfATermMustHold) {
  api::NodeSelectorTerm both = Label("zone", "In", {"a"});
  both.match_fields = Field("metadata.name", "In", {"n2"}).match_fields;
  EXPECT_THAT(Matching({both}), IsOkAndHolds(false));
}

TEST(NodeSelector, WithoutTermsMatchesNothing) { EXPECT_THAT(Matching({}), IsOkAndHolds(false)); }

struct BrokenCase {
  std::string name;
  api::NodeSelectorTerm term;
  std::string want;
  friend void PrintTo(const BrokenCase& c, std::ostream* os) { *os << c.name; }
};
class BrokenNodeSelectorTest : public ::testing::TestWithParam<BrokenCase> {};

// Also when another term is enough for the answer.
TEST_P(BrokenNodeSelectorTest, IsAnError) {
  EXPECT_THAT(Matching({Label("zone", "In", {"a"}), GetParam().term}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().want)));
}

INSTANTIATE_TEST_SUITE_P(
    NodeSelector, BrokenNodeSelectorTest,
    ::testing::ValuesIn(std::vector<BrokenCase>{
        {"unknown_operator", Label("zone", "Near", {"a"}), "\"Near\""},
        {"no_operator", Label("zone", "", {"a"}), "must be In"},
        {"in_without_values", Label("zone", "In"), "at least one value"},
        {"not_in_without_values", Label("zone", "NotIn"), "at least one value"},
        {"exists_with_values", Label("zone", "Exists", {"a"}), "takes no values"},
        {"gt_with_two_values", Label("cores", "Gt", {"1", "2"}), "one value, an integer"},
        {"lt_with_a_word", Label("cores", "Lt", {"many"}), "one value, an integer"},
        {"key_that_is_none", Label("a b", "Exists"), "label key \"a b\""},
        {"value_that_is_none", Label("zone", "In", {"a b"}), "value \"a b\""},
        {"field_exists", Field("metadata.name", "Exists", {}), "In or NotIn"},
        {"field_in_two", Field("metadata.name", "In", {"a", "b"}), "exactly one value"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(NodeMatcher, ANameGoesBeforeAllNodesAndThatBeforeASelector) {
  Dictionary dictionary;
  const SelectionId never = dictionary.Intern(testing::LabelIs("zone", "b"));
  const NameId other = dictionary.Intern("n2");
  NodeMatcher matcher(dictionary, kNode);
  EXPECT_THAT(
      matcher.Matches({.node = other, .has_node = true, .all_nodes = true, .selector = never}),
      IsOkAndHolds(false));
  EXPECT_THAT(matcher.Matches({.all_nodes = true, .selector = never}), IsOkAndHolds(true));
  EXPECT_THAT(matcher.Matches({.selector = never}), IsOkAndHolds(false));
  EXPECT_THAT(matcher.Matches({}), IsOkAndHolds(false));
}

TEST(NodeMatcher, ASelectorThatIsBrokenIsBrokenEachTime) {
  Dictionary dictionary;
  const SelectionId broken =
      dictionary.Intern(api::NodeSelector{.node_selector_terms = {Label("zone", "Near")}});
  NodeMatcher matcher(dictionary, kNode);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(matcher.Matches({.selector = broken}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("Near")));
  }
}

}  // namespace
}  // namespace dray::inventory

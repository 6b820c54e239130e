// SPDX-License-Identifier: Apache-2.0
#include "api/label_selector.h"

#include <gtest/gtest.h>

#include <ostream>

namespace dray::api {
namespace {

struct MatchCase {
  std::string name;
  std::string selector;
  Map<std::string> labels;
  bool want = false;
  friend void PrintTo(const MatchCase& c, std::ostream* os) { *os << c.name; }
};
class LabelMatcherTest : public ::testing::TestWithParam<MatchCase> {};

TEST_P(LabelMatcherTest, MatchesAsKubernetesDoes) {
  const auto matcher = LabelMatcher::Parse(GetParam().selector);
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  EXPECT_EQ(matcher->Matches(GetParam().labels), GetParam().want);
  const auto again = LabelMatcher::Parse(matcher->ToString());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *matcher) << matcher->ToString();
}

INSTANTIATE_TEST_SUITE_P(
    Texts, LabelMatcherTest,
    ::testing::ValuesIn(std::vector<MatchCase>{
        {.name = "nothing_matches_all", .selector = " ", .labels = {{"a", "b"}}, .want = true},
        {.name = "equal", .selector = "a=b", .labels = {{"a", "b"}}, .want = true},
        {.name = "equal_twice", .selector = "a == b", .labels = {{"a", "c"}}},
        {.name = "equal_without_key", .selector = "a=b"},
        {.name = "empty_value", .selector = "a=", .labels = {{"a", ""}}, .want = true},
        {.name = "empty_value_before_comma", .selector = "a=,b", .labels = {{"a", ""}}},
        {.name = "not_equal", .selector = "a!=b", .labels = {{"a", "b"}}},
        {.name = "not_equal_without_key", .selector = "a!=b", .want = true},
        {.name = "in", .selector = "a in (x,y)", .labels = {{"a", "y"}}, .want = true},
        {.name = "in_touching", .selector = "a in(x, y)", .labels = {{"a", "z"}}},
        {.name = "in_empty", .selector = "a in ()", .labels = {{"a", ""}}, .want = true},
        {.name = "in_with_gap", .selector = "a in (x,,y)", .labels = {{"a", ""}}, .want = true},
        {.name = "notin", .selector = "a notin (x)", .labels = {{"a", "x"}}},
        {.name = "notin_without_key", .selector = "a notin (x)", .want = true},
        {.name = "keywords_as_values",
         .selector = "in in (in,notin)",
         .labels = {{"in", "notin"}},
         .want = true},
        {.name = "exists", .selector = "a,b", .labels = {{"a", ""}, {"b", ""}}, .want = true},
        {.name = "not_exists", .selector = "! a", .labels = {{"a", ""}}},
        {.name = "all_must_hold",
         .selector = "a=b,c in (x,y),!d,e notin (z)",
         .labels = {{"a", "b"}, {"c", "y"}, {"e", "w"}},
         .want = true},
        {.name = "greater", .selector = "a>9", .labels = {{"a", "10"}}, .want = true},
        {.name = "less", .selector = "a<9", .labels = {{"a", "10"}}},
        {.name = "not_a_number", .selector = "a<9", .labels = {{"a", "x"}}},
        {.name = "qualified_key",
         .selector = "example.com/a=b",
         .labels = {{"example.com/a", "b"}},
         .want = true},
    }),
    [](const auto& info) { return info.param.name; });

struct ErrorCase {
  std::string name;
  std::string selector;
  std::string want;  // after "invalid label selector …: "
  friend void PrintTo(const ErrorCase& c, std::ostream* os) { *os << c.name; }
};
class LabelErrorTest : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(LabelErrorTest, SaysWhatWasFoundAndWhatExpected) {
  const auto matcher = LabelMatcher::Parse(GetParam().selector);
  ASSERT_FALSE(matcher.ok());
  EXPECT_EQ(base::Message(matcher.status()),
            "invalid label selector \"" + GetParam().selector + "\": " + GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, LabelErrorTest,
    ::testing::ValuesIn(std::vector<ErrorCase>{
        {"comma_first", ",a", "found \",\", expected a label key"},
        {"comma_last", "a,", "found the end, expected a label key"},
        {"two_keys", "a b", "found \"b\", expected an operator (=, ==, !=, in, notin, >, <)"},
        {"no_set", "a in x", "found \"x\", expected '('"},
        {"open_set", "a in (x", "found the end, expected ',' or ')'"},
        {"operator_in_set", "a in (x=y)", "found \"=\", expected ',' or ')'"},
        {"after_value", "a=b c", "found \"c\", expected ',' or the end"},
        {"negated_set", "!a in (x)", "found \"in\", expected ',' or the end"},
        {"operator_as_value", "a=!b", "found \"!\", expected a value"},
        {"text_compared", "a>x", "label a is compared with \"x\", expected an integer"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(LabelMatcher, KeysAndValuesMustBeWellFormed) {
  for (const std::string_view text : {"-a=b", "a/b/c", "a=-b", "a in (x_,y)", "Ä=b"}) {
    EXPECT_FALSE(LabelMatcher::Parse(text).ok()) << text;
  }
}

TEST(LabelMatcher, ComesFromASelectorOfTheApi) {
  LabelSelector selector;
  selector.match_labels = {{"a", "b"}};
  selector.match_expressions = {{.key = "c", .operator_ = "NotIn", .values = {"y", "x", "y"}},
                                {.key = "d", .operator_ = "Exists"},
                                {.key = "e", .operator_ = "DoesNotExist"}};
  const auto matcher = LabelMatcher::From(selector);
  ASSERT_TRUE(matcher.ok()) << matcher.status();
  EXPECT_EQ(matcher->ToString(), "a=b,c notin (x,y),d,!e");
  EXPECT_TRUE(matcher->Matches({{"a", "b"}, {"d", ""}}));
  EXPECT_FALSE(matcher->Matches({{"a", "b"}, {"d", ""}, {"e", ""}}));
  EXPECT_TRUE(LabelMatcher::From({})->Matches({}));
}

TEST(LabelMatcher, RefusesExpressionsThatMeanNothing) {
  const auto refused = [](LabelSelectorRequirement expression) {
    LabelSelector selector;
    selector.match_expressions = {std::move(expression)};
    return !LabelMatcher::From(selector).ok();
  };
  EXPECT_TRUE(refused({.key = "a", .operator_ = "In"}));
  EXPECT_TRUE(refused({.key = "a", .operator_ = "Exists", .values = {"x"}}));
  EXPECT_TRUE(refused({.key = "a", .operator_ = "Gt", .values = {"1"}}));
  EXPECT_TRUE(refused({.key = "", .operator_ = "Exists"}));
}

TEST(LabelMatcher, KnowsTheValueThatAKeyMustHave) {
  const auto matcher = LabelMatcher::Parse("a=b,c in (x,y),d!=e");
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->RequiredValue("a"), "b");
  EXPECT_EQ(matcher->RequiredValue("c"), std::nullopt);
  EXPECT_EQ(matcher->RequiredValue("d"), std::nullopt);
}

}  // namespace
}  // namespace dray::api

// SPDX-License-Identifier: Apache-2.0
#include "simulator/template.h"

#include <array>
#include <string>

#include "gtest/gtest.h"

namespace dray::simulator {
namespace {

constexpr std::array<std::string_view, 2> kBoth = {"index", "node"};
constexpr std::array<std::string_view, 1> kIndex = {"index"};

api::DocumentNode Parsed(std::string_view yaml) {
  std::vector<api::Diagnostic> diagnostics;
  std::vector<api::DocumentNode> documents = api::ParseYaml(yaml, diagnostics);
  EXPECT_TRUE(diagnostics.empty() && documents.size() == 1) << yaml;
  return documents.empty() ? api::DocumentNode{} : documents[0];
}

struct Case {
  std::string name;
  std::string yaml;
  std::string want;  // JSON with index 5, node 2
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};
class ExpandTest : public ::testing::TestWithParam<Case> {};

TEST_P(ExpandTest, PlaceholdersBecomeValues) {
  std::vector<Fault> faults;
  const Template made =
      Template::Create(Parsed(GetParam().yaml), kBoth, base::FieldPath("t"), faults);
  EXPECT_EQ(api::ToJson(made.Expand({.index = 5, .node = 2}, faults)), GetParam().want);
  EXPECT_TRUE(faults.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, ExpandTest,
    ::testing::ValuesIn(std::vector<Case>{
        {"nothing_to_do", "{a: [1, x, true]}", R"({"a":[1,"x",true]})"},
        {"part_of_a_string", "{a: \"gpu-${index}-of-${node}\"}", R"({"a":"gpu-5-of-2"})"},
        {"whole_string_is_a_number", "{a: \"${index / 4}\"}", R"({"a":1})"},
        {"whole_string_is_a_string", "{a: \"${string(index)}\"}", R"({"a":"5"})"},
        {"boolean", "{a: \"${index > 4}\"}", R"({"a":true})"},
        {"key", "{\"cpu${index + 1}\": 1}", R"({"cpu6":1})"},
        {"list", "{a: '${lists.range(3).map(i, \"v\" + string(i * node))}'}",
         R"({"a":["v0","v2","v4"]})"},
        {"brace_in_quotes", "{a: \"x${'}'}y\"}", R"({"a":"x}y"})"},
        {"choice", "[\"${index % 2 == 0 ? 'even' : 'odd'}\"]", R"(["odd"])"},
        {"no_placeholder_without_a_brace", "{a: \"$index costs $5\"}",
         R"({"a":"$index costs $5"})"},
    }),
    [](const auto& info) { return info.param.name; });

std::string FaultOf(std::string_view yaml) {
  std::vector<Fault> faults;
  const Template made = Template::Create(Parsed(yaml), kIndex, base::FieldPath("t"), faults);
  if (faults.empty()) made.Expand({}, faults);
  return faults.empty() ? "" : ToString(faults.front());
}

TEST(Template, FaultsHaveTheirPlaceAndSayWhatWouldBeRight) {
  EXPECT_EQ(FaultOf("a: \"${index\""),
            "1:4: t: \"${index\": the placeholder must end with a brace");
  EXPECT_EQ(FaultOf("a:\n- \"${node}\""),
            "2:3: t: \"${node}\": unknown name \"node\"; available here: index");
  EXPECT_EQ(FaultOf("a: \"${index / 0}\""), "1:4: t: \"${index / 0}\": division by zero");
  EXPECT_EQ(FaultOf("a: \"x${[index]}\""),
            "1:4: t: \"${[index]}\": must give a number or a string to be a part of a string");
  EXPECT_EQ(
      FaultOf("a: \"${duration('1s')}\""),
      "1:4: t: \"${duration('1s')}\": gives a google.protobuf.Duration, which cannot be used in "
      "a scenario");
  EXPECT_NE(FaultOf("a: \"${indx}\"").find("undeclared reference to 'indx'"), std::string::npos);
}

TEST(Template, KnowsWhatItDependsOn) {
  std::vector<Fault> faults;
  const Template made =
      Template::Create(Parsed("a: \"${index}\""), kBoth, base::FieldPath("t"), faults);
  EXPECT_TRUE(made.Uses("index"));
  EXPECT_FALSE(made.Uses("node"));
}

}  // namespace
}  // namespace dray::simulator

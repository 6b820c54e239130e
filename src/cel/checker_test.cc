// SPDX-License-Identifier: Apache-2.0
#include "cel/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/library_reader.h"
#include "cel/visit.h"

namespace dray::cel {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CompileResult InDra(std::string_view expression) {
  return Compile(expression, DeviceEnvironment({}));
}

// With a few names, in the container "ns.inner".
CompileResult InContainer(std::string_view expression) {
  EnvironmentBuilder builder = StandardEnvironment();
  builder.AddVariable("x", builder.pool().Map(Type::String(), Type::Bool()));
  builder.AddVariable("x.y", Type::Int());
  builder.AddVariable("ns.v", Type::Uint());
  builder.AddVariable("v", Type::String());
  builder.AddOverload("ns.g", ReadOverload("g_int (int) -> string", builder.pool()));
  builder.SetContainer("ns.inner");
  return Compile(expression, std::move(builder).Build());
}

struct TypeCase {
  std::string name;
  std::string expression;
  std::string want;
  friend void PrintTo(const TypeCase& c, std::ostream* os) { *os << c.expression; }
};
class TypeOfTest : public ::testing::TestWithParam<TypeCase> {};

TEST_P(TypeOfTest, IsDeduced) {
  const CompileResult result = InDra(GetParam().expression);
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.checked->result_type().ToString(), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Checker, TypeOfTest,
    ::testing::ValuesIn(std::vector<TypeCase>{
        {"empty_list", "[]", "list(dyn)"},
        {"empty_list_takes_the_others_type", "[[], [1]]", "list(list(int))"},
        // The first overload that fits says what an element of nothing is: int against double.
        {"empty_list_compared", "[].filter(x, x < 1.5)", "list(int)"},
        {"empty_list_compared_the_other_way", "[].filter(x, 1.5 >= x)", "list(double)"},
        {"conditional", "true ? [] : ['a']", "list(string)"},
        {"map", "{'a': [1.5]}", "map(string, list(double))"},
        {"select_of_map", "{'a': 1u}.a", "uint"},
        {"has_is_bool", "has({'a': 1}.a)", "bool"},
        {"optional_select", "{'a': 1}.?a", "optional_type(int)"},
        {"optional_stays_optional", "optional.of({'a': {'b': 1}}).a.b", "optional_type(int)"},
        {"optional_element", "[?optional.of(1), 2]", "list(int)"},
        {"loop_over_map_has_keys", "{'a': 1}.map(k, k)", "list(string)"},
        {"two_variables_over_list", "['a'].transformMap(i, v, v + '!')", "map(int, string)"},
        {"bind", "cel.bind(x, 1, [x, x])", "list(int)"},
        {"overloads_that_disagree_are_dyn", "dyn(1) + dyn(2)", "dyn"},
        {"type", "type([1])", "type(list(int))"},
        {"type_name", "int", "type(int)"},
        {"qualified_type_name", "net.IP", "type(net.IP)"},
        {"namespaced_function", "sets.contains([1], [1])", "bool"},
        {"attribute", "device.attributes['a'].b", "dyn"},
        {"capacity", "device.capacity['a'].b", "kubernetes.Quantity"},
        {"message", "google.protobuf.Timestamp{seconds: 1}", "google.protobuf.Timestamp"},
    }),
    [](const auto& info) { return info.param.name; });

struct ErrorCase {
  std::string name;
  std::string expression;
  std::vector<std::string> want;
  friend void PrintTo(const ErrorCase& c, std::ostream* os) { *os << c.expression; }
};
class CheckErrorTest : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(CheckErrorTest, IsReported) {
  std::vector<std::string> got;
  for (const Issue& issue : InDra(GetParam().expression).issues) got.push_back(issue.message);
  EXPECT_EQ(got, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Checker, CheckErrorTest,
    ::testing::ValuesIn(std::vector<ErrorCase>{
        {"undeclared", "x", {"undeclared reference to 'x' (in container '')"}},
        {"several",
         "x + y",
         {"undeclared reference to 'x' (in container '')",
          "undeclared reference to 'y' (in container '')"}},
        {"no_field", "device.pool", {"undefined field 'pool'"}},
        {"no_overload_global",
         "1 + 'a'",
         {"found no matching overload for '_+_' applied to '(int, string)'"}},
        {"no_overload_member",
         "'a'.startsWith(1)",
         {"found no matching overload for 'startsWith' applied to 'string.(int)'"}},
        {"each_side_of_and",
         "1 && 'a'",
         {"expected type 'bool' but found 'int'", "expected type 'bool' but found 'string'"}},
        {"no_selection", "(1).a", {"type 'int' does not support field selection"}},
        {"no_loop",
         "(1).all(x, x)",
         {"expression of type 'int' cannot be range of a comprehension (must be list, map, or "
          "dynamic)"}},
        {"mixed_list", "[1, 'a']", {"expected type 'int' but found 'string'"}},
        {"mixed_map",
         "{1: 'a', 'b': 2}",
         {"expected type 'int' but found 'string'", "expected type 'string' but found 'int'"}},
        {"bad_duration", "duration('x') == duration('1s')", {"invalid duration argument"}},
        {"bad_timestamp", "timestamp('2023') == timestamp(0)", {"invalid timestamp argument"}},
        {"bad_regex", "'a'.matches('(')", {"invalid matches argument"}},
        {"bad_format",
         "'%d'.format(['a'])",
         {"error during formatting: decimal clause can only be used on integers, was given "
          "string"}},
        {"not_optional", "[?1]", {"expected type 'optional_type(int)' but found 'int'"}},
        {"not_a_message", "int{}", {"'int' is not a message type"}},
        {"no_such_message_field", "google.protobuf.Duration{x: 1}", {"undefined field 'x'"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Checker, FormatArgumentsMayMix) { EXPECT_TRUE(InDra("'%d %s'.format([1, 'a'])").ok()); }

// Neither a device nor a result can be one: {} says the same.
TEST(Checker, AMapIsNotMadeAsAMessage) {
  EXPECT_FALSE(InDra("google.protobuf.Struct{} == {}").ok());
  EXPECT_TRUE(InDra("google.protobuf.Duration{seconds: 1} == duration('1s')").ok());
}

TEST(Checker, StandardLiteralsMayMix) {
  const auto environment = StandardEnvironment().Build();
  const CompileResult result = Compile("[1, 'a']", environment);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.checked->result_type().ToString(), "list(dyn)");
}

TEST(Checker, TheLongestVariableNameWins) {
  EXPECT_EQ(InContainer("x.y").checked->result_type(), Type::Int());
  EXPECT_EQ(InContainer("x.z").checked->result_type(), Type::Bool());
}

TEST(Checker, TheContainersNamesComeFirst) {
  EXPECT_EQ(InContainer("v").checked->result_type(), Type::Uint());
  EXPECT_EQ(InContainer(".v").checked->result_type(), Type::String());
  EXPECT_EQ(InContainer("g(1)").checked->result_type(), Type::String());
}

TEST(Checker, LoopVariablesHideQualifiedNames) {
  const CompileResult result = InContainer("[{'y': true}].map(x, x.y)");
  ASSERT_TRUE(result.ok()) << result.error;
  EXPECT_EQ(result.checked->result_type().ToString(), "list(bool)");
}

std::vector<std::string> Candidates(std::string_view expression) {
  const CompileResult result = InDra(expression);
  std::vector<std::string> ids;
  if (!result.ok()) return ids;
  for (const Overload* overload : result.checked->overloads(result.checked->ast().root())) {
    ids.push_back(overload->id);
  }
  return ids;
}

TEST(Checker, KeepsEveryOverloadThatACallMayReach) {
  EXPECT_THAT(Candidates("1 + 1"), ElementsAre("add_int64"));
  EXPECT_THAT(Candidates("dyn('a')[dyn(0)]"),
              ElementsAre("index_list", "index_map", "optional_list_index_int",
                          "optional_map_index_value"));
  EXPECT_THAT(Candidates("size(dyn(1))"),
              ElementsAre("size_bytes", "size_list", "size_map", "size_string"));
  EXPECT_THAT(Candidates("{'a': 1}.?a"), ElementsAre("select_optional_field"));
}

TEST(Checker, ATargetMayBePartOfTheFunctionsName) {
  const auto checked = InDra("sets.contains([1], [2])").checked;
  EXPECT_FALSE(checked->has_receiver(checked->ast().root()));
  std::size_t nodes = 0;
  ForEachBelow(*checked, checked->ast().root(), [&](ExprId) { ++nodes; });
  EXPECT_EQ(nodes, 5u);  // the call, two lists, two numbers
}

TEST(Checker, NamesAreResolved) {
  const auto checked = InContainer("x.y").checked;
  const Reference* reference = checked->FindReference(checked->ast().root());
  ASSERT_NE(reference, nullptr);
  EXPECT_EQ(reference->kind, Reference::Kind::kVariable);
  EXPECT_EQ(reference->variable->name, "x.y");
}

TEST(Checker, TypesThatDoubleAreRefused) {
  std::string expression = "1";
  for (int i = 60; i > 0; --i) {
    expression = "cel.bind(a" + std::to_string(i) + ", {a" + std::to_string(i - 1) + ": a" +
                 std::to_string(i - 1) + "}, " + expression + ")";
  }
  const CompileResult result = InDra("cel.bind(a0, 1, " + expression + ")");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error, ::testing::HasSubstr("made of more than 1000 types"));
}

}  // namespace
}  // namespace dray::cel

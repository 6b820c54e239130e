// SPDX-License-Identifier: Apache-2.0
#include "cel/macros.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cel/parser.h"
#include "cel/unparse.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// A loop's parts as text; expansions inside are printed as they were called.
std::string LoopOf(const Ast& ast, ExprId id) {
  const Comprehension& loop = ast.comprehension(id);
  const auto text = [&](ExprId part) { return Unparse(ast, part); };
  return fmt::format("{}{}{} in {}; {} = {}; {}; {}; {}", ast.text(loop.iter_var),
                     loop.iter_var2 ? ", " : "",
                     loop.iter_var2 ? ast.text(*loop.iter_var2) : std::string_view(),
                     text(loop.range), ast.text(loop.accu_var), text(loop.init),
                     text(loop.condition), text(loop.step), text(loop.result));
}

struct LoopCase {
  std::string name;
  std::string text;
  std::string want;  // variables in range; accumulator = init; condition; step; result
  friend void PrintTo(const LoopCase& c, std::ostream* os) { *os << c.name; }
};
class LoopTest : public ::testing::TestWithParam<LoopCase> {};

TEST_P(LoopTest, ExpandsToThisLoop) {
  const Source source(GetParam().text);
  const ParseResult result = Parse(source, {.macros = MacroSet::All()});
  ASSERT_TRUE(result.ok()) << Render(source, result.issues);
  const Ast& ast = *result.ast;
  ASSERT_EQ(ast.kind(ast.root()), ExprKind::kComprehension);
  EXPECT_EQ(LoopOf(ast, ast.root()), GetParam().want);
  EXPECT_EQ(Unparse(ast), GetParam().text);
  // Everything it adds lies at the opening parenthesis, here the first one.
  EXPECT_EQ(ast.offset(ast.root()), GetParam().text.find('('));
}

INSTANTIATE_TEST_SUITE_P(
    SpecChapter7, LoopTest,
    ::testing::ValuesIn(std::vector<LoopCase>{
        {"all", "r.all(x, p)",
         "x in r; @result = true; @not_strictly_false(@result); @result && p; @result"},
        {"exists", "r.exists(x, p)",
         "x in r; @result = false; @not_strictly_false(!@result); @result || p; @result"},
        {"exists_one", "r.exists_one(x, p)",
         "x in r; @result = 0; true; p ? @result + 1 : @result; @result == 1"},
        {"exists_one_new_name", "r.existsOne(x, p)",
         "x in r; @result = 0; true; p ? @result + 1 : @result; @result == 1"},
        {"map", "r.map(x, t)", "x in r; @result = []; true; @result + [t]; @result"},
        {"map_with_filter", "r.map(x, p, t)",
         "x in r; @result = []; true; p ? @result + [t] : @result; @result"},
        {"filter", "r.filter(x, p)",
         "x in r; @result = []; true; p ? @result + [x] : @result; @result"},
        {"all_two_variables", "r.all(i, x, p)",
         "i, x in r; @result = true; @not_strictly_false(@result); @result && p; @result"},
        {"exists_two_variables", "r.exists(i, x, p)",
         "i, x in r; @result = false; @not_strictly_false(!@result); @result || p; @result"},
        {"exists_one_two_variables", "r.existsOne(i, x, p)",
         "i, x in r; @result = 0; true; p ? @result + 1 : @result; @result == 1"},
        {"exists_one_two_variables_old_name", "r.exists_one(i, x, p)",
         "i, x in r; @result = 0; true; p ? @result + 1 : @result; @result == 1"},
        {"transform_list", "r.transformList(i, x, t)",
         "i, x in r; @result = []; true; @result + [t]; @result"},
        {"transform_list_with_filter", "r.transformList(i, x, p, t)",
         "i, x in r; @result = []; true; p ? @result + [t] : @result; @result"},
        {"transform_map", "r.transformMap(k, x, t)",
         "k, x in r; @result = {}; true; cel.@mapInsert(@result, k, t); @result"},
        {"transform_map_with_filter", "r.transformMap(k, x, p, t)",
         "k, x in r; @result = {}; true; p ? cel.@mapInsert(@result, k, t) : @result; @result"},
        {"transform_map_entry", "r.transformMapEntry(k, x, {x: k})",
         "k, x in r; @result = {}; true; cel.@mapInsert(@result, {x: k}); @result"},
        {"transform_map_entry_with_filter", "r.transformMapEntry(k, x, p, {x: k})",
         "k, x in r; @result = {}; true; p ? cel.@mapInsert(@result, {x: k}) : @result; @result"},
        {"bind", "cel.bind(v, i, v + v)", "#unused in []; v = i; false; v; v + v"},
        {"sort_by", "r.sortBy(x, x.k)",
         "#unused in []; @__sortBy_input__ = r; false; @__sortBy_input__; "
         "@__sortBy_input__.@sortByAssociatedKeys(@fold(x in @__sortBy_input__, @result = [], "
         "true, "
         "@result + [x.k], @result))"},
        {"nested", "r.map(x, x.filter(y, y > x))",
         "x in r; @result = []; true; @result + [x.filter(y, y > x)]; @result"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Macros, HasIsATestOnlySelection) {
  const ParseResult result = Parse(Source("has(a.b.c)"));
  ASSERT_TRUE(result.ok());
  const SelectExpr select = result.ast->select(result.ast->root());
  EXPECT_TRUE(select.test_only);
  EXPECT_EQ(result.ast->text(select.field), "c");
  EXPECT_FALSE(result.ast->select(select.operand).test_only);
  EXPECT_EQ(Unparse(*result.ast), "has(a.b.c)");
}

TEST(Macros, OptionalMapsAreConditionals) {
  const auto shown = [](std::string_view text) {
    const ParseResult result = Parse(Source(text));
    const CallExpr call = result.ast->call(result.ast->root());
    std::string out(result.ast->text(call.function));
    for (const ExprId arg : call.args) out += "; " + Unparse(*result.ast, arg);
    return out;
  };
  EXPECT_EQ(
      shown("a.optMap(x, x + 1)"),
      "_?_:_; a.hasValue(); optional.of(@fold(#unused in [], x = a.value(), false, x, x + 1)); "
      "optional.none()");
  EXPECT_EQ(shown("a.optFlatMap(x, x.?b)"),
            "_?_:_; a.hasValue(); @fold(#unused in [], x = a.value(), false, x, x.?b); "
            "optional.none()");
}

struct MacroErrorCase {
  std::string name;
  std::string text;
  std::string want;  // column: message
  friend void PrintTo(const MacroErrorCase& c, std::ostream* os) { *os << c.name; }
};
class MacroErrorTest : public ::testing::TestWithParam<MacroErrorCase> {};

TEST_P(MacroErrorTest, IsRefused) {
  const Source source(GetParam().text);
  const ParseResult result = Parse(source);
  ASSERT_EQ(result.issues.size(), 1U);
  EXPECT_EQ(fmt::format("{}: {}", source.LocationAt(result.issues[0].offset).column + 1,
                        result.issues[0].message),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    SpecChapter6, MacroErrorTest,
    ::testing::ValuesIn(std::vector<MacroErrorCase>{
        {"has_of_a_variable", "has(device)", "5: invalid argument to has() macro"},
        {"has_of_an_index", "has(a['b'])", "6: invalid argument to has() macro"},
        {"has_of_an_optional", "has(a.?b)", "6: invalid argument to has() macro"},
        {"all_of_a_path", "r.all(x.y, true)", "8: argument must be a simple name"},
        {"exists_of_a_constant", "r.exists(1, true)", "10: argument must be a simple name"},
        {"map_of_a_call", "r.map(f(), 1)", "8: argument is not an identifier"},
        {"filter_of_a_constant", "r.filter('x', 1)", "10: argument is not an identifier"},
        {"sort_by_of_a_constant", "r.sortBy(1, 1)", "10: argument is not an identifier"},
        {"second_variable", "r.all(i, 1, true)", "10: argument must be a simple name"},
        {"same_variable_twice", "r.all(i, i, true)", "10: duplicate variable name: i"},
        {"same_variable_twice_in_transform", "r.transformMap(i, i, 1)",
         "19: duplicate variable name: i"},
        {"accumulator", "r.all(__result__, true)",
         "7: iteration variable overwrites accumulator variable"},
        {"accumulator_in_map", "r.map(__result__, 1)",
         "7: iteration variable overwrites accumulator variable"},
        {"accumulator_as_second", "r.all(i, __result__, true)",
         "10: iteration variable overwrites accumulator variable"},
        {"bind_of_a_path", "cel.bind(a.b, 1, 2)",
         "11: cel.bind() variable names must be simple identifiers"},
        {"opt_map_of_a_constant", "a.optMap(1, 2)",
         "10: optMap() variable name must be a simple identifier"},
        {"opt_flat_map_of_a_constant", "a.optFlatMap(1, 2)",
         "14: optFlatMap() variable name must be a simple identifier"},
        {"sort_of_a_constant", "'a'.sortBy(x, x)",
         "1: sortBy can only be applied to a list, identifier, comprehension, call or select "
         "expression"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Macros, OtherFormsAreOrdinaryCalls) {
  for (const char* text : {"a.has(b.c)", "has(a, b)", "all(a, b)", "a.all(b)", ".has(a.b)",
                           "a.bind(b, c, d)", "a.map(b)", "r.existsOne(x, p)"}) {
    const ParseResult result = Parse(Source(text));
    ASSERT_TRUE(result.ok()) << text;
    EXPECT_EQ(result.ast->kind(result.ast->root()), ExprKind::kCall) << text;
    EXPECT_FALSE(result.ast->FindMacroCall(result.ast->root())) << text;
  }
}

TEST(Macros, TheCallerChoosesThem) {
  const auto is_loop = [](std::string_view text, MacroSet macros) {
    const ParseResult result = Parse(Source(text), {.macros = macros});
    return result.ast->kind(result.ast->root()) == ExprKind::kComprehension;
  };
  EXPECT_FALSE(is_loop("a.all(b, c)", {}));
  EXPECT_TRUE(is_loop("a.all(b, c)", MacroSet::Standard()));
  EXPECT_FALSE(is_loop("a.all(i, b, c)", MacroSet::Standard()));
  EXPECT_TRUE(is_loop("a.all(i, b, c)", MacroSet::TwoVariables()));
  EXPECT_FALSE(is_loop("r.existsOne(x, p)", MacroSet::Dra()));
  EXPECT_TRUE(is_loop("r.existsOne(x, p)", MacroSet::All()));
}

TEST(Macros, GreatestAndLeastTakeAnyNumberOfArguments) {
  const auto arguments = [](std::string_view text) {
    const ParseResult result = Parse(Source(text), {.macros = MacroSet::All()});
    const Ast& ast = *result.ast;
    const CallExpr call = ast.call(ast.root());
    return std::string(ast.text(call.function)) + " " + std::to_string(call.args.size()) +
           (ast.kind(call.args[0]) == ExprKind::kList ? " list" : "");
  };
  EXPECT_EQ(arguments("math.greatest(a)"), "math.@max 1");
  EXPECT_EQ(arguments("math.least(a, b)"), "math.@min 2");
  EXPECT_EQ(arguments("math.greatest(a, b, c)"), "math.@max 1 list");
  EXPECT_EQ(arguments("other.greatest(a)"), "greatest 1");
  const ParseResult none = Parse(Source("math.least()"), {.macros = MacroSet::All()});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.issues[0].message, "math.least() requires at least one argument");
}

// Each link copies all before it; without a limit forty would fill the memory.
TEST(Macros, ChainOfOptionalMapsIsBounded) {
  const auto chain = [](int links) {
    std::string text = "a";
    for (int i = 0; i < links; ++i) text += ".optMap(x, x)";
    return Parse(Source(text));
  };
  EXPECT_TRUE(chain(16).ok());  // costs 852,000 of the 1,000,000 that a selector may
  EXPECT_FALSE(chain(17).ok());
  const ParseResult result = chain(40);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.issues[0].message,
            "expression is too large once optMap is expanded: more than 1000000 nodes");
}

}  // namespace
}  // namespace dray::cel

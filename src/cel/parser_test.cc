// SPDX-License-Identifier: Apache-2.0
#include "cel/parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// The tree as nested calls, every constant with its type: what the parser understood, without the
// printer's help.
class Sketch {
 public:
  explicit Sketch(const Ast& ast) : ast_(ast) {}

  std::string Of(ExprId id) const {
    switch (ast_.kind(id)) {
      case ExprKind::kNull:
        return "null";
      case ExprKind::kBool:
        return ast_.bool_value(id) ? "true" : "false";
      case ExprKind::kInt:
        return fmt::format("{}", ast_.int_value(id));
      case ExprKind::kUint:
        return fmt::format("{}u", ast_.uint_value(id));
      case ExprKind::kDouble:
        return fmt::format("{}d", ast_.double_value(id));
      case ExprKind::kString:
        return fmt::format("'{}'", ast_.string_value(id));
      case ExprKind::kBytes:
        return fmt::format("b'{}'", ast_.string_value(id));
      case ExprKind::kIdent:
        return std::string(ast_.text(ast_.ident(id)));
      case ExprKind::kSelect: {
        const SelectExpr select = ast_.select(id);
        return fmt::format("{}.{}{}", Of(select.operand), ast_.text(select.field),
                           select.test_only ? "~" : "");
      }
      case ExprKind::kCall: {
        const CallExpr call = ast_.call(id);
        return (call.target ? Of(*call.target) + "." : "") +
               fmt::format("{}({})", ast_.text(call.function), Join(call.args));
      }
      case ExprKind::kList: {
        const ListExpr list = ast_.list(id);
        std::string out;
        for (std::size_t i = 0; i < list.elements.size(); ++i) {
          out += (i > 0 ? ", " : "") + std::string(list.IsOptional(i) ? "?" : "") +
                 Of(list.elements[i]);
        }
        return "[" + out + "]";
      }
      case ExprKind::kMap: {
        std::string out;
        for (const MapEntry& e : ast_.map(id)) {
          out += fmt::format("{}{}{}: {}", out.empty() ? "" : ", ", e.optional ? "?" : "",
                             Of(e.key), Of(e.value));
        }
        return "{" + out + "}";
      }
      case ExprKind::kStruct: {
        const StructExpr literal = ast_.struct_literal(id);
        std::string out;
        for (const StructField& f : literal.fields) {
          out += fmt::format("{}{}{}: {}", out.empty() ? "" : ", ", f.optional ? "?" : "",
                             ast_.text(f.name), Of(f.value));
        }
        return fmt::format("{}{{{}}}", ast_.text(literal.name), out);
      }
      case ExprKind::kComprehension:
        return "<loop>";
    }
    return "";
  }

 private:
  std::string Join(std::span<const ExprId> ids) const {
    std::string out;
    for (const ExprId id : ids) out += (out.empty() ? "" : ", ") + Of(id);
    return out;
  }
  const Ast& ast_;
};

std::string Shown(std::string_view text, const ParseOptions& options = {}) {
  const Source source(text);
  const ParseResult result = Parse(source, options);
  if (!result.ok()) return Render(source, result.issues);
  return Sketch(*result.ast).Of(result.ast->root());
}

struct TreeCase {
  std::string name;
  std::string text;
  std::string want;
  friend void PrintTo(const TreeCase& c, std::ostream* os) { *os << c.name; }
};
class TreeTest : public ::testing::TestWithParam<TreeCase> {};

TEST_P(TreeTest, HasThisTree) { EXPECT_EQ(Shown(GetParam().text), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Grammar, TreeTest,
    ::testing::ValuesIn(std::vector<TreeCase>{
        {"constants", "[null, true, false, 1, 0x1F, 2u, 0xFFu, 1.5, .5, 1e3]",
         "[null, true, false, 1, 31, 2u, 255u, 1.5d, 0.5d, 1000d]"},
        {"int_range",
         "[9223372036854775807, -9223372036854775808, -0x8000000000000000, 18446744073709551615u]",
         "[9223372036854775807, -9223372036854775808, -9223372036854775808, "
         "18446744073709551615u]"},
        {"too_small_doubles_are_zero", "[1e-999, -1e-999]", "[0d, -0d]"},
        {"strings", R"(['a\tb', "\x41\u00e9\U0001f600\101", r'\n', '''x'y''', ''])",
         "['a\tb', 'A\u00e9\U0001f600A', '\\n', 'x'y', '']"},
        {"bytes_escapes_are_bytes", R"([b'\xff\377', '\xff'])", "[b'\xff\xff', '\u00ff']"},
        {"bytes_of_text", "b'\u00e9'", "b'\u00e9'"},
        {"line_ends_become_newlines", "'''a\r\nb\rc'''", "'a\nb\nc'"},
        {"selection_and_calls", "a.b.c(d).e[f]", "_[_](a.b.c(d).e, f)"},
        {"leading_dot", ".a.b + .f(1)", "_+_(.a.b, .f(1))"},
        {"reserved_words_may_be_fields", "a.for.if(1)", "a.for.if(1)"},
        {"quoted_field", "a.`b-c`", "a.b-c"},
        {"optional_syntax", "[a.?b, a[?b], {?'k': v}, [?w, x]]",
         "[_?._(a, 'b'), _[?_](a, b), {?'k': v}, [?w, x]]"},
        {"message", "a.b.C{f: 1, ?g: 2, `h-i`: 3}.f", "a.b.C{f: 1, ?g: 2, h-i: 3}.f"},
        {"message_with_leading_dot", ".C{}", ".C{}"},
        {"commas_at_the_end", "[[1,], {1: 2,}, C{f: 1,}, [,], {,}]",
         "[[1], {1: 2}, C{f: 1}, [], {}]"},
        {"precedence", "a || b && c == d + e * -f",
         "_||_(a, _&&_(b, _==_(c, _+_(d, _*_(e, -_(f))))))"},
        {"left_to_right", "a - b - c / d / e", "_-_(_-_(a, b), _/_(_/_(c, d), e))"},
        {"relations_left_to_right", "a < b == c in d", "@in(_==_(_<_(a, b), c), d)"},
        {"conditional", "a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"},
        {"conditional_over_or", "a || b ? c || d : e", "_?_:_(_||_(a, b), _||_(c, d), e)"},
        {"signs_go_in_pairs", "[!!a, !!!a, --a, ---a, --1]", "[a, !_(a), a, -_(a), 1]"},
        {"minus_belongs_to_a_number", "[-1, - 1.5, 1-1, 1 - -1, -1.f(), -(1), -1u, !-1]",
         "[-1, -1.5d, _-_(1, 1), _-_(1, -1), -1.f(), -_(1), -_(1u), !_(-1)]"},
        // The first half, rounded up, goes left.
        {"chains_are_balanced", "a && b && c && d && e", "_&&_(_&&_(_&&_(a, b), c), _&&_(d, e))"},
        {"parentheses_are_terms", "a || (b || c) || d", "_||_(_||_(a, _||_(b, c)), d)"},
        {"space_and_comments", "a // x\n + // y\n b", "_+_(a, b)"},
        {"invalid_utf8_becomes_a_replacement", "'\xff'", "'\ufffd'"},
    }),
    [](const auto& info) { return info.param.name; });

struct ErrorCase {
  std::string name;
  std::string text;
  std::vector<std::string> want;  // "line:column: message" as shown
  friend void PrintTo(const ErrorCase& c, std::ostream* os) { *os << c.name; }
};
class ErrorTest : public ::testing::TestWithParam<ErrorCase> {};

std::vector<std::string> ErrorsOf(std::string_view text, const ParseOptions& options = {}) {
  const Source source(text);
  const ParseResult result = Parse(source, options);
  EXPECT_NE(result.ok(), !result.issues.empty());
  std::vector<std::string> out;
  for (const Issue& issue : result.issues) {
    const Location at = source.LocationAt(issue.offset);
    out.push_back(fmt::format("{}:{}: {}", at.line, at.column + 1, issue.message));
  }
  return out;
}

TEST_P(ErrorTest, IsReported) { EXPECT_EQ(ErrorsOf(GetParam().text), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Syntax, ErrorTest,
    ::testing::ValuesIn(std::vector<ErrorCase>{
        {"nothing",
         "",
         {"1:1: Syntax error: found the end of the expression, expected an expression"}},
        {"operand_missing",
         "a +",
         {"1:4: Syntax error: found the end of the expression, expected an expression"}},
        {"two_operands",
         "a b",
         {"1:3: Syntax error: found 'b', expected the end of the expression"}},
        {"unclosed", "(a", {"1:3: Syntax error: found the end of the expression, expected ')'"}},
        {"keyword_as_operand", "in", {"1:1: Syntax error: found 'in', expected an expression"}},
        {"keyword_as_field", "a.in == 1", {"1:3: Syntax error: found 'in', expected a field name"}},
        {"number_as_field",
         "a.1",
         {"1:2: Syntax error: found '.1', expected the end of the expression"}},
        {"optional_call",
         "a.?b(c)",
         {"1:5: Syntax error: found '(', expected the end of the expression"}},
        {"quoted_call",
         "a.`b`(c)",
         {"1:6: Syntax error: found '(', expected the end of the expression"}},
        {"quoted_variable", "`a`", {"1:1: Syntax error: found '`a`', expected an expression"}},
        {"no_comma_after_arguments",
         "f(a,)",
         {"1:5: Syntax error: found ')', expected an expression"}},
        {"minus_before_not", "-!a", {"1:2: Syntax error: found '!', expected an expression"}},
        {"not_before_minus", "!-a", {"1:3: Syntax error: found 'a', expected a number"}},
        {"message_of_a_call",
         "f(){a: 1}",
         {"1:4: Syntax error: found '{', expected the end of the expression"}},
        {"conditional_in_the_middle",
         "a ? b ? c : d : e",
         {"1:7: Syntax error: found '?', expected ':'; a conditional between '?' and ':' needs "
          "parentheses"}},
        {"long_tokens_are_described",
         "a 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
         {"1:3: Syntax error: found a string literal, expected the end of the expression"}},
        {"several",
         "[1,,2] + f(3 4) + {5 6} + (7 8)",
         {"1:4: Syntax error: found ',', expected an expression",
          "1:14: Syntax error: found '4', expected ',' or ')'",
          "1:22: Syntax error: found '6', expected ':' and the value of the entry",
          "1:30: Syntax error: found '8', expected ')'"}},
        {"broken_literal_is_one_error",
         "f('abc\n) + g(\"x)",
         {"1:3: Syntax error: literal without a closing quote",
          "2:7: Syntax error: literal without a closing quote"}},
        {"no_macro_error_after_a_syntax_error",
         "[1].all(+, true)",
         {"1:9: Syntax error: found '+', expected an expression"}},
    }),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, ErrorTest,
    ::testing::ValuesIn(std::vector<ErrorCase>{
        {"int_too_large", "1 + 9223372036854775808", {"1:5: invalid int literal"}},
        {"int_too_small", "-9223372036854775809", {"1:1: invalid int literal"}},
        // Two signs are none, so this is the number without.
        {"int_behind_two_signs", "--9223372036854775808", {"1:3: invalid int literal"}},
        {"uint_too_large", "18446744073709551616u", {"1:1: invalid uint literal"}},
        {"double_too_large",
         "[1e999, -1e999]",
         {"1:2: invalid double literal", "1:9: invalid double literal"}},
        {"surrogate", R"(a + '\ud800')", {"1:5: invalid unicode code point"}},
        {"past_the_last_code_point", R"('\U00110000')", {"1:1: invalid unicode code point"}},
        {"code_points_are_not_bytes", R"(b'\u0041')", {"1:1: unable to unescape string"}},
        {"reserved_variable", "1 + for", {"1:5: reserved identifier: for"}},
        {"reserved_function", ".if(x)", {"1:1: reserved identifier: if"}},
        {"several_reserved",
         "as + while.x",
         {"1:1: reserved identifier: as", "1:6: reserved identifier: while"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Parser, SyntaxCanBeSwitchedOff) {
  const ParseOptions plain{.optional_syntax = false, .quoted_fields = false};
  EXPECT_EQ(
      ErrorsOf("[a.?b, a[?b], {?c: d}, [?e], a.`f`]", plain),
      (std::vector<std::string>{"1:3: unsupported syntax '.?'", "1:9: unsupported syntax '[?'",
                                "1:16: unsupported syntax '?'", "1:25: unsupported syntax '?'",
                                "1:32: unsupported syntax: '`'"}));
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}
const std::vector<std::string> kTooDeep = {"-1:0: expression recursion limit exceeded: 250"};
const std::vector<std::string> kTooLong = {"-1:0: max recursion depth exceeded"};
const std::vector<std::string> kFine = {};

struct LimitCase {
  std::string name;
  std::string text;
  std::vector<std::string> want;
  friend void PrintTo(const LimitCase& c, std::ostream* os) { *os << c.name; }
};
class LimitTest : public ::testing::TestWithParam<LimitCase> {};

TEST_P(LimitTest, IsWhereKubernetesHasIt) { EXPECT_EQ(ErrorsOf(GetParam().text), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Depth, LimitTest,
    ::testing::ValuesIn(std::vector<LimitCase>{
        {"parentheses_249", Repeat("(", 249) + "1" + Repeat(")", 249), kFine},
        {"parentheses_250", Repeat("(", 250) + "1" + Repeat(")", 250), kTooDeep},
        {"lists_249", Repeat("[", 249) + Repeat("]", 249), kFine},
        {"lists_251", Repeat("[", 251) + Repeat("]", 251), kTooDeep},
        {"calls_250", Repeat("f(", 250) + "1" + Repeat(")", 250), kTooDeep},
        {"unclosed_100000", Repeat("(", 100'000), kTooDeep},
        {"conditionals_250", Repeat("a ? b : ", 250) + "c", kTooDeep},
        // A right operand is one more relation under way, so these reach the limit in half the
        // depth.
        {"relations_in_parentheses_124", Repeat("1 == (", 124) + "1" + Repeat(")", 124), kFine},
        {"relations_in_parentheses_125", Repeat("1 == (", 125) + "1" + Repeat(")", 125), kTooDeep},
        {"sum_250", Repeat("1 + ", 250) + "1", kFine},
        {"sum_251", Repeat("1 + ", 251) + "1", kTooLong},
        {"selections_250", "a" + Repeat(".b", 250), kFine},
        {"selections_251", "a" + Repeat(".b", 251), kTooLong},
        {"indices_251", "a" + Repeat("[0]", 251), kTooLong},
        {"member_calls_251", "a" + Repeat(".f()", 251), kTooLong},
        // The macro copies its target, which is too deep to be walked.
        {"selections_49000_copied", "a" + Repeat(".b", 49'000) + ".optMap(x, x)", kTooLong},
        // Chains in different places of one branch add up.
        {"mixed_251", "a" + Repeat(".b", 125) + Repeat(" + 1", 126), kTooLong},
        {"signs_10000", Repeat("!", 10'000) + "a", kFine},
        {"and_10000", Repeat("a && ", 10'000) + "a", kFine},
        {"or_of_and_9000", Repeat("a && b || ", 9'000) + "a", kFine},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Parser, CodePointsAreLimited) {
  EXPECT_EQ(ErrorsOf("'" + Repeat("\u4e16", 99'998) + "'"), kFine);
  EXPECT_EQ(ErrorsOf("'" + Repeat("\u4e16", 99'999) + "'"),
            std::vector<std::string>{
                "-1:0: expression code point size exceeds limit: size: 100001, limit 100000"});
}

// The hundred and first is about the text, which counts as ended there.
TEST(Parser, ErrorsAreLimited) {
  for (const char* slip : {"+,", "#", "for,", "'\\z',"}) {
    const auto errors = ErrorsOf("[" + Repeat(slip, 10'000) + "]");
    EXPECT_GE(errors.size(), 100U) << slip;
    EXPECT_LE(errors.size(), 101U) << slip;
  }
}

// Where each node's error would be shown: "function or text@column".
TEST(Parser, NodesLieWhereErrorsAreShown) {
  const Source source("a.b[-1].f(x) + g(y) == {k: 2}.?m ? [n] : has(o.p)");
  const ParseResult result = Parse(source);
  ASSERT_TRUE(result.ok());
  const Ast& ast = *result.ast;
  std::vector<std::string> places;
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    places.push_back(fmt::format("{} @{}", Sketch(ast).Of({i}), ast.offset({i})));
  }
  EXPECT_EQ(places,
            (std::vector<std::string>{
                "a @0",
                "a.b @1",
                "-1 @4",
                "_[_](a.b, -1) @3",
                "x @10",
                "_[_](a.b, -1).f(x) @9",
                "y @17",
                "g(y) @16",
                "_+_(_[_](a.b, -1).f(x), g(y)) @13",
                "k @24",
                "2 @27",
                "{k: 2} @23",
                "'m' @31",
                "_?._({k: 2}, 'm') @29",
                "_==_(_+_(_[_](a.b, -1).f(x), g(y)), _?._({k: 2}, 'm')) @20",
                "n @36",
                "[n] @35",
                "o @45",
                "o.p @46",
                "o.p~ @44",
                "_?_:_(_==_(_+_(_[_](a.b, -1).f(x), g(y)), _?._({k: 2}, 'm')), [n], o.p~) @33"}));
  EXPECT_EQ(ast.map({11})[0].offset, 25U);
}

TEST(Parser, ChildrenComeBeforeParents) {
  const Source source(
      "[1, 2].map(x, x > 1, {x: -x}).exists(m, has(m.a) && !m.b[0] || C{f: m.?c}.f)");
  const ParseResult result = Parse(source);
  ASSERT_TRUE(result.ok()) << Render(source, result.issues);
  const Ast& ast = *result.ast;
  EXPECT_EQ(ast.root().value + 1, ast.size());
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    const ExprId id{i};
    if (ast.kind(id) == ExprKind::kCall) {
      for (const ExprId arg : ast.call(id).args) EXPECT_LT(arg, id);
    } else if (ast.kind(id) == ExprKind::kComprehension) {
      const Comprehension& loop = ast.comprehension(id);
      for (const ExprId part : {loop.range, loop.init, loop.condition, loop.step, loop.result}) {
        EXPECT_LT(part, id);
      }
    }
  }
}

// Nodes on the longest way down from the root. One forward pass: children come first.
std::uint32_t DepthOf(const Ast& ast) {
  std::vector<std::uint32_t> depth(ast.size(), 1);
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    const auto above = [&](ExprId child) { depth[i] = std::max(depth[i], depth[child.value] + 1); };
    switch (ast.kind({i})) {
      case ExprKind::kCall:
        if (const auto target = ast.call({i}).target) above(*target);
        for (const ExprId arg : ast.call({i}).args) above(arg);
        break;
      case ExprKind::kList:
        for (const ExprId element : ast.list({i}).elements) above(element);
        break;
      case ExprKind::kComprehension: {
        const Comprehension& loop = ast.comprehension({i});
        for (const ExprId part : {loop.range, loop.init, loop.step, loop.result}) above(part);
        break;
      }
      default:
        break;
    }
  }
  return depth[ast.root().value];
}

// What the later stages recurse over. The worst we know: every level of nesting has a chain of &&
// and || as long as the text allows, or a macro with a deep expansion.
TEST(Parser, DepthOfATreeIsBounded) {
  const std::string chain = Repeat("a||", 60) + "a" + Repeat("&&a", 60) + "&&(";
  const std::string sort = "a.sortBy(x, !";
  const std::string both = Repeat("a||", 60) + "a" + Repeat("&&a", 50) + "&& a.sortBy(x,";
  for (const std::string& level : {chain, sort, both}) {
    const ParseResult result = Parse(Source(Repeat(level, 249) + "1" + Repeat(")", 249)));
    ASSERT_TRUE(result.ok()) << Render(Source(level), result.issues);
    EXPECT_GT(DepthOf(*result.ast), 1000U);
    EXPECT_LT(DepthOf(*result.ast), 5000U);
  }
}

}  // namespace
}  // namespace dray::cel

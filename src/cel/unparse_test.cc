// SPDX-License-Identifier: Apache-2.0
#include "cel/unparse.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "cel/parser.h"

namespace dray::cel {
namespace {

struct PrintCase {
  std::string name;
  std::string text;
  std::string want;  // empty: as it was written
  friend void PrintTo(const PrintCase& c, std::ostream* os) { *os << c.name; }
};
class PrintTest : public ::testing::TestWithParam<PrintCase> {};

TEST_P(PrintTest, PrintsBack) {
  const Source source(GetParam().text);
  const ParseResult result = Parse(source);
  ASSERT_TRUE(result.ok()) << Render(source, result.issues);
  const std::string printed = Unparse(*result.ast);
  EXPECT_EQ(printed, GetParam().want.empty() ? GetParam().text : GetParam().want);
  const ParseResult again = Parse(Source(printed));
  ASSERT_TRUE(again.ok()) << printed;
  EXPECT_TRUE(SameTree(*result.ast, *again.ast));
}

INSTANTIATE_TEST_SUITE_P(
    Grammar, PrintTest,
    ::testing::ValuesIn(std::vector<PrintCase>{
        {"spaces", "a+b*c", "a + b * c"},
        {"needless_parentheses_go", "((a) + ((b) * c))", "a + b * c"},
        {"needed_parentheses_stay", "(a + b) * (c - (d - e))"},
        {"left_needs_none", "(a - b) - c", "a - b - c"},
        {"relations", "(a < b) == (c < d)", "a < b == (c < d)"},
        {"conditionals", "(a ? b : c) ? (d ? e : f) : (g ? h : i)",
         "(a ? b : c) ? (d ? e : f) : g ? h : i"},
        {"conditional_inside", "(a ? b : c) + 1"},
        {"chains", "a && b && c && d || e"},
        {"chain_in_other_shape", "a && (b && c)"},
        {"chain_in_the_same_shape", "(a && b) && c", "a && b && c"},
        {"chain_with_a_chain_inside", "a && (b && c) && d && e"},
        {"or_inside_and", "(a || b) && c"},
        {"signs", "!a && -b < 0 && !(c && d) && -(e + f) > 0 && !!!g",
         "!a && -b < 0 && !(c && d) && -(e + f) > 0 && !g"},
        {"negated_numbers", "[-(1), -1, -(-1), ---1, -(1).f(), -(1.5), 1 - -1]",
         "[-(1), -1, -(-1), -(1), -(1.f()), -(1.5), 1 - -1]"},
        {"not_of_a_negative_number", "!-1"},
        {"members", "(a + b).c(d)[e].?f[?g]"},
        {"members_of_literals", "[1].f() + {}.g + x.h() + -1.i + 1.0.j"},
        {"fields", "a.`b-c`.`in`.for.?`d e`"},
        {"leading_dots", ".a + .f(.b) + .C{}"},
        {"literals", "{?'a': 1u, b'c': 2.0, [?d, e]: null, a ? b : c: true}",
         "{?\"a\": 1u, b\"c\": 2.0, [?d, e]: null, a ? b : c: true}"},
        {"message", "a.B{c: 1, ?d: 2, `e-f`: 3}"},
        {"doubles", "[1e3, 1e300, 1.5e-7, -0.0, 0.1, 5e-324]",
         "[1000.0, 1e+300, 1.5e-07, -0.0, 0.1, 5e-324]"},
        {"strings", R"(['a"b', "\n\x00\x7f\\", 'é世', r"\d"])",
         R"(["a\"b", "\n\x00\x7f\\", "é世", "\\d"])"},
        {"bytes", R"([b'é', b'\xff"\n'])", R"([b"\xc3\xa9", b"\xff\"\n"])"},
        {"macros", "a.all(x, has(x.y) && x.y.map(z, z + 1).exists(i, v, v > i))"},
        {"macros_as_operands", "-a.optMap(x, x).b + !has(c.d)[0]"},
        {"macro_of_a_macro", "has(has(a.b))"},
        {"bind", "cel.bind(x, [1, 2], x.filter(y, y in x).size() == 2 ? x : [])"},
    }),
    [](const auto& info) { return info.param.name; });

// A random expression; every operand that is an operator stands in parentheses, needed or not.
class RandomExpression {
 public:
  explicit RandomExpression(std::uint32_t seed) : random_(seed) {}

  std::string Make(int depth) {
    if (depth == 0)
      return Pick({"a", "1", "-2", "3u", "1.5", "'s'", "b's'", "true", "null", ".q", "[]", "{}"});
    const auto sub = [&] {
      return Make(static_cast<int>(random_() % static_cast<unsigned>(depth)));
    };
    const auto operand = [&] { return "(" + sub() + ")"; };
    switch (random_() % 12) {
      case 0:
        return operand() + " ? " + operand() + " : " + sub();
      case 1:
        return operand() + Pick({" && ", " || "}) + operand() + Pick({" && ", " || "}) + operand();
      case 2:
        return operand() + Pick({" == ", " < ", " in ", " >= "}) + operand();
      case 3:
        return operand() + Pick({" + ", " - "}) + operand() + Pick({" * ", " / ", " - "}) +
               operand();
      case 4:
        return Pick({"!", "-", "!!", "--", "---"}) + operand();
      case 5:
        return operand() + Pick({".f", ".?g", ".`h-i`", ".in_"});
      case 6:
        return operand() + Pick({"[", "[?"}) + sub() + "]";
      case 7:
        return operand() + ".m(" + sub() + ", " + sub() + ")";
      case 8:
        return "[" + sub() + ", ?" + sub() + "]";
      case 9:
        return "{" + sub() + ": " + sub() + ", ?'k': " + sub() + "}";
      case 10:
        return operand() + Pick({".all(x, ", ".map(x, ", ".optMap(x, ", ".exists(i, x, "}) + sub() +
               ")";
      default:
        return "C{f: " + sub() + "}." + Pick({"f", "g(1)"});
    }
  }

 private:
  std::string Pick(std::initializer_list<const char*> choices) {
    return choices.begin()[random_() % choices.size()];
  }
  std::mt19937 random_;
};

TEST(Unparse, RandomTreesPrintBackWithoutMoreParentheses) {
  for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
    const std::string text = RandomExpression(seed).Make(static_cast<int>(seed % 7));
    const Source source(text);
    const ParseResult result = Parse(source);
    ASSERT_TRUE(result.ok()) << seed << ": " << Render(source, result.issues);
    const std::string printed = Unparse(*result.ast);
    const ParseResult again = Parse(Source(printed));
    ASSERT_TRUE(again.ok()) << seed << ": " << text << "\n" << printed;
    ASSERT_TRUE(SameTree(*result.ast, *again.ast)) << seed << ": " << text << "\n" << printed;
    ASSERT_EQ(Unparse(*again.ast), printed) << seed;
    ASSERT_LE(std::count(printed.begin(), printed.end(), '('),
              std::count(text.begin(), text.end(), '('))
        << seed << ": " << text << "\n"
        << printed;
  }
}

}  // namespace
}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
//
// Expressions that are small and want to be large: in depth, in memory, in time. Whatever somebody
// writes into a claim is compiled by the API server and evaluated by the scheduler, so each of them
// has to end with a value or a clean error, within the limits. Estimated cost would refuse most of
// them; here they are evaluated nevertheless, as stored ones would be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_hints.h"
#include "cel/evaluator.h"
#include "cel/parser.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using ::testing::HasSubstr;

// A value that is made at once is known to be too large only afterwards; nothing of a smaller cost
// than the limit can be larger than this.
constexpr std::size_t kArenaSlack = std::size_t{192} << 20;
// A backstop only: everything here takes a fraction, with sanitizers too. Of the processor's time,
// since on a busy machine the clock on the wall says nothing about us.
constexpr double kPatienceSeconds = 5;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string Repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

// before^n middle after^n
std::string Nest(std::string_view before, std::string_view middle, std::string_view after,
                 std::size_t depth) {
  return Repeat(before, depth) + std::string(middle) + Repeat(after, depth);
}

// cel.bind(v0, start, cel.bind(v1, step(v0), ... last))
std::string Doubling(std::string_view start, std::string_view step, int times,
                     std::string_view last) {
  std::string out = "cel.bind(v0, " + std::string(start) + ", ";
  for (int i = 1; i <= times; ++i) {
    std::string expression(step);
    const std::string before = "v" + std::to_string(i - 1);
    for (auto at = expression.find('$'); at != std::string::npos;
         at = expression.find('$', at + before.size())) {
      expression.replace(at, 1, before);
    }
    out += "cel.bind(v" + std::to_string(i) + ", " + expression + ", ";
  }
  std::string end(last);
  const std::string newest = "v" + std::to_string(times);
  for (auto at = end.find('$'); at != std::string::npos; at = end.find('$', at + newest.size())) {
    end.replace(at, 1, newest);
  }
  return out + end + Repeat(")", static_cast<std::size_t>(times) + 1);
}

// What became of it: the compiler's error, or the value as text (an error as `error("...")`).
std::string Outcome(const std::string& expression) {
  const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
  const CompileResult compiled = Compile(expression, environment);
  if (!compiled.ok()) {
    EXPECT_FALSE(Explain(expression, compiled, *environment, Purpose::kSelector).empty());
    return compiled.error;
  }
  (void)FindSuspicious(*compiled.checked);
  (void)ExplainCost(*compiled.checked);
  const auto program = Program::Compile(*compiled.checked);
  if (!program.ok()) return std::string(base::Message(program.status()));
  EXPECT_TRUE((*program)->variables().empty()) << "a bomb needs no device";
  Arena arena;
  const EvaluationLimits limits;
  const EvaluationResult result = Evaluate(**program, {}, arena, limits);
  EXPECT_LE(arena.bytes(), limits.arena_bytes + kArenaSlack);
  std::string shown = ToDebugString(result.value);
  // What did not run into a limit stayed below it.
  if (shown.find("operation cancelled") == std::string::npos) {
    EXPECT_LE(result.cost, limits.cost);
  }
  return shown.substr(0, 400);
}

struct Bomb {
  std::string name;
  std::string expression;
  std::string want;  // part of the outcome
  friend void PrintTo(const Bomb& bomb, std::ostream* os) { *os << bomb.name; }
};
class BombTest : public ::testing::TestWithParam<Bomb> {};

TEST_P(BombTest, EndsCleanlyWithinTheLimits) {
  const double start = ProcessorSeconds();
  const std::string outcome = Outcome(GetParam().expression);
  EXPECT_LT(ProcessorSeconds() - start, kPatienceSeconds);
  EXPECT_THAT(outcome.substr(0, 400), HasSubstr(GetParam().want));
}

constexpr char kRecursion[] = "expression recursion limit exceeded: 250";
constexpr char kChain[] = "max recursion depth exceeded";
constexpr char kCost[] = "actual cost limit exceeded";
constexpr char kMemory[] = "memory limit exceeded";
constexpr char kWork[] = "work limit exceeded";

std::string Name(const ::testing::TestParamInfo<Bomb>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Depth, BombTest,
    ::testing::ValuesIn(std::vector<Bomb>{
        {"parentheses", Nest("(", "1", ")", 5000), kRecursion},
        {"parentheses_that_fit", Nest("(", "1", ")", 240), "1"},
        {"lists", Nest("[", "", "]", 5000), kRecursion},
        {"lists_that_fit", Nest("[", "", "]", 100), "[["},
        {"maps", Nest("{1: ", "2", "}", 2000), kRecursion},
        {"not", Repeat("!", 9999) + "true", "false"},
        {"minus", Repeat("- ", 5000) + "1", "1"},
        {"ternaries_right", Repeat("true ? 1 : ", 900) + "2", kRecursion},
        {"ternaries_nested", Nest("true ? (", "1", ") : 2", 500), kRecursion},
        {"members", "{'a': 1}" + Repeat(".a", 5000), kChain},
        {"indices", "[1]" + Repeat("[0]", 3000), kChain},
        {"calls", "'a'" + Repeat(".trim()", 1400), kChain},
        {"sums", "1" + Repeat(" + 1", 2500), kChain},
        {"sums_that_fit", "1" + Repeat(" + 1", 200), "201"},
        {"conjunctions", "true" + Repeat(" && true", 1200), "true"},
        {"macros", Nest("[1].map(x, ", "x", ")", 500), kRecursion},
        {"bindings", Nest("cel.bind(x, 1, ", "x", ")", 500), kRecursion},
        {"optional_maps", "optional.of(1)" + Repeat(".optMap(x, x)", 60) + ".orValue(0)",
         "more than 1000000 nodes"},
        {"types", Doubling("[1]", "{'a': [$], 'b': [$]}", 40, "size($) == 2"), "true"},
    }),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Growth, BombTest,
    ::testing::ValuesIn(std::vector<Bomb>{
        {"texts_doubled", Doubling("'aaaaaaaaaa'", "$ + $", 40, "size($)"), kCost},
        {"bytes_doubled", Doubling("b'aaaaaaaaaa'", "$ + $", 40, "size($)"), kCost},
        {"lists_doubled", Doubling("[1, 2, 3, 4]", "$ + $", 40, "size($)"), kMemory},
        {"joined", Doubling("'aaaaaaaaaa'", "[$, $, $, $].join($)", 20, "size($)"), kCost},
        {"replaced", Doubling("'aaaaaaaaaa'", "$.replace('a', $)", 10, "size($)"), kMemory},
        {"replaced_nothing", Doubling("'aaaaaaaaaa'", "$.replace('', $)", 10, "size($)"), kMemory},
        {"split", Doubling("'aaaaaaaaaa'", "$ + $", 18, "size($.split(''))"), kMemory},
        {"formatted", Doubling("'aaaaaaaaaa'", "'%s%s%s%s'.format([$, $, $, $])", 20, "size($)"),
         kMemory},
        {"flattened", Doubling("[1, 2, 3, 4]", "[$, $, $, $].flatten()", 20, "size($)"), kMemory},
        {"shared_lists_compared", Doubling("[1]", "[$, $]", 60, "$ == $"), kMemory},
        {"shared_lists_differ_late", Doubling("dyn([1])", "dyn([$, $])", 60, "$ == dyn([$, $])"),
         kMemory},
        {"shared_maps_compared", Doubling("dyn({1: 1})", "dyn({1: $, 2: $})", 40, "$ == $"),
         kMemory},
        {"shared_lists_sought", Doubling("dyn([1])", "dyn([$, $])", 60, "$ in [$]"), "false"},
        {"shared_lists_as_sets", Doubling("dyn([1])", "dyn([$, $])", 60, "sets.contains($, $)"),
         "false"},
        {"shared_lists_distinct", Doubling("dyn([1])", "dyn([$, $])", 60, "size($.distinct())"),
         "2"},
        {"shared_lists_index", Doubling("dyn([1])", "dyn([$, $])", 60, "$.indexOf($)"), kCost},
        {"shared_lists_included", Doubling("dyn([1])", "dyn([$, $])", 60, "$.includes($)"), kCost},
        {"shared_lists_as_text", Doubling("dyn([1])", "dyn([$, $])", 60, "'%s'.format([$])"),
         kMemory},
        {"shared_lists_flattened", Doubling("dyn([1])", "dyn([$, $])", 60, "[$].flatten(99)"),
         kMemory},
        {"split_and_joined", Doubling("'aaaa'", "$.split('').map(x, $).join('')", 8, "size($)"),
         kMemory},
        {"distinct_large", "lists.range(200000).distinct().size()", kCost},
        {"sets_large", "sets.equivalent(lists.range(200000), lists.range(200000))", kCost},
        {"shared_lists", Doubling("[1]", "[$, $]", 60, "size($)"), "2"},
        {"quoted", Doubling("'\"\"\"\"'", "strings.quote($)", 60, "size($)"), kCost},
        {"ranges", "lists.range(100000000).size()", "exceeds maximum allowed"},
        {"ranges_in_loops", "lists.range(1000).all(x, lists.range(1000).all(y, x >= 0 && y >= 0))",
         kCost},
        {"cubes",
         "lists.range(100).map(x, lists.range(100).map(y, lists.range(100).map(z, x + y + "
         "z))).size()",
         kCost},
        {"distinct", "lists.range(20000).map(x, string(x)).distinct().size()", kCost},
        {"sorted", "lists.range(100000).sort().size()", kCost},
        {"maps", "lists.range(20000).transformMap(i, x, i + x).size()", "20000"},
        {"sets", "sets.contains(lists.range(5000), lists.range(5000))", kCost},
    }),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Literals, BombTest,
    ::testing::ValuesIn(std::vector<Bomb>{
        {"text_of_the_length_limit", "size('" + std::string(10'000, 'a') + "')", "10000"},
        {"text_of_the_parsers_limit", "size('" + std::string(99'000, 'a') + "')", "99000"},
        {"text_beyond", "size('" + std::string(1 << 20, 'a') + "')",
         "code point size exceeds limit"},
        {"list", "size([" + Repeat("1,", 40'000) + "1])", "40001"},
        {"map", "size({" + Repeat("1: 1, ", 10'000) + "2: 1})", "2"},
        {"number", std::string(50'000, '9'), "invalid int literal"},
        {"fraction", "0." + std::string(50'000, '9') + " > 0.5", "true"},
        {"exponent", "1e" + std::string(5'000, '9') + " > 0.0", "invalid double literal"},
        {"escapes", "size('" + Repeat("\\U0001F600", 9'000) + "')", "9000"},
        {"errors", Repeat("@ ", 40'000), "unexpected character"},
        {"unknown_names", "[" + Repeat("x, ", 20'000) + "x]", "undeclared reference"},
    }),
    Name);

INSTANTIATE_TEST_SUITE_P(
    Functions, BombTest,
    ::testing::ValuesIn(std::vector<Bomb>{
        {"regex_star_of_star", "'" + std::string(5000, 'a') + "'.matches('(a*)*b')", "false"},
        {"regex_alternatives", "'" + std::string(5000, 'a') + "'.matches('^(a|a|aa)+$')", "true"},
        {"regex_repetition", "'a'.matches('a{1000}{1000}')", "invalid matches argument"},
        {"regex_repetition_nested", "'a'.matches('((a{100}){100}){100}')",
         "invalid matches argument"},
        {"regex_repetition_at_run_time", "'a'.matches('((a{100}){10' + '0}){100}')",
         "invalid repeat count"},
        {"regex_deep", "'a'.matches('" + Nest("(", "a", ")", 4000) + "')", "true"},
        {"regex_deep_at_run_time", "'a'.matches('" + Nest("(", "a", ")", 4000) + "' + '')", "true"},
        {"regex_classes", "'a'.matches('" + Repeat("[[:word:]]", 900) + "')", "false"},
        {"regex_from_a_loop",
         "lists.range(1000).all(i, 'aaaa'.matches('(a|b){' + string(i % 1000) + '}|a*'))", "true"},
        {"regex_unicode", "'a'.matches('(\\\\pL{50}){20}')", "invalid matches argument"},
        {"find_all", Doubling("'aaaaaaaaaa'", "$ + $", 9, "size($.findAll('a'))"), "5120"},
        {"format_width", "'%.2000000000f'.format([1.0])", "error while parsing precision"},
        {"format_precision", "'%.9999e'.format([1.0])", "exceeds maximum"},
        {"format_huge_number", "'%.1000f'.format([1e308])", "100,000,000"},
        {"format_many",
         "'" + Repeat("%s", 3000) + "'.format([" + Repeat("1, ", 2999) + "1]).size()", "3000"},
        {"quantity_exponent", "quantity('1e999999999')", "quantity("},
        {"quantity_negative_exponent", "quantity('1e-999999999')", "quantity("},
        {"quantity_digits", "quantity('" + std::string(9'000, '9') + "')",
         "4096 significant digits"},
        {"quantity_at_run_time",
         "quantity('1e' + '2147483647').compareTo(quantity('1e-2147483648'))", "1"},
        {"quantities_added", Doubling("quantity('1')", "$.add($)", 120, "$.compareTo($)"), "0"},
        {"quantity_sum_of_far_exponents",
         "quantity('1e4000').add(quantity('1e-4000')).compareTo(quantity('1'))", "1"},
        {"semver_numbers", "semver('" + std::string(5000, '9') + ".0.0')", "strconv.ParseUint"},
        {"durations", "duration('" + Repeat("1h", 4000) + "')", "duration("},
        {"duration_overflow", "duration('9999999999999999h')", "invalid duration argument"},
        {"url", "url('http://" + std::string(9'000, 'a') + "/').getHost().size()", "9000"},
        {"ip", "isIP('" + Repeat("1:", 4000) + "')", "false"},
        {"substring_end", "'a'.substring(9223372036854775807)", "index out of range"},
        {"repeat_index", "'a'.indexOf('a', 9223372036854775807)", "-1"},
        {"int_power", "9223372036854775807 * 9223372036854775807", "overflow"},
    }),
    Name);

// A list that is compared for next to nothing, with as many values inside as one comparison may
// walk through.
std::string InALoop(std::string_view rounds, std::string_view condition) {
  return "lists.range(" + std::string(rounds) + ").all(i, " + std::string(condition) + ")";
}
std::string JustBelowTheBound(std::string_view condition) {
  return Doubling("dyn([1])", "dyn([$, $])", 11, InALoop("90000", condition));
}

// What costs little and takes long, in loops as long as the cost allows.
INSTANTIATE_TEST_SUITE_P(
    Work, BombTest,
    ::testing::ValuesIn(std::vector<Bomb>{
        {"comparisons", JustBelowTheBound("$ == $"), kWork},
        {"differences", JustBelowTheBound("!($ != $)"), kWork},
        {"membership", JustBelowTheBound("$ in [$]"), kWork},
        {"membership_of_unknown_lists",
         "cel.bind(v, dyn(lists.range(100000)), " + InALoop("90000", "!(-1 in v)") + ")", kWork},
        {"sorting_of_unknown_lists",
         "cel.bind(v, dyn(lists.range(100000)), " + InALoop("90000", "v.sort().size() > 0") + ")",
         kWork},
        {"long_texts_measured",
         Doubling("'aaaaaaaaaa'", "$ + $", 18, InALoop("90000", "size($) > 0")), kWork},
        {"long_texts_as_keys",
         Doubling("'aaaaaaaaaa'", "$ + $", 18, InALoop("9000", "{$: 1}.size() == 1")), kWork},
        {"many_long_texts_compared",
         Doubling("'aaaaaaaaaa'", "$ + $", 16,
                  "cel.bind(l, lists.range(2000).map(i, $), " + InALoop("1000", "l == l") + ")"),
         kWork},
        {"patterns_made", InALoop("60000", "'a'.matches('(a|b){' + string(900 + i % 100) + '}|a')"),
         kWork},
        {"patterns_that_look_ahead",
         Doubling("'aaaaaaaaaa'", "$ + $", 15, "size($.findAll('(a.*b)|a'))"), kWork},
        {"matches_in_long_texts",
         Doubling("'aaaaaaaaab'", "$ + $", 16, "$.matches('a.{800}b.{800}c')"), kWork},
        {"empty_lists_flattened", Doubling("dyn([])", "dyn([$, $])", 60, "[$].flatten(99)"), kWork},
        {"free_conjunctions", InALoop("200000", "true" + Repeat(" && true", 1000)), kWork},
        {"urls",
         Doubling("'aaaaaaaaaa'", "$ + $", 16,
                  "cel.bind(u, url('https://' + $ + '/'), " +
                      InALoop("90000", "u.getPort() == ''") + ")"),
         kWork},
        // Not work, but printed: an error names a value without an end.
        {"shared_lists_in_an_error", Doubling("dyn([])", "dyn([$, $])", 60, "size([?$])"),
         "cannot initialize optional list element"},
    }),
    Name);

// What is counted is what was done: a budget ten times as large is used up by ten times as many
// rounds, and a loop that fits leaves what it did not need.
TEST(Work, IsCountedInRoundsNotInSeconds) {
  const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
  const auto used = [&](std::string_view rounds, std::uint64_t budget) {
    const std::string expression =
        Doubling("dyn([1])", "dyn([$, $])", 8, InALoop(rounds, "$ == $"));
    const CompileResult compiled = Compile(expression, environment);
    const auto program = Program::Compile(*compiled.checked);
    Arena arena;
    const EvaluationResult result =
        Evaluate(**program, {}, arena, {.cost = 100'000'000, .work = budget});
    EXPECT_EQ(result.value.is_error(), arena.work().used_up());
    if (arena.work().used_up()) {
      EXPECT_EQ(ErrorMessage(result.value), "operation cancelled: work limit exceeded");
    }
    return budget - arena.work().left();
  };
  const std::uint64_t once = used("1", Work::kBudget);
  EXPECT_GT(once, 512u);  // the values of both sides
  EXPECT_LT(once, 20'000u);
  EXPECT_EQ(used("1000", Work::kBudget), once * 1000);
  EXPECT_EQ(used("1000", once * 100), once * 100);  // ended by its budget
}

// An error that an operator could absorb ends the evaluation all the same.
TEST(Work, CannotBeAbsorbed) {
  const std::string outcome = Outcome(JustBelowTheBound("$ == $ || true"));
  EXPECT_THAT(outcome, HasSubstr(kWork));
}

// The API server cuts expressions off at 10 KiB and the parser at 100,000 characters. Without
// either, work stays linear.
TEST(BombWithoutALengthLimit, AMebibyteIsParsed) {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  const ParseOptions options{.max_code_points = 4 * kSize};
  const double start = ProcessorSeconds();
  EXPECT_TRUE(Parse(Source("'" + std::string(kSize, 'a') + "'"), options).ok());
  EXPECT_TRUE(Parse(Source("[" + Repeat("1,", kSize / 2) + "1]"), options).ok());
  EXPECT_FALSE(Parse(Source(Nest("(", "1", ")", kSize / 2)), options).ok());
  EXPECT_FALSE(Parse(Source("1" + Repeat("+1", kSize / 2)), options).ok());
  EXPECT_FALSE(Parse(Source(Repeat("(", kSize)), options).ok());
  EXPECT_FALSE(Parse(Source(Repeat("\"", kSize)), options).ok());
  EXPECT_LT(ProcessorSeconds() - start, kPatienceSeconds * 4);
}

}  // namespace
}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cel/compile.h"
#include "cel/environment.h"
#include "cel/evaluator.h"
#include "cel/library_reader.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using ::testing::ElementsAre;

// A row that lacks its cost or its estimate does not compile.
template <typename... Fields>
concept MakesARow = requires(Fields... fields) {
  FunctionRow{fields...};
};
static_assert(MakesARow<std::string_view, std::string_view, Implementation, RunTimeCost, Estimate>);
static_assert(!MakesARow<std::string_view, std::string_view, Implementation, RunTimeCost>);
static_assert(!MakesARow<std::string_view, std::string_view, Implementation>);
static_assert(!MakesARow<std::string_view, std::string_view>);

template <typename Visit>
void ForEachRow(Visit visit) {
  for (const Library& library : AllLibraries()) {
    for (const FunctionRow& row : library) visit(row);
  }
}

// An environment leaves out a second overload of the same id without a word.
TEST(Libraries, NoFunctionHasAnOverloadTwice) {
  TypePool pool;
  std::set<std::pair<std::string_view, std::string>> seen;
  ForEachRow([&](const FunctionRow& row) {
    EXPECT_TRUE(seen.emplace(row.function, ReadOverload(row.declaration, pool).id).second)
        << row.function << ": " << row.declaration;
  });
  EXPECT_GT(seen.size(), 300u);
}

// Which row is the first depends on the libraries that an environment has; a call whose overload
// nobody knows must not.
TEST(Libraries, RowsOfAFunctionAgreeOnCallsWhoseOverloadIsNotKnown) {
  std::map<std::string_view, const FunctionRow*> first;
  std::set<std::string_view> with_their_own;
  ForEachRow([&](const FunctionRow& row) {
    const FunctionRow& other = *first.try_emplace(row.function, &row).first->second;
    EXPECT_EQ(row.cost.otherwise, other.cost.otherwise) << row.declaration;
    if (row.implementation != other.implementation) with_their_own.insert(row.function);
  });
  // The sum of an empty list is 0 or 0.0 by the list's type alone. All are of one library.
  EXPECT_THAT(with_their_own, ElementsAre("sum"));
}

// What is called without a checker takes as many arguments as its overloads have, with the
// receiver.
TEST(Libraries, FunctionsAreFoundByName) {
  const NamedFunction* find_all = FindFunctionByName("findAll");
  ASSERT_NE(find_all, nullptr);
  EXPECT_EQ(find_all->min_args, 2u);
  EXPECT_EQ(find_all->max_args, 3u);
  EXPECT_EQ(FindFunctionByName("findNothing"), nullptr);
}

// The recipe "a CEL function" of CONTRIBUTING.md, step by step.

// 1. What it does: the first half of a text.
Value Half(Arena&, std::span<const Value> args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  return Value::String(args[0].as_text().substr(0, args[0].as_text().size() / 2));
}

// 2. Its row.
constexpr auto kRecipe = std::to_array<FunctionRow>({
    {"half", "string_half string.() -> string", Half, CostRule::kTenth, estimate::CopyReceiver},
});

// 3. The environment that has it.
std::shared_ptr<const Environment> WithHalf() {
  EnvironmentBuilder builder = StandardEnvironment();
  builder.AddLibrary(kRecipe);
  return std::move(builder).Build();
}

struct Outcome {
  std::string value;
  std::uint64_t cost = 0;
  CostRange estimate;
};
Outcome Evaluated(std::string_view expression) {
  const CompileResult compiled = Compile(expression, WithHalf());
  if (!compiled.ok()) return {.value = compiled.error};
  const auto program = Program::Compile(*compiled.checked);
  if (!program.ok()) return {.value = std::string(base::Message(program.status()))};
  Arena arena;
  const EvaluationResult result = Evaluate(**program, {}, arena);
  return {ToDebugString(result.value), result.cost, compiled.cost};
}

TEST(Recipe, AFunctionIsOneRow) {
  const Outcome outcome = Evaluated("'0123456789abcdefghij'.half()");
  EXPECT_EQ(outcome.value, "\"0123456789\"");
  EXPECT_EQ(outcome.cost, 2u);
  EXPECT_EQ(outcome.estimate, CostRange::Exactly(2));
}

TEST(Recipe, TheResultsSizeIsKnownToTheNextCall) {
  EXPECT_EQ(Evaluated("'0123456789abcdefghij'.half().half()").estimate, CostRange::Exactly(4));
}

TEST(Recipe, OtherTypesAreRefusedByTheCheckerOrByTheCall) {
  EXPECT_THAT(Evaluated("1.half()").value, ::testing::HasSubstr("found no matching overload"));
  EXPECT_THAT(Evaluated("dyn(1).half()").value, ::testing::HasSubstr("no such overload"));
}

}  // namespace
}  // namespace dray::cel

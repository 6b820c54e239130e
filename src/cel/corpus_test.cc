// SPDX-License-Identifier: Apache-2.0
//
// The recorded expressions: whether each compiles, what the compiler says if not, the type of its
// result and its estimated cost. What needs an evaluator is tested elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "fmt/format.h"
#include "testing/recorded_cases.h"

namespace dray::cel {
namespace {

using simdjson::dom::element;

std::string TextAt(element node, std::string_view key) {
  std::string_view text;
  return node[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}
bool BoolAt(element node, std::string_view key, bool otherwise = false) {
  bool value = false;
  return node[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}
bool Has(element node, std::string_view key) { return !node[key].error(); }
std::uint64_t UintOf(element node) {
  std::uint64_t value = 0;
  EXPECT_EQ(node.get(value), simdjson::SUCCESS);
  return value;
}

// How many comparisons of each kind were made and what differed.
class Tally {
 public:
  template <typename T>
  void Compare(std::string_view kind, const std::string& where, const T& want, const T& got) {
    auto& [right, all] = counts_[std::string(kind)];
    ++all;
    if (want == got) {
      ++right;
    } else {
      differences_.push_back(
          fmt::format("{}: {}\n    want {}\n    got  {}", kind, where, want, got));
    }
  }

  // Prints totals; the test fails when anything differs.
  void Report(std::string_view corpus) const {
    std::string line(corpus);
    for (const auto& [kind, count] : counts_) {
      line += fmt::format("; {} {}/{}", kind, count.first, count.second);
    }
    std::cout << line << "\n";
    EXPECT_TRUE(differences_.empty()) << differences_.size() << " differences:\n"
                                      << fmt::format("{}", fmt::join(differences_, "\n"));
    EXPECT_FALSE(counts_.empty());
  }

 private:
  std::map<std::string, std::pair<int, int>> counts_;
  std::vector<std::string> differences_;
};

// Words of our own; their presence is enough.
bool IsSyntaxError(std::string_view text) {
  return text.find("Syntax error:") != std::string_view::npos ||
         text.find("error recovery token lookahead limit") != std::string_view::npos;
}

// What the program, not the compiler, refuses.
bool IsProgramError(std::string_view text) {
  return text.starts_with("program instantiation failed");
}

void CompareError(Tally& tally, const std::string& where, const std::string& want,
                  const CompileResult& got) {
  tally.Compare("compiles", where, IsProgramError(want), got.ok());
  if (got.ok() || IsSyntaxError(want)) return;
  tally.Compare("messages", where, want, got.error);
}

void CompareRun(Tally& tally, const std::string& where, element run, const CompileResult& got) {
  if (const std::string error = TextAt(run, "compileError"); !error.empty()) {
    return CompareError(tally, where, error, got);
  }
  tally.Compare("compiles", where, std::string(), got.error);
  if (!got.ok()) return;
  tally.Compare("types", where, TextAt(run, "outputType"), got.checked->result_type().ToString());
  element cost;
  if (run["estimatedCost"].get(cost)) return;
  if (cost.is_object()) {
    tally.Compare("costs (min)", where, UintOf(cost["min"].value()), got.cost.min);
    cost = cost["max"].value();
  }
  tally.Compare("costs", where, UintOf(cost), got.cost.max);
}

std::shared_ptr<const Environment> EnvironmentOf(element run) {
  DeviceEnvironmentOptions options{.kubernetes_only = true};
  if (TextAt(run, "envType") != "StoredExpressions") {
    options.consumable_capacity = BoolAt(run["features"].value(), "consumableCapacity");
    options.list_type_attributes = BoolAt(run["features"].value(), "listTypeAttributes");
  }
  return DeviceEnvironment(options);
}

TEST(Corpus, ExpressionsOnDevices) {
  const auto folder = testing::SharedFolder("conformance/cel-dra");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  for (const auto& file : testing::JsonFilesIn(*folder)) {
    simdjson::dom::parser parser;
    const element document = parser.load(file.string()).value();
    const std::string kind = TextAt(document, "kind");
    if (!Has(document, "tests")) continue;
    for (const element test : document["tests"].get_array()) {
      const std::string expression = TextAt(test, "expression");
      if (!Has(test, "runs") || !Has(test, "expression")) continue;
      const bool derived = kind.starts_with("derived") || BoolAt(test, "derived");
      for (const element run : test["runs"].get_array()) {
        const auto where = fmt::format(
            "{} {} [{} cc={} list={}] {}", file.filename().string(), TextAt(test, "name"),
            TextAt(run, "envType"), BoolAt(run["features"].value(), "consumableCapacity"),
            BoolAt(run["features"].value(), "listTypeAttributes"), expression.substr(0, 200));
        const CompileResult got =
            Compile(expression, EnvironmentOf(run),
                    {.purpose = derived ? Purpose::kDerivedAttribute : Purpose::kSelector});
        CompareRun(tally, where, run, got);
      }
    }
  }
  tally.Report("cel-dra");
}

// The complete errors of API validation, as far as they are about one expression.
TEST(Corpus, ValidationOfExpressions) {
  const auto folder = testing::SharedFolder("conformance/cel-dra");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  const DeviceExpressionChecker checker(/*kubernetes_only=*/true);
  simdjson::dom::parser parser;
  const element document = parser.load((*folder / "validation.json").string()).value();
  for (const element test : document["tests"].get_array()) {
    const auto expressions = test["expressions"].get_array().value();
    if (expressions.size() != 1) continue;
    const std::string expression(expressions.at(0).get_string().value());
    if (expression.size() > 10240) continue;
    for (const element run : test["runs"].get_array()) {
      api::FeatureGates gates;
      gates.Set(api::Gate::kDRAConsumableCapacity,
                BoolAt(run["features"].value(), "consumableCapacity"));
      gates.Set(api::Gate::kDRAListTypeAttributes,
                BoolAt(run["features"].value(), "listTypeAttributes"));
      std::string want;
      for (const element error : run["errors"].get_array()) {
        if (TextAt(error, "field").ends_with("expression")) want = TextAt(error, "detail");
      }
      const auto got =
          checker.Check(expression,
                        BoolAt(test, "derived") ? api::ExpressionChecker::Purpose::kDerivedAttribute
                                                : api::ExpressionChecker::Purpose::kSelector,
                        gates);
      const std::string where = TextAt(test, "name");
      tally.Compare("whose fault", where, IsProgramError(want), got.internal);
      if (IsSyntaxError(want)) {
        tally.Compare("errors", where, true, got.error.has_value());
      } else if (want == "too complex, exceeds cost limit") {
        tally.Compare("errors", where, true, got.max_cost > 1'000'000);
      } else {
        tally.Compare("errors", where, want, got.error.value_or(""));
      }
    }
  }
  tally.Report("cel-dra validation");
}

std::vector<std::string> Messages(const CompileResult& result) {
  std::vector<std::string> out;
  for (const Issue& issue : result.issues) out.push_back(issue.message);
  return out;
}

// Compares messages without places, in any order.
void CompareMessages(Tally& tally, const std::string& where, element list,
                     const CompileResult& result) {
  std::vector<std::string> want, got = Messages(result);
  for (const element message : list.get_array()) {
    want.emplace_back(message.get_string().value());
    if (IsSyntaxError(want.back())) return;
  }
  std::ranges::sort(want);
  std::ranges::sort(got);
  tally.Compare("messages", where, fmt::format("{}", fmt::join(want, " | ")),
                fmt::format("{}", fmt::join(got, " | ")));
}

TEST(Corpus, KubernetesLibraries) {
  const auto folder = testing::SharedFolder("conformance/cel-k8s");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  const auto environment = DeviceEnvironment({.kubernetes_only = true});
  for (const auto& file : testing::JsonFilesIn(*folder)) {
    simdjson::dom::parser parser;
    const element document = parser.load(file.string()).value();
    for (const element test : document["tests"].get_array()) {
      element dra;
      if (test["dra"].get(dra)) continue;
      const std::string expression = TextAt(test, "expr");
      const auto where = fmt::format("{} {}", file.filename().string(), expression.substr(0, 200));
      const CompileResult got = Compile(expression, environment);
      if (Has(dra, "compileError")) {
        tally.Compare("compiles", where, false, got.ok());
        if (!got.ok() && Has(dra, "compileMessages")) {
          CompareMessages(tally, where, dra["compileMessages"].value(), got);
        }
      } else if (Has(dra, "programError")) {
        tally.Compare("compiles", where, std::string(), got.error);
      } else {
        CompareRun(tally, where, dra, got);
      }
    }
  }
  tally.Report("cel-k8s");
}

// A cel.expr.Type in its JSON form.
class TypeReader {
 public:
  explicit TypeReader(TypePool& pool) : pool_(pool) {}

  std::uint32_t type_params() const { return static_cast<std::uint32_t>(letters_.size()); }

  Type Read(element node) {
    element part;
    if (!node["primitive"].get(part)) return Primitive(part.get_string().value());
    if (!node["wellKnown"].get(part)) return WellKnown(part.get_string().value());
    if (!node["listType"].get(part)) return pool_.List(ReadOr(part, "elemType"));
    if (!node["mapType"].get(part)) {
      return pool_.Map(ReadOr(part, "keyType"), ReadOr(part, "valueType"));
    }
    if (Has(node, "null")) return Type::Null();
    if (!node["messageType"].get(part)) return pool_.Object(part.get_string().value());
    if (!node["type"].get(part)) return pool_.TypeOf(Read(part));
    if (!node["typeParam"].get(part)) return Parameter(part.get_string().value());
    if (!node["abstractType"].get(part)) {
      return pool_.Optional(Read(part["parameterTypes"].at(0).value()));
    }
    return Type::Dyn();
  }

 private:
  Type ReadOr(element node, std::string_view key) {
    return Has(node, key) ? Read(node[key].value()) : Type::Dyn();
  }
  static Type Primitive(std::string_view name) {
    const std::map<std::string_view, Type> types = {
        {"BOOL", Type::Bool()},     {"INT64", Type::Int()},     {"UINT64", Type::Uint()},
        {"DOUBLE", Type::Double()}, {"STRING", Type::String()}, {"BYTES", Type::Bytes()}};
    return types.at(name);
  }
  static Type WellKnown(std::string_view name) {
    if (name == "ANY") return Type::Any();
    return name == "DURATION" ? Type::Duration() : Type::Timestamp();
  }
  Type Parameter(std::string_view name) {
    auto found = std::ranges::find(letters_, name);
    if (found == letters_.end()) found = letters_.insert(letters_.end(), std::string(name));
    return pool_.TypeParam(static_cast<std::uint32_t>(found - letters_.begin()));
  }

  TypePool& pool_;
  std::vector<std::string> letters_;
};

void Declare(EnvironmentBuilder& builder, element declaration) {
  const std::string name = TextAt(declaration, "name");
  element ident, function;
  if (!declaration["ident"].get(ident)) {
    builder.AddVariable(name, TypeReader(builder.pool()).Read(ident["type"].value()));
  }
  if (declaration["function"].get(function)) return;
  for (const element overload : function["overloads"].get_array()) {
    TypeReader reader(builder.pool());
    Overload made{.id = TextAt(overload, "overloadId"),
                  .member = BoolAt(overload, "isInstanceFunction")};
    simdjson::dom::array params;
    if (!overload["params"].get(params)) {
      for (const element param : params) made.params.push_back(reader.Read(param));
    }
    made.result = reader.Read(overload["resultType"].value());
    made.type_params = reader.type_params();
    builder.AddOverload(name, std::move(made));
  }
}

// In the language's own environment.
void CompareInStandard(Tally& tally, const std::string& where, element test) {
  EnvironmentBuilder builder = StandardEnvironment();
  simdjson::dom::array declarations;
  if (!test["typeEnv"].get(declarations)) {
    for (const element declaration : declarations) Declare(builder, declaration);
  }
  builder.SetContainer(TextAt(test, "container"));
  if (BoolAt(test, "disableMacros")) builder.SetParseOptions({.macros = MacroSet()});
  TypePool pool;
  const CompileResult got = Compile(TextAt(test, "expr"), std::move(builder).Build());
  tally.Compare("compiles", where, std::string(), got.error);
  element type;
  if (got.ok() && !test["typedResult"]["deducedType"].get(type)) {
    tally.Compare("types", where, TypeReader(pool).Read(type).ToString(),
                  got.checked->result_type().ToString());
  }
}

void CompareInDra(Tally& tally, const std::string& where, element test, element dra) {
  const CompileResult got =
      Compile(TextAt(test, "expr"), DeviceEnvironment({.kubernetes_only = true}));
  if (TextAt(dra, "result") == "compileError") {
    tally.Compare("DRA compiles", where, false, got.ok());
    if (!got.ok()) CompareMessages(tally, where, dra["messages"].value(), got);
    return;
  }
  tally.Compare("DRA compiles", where, std::string(), got.error);
  if (got.ok() && Has(dra, "outputType")) {
    tally.Compare("DRA types", where, TextAt(dra, "outputType"),
                  got.checked->result_type().ToString());
  }
}

TEST(Corpus, Language) {
  const auto folder = testing::SharedFolder("conformance/cel-spec");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  for (const auto& file : testing::JsonFilesIn(*folder)) {
    // Libraries that no environment of ours has.
    const bool absent = file.stem() == "block_ext" || file.stem() == "proto2_ext";
    simdjson::dom::parser parser;
    const element document = parser.load(file.string()).value();
    simdjson::dom::array sections;
    if (document["section"].get(sections)) continue;
    for (const element section : sections) {
      for (const element test : section["test"].get_array()) {
        if (BoolAt(test, "needsProto")) continue;
        const auto where =
            fmt::format("{} {}/{} {}", file.filename().string(), TextAt(section, "name"),
                        TextAt(test, "name"), TextAt(test, "expr").substr(0, 200));
        if (!absent && !BoolAt(test, "disableCheck")) CompareInStandard(tally, where, test);
        element dra;
        if (!test["draEnv"].get(dra)) CompareInDra(tally, where, test, dra);
      }
    }
  }
  tally.Report("cel-spec");
}

}  // namespace
}  // namespace dray::cel

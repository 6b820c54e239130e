// SPDX-License-Identifier: Apache-2.0
//
// The recorded expressions, evaluated: value, error and actual cost. What remains different, and
// why, is in README-evaluator.md; the constants here only go down.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "api/json.h"
#include "base/quantity.h"
#include "base/semver.h"
#include "base/status.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/evaluator.h"
#include "cel/parser.h"
#include "cel/program.h"
#include "cel/values.h"
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

// Counts of what was compared, per file and kind, and the differences.
class Tally {
 public:
  void Compare(const std::string& file, std::string_view kind, const std::string& where,
               const std::string& want, const std::string& got) {
    for (auto* counts : {&files_[file], &total_}) {
      auto& [right, all] = (*counts)[std::string(kind)];
      ++all;
      if (want == got) ++right;
    }
    if (want == got) return;
    ++wrong_[std::string(kind)];
    differences_.push_back(fmt::format("{}: {}: {}\n    want {}\n    got  {}", kind, file, where,
                                       want.substr(0, 300), got.substr(0, 300)));
  }

  // At most these many may differ, by kind.
  void Report(std::string_view corpus, const std::map<std::string, int>& allowed) const {
    for (const auto& [file, counts] : files_) std::cout << Line(file, counts) << "\n";
    std::cout << Line(corpus, total_) << "\n";
    const bool show = std::getenv("DRAY_SHOW_DIFFERENCES") != nullptr;
    for (const auto& [kind, wrong] : wrong_) {
      const auto it = allowed.find(kind);
      EXPECT_LE(wrong, it == allowed.end() ? 0 : it->second)
          << kind << "; DRAY_SHOW_DIFFERENCES=1 shows them";
    }
    if (show || ::testing::Test::HasFailure()) {
      for (const std::string& difference : differences_) std::cout << difference << "\n";
    }
  }

 private:
  using Counts = std::map<std::string, std::pair<int, int>>;
  static std::string Line(std::string_view name, const Counts& counts) {
    std::string line(name);
    for (const auto& [kind, count] : counts) {
      line += fmt::format("; {} {}/{}", kind, count.first, count.second);
    }
    return line;
  }

  std::map<std::string, Counts> files_;
  Counts total_;
  std::map<std::string, int> wrong_;
  std::vector<std::string> differences_;
};

double DoubleOf(element node) {
  std::string_view text;
  if (node.get(text) == simdjson::SUCCESS) {
    if (text == "NaN") return std::nan("");
    return text == "-Infinity" ? -HUGE_VAL : HUGE_VAL;
  }
  double value = 0;
  if (node.get(value) != simdjson::SUCCESS) {
    std::int64_t whole = 0;
    if (node.get(whole) == simdjson::SUCCESS) value = static_cast<double>(whole);
  }
  return value;
}

// A recorded value.
Value Read(Arena& arena, element node) {
  element part;
  if (!node["boolValue"].get(part)) return Value::Bool(part.get_bool().value());
  if (Has(node, "int64Value")) return Value::Int(std::stoll(TextAt(node, "int64Value")));
  if (Has(node, "uint64Value")) return Value::Uint(std::stoull(TextAt(node, "uint64Value")));
  if (!node["doubleValue"].get(part)) return Value::Double(DoubleOf(part));
  if (Has(node, "stringValue")) return MakeString(arena, TextAt(node, "stringValue"));
  if (Has(node, "bytesValue")) {
    std::string bytes;
    absl::Base64Unescape(TextAt(node, "bytesValue"), &bytes);
    return MakeBytes(arena, bytes);
  }
  if (Has(node, "typeValue")) {
    return Value::Type(arena.Copy(TextAt(node, "typeValue")));
  }
  if (!node["listValue"].get(part)) {
    std::vector<Value> values;
    simdjson::dom::array items;
    if (!part["values"].get(items)) {
      for (const element item : items) values.push_back(Read(arena, item));
    }
    return MakeList(arena, values);
  }
  if (!node["mapValue"].get(part)) {
    auto* map = arena.New<GrowingMap>();
    simdjson::dom::array entries;
    if (!part["entries"].get(entries)) {
      for (const element entry : entries) {
        map->Insert(arena, Read(arena, entry["key"].value()), Read(arena, entry["value"].value()));
      }
    }
    return Value::Pointer(Kind::kMap, static_cast<const Map*>(map));
  }
  if (!node["objectValue"].get(part)) {
    const std::string type = TextAt(part, "@type");
    if (type.ends_with("google.protobuf.Timestamp")) {
      return MakeInstant(arena, ParseInstant(TextAt(part, "value")).value_or(Instant{}));
    }
    if (type.ends_with("google.protobuf.Duration")) {
      return Value::Duration(ParseDuration(TextAt(part, "value")).value_or(0));
    }
  }
  if (Has(node, "durationValue")) {
    return Value::Duration(ParseDuration(TextAt(node, "durationValue")).value_or(0));
  }
  if (Has(node, "timestampValue")) {
    return MakeInstant(arena, ParseInstant(TextAt(node, "timestampValue")).value_or(Instant{}));
  }
  if (!node["optionalValue"].get(part)) {
    return part.is_null() ? NoneValue() : MakeOptional(arena, Read(arena, part));
  }
  return Value::Null();
}

// A form in which two values are the same text if they are the same.
std::string Canonical(const Value& value) {
  switch (value.kind()) {
    case Kind::kList: {
      std::string out = "[";
      for (std::size_t i = 0; i < value.as<List>().size(); ++i) {
        out += Canonical(value.as<List>().At(i)) + ", ";
      }
      return out + "]";
    }
    case Kind::kMap: {
      std::vector<std::string> entries;
      for (std::size_t i = 0; i < value.as<Map>().size(); ++i) {
        entries.push_back(Canonical(value.as<Map>().KeyAt(i)) + ": " +
                          Canonical(value.as<Map>().ValueAt(i)));
      }
      std::ranges::sort(entries);
      return fmt::format("{{{}}}", fmt::join(entries, ", "));
    }
    case Kind::kDouble:
      return value.as_double() == 0 ? "0.0" : fmt::format("{}f", value.as_double());
    case Kind::kType:
      return fmt::format("type {}", value.as_text());
    case Kind::kOptional:
      return value.as<Optional>().present
                 ? fmt::format("optional({})", Canonical(value.as<Optional>().value))
                 : "none";
    default:
      return ToDebugString(value);
  }
}

// Recorded library values have only a printed form.
std::string Wanted(Arena& arena, element node) {
  element part;
  if (Has(node, "quantityValue")) {
    return fmt::format("quantity(\"{}\")", TextAt(node, "quantityValue"));
  }
  if (Has(node, "semverValue")) return fmt::format("semver(\"{}\")", TextAt(node, "semverValue"));
  if (Has(node, "ipValue")) return fmt::format("ip(\"{}\")", TextAt(node, "ipValue"));
  if (Has(node, "cidrValue")) return fmt::format("cidr(\"{}\")", TextAt(node, "cidrValue"));
  if (Has(node, "urlValue")) return fmt::format("url({})", QuoteGo(TextAt(node, "urlValue")));
  if (Has(node, "formatValue")) return fmt::format("format.{}()", TextAt(node, "formatValue"));
  if (!node["optionalValue"].get(part) && !part.is_null()) {
    return fmt::format("optional({})", Wanted(arena, part));
  }
  simdjson::dom::array items;
  if (!node["listValue"]["values"].get(items)) {
    std::string out = "[";
    for (const element item : items) out += Wanted(arena, item) + ", ";
    return out + "]";
  }
  return Canonical(Read(arena, node));
}

std::string Outcome(const Value& value) {
  return value.is_error() ? fmt::format("error: {}", ErrorMessage(value)) : Canonical(value);
}

void CompareRun(Tally& tally, const std::string& file, const std::string& where, element run,
                const CompileResult& compiled, std::string_view driver, const api::Device& device,
                bool derived) {
  Arena arena;
  const auto program = Program::Compile(*compiled.checked);
  if (!program.ok()) {
    const std::string want = Has(run, "compileError")
                                 ? TextAt(run, "compileError")
                                 : "program instantiation failed: " + TextAt(run, "programError");
    tally.Compare(file, "program errors", where, want,
                  std::string(base::Message(program.status())));
    return;
  }
  if (Has(run, "compileError") || Has(run, "programError")) {
    const std::string want = TextAt(run, "compileError") + TextAt(run, "programError");
    tally.Compare(file, "program errors", where, want, "");
    return;
  }
  const DeviceValue host(driver, device, arena);
  const Value variable = host.value();
  const EvaluationResult result = Evaluate(**program, std::span(&variable, 1), arena);
  const ApiDeviceView view((*program)->device_reads(), driver, device);
  const EvaluationResult by_view = Evaluate(**program, view, arena);
  tally.Compare(file, "views", where, fmt::format("{} for {}", Outcome(result.value), result.cost),
                fmt::format("{} for {}", Outcome(by_view.value), by_view.cost));
  if (Has(run, "runtimeCost")) {
    std::uint64_t cost = 0;
    EXPECT_EQ(run["runtimeCost"].get(cost), simdjson::SUCCESS);
    tally.Compare(file, "costs", where, std::to_string(cost), std::to_string(result.cost));
  }
  if (Has(run, "runtimeError")) {
    std::string got = Outcome(result.value);
    if (!result.value.is_error() && derived) {
      const auto attribute = ToAttribute(result.value);
      if (!attribute.ok()) got = "error: " + std::string(base::Message(attribute.status()));
    } else if (!result.value.is_error()) {
      const auto match = ToMatch(result.value);
      if (!match.ok()) got = "error: " + std::string(base::Message(match.status()));
    }
    tally.Compare(file, "errors", where, "error: " + TextAt(run, "runtimeError"), got);
  } else if (Has(run, "match")) {
    const auto match = ToMatch(result.value);
    tally.Compare(file, "values", where, BoolAt(run, "match") ? "true" : "false",
                  match.ok() ? (*match ? "true" : "false")
                             : "error: " + std::string(base::Message(match.status())));
  } else if (Has(run, "attribute")) {
    api::JsonDecoder decoder;
    const auto want =
        decoder.Decode<api::DeviceAttribute>(simdjson::minify(run["attribute"].value()));
    ASSERT_TRUE(want.ok());
    const auto got = ToAttribute(result.value);
    tally.Compare(
        file, "values", where, api::EncodeJson(*want),
        got.ok() ? api::EncodeJson(*got) : "error: " + std::string(base::Message(got.status())));
  } else if (Has(run, "value")) {
    tally.Compare(file, "values", where, Wanted(arena, run["value"].value()),
                  Outcome(result.value));
  }
}

api::Device DeviceOf(element node) {
  api::JsonDecoder decoder;
  std::string json = "{\"name\":\"device\"";
  for (const char* key : {"attributes", "capacity", "allowMultipleAllocations"}) {
    if (Has(node, key)) {
      json += fmt::format(",\"{}\":{}", key, std::string(simdjson::minify(node[key].value())));
    }
  }
  auto device = decoder.Decode<api::Device>(json + "}");
  EXPECT_TRUE(device.ok()) << base::Message(device.status()) << json;
  return device.ok() ? *std::move(device) : api::Device{};
}

TEST(EvaluationCorpus, ExpressionsOnDevices) {
  const auto folder = testing::SharedFolder("conformance/cel-dra");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  for (const auto& path : testing::JsonFilesIn(*folder)) {
    const std::string file = path.filename().string();
    simdjson::dom::parser parser;
    const element document = parser.load(path.string()).value();
    if (!Has(document, "tests")) continue;
    for (const element test : document["tests"].get_array()) {
      if (!Has(test, "runs") || !Has(test, "expression")) continue;
      const std::string expression = TextAt(test, "expression");
      const bool derived =
          TextAt(document, "kind").starts_with("derived") || BoolAt(test, "derived");
      const element given =
          Has(test, "device") ? document["devices"][TextAt(test, "device")].value() : test;
      const api::Device device = DeviceOf(given);
      const std::string driver = TextAt(given, "driver");
      for (const element run : test["runs"].get_array()) {
        DeviceEnvironmentOptions options{.kubernetes_only = true};
        if (TextAt(run, "envType") != "StoredExpressions") {
          options.consumable_capacity = BoolAt(run["features"].value(), "consumableCapacity");
          options.list_type_attributes = BoolAt(run["features"].value(), "listTypeAttributes");
        }
        const CompileResult compiled =
            Compile(expression, DeviceEnvironment(options),
                    {.purpose = derived ? Purpose::kDerivedAttribute : Purpose::kSelector,
                     .estimate_cost = false});
        if (!compiled.ok()) continue;
        CompareRun(tally, file, expression.substr(0, 200), run, compiled, driver, device, derived);
      }
    }
  }
  tally.Report("cel-dra", {});
}

TEST(EvaluationCorpus, KubernetesLibraries) {
  const auto folder = testing::SharedFolder("conformance/cel-k8s");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  const auto environment = DeviceEnvironment({.kubernetes_only = true});
  for (const auto& path : testing::JsonFilesIn(*folder)) {
    simdjson::dom::parser parser;
    const element document = parser.load(path.string()).value();
    for (const element test : document["tests"].get_array()) {
      element dra;
      if (test["dra"].get(dra)) continue;
      const std::string expression = TextAt(test, "expr");
      const CompileResult compiled = Compile(expression, environment, {.estimate_cost = false});
      if (!compiled.ok()) continue;
      CompareRun(tally, path.filename().string(), expression.substr(0, 200), dra, compiled, "",
                 api::Device{}, false);
    }
  }
  tally.Report("cel-k8s", {{"costs", 1}, {"errors", 1}});
}

// Compiles with types when the test says nothing about names, else without.
StatusOr<std::shared_ptr<const Program>> CompileSpec(element test, bool checked) {
  const std::string expression = TextAt(test, "expr");
  if (checked) {
    EnvironmentBuilder builder = StandardEnvironment();
    if (BoolAt(test, "disableMacros")) builder.SetParseOptions({.macros = MacroSet()});
    const CompileResult compiled =
        Compile(expression, std::move(builder).Build(), {.estimate_cost = false});
    if (!compiled.ok()) return base::InvalidArgument(compiled.error);
    return Program::Compile(*compiled.checked, {.kubernetes = false});
  }
  const Source source(expression);
  const ParseResult parsed =
      Parse(source, {.macros = BoolAt(test, "disableMacros") ? MacroSet() : MacroSet::All()});
  if (!parsed.ok()) return base::InvalidArgument(Render(source, parsed.issues));
  UncheckedNames names{.container = TextAt(test, "container")};
  simdjson::dom::object bindings;
  if (!test["bindings"].get(bindings)) {
    for (const auto binding : bindings) names.variables.emplace_back(binding.key);
  }
  return Program::CompileUnchecked(*parsed.ast, names);
}

// What the same expression gives in the environment of devices.
void CompareInDra(Tally& tally, const std::string& file, const std::string& where, element test) {
  element dra;
  if (test["draEnv"].get(dra)) return;
  const std::string result = TextAt(dra, "result");
  if (result == "compileError" || result == "checked") return;
  const CompileResult compiled = Compile(
      TextAt(test, "expr"), DeviceEnvironment({.kubernetes_only = true}), {.estimate_cost = false});
  if (!compiled.ok()) return;
  Arena arena;
  const auto program = Program::Compile(*compiled.checked);
  bool failed = true;
  std::string got = "error";
  if (program.ok()) {
    const Value value = Evaluate(**program, {}, arena).value;
    failed = value.is_error();
    got = Outcome(value);
  }
  if (result == "programError") {
    tally.Compare(file, "DRA errors", where, "fails", program.ok() ? got : "fails");
  } else if (result == "runtimeError" ||
             (result == "same" && (Has(test, "evalError") || Has(test, "anyEvalErrors")))) {
    tally.Compare(file, "DRA errors", where, "an error", failed ? "an error" : got);
    if (Has(dra, "error")) {
      tally.Compare(file, "DRA messages", where, "error: " + TextAt(dra, "error"), got);
    }
  } else {
    const element from = result == "value" ? dra : test;
    element want;
    if (!from["value"].get(want) || !from["typedResult"]["result"].get(want)) {
      tally.Compare(file, "DRA values", where, Wanted(arena, want), got);
    } else {
      tally.Compare(file, "DRA values", where, "true", got);
    }
  }
}

TEST(EvaluationCorpus, Language) {
  const auto folder = testing::SharedFolder("conformance/cel-spec");
  if (!folder) GTEST_SKIP() << "no recorded cases";
  Tally tally;
  for (const auto& path : testing::JsonFilesIn(*folder)) {
    const std::string file = path.filename().string();
    if (file == "block_ext.json") continue;  // a test extension that no environment of ours has
    simdjson::dom::parser parser;
    const element document = parser.load(path.string()).value();
    simdjson::dom::array sections;
    if (document["section"].get(sections)) continue;
    for (const element section : sections) {
      for (const element test : section["test"].get_array()) {
        if (BoolAt(test, "needsProto") || BoolAt(test, "checkOnly")) continue;
        const auto where = fmt::format("{}/{} {}", TextAt(section, "name"), TextAt(test, "name"),
                                       TextAt(test, "expr").substr(0, 200));
        CompareInDra(tally, file, where, test);
        const bool checked = !Has(test, "typeEnv") && !Has(test, "bindings") &&
                             !Has(test, "container") && !BoolAt(test, "disableCheck") &&
                             file != "math_ext.json";
        Arena arena;
        std::string got;
        bool failed = true;
        const auto program = CompileSpec(test, checked);
        if (!program.ok()) {
          got = "error: " + std::string(base::Message(program.status()));
        } else {
          std::vector<Value> variables;
          for (const std::string& name : (*program)->variables()) {
            variables.push_back(Read(arena, test["bindings"][name]["value"].value()));
          }
          const EvaluationResult result = Evaluate(**program, variables, arena);
          failed = result.value.is_error();
          got = Outcome(result.value);
        }
        element want;
        if (!test["value"].get(want) || !test["typedResult"]["result"].get(want)) {
          tally.Compare(file, "values", where, Wanted(arena, want), got);
        } else if (Has(test, "evalError") || Has(test, "anyEvalErrors")) {
          tally.Compare(file, "errors", where, "an error", failed ? "an error" : got);
        } else {
          tally.Compare(file, "values", where, "true", got);
        }
      }
    }
  }
  tally.Report("cel-spec", {{"values", 18}, {"errors", 2}});
}

}  // namespace
}  // namespace dray::cel

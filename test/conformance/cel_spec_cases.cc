// SPDX-License-Identifier: Apache-2.0
//
// The kind `cel-spec`: the tests of the language's specification. Each is a case in the language's
// own environment and, where Kubernetes' answer is recorded, another one in that of devices.
#include <map>
#include <memory>
#include <stdexcept>

#include "base/status.h"
#include "cel/device_env.h"
#include "cel/evaluator.h"
#include "cel/parser.h"
#include "cel/program.h"
#include "conformance/case_files.h"
#include "conformance/recorded_types.h"
#include "conformance/recorded_values.h"
#include "conformance/suite.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Outcome = std::optional<std::string>;

bool ExpectsError(const DocumentNode& test) {
  return Get(test, "evalError") != nullptr || Get(test, "anyEvalErrors") != nullptr;
}

// The recorded value, below `value` or `typedResult`; without one the result must be true.
std::string WantedOf(const DocumentNode& node) {
  if (const DocumentNode* value = Get(node, "value")) return WantedText(*value);
  const DocumentNode* typed = Get(node, "typedResult");
  const DocumentNode* result = typed == nullptr ? nullptr : Get(*typed, "result");
  return result == nullptr ? "true" : WantedText(*result);
}

// Words are informative only.
void CompareResult(const DocumentNode& expected, bool error, const cel::Value& got,
                   Differences& differences) {
  if (!error) return differences.Compare("value", WantedOf(expected), OutcomeText(got));
  if (!got.is_error()) differences.Add("want an error, got " + OutcomeText(got));
}

cel::CompileResult CompileChecked(const DocumentNode& test) {
  cel::EnvironmentBuilder builder = cel::StandardEnvironment();
  for (const DocumentNode& declaration : ItemsOf(test, "typeEnv")) Declare(declaration, builder);
  builder.SetContainer(TextOf(test, "container"));
  if (BoolOf(test, "disableMacros")) builder.SetParseOptions({.macros = cel::MacroSet()});
  return cel::Compile(TextOf(test, "expr"), std::move(builder).Build(), {.estimate_cost = false});
}

StatusOr<std::shared_ptr<const cel::Program>> CompileUnchecked(const DocumentNode& test) {
  const cel::Source source(TextOf(test, "expr"));
  const cel::ParseResult parsed = cel::Parse(
      source, {.macros = BoolOf(test, "disableMacros") ? cel::MacroSet() : cel::MacroSet::All()});
  if (!parsed.ok()) return base::InvalidArgument(cel::Render(source, parsed.issues));
  cel::UncheckedNames names{.container = TextOf(test, "container")};
  if (const DocumentNode* bindings = Get(test, "bindings")) {
    for (const api::Member& binding : bindings->members) names.variables.push_back(binding.key);
  }
  return cel::Program::CompileUnchecked(*parsed.ast, names);
}

void CompareEvaluation(const DocumentNode& test, const cel::Program& program,
                       Differences& differences) {
  cel::Arena arena;
  std::vector<cel::Value> variables;
  for (const std::string& name : program.variables()) {
    const DocumentNode* bindings = Get(test, "bindings");
    const DocumentNode* binding = bindings == nullptr ? nullptr : Get(*bindings, name);
    if (binding == nullptr) throw std::runtime_error("no value is recorded for " + name);
    variables.push_back(ReadValue(arena, *Get(*binding, "value")));
  }
  CompareResult(test, ExpectsError(test), cel::Evaluate(program, variables, arena).value,
                differences);
}

Outcome RunInLanguage(const DocumentNode& test) {
  Differences differences;
  if (BoolOf(test, "disableCheck")) {
    const auto program = CompileUnchecked(test);
    if (!program.ok()) return std::string(base::Message(program.status()));
    CompareEvaluation(test, **program, differences);
    return differences.text();
  }
  const cel::CompileResult compiled = CompileChecked(test);
  if (!compiled.ok()) return "does not compile: " + compiled.error;
  if (const DocumentNode* typed = Get(test, "typedResult")) {
    cel::TypePool pool;
    differences.Compare("type", TypeReader(pool).Read(*Get(*typed, "deducedType")).ToString(),
                        compiled.checked->result_type().ToString());
  }
  if (BoolOf(test, "checkOnly")) return differences.text();
  const auto program = cel::Program::Compile(*compiled.checked);
  if (program.ok()) {
    CompareEvaluation(test, **program, differences);
  } else if (!ExpectsError(test)) {  // a constant part that fails is found before evaluation
    differences.Add(std::string(base::Message(program.status())));
  }
  return differences.text();
}

Outcome RunOnDevices(const DocumentNode& test, const DocumentNode& recorded) {
  Differences differences;
  const std::string result = TextOf(recorded, "result");
  const cel::CompileResult compiled =
      cel::Compile(TextOf(test, "expr"), cel::DeviceEnvironment({.kubernetes_only = true}),
                   {.estimate_cost = false});
  if (result == "compileError") {
    if (compiled.ok()) return "compiles";
    CompareMessages(TextsOf(recorded, "messages"), compiled, differences);
    return differences.text();
  }
  if (!compiled.ok()) return "does not compile: " + compiled.error;
  if (const DocumentNode* type = Get(recorded, "outputType")) {
    differences.Compare("type", type->text, compiled.checked->result_type().ToString());
  }
  if (result == "checked") return differences.text();
  const auto program = cel::Program::Compile(*compiled.checked);
  const bool error = result == "runtimeError" || (result == "same" && ExpectsError(test));
  if (!program.ok() || result == "programError") {
    if (program.ok()) differences.Add("a program can be built");
    if (result != "programError" && !error) {
      differences.Add(std::string(base::Message(program.status())));
    }
    return differences.text();
  }
  cel::Arena arena;
  const cel::Value value = cel::Evaluate(**program, {}, arena).value;
  CompareResult(result == "value" ? recorded : test, error, value, differences);
  if (const DocumentNode* message = Get(recorded, "error")) {
    differences.Compare("message", "error: " + message->text, OutcomeText(value));
  }
  return differences.text();
}

// The specification gives some names twice.
class Names {
 public:
  std::string Unique(const std::string& name) {
    const int count = ++seen_[name];
    return count == 1 ? name : fmt::format("{} #{}", name, count);
  }

 private:
  std::map<std::string, int> seen_;
};

}  // namespace

std::vector<Case> LoadCelSpecCases(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (RecordedFile& file : ReadJsonFiles(folder)) {
    const auto document = std::make_shared<const DocumentNode>(std::move(file.root));
    Names names;
    for (const DocumentNode& section : ItemsOf(*document, "section")) {
      for (const DocumentNode& test : ItemsOf(section, "test")) {
        const std::string name = names.Unique(TextOf(section, "name") + "/" + TextOf(test, "name"));
        Case language{.file = file.name, .name = name};
        if (BoolOf(test, "needsProto")) {
          language.needs = "protobuf messages";
        } else {
          language.run = Guarded([document, &test] { return RunInLanguage(test); });
        }
        cases.push_back(std::move(language));
        const DocumentNode* recorded = Get(test, "draEnv");
        if (recorded == nullptr) continue;
        cases.push_back({.file = file.name,
                         .name = name + " on devices",
                         .run = Guarded([document, &test, recorded] {
                           return RunOnDevices(test, *recorded);
                         })});
      }
    }
  }
  return cases;
}

}  // namespace dray::conformance

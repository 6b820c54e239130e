// SPDX-License-Identifier: Apache-2.0
#include "conformance/device_expression.h"

#include <stdexcept>

#include "api/json.h"
#include "base/status.h"
#include "cel/device_values.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "conformance/case_files.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;

constexpr std::string_view kProgramFailed = "program instantiation failed: ";

template <typename T>
std::string ErrorText(const StatusOr<T>& result) {
  return "error: " + std::string(base::Message(result.status()));
}

// Why the program cannot be built, as recorded; empty when it can.
std::string WantedProgramError(const DocumentNode& recorded) {
  if (Get(recorded, "programError") != nullptr) {
    return std::string(kProgramFailed) + TextOf(recorded, "programError");
  }
  const std::string error = TextOf(recorded, "compileError");
  return error.starts_with(kProgramFailed) ? error : "";
}

void CompareFailure(const DocumentNode& recorded, const cel::CompileResult& compiled,
                    Differences& differences) {
  const std::string want = TextOf(recorded, "compileError");
  if (compiled.ok()) return differences.Add("compiles, want " + want);
  if (Get(recorded, "compileMessages") != nullptr) {
    CompareMessages(TextsOf(recorded, "compileMessages"), compiled, differences);
  } else if (!IsSyntaxError(want)) {
    differences.Compare("error", want, compiled.error);
  }
  if (const DocumentNode* type = Get(recorded, "compileErrorType")) {
    differences.Compare("whose fault", type->text, std::string("RuleInvalid"));
  }
}

void CompareStatics(const DocumentNode& recorded, const cel::CompileResult& compiled,
                    Differences& differences) {
  if (const DocumentNode* type = Get(recorded, "outputType")) {
    differences.Compare("type", type->text, compiled.checked->result_type().ToString());
  }
  const DocumentNode* cost = Get(recorded, "estimatedCost");
  if (cost == nullptr) return;
  if (const DocumentNode* min = Get(*cost, "min")) {
    differences.Compare("least estimated cost", NumberOf(*min), compiled.cost.min);
    cost = Get(*cost, "max");
  }
  differences.Compare("estimated cost", NumberOf(*cost), compiled.cost.max);
}

std::string MatchText(const cel::Value& value) {
  const auto match = cel::ToMatch(value);
  if (!match.ok()) return ErrorText(match);
  return *match ? "true" : "false";
}

std::string AttributeText(const cel::Value& value) {
  const auto attribute = cel::ToAttribute(value);
  return attribute.ok() ? api::EncodeJson(*attribute) : ErrorText(attribute);
}

std::string WantedAttribute(const DocumentNode& recorded) {
  api::JsonDecoder decoder;
  const auto attribute = decoder.Decode<api::DeviceAttribute>(api::ToJson(recorded));
  if (!attribute.ok()) throw std::runtime_error(ErrorText(attribute));
  return api::EncodeJson(*attribute);
}

// What the value is for whoever asked: without a purpose itself.
std::string ResultText(cel::Purpose purpose, const cel::Value& value) {
  switch (purpose) {
    case cel::Purpose::kSelector:
      return MatchText(value);
    case cel::Purpose::kDerivedAttribute:
      return AttributeText(value);
    default:
      return OutcomeText(value);
  }
}

// Some cases are about compiling only. A field that the order of a map's entries decides is
// recorded as `unordered` and not there. Evaluation asks a view by number and an object by name, so
// every case is evaluated in both ways.
void CompareOutcome(const DocumentNode& recorded, const DeviceExpression& expression,
                    const cel::Program& program, Differences& differences) {
  cel::Arena arena;
  const cel::DeviceValue host(expression.driver, expression.device, arena);
  const cel::Value variable = host.value();
  const auto result = cel::Evaluate(program, std::span(&variable, 1), arena);
  const cel::ApiDeviceView view(program.device_reads(), expression.driver, expression.device);
  const auto by_view = cel::Evaluate(program, view, arena);
  differences.Compare("cost by view", result.cost, by_view.cost);
  differences.Compare("result by view", OutcomeText(result.value), OutcomeText(by_view.value));
  if (const DocumentNode* cost = Get(recorded, "runtimeCost")) {
    differences.Compare("cost", NumberOf(*cost), result.cost);
  }
  const std::string got = ResultText(expression.purpose, result.value);
  if (const DocumentNode* error = Get(recorded, "runtimeError")) {
    differences.Compare("result", "error: " + error->text, got);
  } else if (Get(recorded, "match") != nullptr) {
    differences.Compare("result", std::string(BoolOf(recorded, "match") ? "true" : "false"), got);
  } else if (const DocumentNode* attribute = Get(recorded, "attribute")) {
    differences.Compare("result", WantedAttribute(*attribute), got);
  } else if (const DocumentNode* value = Get(recorded, "value")) {
    differences.Compare("result", WantedText(*value), got);
  } else if (Get(recorded, "runtimeCost") != nullptr && ItemsOf(recorded, "unordered").empty()) {
    differences.Add("nothing recorded to compare with " + got);
  }
}

}  // namespace

void CompareWith(const DocumentNode& recorded, const DeviceExpression& expression,
                 Differences& differences) {
  const cel::CompileResult compiled =
      cel::Compile(expression.text, expression.environment, {.purpose = expression.purpose});
  const std::string program_error = WantedProgramError(recorded);
  if (Get(recorded, "compileError") != nullptr && program_error.empty()) {
    return CompareFailure(recorded, compiled, differences);
  }
  if (!compiled.ok()) return differences.Add("does not compile: " + compiled.error);
  CompareStatics(recorded, compiled, differences);
  const auto program = cel::Program::Compile(*compiled.checked);
  if (!program.ok() || !program_error.empty()) {
    const auto got = program.ok() ? "" : std::string(base::Message(program.status()));
    differences.Compare("program", program_error, got);
    if (const DocumentNode* type = Get(recorded, "compileErrorType")) {
      differences.Compare("whose fault", type->text, std::string("InternalError"));
    }
    return;
  }
  CompareOutcome(recorded, expression, **program, differences);
}

}  // namespace dray::conformance

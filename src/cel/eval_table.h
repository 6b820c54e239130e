// SPDX-License-Identifier: Apache-2.0
//
// For tests: tables of expressions and what they give.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/evaluator.h"
#include "cel/library.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel::testing {

// What people would call the result: the value as ToDebugString has it, "error: ..." from the
// evaluation, "program: ..." from building it, "compile: ..." with the first message.
inline std::string Eval(std::string_view expression,
                        std::shared_ptr<const Environment> environment) {
  const CompileResult compiled = Compile(expression, std::move(environment));
  if (!compiled.ok()) {
    return "compile: " + (compiled.issues.empty() ? compiled.error : compiled.issues[0].message);
  }
  const auto program = Program::Compile(*compiled.checked);
  if (!program.ok()) {
    constexpr std::string_view kProgramFailed = "program instantiation failed: ";
    return "program: " + std::string(base::Message(program.status())).substr(kProgramFailed.size());
  }
  Arena arena;
  const Value value = Evaluate(**program, {}, arena).value;
  return value.is_error() ? "error: " + std::string(ErrorMessage(value)) : ToDebugString(value);
}

struct Row {
  std::string_view expression;
  std::string_view want;  // "error: " alone: whatever the error says
};

inline void Expect(const std::vector<Row>& rows, const std::shared_ptr<const Environment>& in) {
  for (const auto& [expression, want] : rows) {
    std::string got = Eval(expression, in);
    if (want == "error: " && got.starts_with(want)) got = want;
    EXPECT_EQ(got, want) << expression;
  }
}

// In the environment of devices, all features on.
inline void ExpectOnDevices(const std::vector<Row>& rows) {
  Expect(rows, DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
}

// In the language's own environment.
inline void ExpectInLanguage(const std::vector<Row>& rows) {
  static const auto environment = StandardEnvironment().Build();
  Expect(rows, environment);
}

// A function by itself, for arguments that no expression can write. Lives as long as the process.
inline std::string Call(std::string_view function, std::vector<Value> args) {
  static Arena arena;
  const FunctionRow& row = *FindFunctionByName(function)->row;
  const Value value = row.implementation.In(Dialect::kKubernetes)(arena, args);
  return value.is_error() ? "error: " + std::string(ErrorMessage(value)) : ToDebugString(value);
}

}  // namespace dray::cel::testing

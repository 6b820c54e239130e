// SPDX-License-Identifier: Apache-2.0
#include "cel/document_values.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cel/compile.h"
#include "cel/evaluator.h"
#include "cel/kubernetes_env.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

// The expression's result with the document as `object`.
std::string With(std::string_view json, std::string_view expression) {
  auto builder = EnvironmentBuilder::Extending(KubernetesEnvironment());
  builder.AddVariable("object", Type::Dyn());
  const CompileResult compiled = Compile(expression, std::move(builder).Build());
  if (!compiled.ok()) return compiled.error;
  const auto program = Program::Compile(*compiled.checked);
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode document = api::ParseJson(std::string(json), diagnostics);
  Arena arena;
  const Value object = ValueOf(arena, document);
  const std::vector<Value> variables((*program)->variables().size(), object);
  const Value value = Evaluate(**program, variables, arena).value;
  return value.is_error() ? "error: " + std::string(ErrorMessage(value)) : ToDebugString(value);
}

TEST(DocumentValues, AreWhatJsonHas) {
  constexpr std::string_view kJson =
      R"({"a":{"b":[1,2.5,"x",true,null]},"big":12345678901234567890,"none":null})";
  EXPECT_EQ(With(kJson, "object.a.b[0] + 1"), "2");
  EXPECT_EQ(With(kJson, "object.a.b[1]"), "2.5");
  EXPECT_EQ(With(kJson, "object.a.b[2] + 'y'"), "\"xy\"");
  EXPECT_EQ(With(kJson, "object.a.b[3]"), "true");
  EXPECT_EQ(With(kJson, "object.a.b[4] == null"), "true");
  EXPECT_EQ(With(kJson, "type(object.big) == double"), "true");
  EXPECT_EQ(With(kJson, "has(object.a.c)"), "false");
  EXPECT_EQ(With(kJson, "has(object.none)"), "true");
  EXPECT_EQ(With(kJson, "object.?a.?c.orValue('d')"), "\"d\"");
  EXPECT_EQ(With(kJson, "object.a.b.size()"), "5");
  EXPECT_EQ(With(kJson, "object.x"), "error: no such key: x");
}

TEST(DocumentValues, OfAKeyThatIsThereTwiceTheLastCounts) {
  EXPECT_EQ(With(R"({"a":1,"a":2})", "object.a"), "2");
}

}  // namespace
}  // namespace dray::cel

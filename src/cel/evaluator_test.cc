// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of programs: what holds whatever an expression calls. Libraries have their own tests;
// the recorded cases (test/conformance) are the wider net.
#include "cel/evaluator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "api/json.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/eval_table.h"
#include "cel/program.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

std::shared_ptr<const Program> Build(std::string_view expression) {
  const CompileResult compiled =
      Compile(expression, DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
  EXPECT_TRUE(compiled.ok()) << compiled.error;
  if (!compiled.ok()) return nullptr;
  auto program = Program::Compile(*compiled.checked);
  EXPECT_TRUE(program.ok()) << base::Message(program.status());
  return program.ok() ? *program : nullptr;
}

std::string Eval(std::string_view expression, const EvaluationLimits& limits = {}) {
  const auto program = Build(expression);
  if (program == nullptr) return "";
  Arena arena;
  return ToDebugString(Evaluate(*program, {}, arena, limits).value);
}

TEST(Evaluator, LogicAbsorbsErrors) {
  testing::ExpectOnDevices({
      {"1 / 0 > 0 && false", "false"},
      {"false && 1 / 0 > 0", "false"},
      {"1 / 0 > 0 || true", "true"},
      {"1 / 0 > 0 || false", "error: division by zero"},
      {"true ? 1 : 1 / 0", "1"},
      {"[1, 0].all(x, 1 / x > 5)", "false"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
  });
}

TEST(Evaluator, ADoubleIsNoKey) {
  testing::ExpectOnDevices({
      {"{1.0: 'a'}[1.0]", "error: unsupported key type: double"},
      {"[1.0].exists(k, {k: 'a'}.size() == 1)", "error: unsupported key type: double"},
  });
}

TEST(Evaluator, FailingConstantConversionFailsWhenBuilding) {
  const CompileResult compiled =
      Compile("false && int('x') == 1", DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
  ASSERT_TRUE(compiled.ok()) << compiled.error;
  const auto program = Program::Compile(*compiled.checked);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(base::Message(program.status()),
            "program instantiation failed: type conversion error from 'string' to 'int'");
}

TEST(Evaluator, StopsAtItsLimits) {
  EXPECT_EQ(Eval("[1, 2, 3].map(x, x + 1)", {.cost = 10}),
            "error(\"operation cancelled: actual cost limit exceeded\")");
  // An error that && would absorb, were it not the end of the evaluation.
  EXPECT_EQ(Eval("false && true || [1, 2, 3].all(x, x > 0) || true", {.cost = 4}),
            "error(\"operation cancelled: actual cost limit exceeded\")");
  EXPECT_EQ(
      Eval("lists.range(1000).map(x, 'some text' + string(x)).size()", {.arena_bytes = 1 << 14}),
      "error(\"operation cancelled: memory limit exceeded\")");
  const std::atomic<bool> interrupted = true;
  EXPECT_EQ(Eval("lists.range(99).all(x, x >= 0)", {.interrupted = &interrupted}), "true");
  EXPECT_EQ(Eval("lists.range(100).all(x, x >= 0)", {.interrupted = &interrupted}),
            "error(\"operation interrupted\")");
}

TEST(Program, KnowsWhatItReads) {
  const auto program = Build(
      R"(device.driver == "d" && device.attributes["b"].x == 1 && device.attributes["a"]["y"] == 2 &&
         has(device.attributes["b"].x) && sign(device.capacity["a"].m) > 0)"
      "");
  ASSERT_NE(program, nullptr);
  const Reads& reads = program->reads();
  EXPECT_TRUE(reads.driver);
  EXPECT_FALSE(reads.all_attributes);
  EXPECT_EQ(reads.attributes, (std::vector<Reads::Name>{{"a", "y"}, {"b", "x"}}));
  EXPECT_EQ(reads.capacities, (std::vector<Reads::Name>{{"a", "m"}}));
  EXPECT_TRUE(Build("device.attributes.exists(d, d == 'x')")->reads().all_attributes);
  EXPECT_TRUE(Build("cel.bind(d, device, d.driver == 'x')")->reads().whole_device);
}

class DeviceValuesTest : public ::testing::Test {
 protected:
  DeviceValuesTest() {
    api::JsonDecoder decoder;
    auto device = decoder.Decode<api::Device>(R"({"name": "gpu-0", "attributes": {
        "model": {"string": "H100"}, "other.com/model": {"string": "X"},
        "broken": {"version": "1.2"}, "empty": {},
        "kep": {"list": {"int": [1, 2]}}, "flags": {"bools": [true, false]}},
        "capacity": {"memory": {"value": "80Gi"}}})");
    EXPECT_TRUE(device.ok()) << base::Message(device.status());
    device_ = *std::move(device);
  }
  std::string OnDevice(std::string_view expression) {
    const auto program = Build(expression);
    Arena arena;
    const DeviceValue host("d.com", device_, arena);
    const Value variable = host.value();
    return ToDebugString(Evaluate(*program, std::span(&variable, 1), arena).value);
  }
  api::Device device_;
};

TEST_F(DeviceValuesTest, NamesHaveDomains) {
  EXPECT_EQ(OnDevice("device.attributes['d.com'].model"), "\"H100\"");
  EXPECT_EQ(OnDevice("device.attributes['other.com'].model"), "\"X\"");
  EXPECT_EQ(OnDevice("device.attributes['nope'].size()"), "0");
  EXPECT_EQ(OnDevice("'nope' in device.attributes"), "false");
  EXPECT_EQ(OnDevice("device.attributes['nope'].x"), "error(\"no such key: x\")");
  EXPECT_EQ(OnDevice("device.attributes.map(d, d)"), "[\"d.com\", \"other.com\"]");
  EXPECT_EQ(OnDevice("device.name"), "\"gpu-0\"");
}

TEST_F(DeviceValuesTest, ValuesOfEveryForm) {
  EXPECT_EQ(OnDevice("device.attributes['d.com'].kep"), "[1, 2]");
  EXPECT_EQ(OnDevice("device.attributes['d.com'].flags.includes(false)"), "true");
  EXPECT_EQ(OnDevice("device.capacity['d.com'].memory.compareTo(quantity('80Gi'))"), "0");
  EXPECT_TRUE(OnDevice("device.attributes['d.com'].broken")
                  .starts_with("error(\"attribute broken: parse semantic version: "));
  EXPECT_EQ(OnDevice("device.attributes['d.com'].empty"),
            "error(\"attribute empty: unsupported attribute value\")");
}

}  // namespace
}  // namespace dray::cel

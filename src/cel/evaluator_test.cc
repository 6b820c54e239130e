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

struct Case {
  std::string expression;
  std::string want;
};

void RunAll(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(Eval(c.expression), c.want) << c.expression;
}

TEST(Evaluator, ArithmeticIsCheckedForOverflow) {
  RunAll({
      {"9223372036854775807 + 1", "error(\"integer overflow\")"},
      {"-(-9223372036854775807 - 1)", "error(\"integer overflow\")"},
      {"0u - 1u", "error(\"unsigned integer overflow\")"},
      {"7 / 0", "error(\"division by zero\")"},
      {"7 % 0", "error(\"modulus by zero\")"},
      {"1.0 / 0.0", "+Inf"},
      {"duration('1h') + timestamp('2020-01-01T00:00:00Z')", "timestamp(\"2020-01-01T01:00:00Z\")"},
  });
}

TEST(Evaluator, LogicAbsorbsErrors) {
  RunAll({
      {"1 / 0 > 0 && false", "false"},
      {"false && 1 / 0 > 0", "false"},
      {"1 / 0 > 0 || true", "true"},
      {"1 / 0 > 0 || false", "error(\"division by zero\")"},
      {"true ? 1 : 1 / 0", "1"},
      {"[1, 0].all(x, 1 / x > 5)", "false"},
      {"[0, 1].exists(x, 1 / x == 1)", "true"},
  });
}

TEST(Evaluator, NumbersCompareAcrossKinds) {
  RunAll({
      {"dyn(1) == dyn(1.0)", "true"},
      {"dyn(1u) == 1", "true"},
      {"1 < 1.5 && 2u > 1", "true"},
      {"{1: 'a'}[dyn(1.0)]", "\"a\""},
      {"dyn('1') == 1", "false"},
      {"dyn(null) == 1", "false"},
  });
}

TEST(Evaluator, StringsCountCodePoints) {
  RunAll({
      {"'größe'.size()", "5"},
      {"'größe'.charAt(2)", "\"ö\""},
      {"'größe'.indexOf('e')", "4"},
      {"'größe'.substring(1, 3)", "\"rö\""},
      {"'a,b,c'.split(',', 2)", "[\"a\", \"b,c\"]"},
      {"'ab'.replace('', '-')", "\"-a-b-\""},
      {"' \\u3000x\\n'.trim()", "\"x\""},
      {"['a', 'b'].join('-')", "\"a-b\""},
      {"'abc'.charAt(4)", "error(\"index out of range: 4\")"},
  });
}

TEST(Evaluator, FormatIsTheOldOne) {
  RunAll({
      {"'%f'.format([1234567.891])", "\"1,234,567.891000\""},
      {"'%.2e'.format([1234.5])", "\"1.234500×10⁰³\""},
      {"'%s'.format([{'b': 2.5, 'a': ['x']}])", "\"{\\\"a\\\":[\\\"x\\\"], \\\"b\\\":2.500000}\""},
      {"'%x %X %o %b'.format([255, 255, 8, true])", "\"ff FF 10 1\""},
  });
}

TEST(Evaluator, Lists) {
  RunAll({
      {"[3, 1, 2].sort()", "[1, 2, 3]"},
      {"['bb', 'a'].sortBy(x, x.size())", "[\"a\", \"bb\"]"},
      {"[1, 2, 3].slice(1, 3)", "[2, 3]"},
      {"[[[1]], [[2], [3]]].flatten(2)", "[1, 2, 3]"},
      {"[1, 1, 2].distinct()", "[1, 2]"},
      {"lists.range(3).reverse()", "[2, 1, 0]"},
      {"[1, 2].sum() + [4, 7].max()", "10"},
      {"[1, 2].includes(2.0)", "true"},
      {"'abc'.includes('b')", "false"},
      {"sets.equivalent([1, 2], [2, 1, 1])", "true"},
      {"{'a': 1}.transformMap(k, v, v + 1)", "{\"a\": 2}"},
      {"[1, 2, 3].map(x, x > 1, x * x)", "[4, 9]"},
  });
}

TEST(Evaluator, Times) {
  RunAll({
      {"timestamp('2024-02-29T23:30:00Z').getHours('+05:30')", "5"},
      {"timestamp('2024-02-29T23:30:00Z').getDayOfYear()", "59"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('America/New_York')", "8"},
      {"timestamp('2024-07-01T12:00:00Z').getHours('Nope/Zone')",
       "error(\"unknown time zone Nope/Zone\")"},
      {"duration('90s').getMinutes()", "1"},
      {"string(duration('1h30m'))", "\"5400s\""},
  });
}

TEST(Evaluator, Optionals) {
  RunAll({
      {"{'a': {'b': 1}}.?a.b", "optional.of(1)"},
      {"{'a': {'b': 1}}.?x.b.orValue(7)", "7"},
      {"optional.none().or(optional.of(1)).value()", "1"},
      {"[?optional.none(), ?optional.of(2)]", "[2]"},
      {"{?'a': optional.ofNonZeroValue(0)}", "{}"},
      {"optional.of(3).optMap(x, x + 1)", "optional.of(4)"},
  });
}

TEST(Evaluator, KubernetesValues) {
  RunAll({
      {"quantity('1.5Gi').isLessThan(quantity('2Gi'))", "true"},
      {"quantity('100Ti').isInteger()", "false"},
      // A sum is equal on the left only.
      {"quantity('1').add(1) == quantity('2')", "true"},
      {"quantity('2') == quantity('1').add(1)", "error(\"no such overload\")"},
      {"semver('1.2.3-rc.1').isLessThan(semver('1.2.3'))", "true"},
      {"semver('v1.2', true).minor()", "2"},
      {"ip('::1').isLoopback()", "true"},
      {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"},
      {"url('https://h:8443/a?x=1&x=2').getQuery()", "{\"x\": [\"1\", \"2\"]}"},
      {"url('https://[::1]:80/').getHostname()", "\"::1\""},
      {"format.dns1123Label().validate('ok').hasValue()", "false"},
      {"'a1b22'.findAll('[0-9]+')", "[\"1\", \"22\"]"},
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

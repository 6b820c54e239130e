// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/document.h"
#include "cli/cli_test_support.h"
#include "cli/run.h"

namespace dray::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSlice = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node
  pool: {name: node, resourceSliceCount: 1}
  devices:
  - {name: gpu0, attributes: {model: {string: H100}, index: {int: 0}}}
  - {name: gpu1, attributes: {model: {string: A100}}}
)";

TEST(Cel, ShowsTypeCostAndWhatIsRead) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].model == "H100")"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("type:            bool\n"));
  EXPECT_THAT(outcome.out, HasSubstr("estimated cost:  5 of at most 1000000\n"));
  EXPECT_THAT(outcome.out, HasSubstr("reads:           attribute gpu.example.com/model\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("DEVICE")));
}

TEST(Cel, SaysWhichDevicesMatchAndWhatThatCost) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].model == "H100")", "-f", "-"},
              {.in = std::string(kSlice)});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("gpu.example.com/node/gpu0       5  true\n"));
  EXPECT_THAT(outcome.out, HasSubstr("gpu.example.com/node/gpu1       5  false\n"));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 devices match"));
}

TEST(Cel, AFailureOnADeviceIsAFinding) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].index == 0)", "-f", "-"},
              {.in = std::string(kSlice)});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              HasSubstr("error: no such key: index: the device has no attribute \"index\" in "
                        "domain \"gpu.example.com\"; it has model\n"));
  EXPECT_THAT(outcome.err, HasSubstr("fails on 1 device"));
}

TEST(Cel, DerivedAttributesHaveValues) {
  const Outcome outcome =
      RunLine({"cel", "--derived", R"(device.name.replace("gpu", ""))", "-f", "-"},
              {.in = std::string(kSlice)});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(R"({"string":"1"})"));
  EXPECT_EQ(RunLine({"cel", "--derived", "1.5"}).code, kExitFindings);
}

TEST(Cel, IncludeAndIncludesAreTheSame) {
  for (const std::string function : {"include", "includes"}) {
    const Outcome outcome = RunLine(
        {"cel", "device.attributes['gpu.example.com'].model." + function + "('H100')", "-f", "-"},
        {.in = std::string(kSlice)});
    EXPECT_THAT(outcome.err, HasSubstr("1 of 2 devices match")) << outcome.out;
  }
}

TEST(Cel, ErrorsPointAtTheirPlaceAndSayWhatWasMeant) {
  const Outcome outcome = RunLine({"cel", "device.driver == 3"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.err,
            "error: 1:15: found no matching overload for '_==_' applied to '(string, int)'\n"
            "     | device.driver == 3\n"
            "     | ..............^\n"
            "  hint: a text is written in quotes: \"3\"\n");
  EXPECT_EQ(outcome.out, "");
}

TEST(Cel, EveryErrorHasItsLine) {
  const Outcome outcome = RunLine({"cel", "foo == 1 ||\n  bar == 2"});
  EXPECT_THAT(outcome.err, HasSubstr("error: 1:1: undeclared reference to 'foo'"));
  EXPECT_THAT(outcome.err, HasSubstr("error: 2:3: undeclared reference to 'bar'"));
}

TEST(Cel, AnExpressionThatCostsTooMuchIsAFinding) {
  const Outcome outcome =
      RunLine({"cel",
               "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, "
               "device.attributes.all(d, a != b && c != d))))"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.err, HasSubstr("too complex"));
  EXPECT_THAT(outcome.err, HasSubstr("innermost of 4 loops"));
}

TEST(Cel, AnExpressionThatIsTooLongIsAFinding) {
  const Outcome outcome = RunLine({"cel", "device.driver != '" + std::string(10240, 'a') + "'"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.err, HasSubstr("at most 10240"));
}

TEST(Cel, WhatCompilesAndFindsNothingIsAWarning) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].model.string == "H100")"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, HasSubstr("warning: 1:43: an attribute's value has no field"));
}

TEST(Cel, TheFirstFailureOnADeviceHasAHint) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].numa == 0)", "-f", "-"},
              {.in = std::string(kSlice)});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.err, HasSubstr("hint: gpu.example.com/node/gpu0: not every device has it: "
                                     "ask first, as in \"numa\" in"));
}

TEST(Cel, ADeviceSaysWhatItHasInstead) {
  const Outcome outcome =
      RunLine({"cel", R"(device.attributes["gpu.example.com"].modle == "H100")", "-f", "-"},
              {.in = std::string(kSlice)});
  EXPECT_THAT(outcome.out, HasSubstr("it has index, model; did you mean \"model\"?"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("hint")));
}

TEST(Cel, ReadsTheExpressionFromStandardInput) {
  const TempFolder folder;
  const std::string file = folder.Write("slice.yaml", kSlice);
  const Outcome outcome = RunLine({"cel", "-", "-f", file}, {.in = "device.name ==\n  'gpu1'\n"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 of 2 devices match"));
  EXPECT_EQ(RunLine({"cel", "-", "-f", "-"}, {.in = "true"}).code, kExitUsage);
}

TEST(Cel, ColoursAreForTerminals) {
  const std::vector<std::string> line = {"cel", "device.driver == 3"};
  EXPECT_THAT(RunLine(line).err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(RunLine(line, {.terminal = true}).err, HasSubstr("\x1b[1;31merror\x1b[0m"));
  EXPECT_THAT(RunLine(line, {.variables = {{"NO_COLOR", "1"}}, .terminal = true}).err,
              Not(HasSubstr("\x1b")));
  const std::vector<std::string> match = {"cel", "true", "-f", "-", "--color", "always"};
  EXPECT_THAT(RunLine(match, {.in = std::string(kSlice)}).out, HasSubstr("\x1b[1;32mtrue"));
}

TEST(Cel, ControlCharactersDoNotReachTheTerminal) {
  const Outcome outcome = RunLine({"cel", "device.driver == \"\x1b[2J\" && foo"});
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
}

TEST(Cel, JsonTellsIssuesWithTheirPlaces) {
  const Outcome outcome = RunLine({"cel", "device.driver ==\n 3", "-o", "json"});
  EXPECT_EQ(outcome.code, kExitFindings);
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode root = api::ParseJson(outcome.out, diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_THAT(root.Find("error")->value.text, HasSubstr("compilation failed: ERROR: <input>:1:15"));
  ASSERT_EQ(root.Find("issues")->value.items.size(), 1U);
  const api::DocumentNode& issue = root.Find("issues")->value.items[0];
  EXPECT_EQ(issue.Find("severity")->value.text, "error");
  EXPECT_EQ(issue.Find("line")->value.text, "1");
  EXPECT_EQ(issue.Find("column")->value.text, "15");
  EXPECT_THAT(issue.Find("hint")->value.text, HasSubstr("in quotes"));
}

TEST(Cel, JsonHasStableFields) {
  const Outcome outcome = RunLine({"cel", "device.name == 'gpu1'", "-f", "-", "-o", "json"},
                                  {.in = std::string(kSlice)});
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode root = api::ParseJson(outcome.out, diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  EXPECT_EQ(root.Find("type")->value.text, "bool");
  ASSERT_EQ(root.Find("devices")->value.items.size(), 2U);
  EXPECT_TRUE(root.Find("devices")->value.items[1].Find("match")->value.boolean);
}

TEST(Cel, UnusableInputIsToldApart) {
  EXPECT_EQ(RunLine({"cel"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"cel", "true", "-f", "/nowhere/slices.yaml"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"cel", "true", "false"}).code, kExitUsage);
}

}  // namespace
}  // namespace dray::cli

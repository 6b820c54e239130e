// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` as its users meet it: what it says, and where.
#include "cli/validate.h"

#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "cli/validate_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Validate, ColourIsForTerminals) {
  const std::vector<std::string> line = {"validate", "-f", "-"};
  const std::string text(kBadClaim);
  const auto out = [&](RunOptions options, std::vector<std::string> args) {
    options.in = text;
    return RunLine(args, options).out;
  };
  EXPECT_THAT(out({}, line), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(out({.terminal = true}, line), HasSubstr("\x1b[1;31merror\x1b[0m"));
  EXPECT_THAT(out({.variables = {{"NO_COLOR", "1"}}, .terminal = true}, line),
              Not(HasSubstr("\x1b[")));
  EXPECT_THAT(out({.variables = {{"NO_COLOR", ""}}, .terminal = true}, line), HasSubstr("\x1b["));
  EXPECT_THAT(out({}, {"validate", "-f", "-", "--color=always"}), HasSubstr("\x1b["));
  EXPECT_THAT(out({.terminal = true}, {"validate", "-f", "-", "--color=never"}),
              Not(HasSubstr("\x1b[")));
}

TEST(Validate, ControlCharactersOfAFileDoNotReachATerminal) {
  const Outcome outcome = ValidateText(
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: \"a\\e[31mb\"}\n");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("error"), Not(HasSubstr("\x1b"))));
}

TEST(Validate, JsonHasEveryFieldAndTheCounts) {
  const Outcome outcome =
      ValidateText(std::string(kBadClaim) + "---\n" + std::string(kUnknownField),
                   {"-o", "json", "--strict=false"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.err, IsEmpty());
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode document = api::ParseJson(outcome.out, diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty());
  ASSERT_EQ(document.members.size(), 3u);
  EXPECT_EQ(document.Find("objects")->value.items.size(), 2u);
  const api::DocumentNode& findings = document.Find("findings")->value;
  ASSERT_EQ(findings.items.size(), 2u);
  std::vector<std::string> keys;
  for (const api::Member& member : findings.items[0].members) keys.push_back(member.key);
  EXPECT_THAT(keys,
              ::testing::ElementsAre("file", "line", "column", "severity", "reason", "apiVersion",
                                     "kind", "namespace", "name", "field", "message", "hint"));
  const auto text = [&](std::string_view key) { return findings.items[0].Find(key)->value.text; };
  EXPECT_EQ(text("line"), "11");
  EXPECT_EQ(text("column"), "9");
  EXPECT_EQ(text("severity"), "error");
  EXPECT_EQ(text("reason"), "FieldValueInvalid");
  EXPECT_EQ(text("namespace"), "default");
  EXPECT_EQ(text("name"), "foo");
  EXPECT_EQ(text("field"), "spec.devices.requests[0].exactly.count");
  EXPECT_EQ(text("message"), "Invalid value: -1: must be greater than zero");
  const api::DocumentNode& counts = document.Find("counts")->value;
  EXPECT_EQ(counts.Find("files")->value.text, "1");
  EXPECT_EQ(counts.Find("objects")->value.text, "2");
  EXPECT_EQ(counts.Find("errors")->value.text, "1");
  EXPECT_EQ(counts.Find("warnings")->value.text, "1");
  EXPECT_EQ(counts.Find("notes")->value.text, "0");
}

TEST(Validate, FindingsComeInTheOrderOfTheLines) {
  // The cross-check's finding is about the first object, validation's about the second.
  const Outcome outcome = ValidateText(std::string(kGoodClass) + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: foo}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: other}}]}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: UPPER}
)");
  EXPECT_LT(outcome.out.find("there is no DeviceClass"), outcome.out.find("UPPER"));
}

// The place of each finding of `expression`, whatever is between the colon and the message.
std::string PlacesOf(const std::string& text) {
  const TempFolder folder;
  const std::string file = folder.Write("class.yaml", text);
  const Outcome outcome = RunLine({"validate", "-f", file});
  std::string places;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(file)) continue;
    const auto end = line.find(": ");
    places += line.substr(file.size() + 1, end - file.size() - 1) + " ";
  }
  return places;
}

constexpr std::string_view kClassHead =
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n";

TEST(Validate, AnExpressionsFaultIsAtItsCharacterInTheFile) {
  const std::string head(kClassHead);
  EXPECT_EQ(PlacesOf(head + "  - cel: {expression: device.driver == foo}\n"), "6:40 ");
  EXPECT_EQ(PlacesOf(head + "  - cel:\n      expression: |\n        true &&\n          foo\n"),
            "9:11 ");
  EXPECT_EQ(PlacesOf(head + "  - cel:\n      expression: \"'\\u00e9' == foo\"\n"), "7:32 ");
}

TEST(Validate, EveryFaultOfAnExpressionHasItsOwnPlace) {
  EXPECT_EQ(PlacesOf(std::string(kClassHead) +
                     "  - cel:\n      expression: |\n        foo == 1 ||\n        bar == 2\n"),
            "8:9 9:9 ");
}

TEST(Validate, AnExpressionBehindAnAliasIsAtTheAlias) {
  EXPECT_EQ(PlacesOf(std::string(kClassHead) + "  - cel: {expression: &e 'device.driver == foo'}\n"
                                               "  - cel: {expression: *e}\n"),
            "6:44 7:23 ");
}

TEST(Validate, ALongExpressionIsShownAroundItsFault) {
  const TempFolder folder;
  std::string expression = "foo";
  for (int i = 0; i < 60; ++i) expression = "true && " + expression + " && true";
  const std::string file = folder.Write(
      "class.yaml", std::string(kClassHead) + "  - cel: {expression: " + expression + "}\n");
  const Outcome outcome = RunLine({"validate", "-f", file});
  EXPECT_THAT(outcome.out, HasSubstr("\n     | ..."));
  EXPECT_THAT(outcome.out, Not(HasSubstr(expression)));
}

TEST(Validate, AnAttributeThatIsReadLikeAFieldOfASliceIsAWarning) {
  const TempFolder folder;
  const std::string file =
      folder.Write("class.yaml", std::string(kClassHead) +
                                     "  - cel: {expression: \"device.attributes['type'].string == "
                                     "'mig-1g'\"}\n");
  const Outcome outcome = RunLine({"validate", "-f", file});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, HasSubstr(":6:49: warning: "));
  EXPECT_THAT(outcome.out, HasSubstr("device.attributes[\"gpu.example.com\"].type"));
}

TEST(ValidateOutput, LongLinesAreBrokenAtTheWidthOfTheTerminal) {
  const std::string yaml =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: "
      "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: exactcount}}]}}\n";
  const Outcome narrow = RunLine({"validate", "-f", "-"}, {.in = yaml, .columns = 60});
  EXPECT_EQ(narrow.code, kExitFindings);
  std::istringstream lines(narrow.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    // A word that is longer than the line stays whole.
    EXPECT_TRUE(line.size() <= 60U || line.find(' ', 2) == std::string::npos) << line;
  }
  EXPECT_GT(count, 2U);
  EXPECT_EQ(RunLine({"validate", "-f", "-"}, {.in = yaml}).out.find("\n  "),
            RunLine({"validate", "-f", "-"}, {.in = yaml}).out.find("\n  hint"));
}

}  // namespace
}  // namespace dray::cli

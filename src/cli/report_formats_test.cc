// SPDX-License-Identifier: Apache-2.0
//
// Findings as SARIF and JUnit: structure and escaping, by what CI systems need of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/document.h"
#include "cli/cli_test_support.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kTwoFaults = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: good}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: bad}
spec:
  devices:
    requests:
    - name: r
      exactly: {deviceClassName: goood, count: "2"}
---
apiVersion: acme.example/v1
kind: Rocket
metadata: {name: r}
)";

Outcome ValidateAs(std::string_view format, std::string_view yaml) {
  return RunLine({"validate", "-f", "-", "-o", std::string(format)}, {.in = std::string(yaml)});
}

const api::DocumentNode& At(const api::DocumentNode& node, const std::vector<std::string>& path) {
  static const api::DocumentNode kNothing;
  const api::DocumentNode* at = &node;
  for (const std::string& step : path) {
    if (at->kind == api::DocumentNode::Kind::kList) {
      const std::size_t index = std::stoul(step);
      if (index >= at->items.size()) return kNothing;
      at = &at->items[index];
      continue;
    }
    const api::Member* member = at->Find(step);
    if (member == nullptr) return kNothing;
    at = &member->value;
  }
  return *at;
}

api::DocumentNode Parsed(const std::string& json) {
  std::vector<api::Diagnostic> faults;
  api::DocumentNode node = api::ParseJson(json, faults);
  EXPECT_TRUE(faults.empty()) << json;
  return node;
}

TEST(Sarif, EveryResultHasARuleAPlaceAndALevel) {
  const Outcome outcome = ValidateAs("sarif", kTwoFaults);
  EXPECT_EQ(outcome.code, kExitFindings);
  const api::DocumentNode document = Parsed(outcome.out);
  EXPECT_EQ(At(document, {"version"}).text, "2.1.0");
  const api::DocumentNode& run = At(document, {"runs", "0"});
  EXPECT_EQ(At(run, {"tool", "driver", "name"}).text, "dray validate");
  const auto& rules = At(run, {"tool", "driver", "rules"}).items;
  const auto& results = At(run, {"results"}).items;
  ASSERT_GE(results.size(), 2U);
  for (const api::DocumentNode& result : results) {
    const std::size_t rule = std::stoul(At(result, {"ruleIndex"}).text);
    ASSERT_LT(rule, rules.size());
    EXPECT_EQ(At(rules[rule], {"id"}).text, At(result, {"ruleId"}).text);
    EXPECT_FALSE(At(rules[rule], {"shortDescription", "text"}).text.empty());
    EXPECT_THAT(At(result, {"level"}).text, ::testing::AnyOf("error", "warning", "note"));
    EXPECT_FALSE(At(result, {"message", "text"}).text.empty());
    const api::DocumentNode& place = At(result, {"locations", "0", "physicalLocation"});
    EXPECT_EQ(At(place, {"artifactLocation", "uri"}).text, "%3Cstdin%3E");
    EXPECT_NE(At(place, {"region", "startLine"}).text, "0");
    EXPECT_FALSE(At(result, {"partialFingerprints", "drayFinding/v1"}).text.empty());
  }
  EXPECT_TRUE(At(run, {"invocations", "0", "executionSuccessful"}).boolean);
}

TEST(Sarif, FingerprintsStayWhenLinesMove) {
  const auto prints = [](const std::string& yaml) {
    std::vector<std::string> all;
    const api::DocumentNode document = Parsed(ValidateAs("sarif", yaml).out);
    for (const api::DocumentNode& result : At(document, {"runs", "0", "results"}).items) {
      all.push_back(At(result, {"partialFingerprints", "drayFinding/v1"}).text);
    }
    return all;
  };
  const auto before = prints(std::string(kTwoFaults));
  EXPECT_EQ(prints("# a comment\n" + std::string(kTwoFaults)), before);
  EXPECT_GE(before.size(), 2U);
}

TEST(Sarif, NothingFoundIsADocumentToo) {
  const Outcome outcome = ValidateAs(
      "sarif", "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: good}\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_TRUE(At(Parsed(outcome.out), {"runs", "0", "results"}).items.empty());
}

TEST(JUnit, ACaseIsAnObjectAndItsErrorsAreOneFailure) {
  const Outcome outcome = ValidateAs("junit", kTwoFaults);
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "),
                    HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""),
                    HasSubstr("<testsuite name=\"&lt;stdin&gt;\" "),
                    HasSubstr("<testcase name=\"resource.k8s.io/v1 DeviceClass good\" "),
                    HasSubstr("<failure type=\""), HasSubstr("expected an integer, got the string"),
                    HasSubstr("<skipped message=\""), HasSubstr("</testsuites>\n")));
}

TEST(JUnit, WhatCannotBeReadIsAnError) {
  const Outcome outcome = ValidateAs("junit", "a: [\n");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("errors=\"1\""), HasSubstr("<error type=\"")));
}

// Names come from files that somebody else wrote.
TEST(JUnit, MarkupInNamesStaysText) {
  const Outcome outcome = ValidateAs("junit", R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: "</testcase><script>&\u0001"}
)");
  EXPECT_THAT(outcome.out, AllOf(Not(HasSubstr("<script>")), HasSubstr("&lt;script&gt;&amp;"),
                                 Not(HasSubstr("\x01"))));
}

}  // namespace
}  // namespace dray::cli

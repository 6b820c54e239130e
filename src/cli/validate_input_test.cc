// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` as its users meet it: what it reads.
#include "cli/validate.h"

#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "cli/validate_for_test.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Validate, ObjectsOfSeveralFilesAreLookedAtTogether) {
  const TempFolder folder;
  const std::string classes = folder.Write("classes.yaml", kGoodClass);
  const std::string claims = folder.Write("claims.yaml", R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: foo}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.exmaple.com}}]}}
)");
  const Outcome outcome = RunLine({"validate", "-f", classes, "-f", claims});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, AllOf(StartsWith(claims + ":4:"), HasSubstr("\"gpu.example.com\"?")));
  EXPECT_EQ(outcome.err, "2 objects in 2 files: 1 error, 0 warnings\n");
}

TEST(Validate, ADuplicateSaysWhereTheOtherOneIs) {
  const TempFolder folder;
  const std::string a = folder.Write("a.yaml", kGoodClass);
  const std::string b = folder.Write("b.yaml", kGoodClass);
  const Outcome outcome = RunLine({"validate", "-f", folder.path()});
  EXPECT_THAT(outcome.out, AllOf(StartsWith(b + ":4:3: error"), HasSubstr("(see " + a + ":1:1)")));
}

TEST(Validate, AMissingFileIsUnusableAndTheOthersAreStillChecked) {
  const TempFolder folder;
  const std::string claim = folder.Write("claim.yaml", kBadClaim);
  const Outcome outcome = RunLine({"validate", "-f", folder.path() + "/none", "-f", claim});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("none: error: No such file or directory"),
                                 HasSubstr("must be greater than zero")));
  EXPECT_EQ(outcome.err, "1 object in 1 file: 2 errors, 0 warnings\n");
}

TEST(Validate, BrokenYamlIsUnusableAndWhatStandsBeforeItIsChecked) {
  const Outcome outcome = ValidateText(std::string(kBadClaim) + "---\na: [1\nb: }\n");
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("must be greater than zero"), HasSubstr("<stdin>:1")));
}

TEST(Validate, ProseIsUnusable) {
  const Outcome outcome = ValidateText("Dear reader, this is no manifest.\n");
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.out, StartsWith("<stdin>:1:1: error: "));
}

TEST(Validate, AnEmptyFileIsAWarning) {
  const Outcome outcome = ValidateText("# nothing but a comment\n");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "<stdin>:1:1: warning: this file contains no object\n");
}

// As two answers of `kubectl get -o json` in one file, which kubectl reads.
TEST(Validate, ReadsJsonObjectsOneAfterTheOther) {
  const auto with_name = [](std::string_view name) {
    return fmt::format(
        "{{\"apiVersion\": \"resource.k8s.io/v1\", \"kind\": \"DeviceClass\",\n"
        "  \"metadata\": {{\"name\": \"{}\", \"annotations\": {{\"a\": \"}}\\\"{{\"}}}}}}",
        name);
  };
  const TempFolder folder;
  const std::string file =
      folder.Write("dump.json", with_name("a") + "\n" + with_name("b") + with_name("UPPER") + "\n");
  const Outcome outcome = RunLine({"validate", "-f", file});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, StartsWith(file + ":5:"));
  EXPECT_EQ(outcome.err, "3 objects in 1 file: 1 error, 0 warnings\n");
  // Standard input has no name that says what it is.
  EXPECT_EQ(ValidateText(with_name("a") + "\n" + with_name("b")).code, kExitOk);
  const std::string broken = folder.Write("broken.json", with_name("a") + "\n  {\"x\": }\n");
  const Outcome refused = RunLine({"validate", "-f", broken});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_THAT(refused.out, StartsWith(broken + ":3:9: error: not valid JSON: "));
  const std::string stray = folder.Write("stray.json", with_name("a") + " garbage");
  EXPECT_THAT(RunLine({"validate", "-f", stray}).out,
              HasSubstr("more text after the end of the document"));
}

// Go writes null for a list that was never filled.
TEST(Validate, AListMayBeNull) {
  const Outcome outcome = ValidateText(R"({"apiVersion":"v1","kind":"PodList","items":null})");
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.err, "0 objects in 1 file: 0 errors, 0 warnings\n");
}

TEST(Validate, AListInsideOfAListIsTold) {
  const Outcome outcome = ValidateText(
      R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]}]})");
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("a List inside of a List is not read, here as by kubectl"),
                    HasSubstr("put its items into the outer List")));
}

TEST(Validate, ReadsJson) {
  const TempFolder folder;
  const std::string file =
      folder.Write("claim.json",
                   "{\n\t\"apiVersion\": \"resource.k8s.io/v1\",\n\t\"kind\": \"DeviceClass\",\n"
                   "\t\"metadata\": {\"name\": \"UPPER\"}\n}\n");
  const Outcome outcome = RunLine({"validate", "-f", file});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, AllOf(StartsWith(file + ":4:"), HasSubstr("did you mean \"upper\"?")));
}

TEST(Validate, BrokenJsonIsUnusable) {
  const TempFolder folder;
  const std::string file = folder.Write("claim.json", "{\"apiVersion\": }\n");
  EXPECT_EQ(RunLine({"validate", "-f", file}).code, kExitUsage);
}

TEST(Validate, ATypedListNeedsNotRepeatItsKind) {
  const Outcome outcome = ValidateText(R"(apiVersion: resource.k8s.io/v1
kind: DeviceClassList
items:
- metadata: {name: UPPER}
)");
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, HasSubstr("resource.k8s.io/v1 DeviceClass UPPER"));
}

TEST(Validate, AnItemOfAListThatIsNoObjectIsAnError) {
  const Outcome outcome =
      ValidateText("apiVersion: v1\nkind: List\nitems:\n- hello\n- " +
                   std::string("{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n"));
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.out, "<stdin>:4:3: error: expected an object with apiVersion and kind\n");
}

TEST(Validate, AListWithoutAListOfItemsIsAnError) {
  EXPECT_EQ(ValidateText("apiVersion: v1\nkind: List\nitems: {}\n").code, kExitFindings);
  EXPECT_EQ(ValidateText("apiVersion: v1\nkind: List\nitems: []\n").code, kExitOk);
}

TEST(Validate, LinesMayEndAsOnWindows) {
  EXPECT_EQ(ValidateText("\xEF\xBB\xBF"
                         "apiVersion: resource.k8s.io/v1\r\nkind: DeviceClass\r\nmetadata:\r\n  "
                         "name: a\r\n",
                         {"--strict"})
                .err,
            "1 object in 1 file: 0 errors, 0 warnings\n");
}

TEST(Validate, AForeignKindIsSkippedWithOneNote) {
  const std::string widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n";
  const Outcome outcome = ValidateText(widget + "---\n" + widget);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "<stdin>:2:1: note: skipped 2 objects of a kind that dray does not check: Widget\n");
  EXPECT_EQ(outcome.err, "2 objects in 1 file, 2 skipped: 0 errors, 0 warnings\n");
}

// A dump with thousands of pods that lack one template says so once.
TEST(Validate, WhatIsSaidOfManyObjectsIsSaidOnce) {
  std::string yaml =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: some}\nspec: "
      "{spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu}}]}}}\n";
  for (int i = 0; i < 20; ++i) {
    yaml += fmt::format(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{}}}\nspec:\n  containers: [{{name: c, "
        "image: i, resources: {{claims: [{{name: g}}]}}}}]\n  resourceClaims: [{{name: g, "
        "resourceClaimTemplateName: none}}]\n",
        i);
  }
  const Outcome outcome = ValidateText(yaml);
  std::size_t lines = 0;
  for (const char c : outcome.out) lines += c == '\n' ? 1 : 0;
  EXPECT_LE(lines, 6U) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("19 more Pods like it, the last at <stdin>:"));
}

struct KindCase {
  std::string name;
  std::string api_version;
  std::string kind;
  std::string want;  // in the output
  int code = kExitFindings;
  friend void PrintTo(const KindCase& c, std::ostream* os) { *os << c.name; }
};
class UnknownKindTest : public ::testing::TestWithParam<KindCase> {};

TEST_P(UnknownKindTest, IsASlipOrSomebodyElses) {
  const KindCase& c = GetParam();
  std::string text = "metadata: {name: x}\n";
  if (!c.api_version.empty()) text += "apiVersion: " + c.api_version + "\n";
  if (!c.kind.empty()) text += "kind: " + c.kind + "\n";
  const Outcome outcome = ValidateText(text);
  EXPECT_EQ(outcome.code, c.code) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(c.want));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, UnknownKindTest,
    ::testing::ValuesIn(std::vector<KindCase>{
        {.name = "misspelt_kind",
         .api_version = "resource.k8s.io/v1",
         .kind = "ResourceClam",
         .want = "did you mean resource.k8s.io/v1 ResourceClaim?"},
        {.name = "lower_case_kind",
         .api_version = "resource.k8s.io/v1",
         .kind = "resourceclaim",
         .want = "did you mean resource.k8s.io/v1 ResourceClaim?"},
        {.name = "plural",
         .api_version = "resource.k8s.io/v1",
         .kind = "resourceclaims",
         .want = "did you mean resource.k8s.io/v1 ResourceClaim?"},
        {.name = "misspelt_group",
         .api_version = "resources.k8s.io/v1",
         .kind = "DeviceClass",
         .want = "DeviceClass is known in resource.k8s.io/v1"},
        {.name = "no_group",
         .api_version = "v1",
         .kind = "DeviceClass",
         .want = "DeviceClass is known in resource.k8s.io/v1"},
        {.name = "old_version",
         .api_version = "resource.k8s.io/v1alpha2",
         .kind = "DeviceClass",
         .want = "DeviceClass is known in resource.k8s.io/v1"},
        {.name = "no_kind", .api_version = "v1", .want = "kind is missing"},
        {.name = "no_api_version", .kind = "Pod", .want = "apiVersion is missing"},
        {.name = "another_groups_job",
         .api_version = "batch.volcano.sh/v1alpha1",
         .kind = "Job",
         .want = "note: ",
         .code = kExitOk},
        {.name = "a_roll_is_no_rule",
         .api_version = "bakery.example.com/v1",
         .kind = "Roll",
         .want = "note: ",
         .code = kExitOk},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::cli

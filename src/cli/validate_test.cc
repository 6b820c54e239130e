// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` as its users meet it.
#include "cli/validate.h"

#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_test_support.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kGoodClass = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec: {}
)";

constexpr std::string_view kBadClaim = R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: foo
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: -1
)";

constexpr std::string_view kUnknownField = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selector: []
)";

Outcome ValidateText(std::string_view text, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"validate", "-f", "-"};
  args.insert(args.end(), flags.begin(), flags.end());
  return RunLine(args, {.in = std::string(text)});
}

TEST(Validate, ACleanObjectSaysOnlyTheSummary) {
  const Outcome outcome = ValidateText(kGoodClass);
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "1 object in 1 file: 0 errors, 0 warnings\n");
}

TEST(Validate, AnErrorHasPlaceObjectFieldValueAndRule) {
  const Outcome outcome = ValidateText(kBadClaim);
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(
      outcome.out,
      "<stdin>:11:9: error: resource.k8s.io/v1 ResourceClaim default/foo: "
      "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero\n");
  EXPECT_EQ(outcome.err, "1 object in 1 file: 1 error, 0 warnings\n");
}

TEST(Validate, AnUnknownFieldIsAnErrorAndAWarningWhenNotStrict) {
  const Outcome lax = ValidateText(kUnknownField, {"--strict=false"});
  EXPECT_EQ(lax.code, kExitOk);
  EXPECT_EQ(lax.out,
            "<stdin>:6:3: warning: resource.k8s.io/v1 DeviceClass gpu.example.com: unknown field "
            "\"spec.selector\"\n  hint: did you mean selectors?\n");
  EXPECT_EQ(lax.err, "1 object in 1 file: 0 errors, 1 warning\n");
  EXPECT_EQ(ValidateText(kUnknownField, {"--strict"}).code, kExitFindings);
  const Outcome strict = ValidateText(kUnknownField);
  EXPECT_EQ(strict.code, kExitFindings);
  EXPECT_THAT(strict.out, StartsWith("<stdin>:6:3: error: "));
}

TEST(Validate, AFieldGivenTwiceIsAnErrorAndAWarningWhenNotStrict) {
  const std::string text = std::string(kGoodClass) + "spec: {}\n";
  EXPECT_THAT(ValidateText(text, {"--strict=false"}).out, HasSubstr("warning"));
  EXPECT_EQ(ValidateText(text).code, kExitFindings);
}

// What `dray up` refuses: one source of rules.
TEST(Validate, AWorkloadIsHeldToTheServersRules) {
  const Outcome outcome = ValidateText(R"(apiVersion: v1
kind: Pod
metadata: {name: no-containers}
spec:
  contianers: [{name: c, image: x}]
---
apiVersion: v1
kind: Pod
metadata: {name: many-slips}
spec:
  restartPolicy: always
  containers:
  - name: C_1
    image: ""
    resources: {requests: {cpu: 2}, limits: {cpu: 1}}
  resourceClaims:
  - {name: gpu, resourceClaimName: a, resourceClaimTemplateName: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: -1
  strategy: {type: Foo}
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers: [{name: c, image: x}]
)");
  EXPECT_EQ(outcome.code, kExitFindings);
  for (const char* said :
       {"unknown field \"spec.contianers\"", "spec.containers: Required value",
        "spec.containers[0].name: Invalid value: \"C_1\"",
        "spec.containers[0].image: Required value", "must be less than or equal to cpu limit of 1",
        "spec.restartPolicy: Unsupported value", "at most one of `resourceClaimName`",
        "spec.replicas: Invalid value: -1", "spec.strategy.type: Unsupported value: \"Foo\"",
        "`selector` does not match template `labels`"}) {
    EXPECT_THAT(outcome.out, HasSubstr(said));
  }
}

TEST(Validate, AClaimThatAPodDoesNotHaveIsOneErrorNotTwo) {
  const Outcome outcome = ValidateText(R"(apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: x, resources: {claims: [{name: gpus}]}}
  resourceClaims: [{name: gpu, resourceClaimName: a}]
)");
  EXPECT_THAT(outcome.out, HasSubstr("resources.claims[0]: Not found: \"gpus\""));
  EXPECT_THAT(outcome.out, HasSubstr("hint: did you mean \"gpu\"?"));
  EXPECT_THAT(outcome.err, HasSubstr("1 error, 0 warnings"));
}

TEST(Validate, AWrongTypeIsOneErrorNotTwo) {
  const Outcome outcome = ValidateText(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: foo}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: 7}
)");
  EXPECT_EQ(outcome.err, "1 object in 1 file: 1 error, 0 warnings\n");
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("expected a string, got the number 7"),
                                 HasSubstr("hint: put it in quotes")));
}

TEST(Validate, AStatusIsCheckedAsAStatusUpdate) {
  const Outcome outcome = ValidateText(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: foo}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
status:
  allocation:
    devices:
      results:
      - {request: nic, driver: gpu.example.com, pool: p, device: d}
)");
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("<stdin>:13:10: error: "),
                    HasSubstr("status.allocation.devices.results[0].request: Invalid value: ")));
  EXPECT_EQ(outcome.err, "1 object in 1 file: 1 error, 0 warnings\n");
}

TEST(Validate, WhatTheServerFillsInIsNotMissing) {
  const Outcome outcome = ValidateText(R"(apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {generateName: foo-}
  spec: {devices: {requests: []}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {generateName: foo-}
  spec: {devices: {requests: []}}
)");
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "2 objects in 1 file: 0 errors, 0 warnings\n");
}

TEST(Validate, AFieldOfADisabledFeatureIsAWarning) {
  constexpr std::string_view kClass = R"(apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  extendedResourceName: example.com/gpu
)";
  EXPECT_THAT(ValidateText(kClass).out, IsEmpty());
  const Outcome outcome = ValidateText(kClass, {"--feature-gates", "DRAExtendedResource=false"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "<stdin>:5:3: warning: resource.k8s.io/v1 DeviceClass gpu.example.com: "
            "spec.extendedResourceName: the server drops this field: feature gate "
            "DRAExtendedResource is off\n"
            "  hint: --feature-gates=DRAExtendedResource=true checks it as if it were on\n");
}

TEST(Validate, WrongGatesAreAUsageError) {
  const Outcome outcome = ValidateText(kGoodClass, {"--feature-gates", "NoSuchGate=true"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("error: --feature-gates: "), HasSubstr("NoSuchGate")));
}

TEST(Validate, SeveralGateFlagsAddUp) {
  const Outcome outcome = ValidateText(kGoodClass, {"--feature-gates=DRAExtendedResource=false",
                                                    "--feature-gates=DRADerivedAttributes=false"});
  EXPECT_EQ(outcome.code, kExitOk);
}

TEST(Validate, AGateThatGoesOffWithAnotherIsNoted) {
  const Outcome outcome = ValidateText(kGoodClass, {"--feature-gates=DRAConsumableCapacity=false"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.err, StartsWith("note: feature gate DRAFractionalCapacityRange is off, too: "
                                      "it needs DRAConsumableCapacity, which is off\n"));
  const Outcome both = ValidateText(kGoodClass, {"--feature-gates=DRAConsumableCapacity=false,"
                                                 "DRAFractionalCapacityRange=true"});
  EXPECT_EQ(both.code, kExitUsage);
  EXPECT_THAT(both.err, HasSubstr("DRAFractionalCapacityRange is on but needs "
                                  "DRAConsumableCapacity, which is off"));
}

// KEP-6080 "Feature Enablement and Rollback": no new claims with derived attributes.
constexpr std::string_view kDerived = R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: foo}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        derivedAttributes: [{name: gpu.example.com/numa, expression: "1"}]
    constraints: [{matchAttribute: gpu.example.com/numa}]
)";
TEST(Validate, DerivedAttributesAreRefusedWhileTheirGateIsOff) {
  EXPECT_EQ(ValidateText(kDerived).code, kExitOk);
  const Outcome outcome = ValidateText(kDerived, {"--feature-gates=DRADerivedAttributes=false"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.out,
            "<stdin>:10:9: error: resource.k8s.io/v1 ResourceClaim default/foo: "
            "spec.devices.requests[0].exactly.derivedAttributes: Forbidden: needs the feature gate "
            "DRADerivedAttributes, which is off\n");
}

// What only dray accepts is fine here and an error on a cluster of Kubernetes.
TEST(Validate, ForKubernetesWhatOnlyDrayAcceptsIsAnError) {
  const std::vector<std::string> kubernetes = {"--for", "kubernetes",
                                               "--feature-gates=AllAlpha=true"};
  const auto claim = [](std::string_view request, std::string_view rest = "") {
    return fmt::format(R"(apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: foo}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.example.com, {}}}}}]{}}}}}
)",
                       request, rest);
  };
  const auto slice = [](std::string_view attribute) {
    return fmt::format(R"(apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: s}}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {{name: p, generation: 1, resourceSliceCount: 1}}
  devices: [{{name: gpu-0, attributes: {{roots: {{{}}}}}}}]
)",
                       attribute);
  };
  const std::vector<std::string> only_dray = {
      claim(R"(derivedAttributes: [{name: half, expression: "1"}])",
            ", constraints: [{matchAttribute: half}]"),
      claim(R"(derivedAttributes: [{name: a.example.com/unused, expression: "1"}])"),
      claim(R"(selectors: [{cel: {expression: 'device.name == "a"'}}])"),
      claim(R"(selectors: [{cel: {expression: 'device.attributes["a.b"].c.include("x")'}}])"),
      slice("list: {string: [a, b]}"),
  };
  for (const std::string& yaml : only_dray) {
    const Outcome here = ValidateText(yaml);
    EXPECT_EQ(here.code, kExitOk) << here.out;
    const Outcome there = ValidateText(yaml, kubernetes);
    EXPECT_EQ(there.code, kExitFindings) << yaml << there.out;
    EXPECT_THAT(there.out, HasSubstr(": error: "));
  }
  const std::vector<std::string> both = {
      std::string(kDerived),
      claim(R"(selectors: [{cel: {expression: 'device.attributes["a.b"].c.includes("x")'}}])"),
      slice("strings: [a, b]"),
  };
  for (const std::string& yaml : both) {
    const Outcome there = ValidateText(yaml, kubernetes);
    EXPECT_EQ(there.code, kExitOk) << yaml << there.out;
  }
  // Without more words a v1.37 cluster has its own gates, and drops what they do not allow.
  EXPECT_THAT(ValidateText(kDerived, {"--for", "kubernetes"}).out,
              HasSubstr("the server drops this field: feature gate DRADerivedAttributes is off"));
}

TEST(Validate, ForKubernetesFieldsOfTheProposalsAreErrors) {
  const Outcome outcome = ValidateText(R"(apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {limits: {example.com/gpu: 1}}}]}
status:
  extendedResourceClaimStatus:
    resourceClaimName: p-1
    requestMapping: [{containerName: c, extendedResourceName: example.com/gpu, requestName: r}]
)",
                                       {"--for=kubernetes"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out, HasSubstr("<stdin>:8:5: error: v1 Pod default/p: "
                                     "status.extendedResourceClaimStatus.requestMapping: "
                                     "Kubernetes does not have this field"));
}

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
  EXPECT_EQ(outcome.out, "<stdin>:1:1: warning: there is no object in this file\n");
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
        {.name = "a_role_is_no_rule",
         .api_version = "rbac.authorization.k8s.io/v1",
         .kind = "Role",
         .want = "note: ",
         .code = kExitOk},
    }),
    [](const auto& info) { return info.param.name; });

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

}  // namespace
}  // namespace dray::cli

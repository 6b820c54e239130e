// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` as its users meet it: what it finds.
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
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace dray::cli

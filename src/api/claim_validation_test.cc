// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules for claims, one test each (docs/decisions.md).
#include "api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/validation_for_test.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A claim whose devices are given.
std::string ClaimWith(const std::string& devices) {
  return R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default}
spec:
  devices:
)" + devices;
}

// A claim with one exact request that derives attributes, and with constraints.
std::string Deriving(const std::string& derived, const std::string& constraints) {
  return ClaimWith(fmt::format(R"(
    requests:
    - name: gpu
      exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: 2, derivedAttributes: {}}}
    - name: nic
      exactly: {{deviceClassName: nic, allocationMode: ExactCount, count: 1}}
    constraints: {}
)",
                               derived, constraints));
}

TEST(DerivedAttributes, NamesMayBeBareOrQualified) {
  for (const char* name : {"shared-numa-node", "numaNode", "_x1", "example.com/numaNode"}) {
    EXPECT_THAT(CreateErrors(Deriving(fmt::format("[{{name: {}, expression: '1'}}]", name),
                                      fmt::format("[{{matchAttribute: {}}}]", name))),
                IsEmpty())
        << name;
  }
}

TEST(DerivedAttributes, OtherNamesAreInvalid) {
  for (const char* name : {"Shared-Numa", "-x", "example.com/numa-node", "Example.com/numa"}) {
    EXPECT_THAT(CreateErrors(Deriving(fmt::format("[{{name: {}, expression: '1'}}]", name), "[]")),
                ElementsAre("FieldValueInvalid "
                            "spec.devices.requests[0].exactly.derivedAttributes[0].name"))
        << name;
  }
}

TEST(DerivedAttributes, OneThatNoConstraintUsesIsAccepted) {
  const std::string yaml = Deriving("[{name: example.com/numa, expression: '1'}]", "[]");
  EXPECT_THAT(CreateErrors(yaml), IsEmpty());
  EXPECT_THAT(CreateErrors(yaml, {.kubernetes_only = true}),
              ElementsAre("FieldValueInvalid "
                          "spec.devices.requests[0].exactly.derivedAttributes[0].name"));
}

TEST(DerivedAttributes, NewOnesNeedTheirGate) {
  ValidationOptions off;
  off.gates.Set(Gate::kDRADerivedAttributes, false);
  const std::string claim = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default}
spec:
  devices:
    requests:
    - name: r
      firstAvailable:
      - name: s
        deviceClassName: c
        allocationMode: ExactCount
        count: 1
        derivedAttributes: [{name: gpu.example.com/numa, expression: "1"}]
    constraints: [{matchAttribute: gpu.example.com/numa}]
)";
  EXPECT_THAT(CreateErrors(claim), IsEmpty());
  EXPECT_THAT(CreateErrors(claim, off),
              ElementsAre("FieldValueForbidden "
                          "spec.devices.requests[0].firstAvailable[0].derivedAttributes"));
  // One that is stored stays usable.
  Object stored = Parse(claim);
  stored.MutableMetadata().resource_version = "1";
  Object labelled = stored;
  labelled.MutableMetadata().labels["a"] = "b";
  EXPECT_THAT(ValidateUpdate(labelled, stored, off), IsEmpty());
  // Otherwise it could never be deleted.
  Object held = stored;
  held.MutableMetadata().finalizers = {"resource.kubernetes.io/delete-protection"};
  EXPECT_THAT(ValidateUpdate(stored, held, off), IsEmpty());
}

// KEP-6080: bare names need the gate, because only derived attributes have them.
TEST(DerivedAttributes, WithoutTheirGateBareNamesAreRefusedInBothConstraints) {
  ValidationOptions off;
  off.gates.Set(Gate::kDRADerivedAttributes, false);
  EXPECT_THAT(
      CreateErrors(Deriving("[]", "[{matchAttribute: numa}, {distinctAttribute: numa}]"), off),
      ElementsAre("FieldValueInvalid spec.devices.constraints[0].matchAttribute",
                  "FieldValueInvalid spec.devices.constraints[1].distinctAttribute"));
}

TEST(DerivedAttributes, AreAtMost32) {
  std::string derived = "[";
  for (int i = 0; i < 33; ++i) {
    derived += fmt::format("{}{{name: a{}, expression: '1'}}", i == 0 ? "" : ", ", i);
  }
  EXPECT_THAT(CreateErrors(Deriving(derived + "]", "[]")),
              ElementsAre("FieldValueTooMany spec.devices.requests[0].exactly.derivedAttributes"));
}

// KEP-5075: a constraint has exactly one.
TEST(Constraints, MatchAndDistinctInOneAreRefused) {
  const ErrorList errors =
      ValidateCreate(Parse(Deriving("[]",
                                    "[{matchAttribute: a.example.com/x, distinctAttribute: "
                                    "a.example.com/y}]")),
                     {});
  ASSERT_THAT(Keys(errors), ElementsAre("FieldValueInvalid spec.devices.constraints[0]"));
  EXPECT_THAT(errors[0].detail, HasSubstr("not both"));
}

TEST(Constraints, ABareNameMustBeDerivedBecauseStaticAttributesNeedTheirDomain) {
  const ErrorList errors = ValidateCreate(Parse(Deriving("[]", "[{matchAttribute: numa}]")), {});
  ASSERT_THAT(Keys(errors),
              ElementsAre("FieldValueInvalid spec.devices.constraints[0].matchAttribute"));
  EXPECT_THAT(errors[0].detail, HasSubstr("needs its domain"));
  EXPECT_THAT(errors[0].detail, HasSubstr("gpu.example.com/numa"));
}

TEST(Constraints, ABareNameMustBeDerivedByARequestThatTheConstraintCovers) {
  const char* derived = "[{name: numa, expression: '1'}]";
  EXPECT_THAT(CreateErrors(Deriving(derived, "[{requests: [gpu], distinctAttribute: numa}]")),
              IsEmpty());
  EXPECT_THAT(CreateErrors(Deriving(derived, "[{requests: [nic], distinctAttribute: numa}]")),
              ElementsAre("FieldValueInvalid spec.devices.constraints[0].distinctAttribute"));
}

TEST(Constraints, ABareNameMayBeDerivedByASubrequest) {
  const auto yaml = [](const char* requests) {
    return ClaimWith(fmt::format(R"(
    requests:
    - name: gpu
      firstAvailable:
      - name: big
        deviceClassName: gpu
        allocationMode: All
        derivedAttributes: [{{name: numa, expression: '1'}}]
      - {{name: small, deviceClassName: gpu, allocationMode: All}}
    constraints: [{{requests: {}, matchAttribute: numa}}]
)",
                                 requests));
  };
  EXPECT_THAT(CreateErrors(yaml("[gpu]")), IsEmpty());
  EXPECT_THAT(CreateErrors(yaml("[gpu/big]")), IsEmpty());
  EXPECT_THAT(CreateErrors(yaml("[gpu/small]")),
              ElementsAre("FieldValueInvalid spec.devices.constraints[0].matchAttribute"));
}

TEST(Requests, OneOfNoTypeIsAnError) {
  EXPECT_THAT(CreateErrors(ClaimWith("    requests: [{name: gpu}]\n")),
              ElementsAre("FieldValueRequired spec.devices.requests[0]"));
}

// Answers as told; expressions that it was not told about cost nothing.
class FakeChecker final : public ExpressionChecker {
 public:
  std::map<std::string, Result, std::less<>> results;

  Result Check(std::string_view expression, Purpose, const FeatureGates&) const override {
    const auto it = results.find(expression);
    return it == results.end() ? Result{} : it->second;
  }
};

constexpr char kDerived0[] = "spec.devices.requests[0].exactly.derivedAttributes[0]";

TEST(Expressions, WhatTheCompilerSaysIsReported) {
  FakeChecker checker;
  checker.results["bad"] = {.error = "no such variable"};
  checker.results["odd"] = {.error = "out of registers", .internal = true};
  const ErrorList errors = ValidateCreate(
      Parse(Deriving("[{name: a, expression: bad}, {name: b, expression: odd}]", "[]")),
      {.expressions = &checker});
  EXPECT_THAT(Keys(errors),
              ElementsAre(fmt::format("FieldValueInvalid {}.expression", kDerived0),
                          "InternalError spec.devices.requests[0].exactly.derivedAttributes[1]"
                          ".expression"));
  EXPECT_EQ(errors[0].detail, "no such variable");
}

TEST(Expressions, OneThatCostsTooMuchIsForbidden) {
  FakeChecker checker;
  checker.results["dear"] = {.max_cost = 1'000'001};
  EXPECT_THAT(CreateErrors(ClaimWith(R"(
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, allocationMode: All, selectors: [{cel: {expression: dear}}]}
)"),
                           {.expressions = &checker}),
              ElementsAre("FieldValueForbidden "
                          "spec.devices.requests[0].exactly.selectors[0].cel.expression"));
}

TEST(Expressions, TheDerivedAttributesOfAClaimShareOneBudget) {
  FakeChecker checker;
  checker.results["half"] = {.max_cost = 500'000};
  checker.results["more"] = {.max_cost = 500'001};
  const auto yaml = [](const char* second) {
    return Deriving(
        fmt::format("[{{name: a, expression: half}}, {{name: b, expression: {}}}]", second), "[]");
  };
  EXPECT_THAT(CreateErrors(yaml("half"), {.expressions = &checker}), IsEmpty());
  EXPECT_THAT(CreateErrors(yaml("more"), {.expressions = &checker}),
              ElementsAre("FieldValueForbidden spec.devices"));
}

std::string Asking(const std::string& amount) {
  return ClaimWith(fmt::format(R"(
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        allocationMode: ExactCount
        count: 1
        capacity: {{requests: {{memory: {}}}}}
)",
                               amount));
}

TEST(CapacityRequests, AreFromZeroToWhat64BitsHold) {
  const char* at = "FieldValueInvalid spec.devices.requests[0].exactly.capacity.requests[memory]";
  EXPECT_THAT(CreateErrors(Asking("0")), IsEmpty());
  EXPECT_THAT(CreateErrors(Asking("'9223372036854775807'")), IsEmpty());
  EXPECT_THAT(CreateErrors(Asking("'-1'")), ElementsAre(at));
  EXPECT_THAT(CreateErrors(Asking("'9223372036854775808'")), ElementsAre(at));
  EXPECT_THAT(CreateErrors(Asking("'-1'"), {.kubernetes_only = true}), IsEmpty());
}

std::string Template(const std::string& amount, const std::string& label) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: t, namespace: default, uid: u, resourceVersion: '1', labels: {{l: {}}}}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        firstAvailable:
        - name: a
          deviceClassName: gpu
          allocationMode: All
          capacity: {{requests: {{memory: {}}}}}
)",
                     label, amount);
}

TEST(CapacityRequests, AStoredTemplateWithABadOneCanStillBeLabelled) {
  EXPECT_THAT(CreateErrors(Template("'-1'", "a")),
              ElementsAre("FieldValueInvalid spec.spec.devices.requests[0].firstAvailable[0]"
                          ".capacity.requests[memory]"));
  EXPECT_THAT(Keys(ValidateUpdate(Parse(Template("'-1'", "b")), Parse(Template("'-1'", "a")), {})),
              IsEmpty());
}

// A claim with an allocation whose only result has more fields.
std::string Allocated(const std::string& fields) {
  return R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default, uid: u, resourceVersion: '1'}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]
)" + (fields.empty() ? ""
                     : "status: {allocation: {devices: {results: [{request: gpu, driver: "
                       "gpu.example.com, pool: p, device: d, " +
                           fields + "}]}}}\n");
}

std::vector<std::string> AllocationErrors(const std::string& fields,
                                          ValidationOptions options = {}) {
  return Keys(ValidateStatusUpdate(Parse(Allocated(fields)), Parse(Allocated("")), options));
}

TEST(ConsumedCapacity, IsFromZeroToWhat64BitsHold) {
  const char* at =
      "FieldValueInvalid status.allocation.devices.results[0].consumedCapacity[memory]";
  EXPECT_THAT(AllocationErrors("consumedCapacity: {memory: 1Gi}"), IsEmpty());
  EXPECT_THAT(AllocationErrors("consumedCapacity: {memory: '-1'}"), ElementsAre(at));
  EXPECT_THAT(AllocationErrors("consumedCapacity: {memory: '9223372036854775808'}"),
              ElementsAre(at));
}

TEST(GroupSnapshots, NameCounterSetsAndTheirGroups) {
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {set: [a, b], other: []}"), IsEmpty());
  const std::string at = "status.allocation.devices.results[0].compatibilityGroups";
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {Bad: [a]}"),
              ElementsAre("FieldValueInvalid " + at));
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {set: [a, Bad]}"),
              ElementsAre("FieldValueInvalid " + at + "[set][1]"));
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {set: [a, a]}"),
              ElementsAre("FieldValueDuplicate " + at + "[set][1]"));
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {set: [a, b, c]}"),
              ElementsAre("FieldValueTooMany " + at + "[set]"));
}

TEST(GroupSnapshots, NeedTheirGate) {
  ValidationOptions options;
  options.gates.Set(Gate::kDRADeviceCompatibilityGroups, false);
  EXPECT_THAT(AllocationErrors("compatibilityGroups: {set: [a]}", options),
              ElementsAre("FieldValueForbidden "
                          "status.allocation.devices.results[0].compatibilityGroups"));
}

}  // namespace
}  // namespace dray::api

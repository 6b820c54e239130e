// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules, one test each (docs/decisions.md). Kubernetes's rules are tested by its
// recorded cases: dray_conformance validation.
#include "api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "api/kinds.h"
#include "api/pod.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An object from YAML; every test's text is right, so nothing may be said about it.
Object Parse(const std::string& yaml) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(yaml, diagnostics);
  const std::vector<ObjectNode> nodes = ObjectsIn(documents.at(0), diagnostics);
  std::optional<Object> object = DecodeObject(nodes.at(0), Severity::kError, diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty()) << yaml;
  return *std::move(object);
}

// "FieldValueInvalid spec.driver" for each fault.
std::vector<std::string> Keys(const ErrorList& errors) {
  std::vector<std::string> keys;
  for (const FieldError& error : errors) {
    keys.push_back(fmt::format("{} {}", ReasonOf(error.type), error.field.ToString()));
  }
  return keys;
}

std::vector<std::string> CreateErrors(const std::string& yaml, ValidationOptions options = {}) {
  return Keys(ValidateCreate(Parse(yaml), options));
}

// A slice with one device, whose attributes are given.
std::string SliceWith(const std::string& attributes) {
  return R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpu.example.com
  nodeName: node
  pool: {name: node, resourceSliceCount: 1}
  devices:
  - name: gpu
    attributes: )" +
         attributes + "\n";
}

// A flow list of `n` items.
std::string Items(const std::string& item, int n) {
  std::string text = "[";
  for (int i = 0; i < n; ++i) text += (i == 0 ? "" : ", ") + item;
  return text + "]";
}

constexpr char kAttribute[] = "spec.devices[0].attributes[a]";

TEST(ListAttributes, TheProposalsFormIsAMemberOfTheUnion) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {string: [b, c]}}, b: {list: {int: [1]}}, "
                                     "c: {list: {bool: [true]}}, d: {list: {version: [1.2.3]}}}")),
              IsEmpty());
}

TEST(ListAttributes, TheProposalsFormNextToAnotherMemberIsInvalid) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {string: x, list: {string: [b]}}}")),
              ElementsAre(fmt::format("FieldValueInvalid {}", kAttribute)));
}

TEST(ListAttributes, TheProposalsFormHasExactlyOneList) {
  const std::string wanted = fmt::format("FieldValueInvalid {}.list", kAttribute);
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {}}}")), ElementsAre(wanted));
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {int: [1], bool: [true]}}}")),
              ElementsAre(wanted));
}

TEST(ListAttributes, AListInTheProposalsFormIsNotEmpty) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {string: []}}}")),
              ElementsAre(fmt::format("FieldValueInvalid {}.list.string", kAttribute)));
}

TEST(ListAttributes, AListInTheProposalsFormHasAtMost64Items) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {int: " + Items("1", 64) + "}}}")), IsEmpty());
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {int: " + Items("1", 65) + "}}}")),
              ElementsAre(fmt::format("FieldValueTooMany {}.list.int", kAttribute)));
}

TEST(ListAttributes, ItemsInTheProposalsFormHaveAtMost64Characters) {
  const std::string longest(64, 'x');
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {string: [" + longest + "]}}}")), IsEmpty());
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {string: [ok, x" + longest + "]}}}")),
              ElementsAre(fmt::format("FieldValueTooLong {}.list.string[1]", kAttribute)));
}

TEST(ListAttributes, VersionsInTheProposalsFormAreVersions) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {version: [v1]}}}")),
              ElementsAre(fmt::format("FieldValueInvalid {}.list.version[0]", kAttribute)));
}

TEST(ListAttributes, TheLimitOf48ValuesIsForKubernetessFormOnly) {
  const std::string list = Items("1", 40);
  EXPECT_THAT(
      CreateErrors(SliceWith("{a: {list: {int: " + list + "}}, b: {list: {int: " + list + "}}}")),
      IsEmpty());
  EXPECT_THAT(CreateErrors(SliceWith("{a: {ints: " + list + "}, b: {ints: " + list + "}}")),
              ElementsAre("FieldValueInvalid spec.devices[0]"));
}

TEST(ListAttributes, DevicesWithListsInEitherFormAreAtMost64) {
  for (const char* list : {"{list: {int: [1]}}", "{ints: [1]}"}) {
    std::string yaml = SliceWith(fmt::format("{{a: {}}}", list));
    for (int i = 0; i < 64; ++i) yaml += fmt::format("  - name: gpu-{}\n", i);
    EXPECT_THAT(CreateErrors(yaml), ElementsAre("FieldValueTooMany spec.devices")) << list;
  }
}

TEST(ListAttributes, KubernetesDoesNotKnowTheProposalsForm) {
  EXPECT_THAT(CreateErrors(SliceWith("{a: {list: {int: [1]}}}"), {.kubernetes_only = true}),
              ElementsAre(fmt::format("FieldValueInvalid {}", kAttribute)));
}

TEST(CapacityPolicy, AStepOfZeroIsAnError) {
  const std::string yaml = SliceWith("{}") + R"(
    allowMultipleAllocations: true
    capacity:
      memory:
        value: 10
        requestPolicy: {default: 1, validRange: {min: 1, step: 0}}
)";
  EXPECT_THAT(CreateErrors(yaml),
              ElementsAre("FieldValueInvalid "
                          "spec.devices[0].capacity[memory].requestPolicy.validRange.step"));
}

TEST(CapacityPolicy, ValidValuesThatAreEqualByValueAreDuplicates) {
  const std::string yaml = SliceWith("{}") + R"(
    allowMultipleAllocations: true
    capacity:
      memory:
        value: 10
        requestPolicy: {default: 1, validValues: ["1", "1000m"]}
)";
  EXPECT_THAT(CreateErrors(yaml),
              ElementsAre("FieldValueDuplicate "
                          "spec.devices[0].capacity[memory].requestPolicy.validValues[1]"));
}

// A slice whose device shares 10 of a capacity by a policy.
std::string SliceWithPolicy(const std::string& policy, const std::string& capacity = "10") {
  return SliceWith("{}") + R"(
    allowMultipleAllocations: true
    capacity: {memory: {value: ")" +
         capacity + "\", requestPolicy: " + policy + "}}\n";
}

TEST(CapacityPolicy, ADuplicateIsShownAsAQuantity) {
  const ErrorList errors =
      ValidateCreate(Parse(SliceWithPolicy(R"({default: 1, validValues: ["1", "1000m"]})")), {});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].Message(),
            "spec.devices[0].capacity[memory].requestPolicy.validValues[1]: Duplicate value: "
            "\"1\"");
}

// KEP-5075: min is at least zero, everything is at most the capacity. Kubernetes looks at ranges
// with a step, and not at a default without a largest amount.
TEST(CapacityPolicy, AmountsAreFromZeroToTheCapacity) {
  const std::string policy = "spec.devices[0].capacity[memory].requestPolicy.";
  const auto faults = [](const std::string& text, bool kubernetes = false) {
    return CreateErrors(SliceWithPolicy(text), {.kubernetes_only = kubernetes});
  };
  const std::string low = "{default: 1, validRange: {min: -1}}";
  EXPECT_THAT(faults(low), ElementsAre("FieldValueInvalid " + policy + "validRange.min"));
  EXPECT_THAT(faults(low, true), IsEmpty());
  const std::string high = "{default: 11, validRange: {min: 1}}";
  EXPECT_THAT(faults(high), ElementsAre("FieldValueInvalid " + policy + "default"));
  EXPECT_THAT(faults(high, true), IsEmpty());
  EXPECT_THAT(faults("{default: 11}"), ElementsAre("FieldValueInvalid " + policy + "default"));
  EXPECT_THAT(faults("{default: -1}"), ElementsAre("FieldValueInvalid " + policy + "default"));
  EXPECT_THAT(faults("{default: 1, validValues: [-1, 1]}"),
              ElementsAre("FieldValueInvalid " + policy + "validValues[0]"));
  EXPECT_THAT(faults("{default: 10, validRange: {min: 0}}"), IsEmpty());
  EXPECT_THAT(faults("{default: 0, validRange: {min: 0, max: 10}}"), IsEmpty());
}

TEST(CapacityPolicy, ACapacityIsNotNegative) {
  const std::string yaml = SliceWith("{}") + "    capacity: {memory: {value: '-5'}}\n";
  EXPECT_THAT(CreateErrors(yaml),
              ElementsAre("FieldValueInvalid spec.devices[0].capacity[memory].value"));
  EXPECT_THAT(CreateErrors(yaml, {.kubernetes_only = true}), IsEmpty());
  // One that was stored before the rule was there stays as it is.
  Object stored = Parse(yaml);
  stored.MutableMetadata().resource_version = "1";
  EXPECT_THAT(ValidateUpdate(stored, stored, {}), IsEmpty());
}

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

TEST(Metadata, GenerateNameIsEnoughForAManifest) {
  const char* yaml = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {generateName: gpu-}
spec: {}
)";
  EXPECT_THAT(CreateErrors(yaml), IsEmpty());
  EXPECT_THAT(CreateErrors(yaml, {.kubernetes_only = true}),
              ElementsAre("FieldValueRequired metadata.name"));
}

TEST(Metadata, AKindsNamesHaveItsForm) {
  const auto errors = [](const char* kind, const char* name) {
    return CreateErrors(
        fmt::format("apiVersion: v1\nkind: {}\nmetadata: {{name: {}}}\n", kind, name));
  };
  EXPECT_THAT(errors("Node", "a.b"), IsEmpty());
  EXPECT_THAT(errors("Node", "A"), ElementsAre("FieldValueInvalid metadata.name"));
}

std::string PodWith(const std::string& resources) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: "
         "[{name: c, image: i, resources: " +
         resources + "}]}}";
}
std::vector<std::string> PodFaults(const std::string& resources) {
  std::vector<std::string> messages;
  for (const FieldError& error : ValidateCreate(Parse(PodWith(resources)), {})) {
    messages.push_back(error.Message());
  }
  return messages;
}

// Half a device is none, and a pod that asks for it must not run without (KEP-5004).
TEST(PodResources, DevicesAreAskedForInWholeNumbers) {
  for (const std::string name :
       {"example.com/gpu", "deviceclass.resource.kubernetes.io/gpu.example.com"}) {
    const std::string at = "spec.containers[0].resources.limits[" + name + "]: Invalid value: ";
    EXPECT_THAT(PodFaults("{limits: {" + name + ": '2'}}"), IsEmpty());
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 2000m}}"), IsEmpty());
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 500m}}"),
                ElementsAre(at + "\"500m\": must be an integer"));
    EXPECT_THAT(PodFaults("{limits: {" + name + ": 1500m}}"),
                ElementsAre(at + "\"1500m\": must be an integer"));
    EXPECT_THAT(PodFaults("{limits: {" + name + ": '-1'}}"),
                ElementsAre(at + "\"-1\": must be greater than or equal to 0"));
  }
}

TEST(PodResources, DevicesCannotBeOvercommitted) {
  const std::string at = "spec.containers[0].resources.";
  EXPECT_THAT(PodFaults("{requests: {example.com/gpu: '1'}, limits: {example.com/gpu: '2'}}"),
              ElementsAre(at + "requests: Invalid value: \"1\": must be equal to example.com/gpu "
                               "limit of 2"));
  EXPECT_THAT(PodFaults("{requests: {example.com/gpu: '1'}}"),
              ElementsAre(at + "limits: Required value: Limit must be set for non overcommitable "
                               "resources"));
  // Kubernetes counts names of its own domain as overcommittable.
  EXPECT_THAT(PodFaults("{requests: {deviceclass.resource.kubernetes.io/gpu: '1'}}"), IsEmpty());
  EXPECT_THAT(PodFaults("{requests: {cpu: '2'}, limits: {cpu: '1'}}"),
              ElementsAre(at + "requests: Invalid value: \"2\": must be less than or equal to cpu "
                               "limit of 1"));
  EXPECT_THAT(PodFaults("{requests: {cpu: 500m}, limits: {cpu: '1'}}"), IsEmpty());
}

TEST(PodResources, NamesAreThoseThatAContainerCanAskFor) {
  const std::string long_name(64, 'g');
  EXPECT_THAT(PodFaults("{limits: {deviceclass.resource.kubernetes.io/" + long_name + ": '1'}}"),
              ElementsAre(HasSubstr("name part must be no more than 63")));
  EXPECT_THAT(PodFaults("{limits: {gpu: '1'}}"),
              ElementsAre(HasSubstr("must be a standard resource for containers")));
  EXPECT_THAT(PodFaults("{limits: {requests.example.com/gpu: '1'}}"),
              ElementsAre(HasSubstr("doesn't follow extended resource name standard")));
}

TEST(PodResources, OfAWorkloadAreThoseOfItsPods) {
  const auto job = [](const std::string& amount) {
    return Parse(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default}, spec: "
        "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: "
        "{limits: "
        "{example.com/gpu: " +
        amount + "}}}]}}}}");
  };
  EXPECT_THAT(Keys(ValidateCreate(job("500m"), {})),
              ElementsAre("FieldValueInvalid spec.template.spec.containers[0].resources.limits["
                          "example.com/gpu]"));
  // One that was stored before the rule was there can still be labelled.
  Object stored = job("500m");
  stored.MutableMetadata().resource_version = "1";
  Object labelled = stored;
  labelled.MutableMetadata().labels["a"] = "b";
  EXPECT_THAT(ValidateUpdate(labelled, stored, {}), IsEmpty());
}

TEST(PodStatus, HealthIsToldOfWhatAContainerAskedFor) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: a}, {name: nic, resourceClaimName: b}]
  initContainers: [{name: i, image: i, resources: {claims: [{name: nic}]}}]
  containers:
  - name: c
    image: i
    resources:
      requests: {example.com/gpu: 1}
      limits: {example.com/gpu: 1}
      claims: [{name: gpu}, {name: nic, request: one}]
)";
  const auto of = [&](std::string_view statuses) {
    const Object with = Parse(pod + "status: " + std::string(statuses));
    return Keys(ValidateStatusUpdate(with, Parse(pod), {}));
  };
  EXPECT_THAT(
      of("{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:gpu', resources: "
         "[{resourceID: x, health: Healthy}, {resourceID: v, health: Unhealthy}, {resourceID: z, "
         "health: Unknown}, {resourceID: w}]}, {name: 'claim:nic/one'}, {name: "
         "example.com/gpu}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: 'claim:nic'}]}]}"),
      IsEmpty());
  EXPECT_THAT(
      of("{containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:nic'}, {name: "
         "'claim:gpu/one'}, {name: 'claim:other'}, {name: example.com/nic}, {name: 'claim:gpu', "
         "resources: [{resourceID: x, health: Fine}, {resourceID: x}]}, {name: 'claim:gpu'}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: 'claim:gpu'}]}, "
         "{name: gone, allocatedResourcesStatus: [{name: 'claim:gpu'}]}]}"),
      ElementsAre(
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[1].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[2].name",
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[3].name",
          "FieldValueNotSupported "
          "status.containerStatuses[0].allocatedResourcesStatus[4].resources[0].health",
          "FieldValueDuplicate "
          "status.containerStatuses[0].allocatedResourcesStatus[4].resources[1].resourceID",
          "FieldValueDuplicate status.containerStatuses[0].allocatedResourcesStatus[5].name",
          "FieldValueInvalid status.initContainerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.initContainerStatuses[1].allocatedResourcesStatus[0].name"));
  // What was made for an extended resource is told of the container that asked for it.
  const std::string extended =
      "extendedResourceClaimStatus: {resourceClaimName: made, requestMappings: [{containerName: c, "
      "resourceName: example.com/gpu, requestName: container-0-request-0}]}, ";
  EXPECT_THAT(of("{" + extended +
                 "containerStatuses: [{name: c, allocatedResourcesStatus: [{name: "
                 "'claim:made/container-0-request-0'}]}]}"),
              IsEmpty());
  EXPECT_THAT(
      of("{" + extended +
         "containerStatuses: [{name: c, allocatedResourcesStatus: [{name: 'claim:made/other'}]}], "
         "initContainerStatuses: [{name: i, allocatedResourcesStatus: [{name: "
         "'claim:made/container-0-request-0'}]}]}"),
      ElementsAre(
          "FieldValueInvalid status.containerStatuses[0].allocatedResourcesStatus[0].name",
          "FieldValueInvalid status.initContainerStatuses[0].allocatedResourcesStatus[0].name"));
}

TEST(PodStatus, EveryClaimOfTheSpecHasOneStatus) {
  const std::string pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: a}]
  containers: [{name: c, image: i}]
)";
  const auto of = [&](std::string_view statuses) {
    const Object with =
        Parse(pod + "status: {resourceClaimStatuses: " + std::string(statuses) + "}");
    return Keys(ValidateStatusUpdate(with, Parse(pod), {}));
  };
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: x}]"), IsEmpty());
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: x}, {name: gpu, resourceClaimName: z}]"),
              ElementsAre("FieldValueDuplicate status.resourceClaimStatuses[1].name"));
  EXPECT_THAT(of("[{name: other}]"),
              ElementsAre("FieldValueInvalid status.resourceClaimStatuses[0].name"));
  EXPECT_THAT(of("[{name: gpu, resourceClaimName: Bad_}]"),
              ElementsAre("FieldValueInvalid status.resourceClaimStatuses[0].resourceClaimName"));
}

// Each looked for among the others would take minutes.
TEST(PodStatus, AsMuchAsThereIsRoomForIsCheckedAtOnce) {
  constexpr int kMany = 30'000;
  Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "u";
  pod.metadata.resource_version = "1";
  Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  for (int i = 0; i < kMany; ++i) {
    const std::string name = fmt::format("c{}", i);
    pod.spec.resource_claims.push_back({.name = name, .resource_claim_name = "x"});
    container.resources.claims.push_back({.name = name});
  }
  const Pod before = pod;
  auto& claims = pod.status.resource_claim_statuses.emplace();
  ContainerStatus& status = pod.status.container_statuses.emplace_back();
  status.name = "c";
  auto& special = pod.status.extended_resource_claim_status.emplace();
  special.resource_claim_name = "x";
  for (int i = 0; i < kMany; ++i) {
    claims.push_back({.name = fmt::format("c{}", i)});
    status.allocated_resources_status.push_back({.name = fmt::format("claim:c{}", i)});
    special.request_mappings.push_back(
        {.container_name = "c", .resource_name = "cpu", .request_name = fmt::format("r{}", i)});
  }
  // That of a container that asks for no cpu, once for each mapping.
  EXPECT_EQ(ValidateStatusUpdate(Object::Of(pod), Object::Of(before), {}).size(),
            static_cast<std::size_t>(kMany));
}

TEST(PodUpdate, AsMuchAsThereIsRoomForIsComparedAtOnce) {
  constexpr int kMany = 30'000;
  Pod pod;
  pod.metadata.name = "pod";
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "u";
  pod.metadata.resource_version = "1";
  Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  for (int i = 0; i < kMany; ++i) {
    pod.spec.resource_claims.push_back({.name = fmt::format("c{}", i), .resource_claim_name = "x"});
    container.resources.claims.push_back({.name = fmt::format("c{}", i)});
    pod.spec.tolerations.push_back({.key = fmt::format("k{}", i), .operator_ = "Exists"});
  }
  Pod next = pod;
  // All that there were, and one more.
  next.spec.tolerations.push_back({.key = "k", .operator_ = "Exists"});
  std::ranges::reverse(next.spec.tolerations);
  EXPECT_THAT(ValidateUpdate(Object::Of(next), Object::Of(pod), {}), IsEmpty());
  next.spec.tolerations.pop_back();
  EXPECT_THAT(Keys(ValidateUpdate(Object::Of(next), Object::Of(pod), {})),
              ElementsAre("FieldValueForbidden spec"));
}

TEST(PodStatus, AFaultInARequestNameIsWhereItIs) {
  const char* pod = R"(
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: default, uid: u, resourceVersion: '1'}
spec:
  containers:
  - {name: c, image: i, resources: {requests: {example.com/gpu: 1}, limits: {example.com/gpu: 1}}}
)";
  const Object with = Parse(std::string(pod) + R"(
status:
  extendedResourceClaimStatus:
    resourceClaimName: claim
    requestMappings: [{containerName: c, resourceName: example.com/gpu, requestName: Bad}]
)");
  EXPECT_THAT(Keys(ValidateStatusUpdate(with, Parse(pod), {})),
              ElementsAre("FieldValueInvalid "
                          "status.extendedResourceClaimStatus.requestMappings[0].requestName"));
}

}  // namespace
}  // namespace dray::api

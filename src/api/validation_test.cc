// SPDX-License-Identifier: Apache-2.0
//
// dray's own rules, one test each (docs/decisions.md). Kubernetes's rules are tested by its
// recorded cases: dray_conformance validation.
#include "api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/system_priority.h"
#include "api/validation_for_test.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

std::string PriorityNamed(std::string_view name, std::string_view rest) {
  return fmt::format(
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {}}}\n{}\n", name,
      rest);
}

TEST(Priorities, OfUsersEndWhereThoseOfTheSystemBegin) {
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: 1000000000")), IsEmpty());
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: -2147483648")), IsEmpty());
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: 1000000001")),
              ElementsAre("FieldValueForbidden value"));
  for (const char* name : {"system-node-critical", "system-cluster-critical"}) {
    const std::int32_t value = *SystemPriority(name);
    EXPECT_THAT(CreateErrors(PriorityNamed(name, fmt::format("value: {}", value))), IsEmpty());
    EXPECT_THAT(
        CreateErrors(PriorityNamed(name, fmt::format("value: {}\nglobalDefault: true", value))),
        ElementsAre("FieldValueForbidden metadata.name"));
    EXPECT_THAT(CreateErrors(PriorityNamed(name, "value: 7")),
                ElementsAre("FieldValueForbidden metadata.name"));
  }
  EXPECT_THAT(CreateErrors(PriorityNamed("system-mine", "value: 7")),
              ElementsAre("FieldValueForbidden metadata.name"));
}

TEST(Priorities, SayWhetherTheyPushOutInOneOfTwoWords) {
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: 1\npreemptionPolicy: Never")), IsEmpty());
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: 1\npreemptionPolicy: Always")),
              ElementsAre("FieldValueNotSupported preemptionPolicy"));
  EXPECT_THAT(CreateErrors(PriorityNamed("p", "value: 1\npreemptionPolicy: \"\"")),
              ElementsAre("FieldValueRequired preemptionPolicy"));
}

TEST(Priorities, StayWhatTheyWere) {
  Object old = Parse(PriorityNamed("p", "value: 1"));
  old.MutableMetadata().resource_version = "1";
  const auto change = [&](std::string_view rest) {
    Object next = Parse(PriorityNamed("p", rest));
    next.MutableMetadata().resource_version = "1";
    return Keys(ValidateUpdate(next, old, {}));
  };
  EXPECT_THAT(change("value: 1\nglobalDefault: true\ndescription: d"), IsEmpty());
  EXPECT_THAT(change("value: 1\npreemptionPolicy: PreemptLowerPriority"), IsEmpty());
  EXPECT_THAT(change("value: 2"), ElementsAre("FieldValueForbidden value"));
  EXPECT_THAT(change("value: 1\npreemptionPolicy: Never"),
              ElementsAre("FieldValueInvalid preemptionPolicy"));
}

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

}  // namespace
}  // namespace dray::api

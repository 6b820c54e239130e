// SPDX-License-Identifier: Apache-2.0
#include "crd/validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crd/crd_for_test.h"

namespace dray::crd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Faults(std::string_view schema, std::string_view value,
                                std::string_view old = {}) {
  const Schema read = SchemaFrom(schema);
  const DocumentNode before = old.empty() ? DocumentNode{} : Tree(old);
  return Messages(Validator(read).Check(Tree(value), {}, old.empty() ? nullptr : &before));
}

std::string In(std::string_view property) {
  return "{type: object, properties: {spec: {type: object, properties: {x: " +
         std::string(property) + "}}}}";
}

// The messages of Kubernetes 1.38's validator.
TEST(Validator, SpeaksAsKubernetesDoes) {
  EXPECT_THAT(
      Faults(In("{type: integer}"), "{spec: {x: a}}"),
      ElementsAre(
          R"(spec.x: Invalid value: "string": spec.x in body must be of type integer: "string")"));
  EXPECT_THAT(
      Faults(In("{type: integer}"), "{spec: {x: 1.5}}"),
      ElementsAre(
          R"(spec.x: Invalid value: "number": spec.x in body must be of type integer: "number")",
          R"(<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x)"));
  EXPECT_THAT(
      Faults(In("{type: string}"), "{spec: {x: null}}"),
      ElementsAre(
          R"(spec.x: Invalid value: "null": spec.x in body must be of type string: "null")"));
  EXPECT_THAT(Faults(In("{type: string, enum: [a, b]}"), "{spec: {x: c}}"),
              ElementsAre(R"(spec.x: Unsupported value: "c": supported values: "a", "b")"));
  EXPECT_THAT(
      Faults(In("{type: integer, minimum: 1, maximum: 10}"), "{spec: {x: 0}}"),
      ElementsAre("spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"));
  EXPECT_THAT(Faults(In("{type: integer, maximum: 10, exclusiveMaximum: true}"), "{spec: {x: 10}}"),
              ElementsAre("spec.x: Invalid value: 10: spec.x in body should be less than 10"));
  EXPECT_THAT(Faults(In("{type: integer, multipleOf: 5}"), "{spec: {x: 7}}"),
              ElementsAre("spec.x: Invalid value: 7: spec.x in body should be a multiple of 5"));
  EXPECT_THAT(Faults(In("{type: string, maxLength: 2}"), "{spec: {x: abc}}"),
              ElementsAre("spec.x: Too long: may not be more than 2 bytes"));
  EXPECT_THAT(
      Faults(In("{type: string, minLength: 4}"), "{spec: {x: abc}}"),
      ElementsAre(
          R"(spec.x: Invalid value: "abc": spec.x in body should be at least 4 chars long)"));
  EXPECT_THAT(Faults(In("{type: string, pattern: '^a+$'}"), "{spec: {x: b}}"),
              ElementsAre(R"(spec.x: Invalid value: "b": spec.x in body should match '^a+$')"));
  EXPECT_THAT(
      Faults(In("{type: string, format: ipv4}"), "{spec: {x: b}}"),
      ElementsAre(R"(spec.x: Invalid value: "b": spec.x in body must be of type ipv4: "b")"));
  EXPECT_THAT(
      Faults(In("{type: array, items: {type: string}, maxItems: 1}"), "{spec: {x: [a, b]}}"),
      ElementsAre("spec.x: Too many: 2: must have at most 1 items"));
  EXPECT_THAT(
      Faults(In("{type: array, items: {type: string}}"), "{spec: {x: [a, 2]}}"),
      ElementsAre(
          R"(spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer")"));
  EXPECT_THAT(
      Faults(In("{type: object, minProperties: 1}"), "{spec: {x: {}}}"),
      ElementsAre("spec.x: Invalid value: 0: spec.x in body should have at least 1 properties"));
  EXPECT_THAT(
      Faults("{type: object, required: [spec], properties: {spec: {type: object}}}", "{a: 1}"),
      ElementsAre("spec: Required value"));
  EXPECT_THAT(
      Faults(In("{x-kubernetes-int-or-string: true}"), "{spec: {x: true}}"),
      ElementsAre(
          R"(spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean")"));
  EXPECT_THAT(
      Faults(In("{type: integer, format: int32}"), "{spec: {x: 3000000000}}"),
      ElementsAre(
          R"(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x)"));
}

TEST(Validator, AlternativesTellTheNearestMiss) {
  EXPECT_THAT(
      Faults(In("{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: "
                "[{required: [a]}, {required: [b]}]}"),
             "{spec: {x: {a: x, b: z}}}"),
      ElementsAre(
          R"(<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives)"));
  EXPECT_THAT(
      Faults(In("{type: string, anyOf: [{pattern: ^a}, {pattern: ^b}]}"), "{spec: {x: c}}"),
      ElementsAre(R"(<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf))",
                  R"(spec.x: Invalid value: "c": spec.x in body should match '^a')"));
  EXPECT_THAT(
      Faults(In("{type: string, not: {enum: [a]}}"), "{spec: {x: a}}"),
      ElementsAre(R"(<nil>: Invalid value: "": "spec.x" must not validate the schema (not))"));
}

TEST(Validator, WhatIsValidHasNoFaults) {
  EXPECT_THAT(Faults(In("{type: number}"), "{spec: {x: 1}}"), IsEmpty());
  EXPECT_THAT(Faults(In("{type: integer}"), "{spec: {x: 1.0}}"), IsEmpty());
  EXPECT_THAT(Faults(In("{type: string, nullable: true}"), "{spec: {x: null}}"), IsEmpty());
  EXPECT_THAT(Faults(In("{x-kubernetes-int-or-string: true}"), "{spec: {x: 50%}}"), IsEmpty());
  EXPECT_THAT(
      Faults(In("{x-kubernetes-preserve-unknown-fields: true}"), "{spec: {x: [1, {a: b}]}}"),
      IsEmpty());
}

TEST(Validator, WhatAnUpdateLeavesAsItWasIsNotHeldAgainstIt) {
  const std::string schema =
      In("{type: object, properties: {a: {type: string, maxLength: 1}, b: {type: string, "
         "maxLength: 1}}}");
  EXPECT_THAT(Faults(schema, "{spec: {x: {a: long, b: w}}}", "{spec: {x: {a: long, b: z}}}"),
              IsEmpty());
  EXPECT_THAT(Faults(schema, "{spec: {x: {a: longer, b: w}}}", "{spec: {x: {a: long, b: z}}}"),
              ElementsAre("spec.x.a: Too long: may not be more than 1 bytes"));
}

TEST(Lists, SetsAndMapsHaveEachThingOnce) {
  const Schema set =
      SchemaFrom(In("{type: array, x-kubernetes-list-type: set, items: {type: string}}"));
  EXPECT_THAT(Messages(CheckLists(set, Tree("{spec: {x: [a, b, a]}}"))),
              ElementsAre(R"(spec.x[2]: Duplicate value: "a")"));
  const Schema map =
      SchemaFrom(In("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], "
                    "items: {type: object, properties: {k: {type: string}, v: {type: string}}}}"));
  EXPECT_THAT(Messages(CheckLists(map, Tree("{spec: {x: [{k: a, v: x}, {k: a, v: z}]}}"))),
              ElementsAre(R"(spec.x[1]: Duplicate value: {"k":"a"})"));
}

TEST(Embedded, ObjectsSayWhatTheyAre) {
  const Schema schema =
      SchemaFrom(In("{type: object, x-kubernetes-embedded-resource: true, "
                    "x-kubernetes-preserve-unknown-fields: true}"));
  EXPECT_THAT(Messages(CheckEmbedded(schema, Tree("{spec: {x: {kind: K}}}"), true)),
              ElementsAre("spec.x.apiVersion: Required value"));
  EXPECT_THAT(
      Messages(CheckEmbedded(
          schema, Tree("{spec: {x: {apiVersion: v1, kind: K, metadata: {name: a}}}}"), true)),
      IsEmpty());
}

}  // namespace
}  // namespace dray::crd

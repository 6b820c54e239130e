// SPDX-License-Identifier: Apache-2.0
#include "crd/schema_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crd/crd_for_test.h"

namespace dray::crd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Faults(std::string_view schema, SchemaContext context = {}) {
  const ReadSchema read = ReadSchemaFrom(Tree(schema));
  return Messages(CheckSchema(read.schema, FieldPath("s"), context));
}
std::string In(std::string_view property) {
  return "{type: object, properties: {x: " + std::string(property) + "}}";
}

struct StructuralCase {
  std::string_view schema;
  std::string_view want;
};

TEST(Structural, WhatIsNotIsToldInKubernetesWords) {
  const StructuralCase cases[] = {
      {"{properties: {a: {type: string}}}",
       "s.type: Required value: must not be empty at the root"},
      {"{type: string}", R"(s.type: Invalid value: "string": must be object at the root)"},
      {"{type: object, properties: {a: {}}}",
       "s.properties[a].type: Required value: must not be empty for specified object fields"},
      {"{type: object, properties: {a: {type: array}}}",
       "s.properties[a].items: Required value: must be specified"},
      {"{type: object, properties: {a: {type: array, items: {}}}}",
       "s.properties[a].items.type: Required value: must not be empty for specified array items"},
      {"{type: object, additionalProperties: {type: string}}",
       "s.additionalProperties: Forbidden: must not be used at the root"},
      {"{type: object, properties: {a: {type: string}}, allOf: [{properties: {b: {minLength: "
       "1}}}]}",
       "s.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]"},
      {"{type: object, properties: {a: {type: string, anyOf: [{type: string}]}}}",
       "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
      {"{type: object, properties: {a: {type: string, oneOf: [{description: x}]}}}",
       "s.properties[a].oneOf[0].description: Forbidden: must be empty to be structural"},
      {"{type: object, properties: {metadata: {type: object, properties: {labels: {type: "
       "object}}}}}",
       "s.properties[metadata]: Forbidden: must not specify anything other than name and "
       "generateName, but metadata is implicitly specified"},
      {"{type: object, properties: {a: {type: string, pattern: '('}}}",
       R"(s.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing ): ()"},
      {"{type: object, properties: {a: {type: string, x-kubernetes-embedded-resource: true}}}",
       R"(s.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true)"},
  };
  for (const StructuralCase& each : cases) {
    EXPECT_THAT(Faults(each.schema), Contains(std::string(each.want))) << each.schema;
  }
}

TEST(SchemaValidation, WhatIsFineIsFine) {
  EXPECT_THAT(Faults(R"({type: object, properties: {
    port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]},
    any: {x-kubernetes-preserve-unknown-fields: true},
    n: {type: integer, default: 3, minimum: 1},
    m: {type: object, additionalProperties: {type: string}},
    l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
        items: {type: object, required: [k], properties: {k: {type: string}}}}}})"),
              IsEmpty());
}

TEST(SchemaValidation, WordsThatNobodyTakesAreToldOf) {
  EXPECT_THAT(
      Faults(In("{type: thing}")),
      Contains(
          R"(s.properties[x].type: Unsupported value: "thing": supported values: "array", "boolean", "integer", "number", "object", "string")"));
  EXPECT_THAT(Faults(In("{type: string, $ref: '#/a'}")),
              Contains("s.properties[x].$ref: Forbidden: $ref is not supported"));
  EXPECT_THAT(Faults(In("{type: array, uniqueItems: true, items: {type: string}}")),
              Contains("s.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true "
                       "since the runtime complexity becomes quadratic"));
  EXPECT_THAT(
      Faults(In(
          "{type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}")),
      Contains("s.properties[x].additionalProperties: Forbidden: additionalProperties and "
               "properties are mutual exclusive"));
  EXPECT_THAT(
      Faults(In("{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], "
                "items: {type: object, properties: {k: {type: string}}}}")),
      Contains("s.properties[x].items.properties[k].default: Required value: this property is in "
               "x-kubernetes-list-map-keys, so it must have a default or be a required property"));
  EXPECT_THAT(Faults("{type: object, nullable: true}"),
              Contains("s.nullable: Forbidden: nullable cannot be true at the root"));
}

TEST(SchemaValidation, DefaultsAreValidAndPruned) {
  EXPECT_THAT(
      Faults(In("{type: integer, default: a}")),
      ElementsAre(
          R"(s.properties[x].default: Invalid value: "string":  in body must be of type integer: "string")"));
  EXPECT_THAT(
      Faults(In("{type: object, default: {a: 1, b: 2}, properties: {a: {type: integer}}}")),
      ElementsAre(
          R"(s.properties[x].default: Invalid value: {"a":1,"b":2}: must not have unknown fields)"));
}

TEST(SchemaValidation, RulesAreCompiledAndPriced) {
  EXPECT_THAT(Faults(In("{type: integer, x-kubernetes-validations: [{rule: self > 3}]}")),
              IsEmpty());
  const auto unknown =
      Faults(In("{type: object, x-kubernetes-validations: [{rule: self.b > 3}], properties: {a: "
                "{type: integer}}}"));
  ASSERT_EQ(unknown.size(), 1U);
  EXPECT_THAT(unknown[0],
              HasSubstr("s.properties[x].x-kubernetes-validations[0].rule: Invalid value: "));
  EXPECT_THAT(unknown[0], HasSubstr("undefined field 'b'"));
  EXPECT_THAT(Faults(In("{type: integer, x-kubernetes-validations: [{rule: self + 3}]}")),
              ElementsAre(HasSubstr("cel expression must evaluate to a bool")));
  EXPECT_THAT(Faults(In("{type: integer, x-kubernetes-validations: [{rule: ''}]}")),
              ElementsAre("s.properties[x].x-kubernetes-validations[0].rule: Required value: rule "
                          "is not specified"));
  const auto dear =
      Faults(In("{type: array, items: {type: string}, x-kubernetes-validations: [{rule: "
                "'self.all(a, self.all(b, a == b))'}]}"));
  EXPECT_THAT(
      dear, Contains(HasSubstr("estimated rule cost exceeds budget by factor of more than 100x")));
  EXPECT_THAT(Faults(In("{type: array, maxItems: 10, items: {type: string, maxLength: 10}, "
                        "x-kubernetes-validations: [{rule: 'self.all(a, self.all(b, a == b))'}]}")),
              IsEmpty());
}

TEST(SchemaValidation, OldSelfNeedsSomethingToBeComparedWith) {
  EXPECT_THAT(Faults(In("{type: array, maxItems: 5, items: {type: string, "
                        "x-kubernetes-validations: [{rule: self == oldSelf}]}}")),
              ElementsAre(HasSubstr("oldSelf cannot be used on the uncorrelatable portion of the "
                                    "schema within s.properties[x]")));
  EXPECT_THAT(Faults(In("{type: string, x-kubernetes-validations: [{rule: 'self != \"\"', "
                        "optionalOldSelf: true}]}")),
              ElementsAre(HasSubstr("may not be set if oldSelf is not used in rule")));
}

TEST(SchemaValidation, WithAStatusOfItsOwnTheRootSaysLittle) {
  EXPECT_THAT(
      Faults("{type: object, maxProperties: 3}", {.status_subresource = true}),
      ElementsAre(HasSubstr(
          "fields are allowed at the root of the schema if the status subresource is enabled")));
}

}  // namespace
}  // namespace dray::crd

// SPDX-License-Identifier: Apache-2.0
#include "crd/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crd/crd_for_test.h"
#include "crd/definition_status.h"
#include "crd/definition_validation.h"
#include "crd/openapi.h"
#include "crd/served_version.h"
#include "crd/values.h"

namespace dray::crd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kWidgets = R"(
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {num: {type: integer}}}}}}
)";

DocumentNode Object(std::string_view text = kWidgets) {
  DocumentNode object = Tree(text);
  SetDefinitionDefaults(object);
  return object;
}
std::vector<std::string> Faults(const DocumentNode& object, const Definition* old = nullptr) {
  return Messages(CheckDefinition(ReadDefinition(object), old,
                                  [](std::string_view group) { return group == "built.in.io"; }));
}
std::string Replaced(std::string_view from, std::string_view to, std::string_view text = kWidgets) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

TEST(Definition, IsReadWithItsDefaults) {
  const Definition definition = ReadDefinition(Object());
  EXPECT_EQ(definition.names.singular, "widget");
  EXPECT_EQ(definition.names.list_kind, "WidgetList");
  EXPECT_EQ(definition.conversion, "None");
  ASSERT_NE(definition.StorageVersion(), nullptr);
  EXPECT_EQ(definition.StorageVersion()->name, "v1");
  EXPECT_THAT(Faults(Object()), IsEmpty());
}

TEST(Definition, WhatIsWrongIsTold) {
  EXPECT_THAT(
      Faults(Object(Replaced("widgets.example.com", "widget.example.com"))),
      ElementsAre(
          R"(metadata.name: Invalid value: "widget.example.com": must be spec.names.plural+"."+spec.group)"));
  EXPECT_THAT(Faults(Object(Replaced("storage: true", "storage: false"))),
              Contains(HasSubstr("must have exactly one version marked as storage version")));
  EXPECT_THAT(
      Faults(Object(Replaced("scope: Namespaced", "scope: Global"))),
      Contains(
          R"(spec.scope: Unsupported value: "Global": supported values: "Cluster", "Namespaced")"));
  EXPECT_THAT(Faults(Object(Replaced("kind: Widget", "kind: Widget_"))),
              Contains(HasSubstr("spec.names.kind: Invalid value: \"Widget_\": may have mixed "
                                 "case, but should otherwise match: ")));
  EXPECT_THAT(Faults(Object(Replaced("{type: integer}", "{type: int}"))),
              Contains(HasSubstr("spec.validation.openAPIV3Schema.properties[spec].properties[num]."
                                 "type: Unsupported value: \"int\"")));
  EXPECT_THAT(
      Faults(Object(Replaced("spec:\n", "spec:\n  conversion: {strategy: Webhook}\n"))),
      Contains(HasSubstr(
          "spec.conversion.strategy: Invalid value: \"Webhook\": webhooks are not called here")));
  EXPECT_THAT(
      Faults(Object(Replaced("spec:\n", "spec:\n  preserveUnknownFields: true\n"))),
      Contains(HasSubstr("spec.preserveUnknownFields: Invalid value: true: cannot set to true")));
  EXPECT_THAT(
      Faults(Object(Replaced("    storage: true\n",
                             "    storage: true\n    additionalPrinterColumns: [{name: Num, type: "
                             "number, jsonPath: spec.num}]\n"))),
      ElementsAre(
          R"(spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.num": must be a simple json path starting with .)"));
  EXPECT_THAT(
      Faults(Object(Replaced("    storage: true\n",
                             "    storage: true\n    selectableFields: [{jsonPath: .spec.m}]\n"))),
      ElementsAre(
          R"(spec.selectableFields[0].jsonPath: Invalid value: ".spec.m": is an invalid path: does not refer to a valid field)"));
}

TEST(Definition, SomeGroupsAreNotForEverybody) {
  std::string text = Replaced("widgets.example.com", "widgets.a.k8s.io");
  EXPECT_THAT(Faults(Object(Replaced("group: example.com", "group: a.k8s.io", text))),
              ElementsAre(HasSubstr("metadata.annotations[api-approved.kubernetes.io]: Required "
                                    "value: protected groups must have approval annotation")));
  text = Replaced("widgets.example.com", "widgets.built.in.io");
  EXPECT_THAT(Faults(Object(Replaced("group: example.com", "group: built.in.io", text))),
              ElementsAre(HasSubstr("the server has kinds of its own in this group")));
}

TEST(Definition, NamesOfOneThatIsServedStay) {
  DocumentNode object = Object();
  SetDefinitionStatus(object, {}, base::Time());
  const Definition old = ReadDefinition(object);
  EXPECT_THAT(Faults(Object(Replaced("scope: Namespaced", "scope: Cluster")), &old),
              ElementsAre(R"(spec.scope: Invalid value: "Cluster": field is immutable)"));
}

TEST(Definition, VersionsThatWereStoredStay) {
  DocumentNode object = Object(Replaced("name: v1", "name: v2"));
  DocumentNode status = rest::MapNode();
  rest::SetIn(status, "storedVersions", Tree("[v1]"));
  rest::SetIn(object, "status", std::move(status));
  EXPECT_THAT(Faults(object),
              ElementsAre(HasSubstr(
                  "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions")));
}

TEST(DefinitionStatus, NamesThatNobodyHasAreAccepted) {
  DocumentNode object = Object();
  SetDefinitionStatus(object, {}, base::Time());
  const Definition definition = ReadDefinition(object);
  EXPECT_TRUE(definition.Is(kNamesAccepted));
  EXPECT_TRUE(definition.Is(kEstablished));
  EXPECT_EQ(definition.accepted_names, definition.names);
  EXPECT_THAT(definition.stored_versions, ElementsAre("v1"));
  const std::string once = ToJson(object);
  SetDefinitionStatus(object, {}, base::Time() + std::chrono::hours(1));
  EXPECT_EQ(ToJson(object), once);
}

TEST(DefinitionStatus, NamesThatSomebodyHasAreNot) {
  DocumentNode first = Object();
  SetDefinitionStatus(first, {}, base::Time());
  DocumentNode second = Object(Replaced("widgets.example.com", "gadgets.example.com",
                                        Replaced("plural: widgets", "plural: gadgets")));
  const std::vector<Definition> others = {ReadDefinition(first)};
  SetDefinitionStatus(second, others, base::Time());
  Definition definition = ReadDefinition(second);
  EXPECT_FALSE(definition.Is(kNamesAccepted));
  EXPECT_FALSE(definition.Is(kEstablished));
  ASSERT_EQ(definition.conditions.size(), 2U);
  EXPECT_EQ(definition.conditions[0].reason, "ListKindConflict");
  EXPECT_EQ(definition.conditions[0].message, R"("WidgetList" is already in use)");
  EXPECT_EQ(definition.conditions[1].reason, "NotAccepted");
  // Once the other one is gone they are.
  SetDefinitionStatus(second, {}, base::Time());
  EXPECT_TRUE(ReadDefinition(second).Is(kEstablished));
}

TEST(Definition, FieldsThatNoSchemaHasAreTakenOut) {
  DocumentNode object = Object(Replaced("{type: integer}", "{type: integer, minmum: 3}"));
  EXPECT_THAT(
      DropUnknownSchemaFields(object),
      ElementsAre("spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.num.minmum"));
  EXPECT_EQ(ToJson(object).find("minmum"), std::string::npos);
}

// As many as one request can have: looked for by name, each in a map of ten thousand, they would take
// thousands of millions of comparisons.
TEST(Definition, AsManyUnknownFieldsAsFitInARequestAreTakenOutInOnePass) {
  DocumentNode object = Object();
  DocumentNode& schema = *rest::FindIn(
      *rest::FindIn(rest::FindIn(*rest::FindIn(object, "spec"), "versions")->items[0], "schema"),
      "openAPIV3Schema");
  DocumentNode wide = rest::MapNode();
  for (int i = 0; i < 10'000; ++i) {
    wide.members.push_back({.key = std::string(40, 'u') + std::to_string(i),
                            .key_position = {},
                            .value = rest::NumberNode(i)});
  }
  wide.members.push_back({.key = "type", .key_position = {}, .value = rest::StringNode("object")});
  DocumentNode properties = rest::MapNode();
  for (int i = 0; i < 45; ++i) rest::SetIn(properties, "p" + std::to_string(i), wide);
  rest::SetIn(schema, "properties", std::move(properties));
  EXPECT_EQ(DropUnknownSchemaFields(object).size(), kMaxPrunedPaths);
  EXPECT_EQ(ToJson(object).find("uuu"), std::string::npos);
  EXPECT_NE(ToJson(object).find(R"("p44":{"type":"object"})"), std::string::npos);
}

TEST(Definition, NewerVersionsArePreferred) {
  std::vector<std::string> names = {"v1beta1", "foo", "v1", "v1alpha2", "v10", "v2", "v1beta2"};
  std::ranges::sort(names, IsPreferred);
  EXPECT_THAT(names, ElementsAre("v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha2", "foo"));
}

TEST(OpenApi, SecondVersionSaysLess) {
  const DocumentNode schema = Tree(
      "{type: object, properties: {a: {type: string, nullable: true}, b: "
      "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}]}, c: {type: integer, "
      "description: d}}}");
  EXPECT_EQ(
      ToJson(OpenApiSchema(schema, true)),
      R"({"type":"object","properties":{"a":{},"b":{"x-kubernetes-int-or-string":true},"c":{"type":"integer","description":"d"}}})");
  EXPECT_EQ(ToJson(OpenApiSchema(schema, false)), ToJson(schema));
}

}  // namespace
}  // namespace dray::crd

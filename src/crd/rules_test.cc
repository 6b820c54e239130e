// SPDX-License-Identifier: Apache-2.0
#include "crd/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crd/crd_for_test.h"

namespace dray::crd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Faults(std::string_view schema, std::string_view value,
                                std::string_view old = {}) {
  const Schema read = SchemaFrom(schema);
  const auto rules = Rules::Of(read, true);
  if (rules == nullptr) return {"no rules"};
  const DocumentNode before = old.empty() ? DocumentNode{} : Tree(old);
  return Messages(rules->Check(Tree(value), old.empty() ? nullptr : &before));
}

std::string Spec(std::string_view rules, std::string_view properties) {
  return "{type: object, properties: {spec: {type: object, x-kubernetes-validations: [" +
         std::string(rules) + "], properties: {" + std::string(properties) + "}}}}";
}

TEST(Rules, RefuseWhatDoesNotHold) {
  const std::string schema = Spec("{rule: 'self.min <= self.max', message: min is at most max}",
                                  "min: {type: integer}, max: {type: integer}");
  EXPECT_THAT(Faults(schema, "{spec: {min: 1, max: 2}}"), IsEmpty());
  EXPECT_THAT(Faults(schema, "{spec: {min: 3, max: 2}}"),
              ElementsAre("spec: Invalid value: min is at most max"));
  EXPECT_THAT(
      Faults(schema, "{spec: {min: 3}}"),
      ElementsAre(
          R"(spec: Invalid value: "object": no such key: max evaluating rule: min is at most max)"));
}

TEST(Rules, WithoutAMessageTheyShowThemselves) {
  EXPECT_THAT(Faults(Spec("{rule: 'self.a == \"x\"'}", "a: {type: string}"), "{spec: {a: z}}"),
              ElementsAre(R"(spec: Invalid value: failed rule: self.a == "x")"));
}

TEST(Rules, MessagesReasonsAndPathsAreTheirOwn) {
  const std::string schema = Spec(
      "{rule: 'self.num < 5', messageExpression: '\"n is \" + string(self.num)', fieldPath: .num, "
      "reason: FieldValueForbidden}",
      "num: {type: integer}");
  EXPECT_THAT(Faults(schema, "{spec: {num: 7}}"), ElementsAre("spec.num: Forbidden: n is 7"));
}

TEST(Rules, OfChangesAreForWhatHasChanged) {
  const std::string schema =
      Spec("{rule: 'self.a == oldSelf.a', message: a stays}", "a: {type: string}");
  EXPECT_THAT(Faults(schema, "{spec: {a: x}}"), IsEmpty());
  EXPECT_THAT(Faults(schema, "{spec: {a: z}}", "{spec: {a: x}}"),
              ElementsAre("spec: Invalid value: a stays"));
  const std::string optional = Spec(
      "{rule: '!oldSelf.hasValue() || oldSelf.value().a == self.a', optionalOldSelf: true, "
      "message: a stays}",
      "a: {type: string}");
  EXPECT_THAT(Faults(optional, "{spec: {a: x}}"), IsEmpty());
  EXPECT_THAT(Faults(optional, "{spec: {a: z}}", "{spec: {a: x}}"),
              ElementsAre("spec: Invalid value: a stays"));
}

TEST(Rules, ItemsOfKeyedListsAreComparedByTheirKeys) {
  constexpr std::string_view kSchema = R"({type: object, properties: {list: {type: array,
    x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object,
    x-kubernetes-validations: [{rule: 'self.v >= oldSelf.v', message: v grows}],
    properties: {k: {type: string}, v: {type: integer}}}}}})";
  EXPECT_THAT(Faults(kSchema, "{list: [{k: b, v: 1}, {k: a, v: 4}]}", "{list: [{k: a, v: 5}]}"),
              ElementsAre("list[1]: Invalid value: v grows"));
}

TEST(Rules, WhatAnUpdateLeavesAsItWasIsNotHeldAgainstIt) {
  const std::string schema = Spec("{rule: 'self.a != \"bad\"'}", "a: {type: string}");
  EXPECT_THAT(Faults(schema, "{spec: {a: bad}, x: 1}", "{spec: {a: bad}}"), IsEmpty());
}

TEST(Rules, SeeNamesFormatsAndNulls) {
  EXPECT_THAT(Faults("{type: object, x-kubernetes-validations: [{rule: "
                     "'self.metadata.name.startsWith(\"a\")', message: begins with a}]}",
                     "{metadata: {name: b}}"),
              ElementsAre("<nil>: Invalid value: begins with a"));
  const std::string schema = Spec(
      "{rule: 'self.d > duration(\"1h\") && self.t.getFullYear() == 2026 && self.a__dash__b == 1 "
      "&& !has(self.__in__)'}",
      "d: {type: string, format: duration}, t: {type: string, format: date-time}, a-b: {type: "
      "integer}, in: {type: string, nullable: true}");
  EXPECT_THAT(Faults(schema, "{spec: {d: 2h, t: '2026-01-01T00:00:00Z', a-b: 1}}"), IsEmpty());
}

TEST(Rules, CostIsLimited) {
  const Schema read =
      SchemaFrom(Spec("{rule: 'self.list.all(a, self.list.all(b, a != b + \"x\"))'}",
                      "list: {type: array, items: {type: string}}"));
  std::string value = "{spec: {list: [";
  for (int i = 0; i < 3000; ++i) value += "a" + std::to_string(i) + ",";
  value += "z]}}";
  const auto faults = Messages(Rules::Of(read, true)->Check(Tree(value), nullptr));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0], HasSubstr("no further validation rules will be run"));
}

}  // namespace
}  // namespace dray::crd

// SPDX-License-Identifier: Apache-2.0
#include "crd/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crd/crd_for_test.h"

namespace dray::crd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Pruned(std::string_view schema, std::string_view object,
                   std::vector<std::string>* paths = nullptr) {
  DocumentNode tree = Tree(object);
  Prune(SchemaFrom(schema), Whole::kYes, tree, paths);
  return ToJson(tree);
}

std::string Defaulted(std::string_view schema, std::string_view object) {
  DocumentNode tree = Tree(object);
  SetDefaults(SchemaFrom(schema), tree);
  return ToJson(tree);
}

TEST(Prune, TakesOutWhatTheSchemaDoesNotName) {
  std::vector<std::string> paths;
  EXPECT_EQ(
      Pruned(
          R"({type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}})",
          R"({apiVersion: x/v1, kind: X, metadata: {name: me}, spec: {a: "1", b: 2, c: {d: 1}}, more: 1})",
          &paths),
      R"({"apiVersion":"x/v1","kind":"X","metadata":{"name":"me"},"spec":{"a":"1"}})");
  EXPECT_THAT(paths, ElementsAre("spec.b", "spec.c", "more"));
}

TEST(Prune, LooksIntoListsAndMaps) {
  constexpr std::string_view kSchema = R"({type: object, properties: {
    list: {type: array, items: {type: object, properties: {a: {type: string}}}},
    map: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}}})";
  std::vector<std::string> paths;
  EXPECT_EQ(Pruned(kSchema, R"({list: [{a: x, b: z}], map: {k: {a: x, b: z}}})", &paths),
            R"({"list":[{"a":"x"}],"map":{"k":{"a":"x"}}})");
  EXPECT_THAT(paths, ElementsAre("list[0].b", "map.k.b"));
}

TEST(Prune, PreservesWhatIsToBePreservedAndPrunesBelowWhatIsNamed) {
  constexpr std::string_view kSchema = R"({type: object, x-kubernetes-preserve-unknown-fields: true,
    properties: {spec: {type: object, properties: {a: {type: string}}}}})";
  EXPECT_EQ(Pruned(kSchema, R"({any: {thing: 1}, spec: {a: x, b: z}})"),
            R"({"any":{"thing":1},"spec":{"a":"x"}})");
}

TEST(Prune, ObjectsInsideOfObjectsKeepWhatEveryObjectHas) {
  constexpr std::string_view kSchema = R"({type: object, properties: {inner: {type: object,
    x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}}})";
  EXPECT_EQ(
      Pruned(kSchema,
             R"({inner: {apiVersion: v1, kind: K, metadata: {name: a}, spec: {b: 1}, c: 2}})"),
      R"({"inner":{"apiVersion":"v1","kind":"K","metadata":{"name":"a"},"spec":{}}})");
}

TEST(Defaults, FillInWhatIsMissing) {
  constexpr std::string_view kSchema =
      R"({type: object, properties: {spec: {type: object, default: {},
    properties: {replicas: {type: integer, default: 1}, list: {type: array, items: {type: object,
    properties: {a: {type: string, default: x}}}}}}}})";
  EXPECT_EQ(Defaulted(kSchema, "{}"), R"({"spec":{"replicas":1}})");
  EXPECT_EQ(Defaulted(kSchema, R"({spec: {replicas: 3, list: [{}, {a: z}]}})"),
            R"({"spec":{"replicas":3,"list":[{"a":"x"},{"a":"z"}]}})");
}

TEST(Defaults, NullsThatMayNotBeAreReplacedOrTakenOut) {
  constexpr std::string_view kSchema = R"({type: object, properties: {a: {type: string, default: x},
    b: {type: string, nullable: true, default: x}, c: {type: string}}})";
  EXPECT_EQ(Defaulted(kSchema, R"({a: null, b: null, c: null})"), R"({"a":"x","b":null})");
}

TEST(ReadSchema, TellsWhatItDoesNotKnowAndWhatIsOfTheWrongType) {
  const ReadSchema read =
      ReadSchemaFrom(Tree(R"({type: object, requird: [a], properties: {a: {type: 1}}})"));
  ASSERT_EQ(read.unknown.size(), 1U);
  EXPECT_EQ(read.unknown[0].ToString(), "requird");
  ASSERT_EQ(read.faults.size(), 1U);
  EXPECT_EQ(read.faults[0].first.ToString(), "properties[a].type");
}

TEST(ReadSchema, EndsAtItsBounds) {
  std::string deep = "{type: object}";
  for (int i = 0; i < 100; ++i) deep = "{type: array, items: " + deep + "}";
  EXPECT_NE(ReadSchemaFrom(Tree(deep)).exceeds, "");
  EXPECT_THAT(ReadSchemaFrom(Tree("{type: object}")).exceeds, IsEmpty());
}

// A list of `{}` as long as a request, with a default as long as another one: gigabytes.
TEST(Defaults, EndWhereNoObjectIsStored) {
  const std::string text(100'000, 'x');
  std::string items = "{}";
  for (int i = 0; i < 5'000; ++i) items += ", {}";
  const std::string filled = Defaulted(
      "{type: object, properties: {a: {type: array, items: {type: object, properties: "
      "{b: {type: string, default: " +
          text + "}}}}}}",
      "{a: [" + items + "]}");
  EXPECT_GT(filled.size(), kMaxDefaults / 2);
  EXPECT_LT(filled.size(), kMaxDefaults + 1'000'000);
}

}  // namespace
}  // namespace dray::crd

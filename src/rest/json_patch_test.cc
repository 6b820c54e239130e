// SPDX-License-Identifier: Apache-2.0
#include "rest/json_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rest/api_error.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::HasSubstr;

struct PatchCase {
  std::string name;
  std::string document;
  std::string patch;
  std::string want;        // the document afterwards, or
  std::string error = {};  // part of the message
  int code = 422;
  friend void PrintTo(const PatchCase& c, std::ostream* os) { *os << c.name; }
};

class JsonPatchTest : public ::testing::TestWithParam<PatchCase> {};

TEST_P(JsonPatchTest, DoesAllOrNothing) {
  const PatchCase& c = GetParam();
  DocumentNode document = TreeOf(c.document);
  const Status status = ApplyJsonPatch(TreeOf(c.patch), document);
  if (c.error.empty()) {
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(ToJson(document), c.want);
  } else {
    ASSERT_FALSE(status.ok());
    const ApiError error = FromStatus(status);
    EXPECT_THAT(error.message, HasSubstr(c.error));
    EXPECT_EQ(error.code, c.code);
    EXPECT_EQ(ToJson(document), ToJson(TreeOf(c.document)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rfc6902, JsonPatchTest,
    ::testing::ValuesIn(std::vector<PatchCase>{
        {"adds_a_member", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])",
         R"({"a":1,"b":2})"},
        {"add_overwrites_a_member", R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])",
         R"({"a":2})"},
        {"add_inserts_into_an_array", R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])",
         R"({"a":[1,2,3]})"},
        {"dash_is_after_the_last", R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])",
         R"({"a":[1,2]})"},
        {"removes", R"({"a":[1,2],"b":0})",
         R"([{"op":"remove","path":"/a/0"},{"op":"remove","path":"/b"}])", R"({"a":[2]})"},
        {"replaces_in_place", R"({"a":[1,2,3]})",
         R"([{"op":"replace","path":"/a/1","value":{"x":1}}])", R"({"a":[1,{"x":1},3]})"},
        {"moves", R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])",
         R"({"a":{},"b":{"y":1}})"},
        {"copies", R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/b"}])",
         R"({"a":{"x":1},"b":{"x":1}})"},
        {"tilde_escapes", R"({"a/b":1,"c~d":2})",
         R"([{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/c~0d"}])", R"({})"},
        {"test_compares_values_not_texts", R"({"a":{"x":1.0,"y":2}})",
         R"([{"op":"test","path":"/a","value":{"y":2,"x":1}}])", R"({"a":{"x":1.0,"y":2}})"},
        {"a_failed_test_undoes_what_came_before", R"({"a":1})",
         R"([{"op":"remove","path":"/a"},{"op":"test","path":"/b","value":1}])", "",
         "there is no \"b\" (operation 1: test /b)"},
        {"a_test_that_does_not_hold", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "",
         "the value is not 2"},
        {"an_index_too_far", R"({"a":[1]})", R"([{"op":"add","path":"/a/2","value":1}])", "",
         "there is no index 2 in an array of 1"},
        {"an_index_with_a_leading_zero", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/01"}])",
         "", "\"01\" is not an index"},
        {"into_a_string", R"({"a":"x"})", R"([{"op":"add","path":"/a/b","value":1}])", "",
         "added to a string"},
        {"moving_into_itself", R"({"a":{"b":{}}})",
         R"([{"op":"move","from":"/a","path":"/a/b/c"}])", "", "moved into itself"},
        {"unknown_operation", R"({})", R"([{"op":"merge","path":"/a"}])", "",
         "\"merge\" is no operation"},
        {"an_object_is_no_patch", R"({})", R"({"op":"add"})", "", "an array of operations", 400},
        {"a_relative_path", R"({})", R"([{"op":"add","path":"a","value":1}])", "",
         "a path begins with"},
        {"no_path", R"({})", R"([{"op":"add","value":1}])", "", "needs a path"},
        {"an_operation_that_is_none", R"({})", R"([1])", "", "operation 0 is not an object"},
        // Where scripts count on Kubernetes rather than on the RFC.
        {"no_value_is_null", R"({})", R"([{"op":"add","path":"/a"}])", R"({"a":null})"},
        {"replacing_what_is_not_there_sets_it", R"({"a":{}})",
         R"([{"op":"replace","path":"/a/b","value":1}])", R"({"a":{"b":1}})"},
        {"what_is_not_there_is_null", R"({"a":1})",
         R"([{"op":"test","path":"/b","value":null},{"op":"remove","path":"/a"}])", R"({})"},
        {"minus_one_is_the_last", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-1"}])",
         R"({"a":[1]})"},
        {"minus_one_adds_at_the_end", R"({"a":[1,2]})",
         R"([{"op":"add","path":"/a/-1","value":3}])", R"({"a":[1,2,3]})"},
        {"too_far_back", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-3"}])", "",
         "there is no index -3"},
    }),
    [](const auto& info) { return info.param.name; });

// Each copy doubles the document: forty would be a terabyte.
TEST(JsonPatch, DoublingCopiesAreCutOff) {
  std::string patch = R"([{"op":"add","path":"/a","value":{}})";
  for (int i = 0; i < 40; ++i)
    patch += R"(,{"op":"copy","from":"/a","path":"/a/)" + std::to_string(i) + "\"}";
  DocumentNode document = TreeOf("{}");
  const Status status = ApplyJsonPatch(TreeOf(patch + "]"), document);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(FromStatus(status).code, ::testing::AnyOf(413, 422));
}

// One value each, so it is not their number that gives them away.
TEST(JsonPatch, CopiesOfLongTextAreCutOff) {
  std::string patch = R"([{"op":"add","path":"/a","value":")" + std::string(100'000, 'x') + "\"}";
  for (int i = 0; i < 40; ++i)
    patch += R"(,{"op":"copy","from":"/a","path":"/b)" + std::to_string(i) + "\"}";
  DocumentNode document = TreeOf("{}");
  const Status status = ApplyJsonPatch(TreeOf(patch + "]"), document);
  EXPECT_EQ(FromStatus(status).code, 413);
  EXPECT_EQ(ToJson(document), "{}");
}

TEST(JsonPatch, TooManyOperationsAreRefused) {
  DocumentNode patch = ListNode();
  patch.items.assign(kMaxJsonPatchOperations + 1, MapNode());
  DocumentNode document = MapNode();
  EXPECT_EQ(FromStatus(ApplyJsonPatch(patch, document)).code, 413);
}

// An index from the end has one minus; a text of millions of them is not worth a stack.
TEST(JsonPatch, IndexesOfManySignsAreNone) {
  for (const std::string& index : {std::string("--1"), std::string("-+1"), std::string("-0"),
                                   std::string("-01"), std::string(2'000'000, '-') + "1"}) {
    DocumentNode document = TreeOf(R"({"a":[1,2]})");
    const Status status = ApplyJsonPatch(
        TreeOf(R"([{"op":"add","path":"/a/)" + index + R"(","value":0}])"), document);
    EXPECT_EQ(FromStatus(status).code, 422) << index.size();
    EXPECT_LT(FromStatus(status).message.size(), 2'000u);
  }
}

TEST(JsonPatch, WhatIsToldOfAPatchIsBounded) {
  const std::string much(1'000'000, 'x');
  for (const std::string& patch : {R"([{"op":"test","path":"/a","value":")" + much + R"("}])",
                                   R"([{"op":"add","path":"/)" + much + R"(/b","value":0}])",
                                   R"([{"op":")" + much + R"(","path":"/a"}])",
                                   R"([{"op":"add","path":")" + much + R"("}])"}) {
    DocumentNode document = TreeOf(R"({"a":1})");
    const Status status = ApplyJsonPatch(TreeOf(patch), document);
    EXPECT_EQ(FromStatus(status).code, 422);
    EXPECT_LT(FromStatus(status).message.size(), 2'000u);
  }
}

// Each operation is short; what they look at in an object of many keys is not.
TEST(JsonPatch, OperationsOnAWideObjectAreCutOff) {
  DocumentNode document = MapNode();
  DocumentNode& data = SetIn(document, "data", MapNode());
  for (int i = 0; i < 100'000; ++i) {
    data.members.push_back({.key = "k" + std::to_string(i), .key_position = {}, .value = {}});
  }
  DocumentNode patch = ListNode();
  for (std::size_t i = 0; i < kMaxJsonPatchOperations; ++i) {
    patch.items.push_back(TreeOf(R"({"op":"replace","path":"/data/k99999","value":"x"})"));
  }
  EXPECT_EQ(FromStatus(ApplyJsonPatch(patch, document)).code, 413);
  patch.items.resize(100);
  EXPECT_TRUE(ApplyJsonPatch(patch, document).ok());
}

class MergePatchTest : public ::testing::TestWithParam<PatchCase> {};

TEST_P(MergePatchTest, FollowsTheRfc) {
  DocumentNode document = TreeOf(GetParam().document);
  ApplyMergePatch(TreeOf(GetParam().patch), document);
  EXPECT_EQ(ToJson(document), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Rfc7386, MergePatchTest,
    ::testing::ValuesIn(std::vector<PatchCase>{
        {"null_removes", R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        {"arrays_are_replaced", R"({"a":[1,2]})", R"({"a":[3]})", R"({"a":[3]})"},
        {"maps_are_merged", R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null,"e":{"f":null}}})",
         R"({"a":{"b":"d","e":{}}})"},
        {"a_map_replaces_a_scalar", R"({"a":1})", R"({"a":{"x":1}})", R"({"a":{"x":1}})"},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dray::rest

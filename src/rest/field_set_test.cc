// SPDX-License-Identifier: Apache-2.0
#include "rest/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dray::rest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FieldSet Of(std::string_view json) {
  auto set = FieldSet::Parse(json);
  EXPECT_TRUE(set.ok()) << set.status();
  return set.ok() ? *set : FieldSet{};
}

TEST(FieldSet, IsWrittenAsItIsRead) {
  const std::string json =
      R"({"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}},"f:labels":{".":{},"f:x":{}}},)"
      R"("f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}})";
  EXPECT_EQ(Of(json).ToJson(), json);
}

TEST(FieldSet, PathsReadAsInConflicts) {
  EXPECT_THAT(Of(R"({"f:spec":{"f:c":{"k:{\"name\":\"a\",\"port\":80}":{".":{},"f:i":{}}},)"
                 R"("f:s":{"v:\"x\"":{}}}})")
                  .Paths(),
              ElementsAre(R"(.spec.c[name="a",port=80])", R"(.spec.c[name="a",port=80].i)",
                          R"(.spec.s[="x"])"));
}

TEST(FieldSet, UnionDifferenceAndIntersectionArePathByPath) {
  FieldSet set = Of(R"({"f:a":{".":{},"f:x":{}},"f:b":{}})");
  FieldSet other = Of(R"({"f:a":{"f:x":{},"f:y":{}}})");
  EXPECT_EQ(set.Intersect(other), Of(R"({"f:a":{"f:x":{}}})"));
  FieldSet both = set;
  both.Add(other);
  EXPECT_EQ(both, Of(R"({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}})"));
  both.Subtract(set);
  EXPECT_EQ(both, Of(R"({"f:a":{"f:y":{}}})"));
  both.Subtract(other);
  EXPECT_TRUE(both.empty());
}

TEST(FieldSet, RefusesWhatIsNoFieldSet) {
  for (const char* text : {"", "{", "[]", R"({"a":{}})", R"({"f:a":1})", R"({"f:a":{}} x)",
                           R"({"f:a":{})", R"({"f:a\)"}) {
    EXPECT_FALSE(FieldSet::Parse(text).ok()) << text;
  }
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += R"({"f:a":)";
  EXPECT_THAT(std::string(base::Message(FieldSet::Parse(deep).status())),
              HasSubstr("less nesting"));
}

}  // namespace
}  // namespace dray::rest

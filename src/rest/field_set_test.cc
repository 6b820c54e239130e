// SPDX-License-Identifier: Apache-2.0
#include "rest/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fmt/format.h"

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

std::string Numbered(int begin, int end, int step) {
  std::string json = "{";
  for (int i = begin; i != end; i += step) json += fmt::format("\"f:{:06}\":{{}},", i);
  json.back() = '}';
  return json;
}

// In any order, and some of them twice; each into its place at once would take minutes.
TEST(FieldSet, IsReadAndJoinedInNoTimeHoweverItIsWritten) {
  constexpr int kMany = 100'000;
  const FieldSet sorted = Of(Numbered(0, kMany, 1));
  EXPECT_EQ(Of(Numbered(kMany - 1, -1, -1)), sorted);
  FieldSet both = Of(Numbered(0, kMany, 2));
  both.Add(Of(Numbered(1, kMany + 1, 2)));
  EXPECT_EQ(both, sorted);
  both.Add(sorted);
  EXPECT_EQ(both, sorted);
  EXPECT_EQ(Of(R"({"f:b":{"f:y":{}},"f:c":{},"f:a":{},"f:b":{"f:x":{}},"f:a":{"f:z":{}}})"),
            Of(R"({"f:a":{".":{},"f:z":{}},"f:b":{"f:x":{},"f:y":{}},"f:c":{}})"));
}

// Told in full, a long name would be told as often as there are fields below it.
TEST(FieldSet, OfMoreThanAnybodyReadsTheBeginningIsShown) {
  EXPECT_EQ(Of(Numbered(0, 5000, 1)).Paths().size(), 1000u);
  const std::string name(100'000, 'a');
  for (const std::string& path : Of("{\"f:" + name + "\":" + Numbered(0, 50, 1) + "}").Paths()) {
    EXPECT_LT(path.size(), 500u);
  }
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

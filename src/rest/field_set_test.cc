// SPDX-License-Identifier: Apache-2.0
#include "rest/field_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "rest/internal/field_tree.h"

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

// Trees do what sets do, and share what stays the same.
FieldSet RandomSet(std::mt19937& random, int depth) {
  constexpr std::string_view kElements[] = {
      "f:a", "f:b", "f:metadata", "i:0", R"(k:{"name":"a"})", R"(k:{"name":"b\\n"})", R"(v:"x")"};
  FieldSet set;
  if (random() % 3 == 0) set.Insert();
  const std::size_t children = depth == 0 ? 0 : random() % 5;
  for (std::size_t i = 0; i < children; ++i) {
    FieldSet below = RandomSet(random, depth - 1);
    if (below.empty()) below.Insert();
    set.At(std::string(kElements[random() % std::size(kElements)])).Add(below);
  }
  return set;
}

TEST(FieldTree, DoesWhatAFieldSetDoes) {
  std::mt19937 random(3);
  for (int round = 0; round < 3'000; ++round) {
    internal::Arena arena;
    const FieldSet a = RandomSet(random, 3);
    const FieldSet b = round % 7 == 0 ? a : RandomSet(random, 3);
    const auto* x = TreeOf(arena, a);
    const auto* y = TreeOf(arena, b);
    EXPECT_EQ(x == nullptr, a.empty());
    EXPECT_EQ(SetOf(x), a);
    EXPECT_EQ(internal::ToJson(x), a.ToJson());
    const std::string text = a.ToJson();
    const auto parsed = internal::ParseTree(arena, text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(SetOf(*parsed), Of(text));  // which has no words for the root itself

    FieldSet both = a;
    both.Add(b);
    const auto* sum = Union(arena, x, y);
    EXPECT_EQ(SetOf(sum), both);
    EXPECT_EQ(sum == x, both == a) << text << b.ToJson();
    FieldSet left = a;
    left.Subtract(b);
    const auto* difference = Subtract(arena, x, y);
    EXPECT_EQ(SetOf(difference), left);
    EXPECT_EQ(difference == x, left == a) << text << b.ToJson();
    FieldSet without = a;
    without.Erase("f:metadata");
    EXPECT_EQ(SetOf(Without(arena, x, {'f', "metadata"})), without);
  }
}

TEST(FieldTree, ReadsWhatOthersWrite) {
  internal::Arena arena;
  const auto read = [&](std::string_view text) {
    const auto tree = internal::ParseTree(arena, text);
    return tree.ok() ? internal::ToJson(*tree) : std::string(base::Message(tree.status()));
  };
  // Not in order, an element twice, spaces, an escape that needs none.
  EXPECT_EQ(read(R"( {"f:b":{}, "f:a":{"f:x":{}},"f:b" : {"f:y":{}}} )"),
            R"({"f:a":{"f:x":{}},"f:b":{".":{},"f:y":{}}})");
  EXPECT_EQ(read(R"({"k:{\"n\":\"\u0061\"}":{}})"), R"({"k:{\"n\":\"a\"}":{}})");
  EXPECT_EQ(read("{}"), "{}");
  for (const std::string_view bad : {"", "[]", R"({"a":{}})", R"({"f:a":{}} x)", R"({"f:a":1})",
                                     R"({"f:a")", R"({"f:a\)", R"({"f:\x":{}})"}) {
    EXPECT_FALSE(internal::ParseTree(arena, bad).ok()) << bad;
    EXPECT_FALSE(FieldSet::Parse(bad).ok()) << bad;
  }
}

TEST(FieldTree, AnArenaGivesWhatIsAskedFor) {
  internal::Arena arena;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string_view> kept;
    for (std::size_t i = 0; i < 2'000; ++i)
      kept.push_back(arena.Keep(std::string(i % 97 + 1, 'x')));
    EXPECT_EQ(arena.Keep(std::string(100'000, 'y')).size(), 100'000u);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i], std::string(i % 97 + 1, 'x'));
    }
    arena.Clear();
  }
}

}  // namespace
}  // namespace dray::rest

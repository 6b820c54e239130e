// SPDX-License-Identifier: Apache-2.0
#include "api/source_map.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace dray::api {
namespace {

struct SourceMapCase {
  std::string name;
  std::string text;  // the value of e, with one @ in it
  bool json = false;
  friend void PrintTo(const SourceMapCase& c, std::ostream* os) { *os << c.name; }
};
class SourceMapTest : public ::testing::TestWithParam<SourceMapCase> {};

// Counts as the readers do.
Position PlaceOf(std::string_view text, std::size_t at, bool bytes) {
  Position place{1, 1};
  for (std::size_t i = 0; i < at; ++i) {
    if (text[i] == '\n') {
      place = {place.line + 1, 1};
    } else if (bytes || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

DocumentNode Parsed(const SourceMapCase& c) {
  std::vector<Diagnostic> diagnostics;
  if (c.json) return ParseJson(c.text, diagnostics);
  std::vector<DocumentNode> documents = ParseYaml(c.text, diagnostics);
  EXPECT_TRUE(diagnostics.empty() && documents.size() == 1) << c.text;
  return documents.empty() ? DocumentNode() : documents[0];
}

const DocumentNode& ScalarOf(const DocumentNode& root) { return root.Find("e")->value; }

TEST_P(SourceMapTest, FindsTheCharacterThatWasWritten) {
  const SourceMapCase& c = GetParam();
  const DocumentNode root = Parsed(c);
  const DocumentNode& scalar = ScalarOf(root);
  const auto marker = scalar.text.find('@');
  ASSERT_NE(marker, std::string::npos) << scalar.text;
  EXPECT_EQ(SourceMap(c.text).Inside(scalar, marker), PlaceOf(c.text, c.text.find('@'), c.json))
      << scalar.text;
}

// Wherever the value goes on, the way does not go back.
TEST_P(SourceMapTest, LeadsForwardThroughTheWholeValue) {
  const SourceMapCase& c = GetParam();
  const DocumentNode root = Parsed(c);
  const DocumentNode& scalar = ScalarOf(root);
  const SourceMap map(c.text);
  Position last = scalar.position;
  for (std::size_t i = 0; i <= scalar.text.size(); ++i) {
    const Position here = map.Inside(scalar, i);
    EXPECT_TRUE(here.line > last.line || (here.line == last.line && here.column >= last.column))
        << i << " is at " << here.line << ":" << here.column;
    last = here;
  }
  EXPECT_NE(last, scalar.position);
}

INSTANTIATE_TEST_SUITE_P(
    Styles, SourceMapTest,
    ::testing::ValuesIn(std::vector<SourceMapCase>{
        {.name = "plain", .text = "a: 1\ne: device.x == @y\n"},
        {.name = "plain_at_its_start", .text = "e: a@\n"},
        {.name = "plain_over_lines", .text = "x:\ne: a ==\n   b  \n\n   && @c\n"},
        {.name = "plain_in_a_flow", .text = "{x: [1, 2], e: a b@c}\n"},
        {.name = "single_quoted", .text = "e: 'it''s here: @'\n"},
        {.name = "single_quoted_over_lines", .text = "e: 'a\n  ''b''\n\n  @'\n"},
        {.name = "double_quoted", .text = "e: \"x == \\\"a\\\" && @\"\n"},
        {.name = "double_quoted_escapes", .text = "e: \"\\x41\\u00e9\\U0001F600\\t\\e\\_@\"\n"},
        {.name = "double_quoted_joined_lines", .text = "e: \"a \\\n    b\\\n    @c\"\n"},
        {.name = "double_quoted_over_lines", .text = "e: \"a  \n\n\n   b @c\"\n"},
        {.name = "literal", .text = "e: |\n  a ==\n    b &&\n\n  @c\n"},
        {.name = "literal_kept", .text = "e: |+ # as it is\n\n  a\n   @\n\n\nf: 1\n"},
        {.name = "literal_stripped", .text = "e: |-\n    a\n    @b\n"},
        {.name = "literal_with_its_indent", .text = "e: |2-\n     a\n   @b\n"},
        {.name = "folded", .text = "e: >-\n  a\n  b\n\n  c\n    d\n    e\n  @f\n"},
        {.name = "folded_blank_lines", .text = "e: >\n\n  a\n\n\n  @f\n"},
        {.name = "anchor_and_tag", .text = "e: &x !!str \"a\\\"@\"\n"},
        {.name = "wide_characters", .text = "é: 1\ne: \"größe 😀 @\"\n"},
        {.name = "windows_lines", .text = "a: 1\r\ne: |\r\n  a\r\n  @b\r\n"},
        {.name = "json", .text = R"({"a": [1], "e": "x == \"\u00e9\" @"})", .json = true},
        {.name = "json_pair", .text = R"({"e": "\ud83d\ude00\n\/ @"})", .json = true},
        {.name = "json_bytes", .text = "{\n  \"e\": \"größe @\"}", .json = true},
    }),
    [](const auto& info) { return info.param.name; });

TEST(SourceMap, AnAliasIsItsOwnPlace) {
  const std::string text = "a: &x 'long text @'\ne: *x\n";
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(text, diagnostics);
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(SourceMap(text).Inside(ScalarOf(documents[0]), 10), (Position{2, 4}));
}

TEST(SourceMap, ATextThatIsNotTheScalarsIsNotFollowed) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml("e: 'device.driver'\n", diagnostics);
  ASSERT_EQ(documents.size(), 1U);
  const DocumentNode& scalar = ScalarOf(documents[0]);
  for (const std::string_view other : {"", "e: 'devise.driver'", "e: ", "e: 'dev", "e: |\n"}) {
    EXPECT_EQ(SourceMap(other).Inside(scalar, 8), scalar.position) << other;
  }
  EXPECT_EQ(SourceMap("e: 'device.driver'\n").Inside(scalar, 99), scalar.position);
}

}  // namespace
}  // namespace dray::api

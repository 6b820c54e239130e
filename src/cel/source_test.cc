// SPDX-License-Identifier: Apache-2.0
#include "cel/source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dray::cel {
namespace {

struct RenderCase {
  std::string name;
  std::string text;
  Offset offset = kNowhere;
  std::string want;
  friend void PrintTo(const RenderCase& c, std::ostream* os) { *os << c.name; }
};
class RenderTest : public ::testing::TestWithParam<RenderCase> {};

TEST_P(RenderTest, LooksLikeKubernetes) {
  EXPECT_EQ(Render(Source(GetParam().text), {GetParam().offset, "text"}), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Issues, RenderTest,
    ::testing::ValuesIn(std::vector<RenderCase>{
        {.name = "first_column",
         .text = "foo",
         .offset = 0,
         .want = "ERROR: <input>:1:1: text\n | foo\n | ^"},
        {.name = "inside_a_line",
         .text = "device.attributes[true]",
         .offset = 17,
         .want = "ERROR: <input>:1:18: text\n | device.attributes[true]\n | .................^"},
        {.name = "second_line",
         .text = "a &&\n  b.c",
         .offset = 8,
         .want = "ERROR: <input>:2:4: text\n |   b.c\n | ...^"},
        {.name = "past_the_end",
         .text = "(",
         .offset = 1,
         .want = "ERROR: <input>:1:2: text\n | (\n | .^"},
        {.name = "right_after_a_newline",
         .text = "a\n",
         .offset = 2,
         .want = "ERROR: <input>:2:1: text\n | \n | ^"},
        {.name = "nowhere_shows_no_source", .text = "foo", .want = "ERROR: <input>:-1:0: text"},
        {.name = "no_text_no_source", .text = "", .offset = 0, .want = "ERROR: <input>:1:1: text"},
        {.name = "tab_is_shown_as_a_space",
         .text = "\tx",
         .offset = 1,
         .want = "ERROR: <input>:1:2: text\n |  x\n | .^"},
        // Columns count code points; what has several bytes gets a wide dot or caret.
        {.name = "wide_characters",
         .text = "'\u4e16\u754c' + x",
         .offset = 11,
         .want = "ERROR: <input>:1:8: text\n | '\u4e16\u754c' + x\n | .\uff0e\uff0e....^"},
        {.name = "wide_character_at_the_place",
         .text = "a\u00e9",
         .offset = 1,
         .want = "ERROR: <input>:1:2: text\n | a\u00e9\n | .\uff3e"},
        {.name = "carriage_return_stays_in_its_line",
         .text = "a\r\nb",
         .offset = 3,
         .want = "ERROR: <input>:2:1: text\n | b\n | ^"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Source, LongLineIsNotShown) {
  const Source source(std::string(16385, 'x'));
  EXPECT_EQ(Render(source, {3, "text"}), "ERROR: <input>:1:4: text");
}

TEST(Source, IssuesAreShownByPlaceAndNowhereFirst) {
  const Source source("a\nb");
  EXPECT_EQ(Render(source, {{2, "second"}, {0, "first"}, {kNowhere, "all"}}),
            "ERROR: <input>:-1:0: all\n"
            "ERROR: <input>:1:1: first\n | a\n | ^\n"
            "ERROR: <input>:2:1: second\n | b\n | ^");
}

TEST(Source, MoreThanHundredIssuesAreCounted) {
  const std::string text = Render(Source(""), std::vector<Issue>(103, Issue{kNowhere, "x"}));
  EXPECT_TRUE(text.ends_with("\nERROR: <input>:-1:0: x\n3 more errors were truncated"));
}

TEST(Source, BytesThatAreNoCharacterAreReplaced) {
  // A lone continuation, an overlong slash, a surrogate, a cut character.
  for (const char* bad : {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe4\xb8"}) {
    const std::string_view input(bad);
    const Source source(input);
    EXPECT_EQ(source.code_points(), input.size());
    EXPECT_EQ(source.text().size(), 3 * input.size());
  }
  EXPECT_EQ(Source("\u4e16\U0001f600z").code_points(), 3U);
}

TEST(Snippet, ALineThatIsTooLongIsShownAroundThePlace) {
  const std::string line = std::string(50, 'a') + "X" + std::string(50, 'b');
  EXPECT_EQ(Snippet(Source(line), 50, 10), "\n | ...aaaaaXbbbb...\n | ........^");
  EXPECT_EQ(Snippet(Source(line), 0, 4), "\n | aaaa...\n | ^");
  EXPECT_EQ(Snippet(Source(line), 101, 4), "\n | ...bbbb\n | .......^");
  EXPECT_EQ(Snippet(Source(line), 50, 101), "\n | " + line + "\n | " + std::string(50, '.') + "^");
}

TEST(Snippet, NowhereHasNone) { EXPECT_EQ(Snippet(Source("a"), kNowhere, 10), ""); }

}  // namespace
}  // namespace dray::cel

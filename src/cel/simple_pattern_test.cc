// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/simple_pattern.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "cel/internal/regex.h"

namespace dray::cel {
namespace {

TEST(SimplePattern, TakesRowsOfCharactersAndSets) {
  for (const std::string_view pattern :
       {"", "^", "$", "^$", "abc", "^NVIDIA H[12]00", "a[x-z_]$", "\\.example\\.com$", "a b.*"}) {
    EXPECT_TRUE(SimplePattern::Parse(pattern).has_value()) << pattern;
  }
}

TEST(SimplePattern, LeavesEverythingElse) {
  for (const std::string_view pattern :
       {"a*",          "a+b",  "ab?",     "a|b",      "(ab)",  "a.c",  "[^a]",
        "[[:alpha:]]", "\\d",  "\\Qa\\E", "a{2}",     "a^",    "a$b",  "\\",
        "[a-",         "[]a]", "[a\\]]",  "\xc3\xa4", "(?i)a", "[a-]", "_\\_"}) {
    EXPECT_FALSE(SimplePattern::Parse(pattern).has_value()) << pattern;
  }
}

// Property: whatever it takes, RE2 takes, and finds in the same texts.
TEST(SimplePattern, AgreesWithRe2) {
  const std::uint32_t seed = 20240611;
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view kPieces[] = {"a", "b",  "-",  "]",     "[ab]", "[a-c]", "\\.", "\\-",
                                          "^", "$",  ".*", "[b-]",  ".",    "*",     "[",   "\\",
                                          "0", "\n", "{",  "[0-9]", " ",    "/",     "_",   "A"};
  constexpr std::string_view kTexts[] = {"a", "b", "c",  "-", "]",        ".",
                                         "0", "9", "\n", "A", "\xc3\xa4", " "};
  int compared = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string pattern;
    for (std::size_t n = below(5); n > 0; --n) pattern += kPieces[below(std::size(kPieces))];
    const re2::RE2 regex(pattern, RegexOptions());
    const auto simple = SimplePattern::Parse(pattern);
    if (!simple) continue;
    ASSERT_TRUE(regex.ok()) << "pattern " << pattern << " seed " << seed;
    for (int t = 0; t < 5; ++t) {
      std::string text;
      for (std::size_t n = below(8); n > 0; --n) text += kTexts[below(std::size(kTexts))];
      ASSERT_EQ(simple->Matches(text), re2::RE2::PartialMatch(text, regex))
          << "pattern " << pattern << " text " << text << " seed " << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10000);
}

}  // namespace
}  // namespace dray::cel

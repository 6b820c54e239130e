// SPDX-License-Identifier: Apache-2.0
#include "base/valid_utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace dray::base {
namespace {

TEST(ValidUtf8, EveryCharacterIsOne) {
  // All of one, two and the first of three bytes, then some.
  for (char32_t c = 0; c <= 0x10ffff; c += c < 0x1000 ? 1 : 61) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string text;
    AppendUtf8(text, c);
    ASSERT_EQ(CharacterSize(text), text.size()) << std::uint32_t{c};
    ASSERT_TRUE(IsUtf8(text));
    // Without its end it is none.
    if (text.size() > 1) {
      text.pop_back();
      ASSERT_FALSE(IsUtf8(text)) << std::uint32_t{c};
    }
  }
}

TEST(ValidUtf8, WhatIsNoneIsFoundAnywhere) {
  constexpr std::string_view kBad[] = {
      "\x80",              // goes on with nothing
      "\xff",              // begins nothing
      "\xc0\xaf",          // longer than it need be
      "\xe0\x80\xaf",      // likewise
      "\xf0\x80\x80\xaf",  // likewise
      "\xed\xa0\x80",      // half of a pair
      "\xf4\x90\x80\x80",  // beyond the last one
  };
  for (const std::string_view bad : kBad) {
    EXPECT_EQ(CharacterSize(bad), 0u);
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string text = std::string(before, 'a').append(bad);
      EXPECT_FALSE(IsUtf8(text));
      EXPECT_FALSE(IsUtf8(text + std::string(20, 'a')));
    }
  }
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(std::string_view("\0", 1)));
}

TEST(ValidUtf8, ABeginningEndsWithAWholeCharacter) {
  const std::string_view text = "a\xc3\xa9\xf0\x9f\x98\x80";
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
  for (std::size_t bytes = 0; bytes < std::size(ends); ++bytes) {
    EXPECT_EQ(Beginning(text, bytes), text.substr(0, ends[bytes])) << bytes;
  }
  // What is no text ends somewhere, too.
  EXPECT_EQ(Beginning("\x80\x80\x80\x80\x80\x80", 5).size(), 2u);
}

}  // namespace
}  // namespace dray::base

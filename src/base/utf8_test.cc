// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace dray::base {
namespace {

TEST(Utf8, CharactersAreBytesThatDoNotContinueOne) {
  EXPECT_EQ(CodePoints(""), 0u);
  EXPECT_EQ(CodePoints("abc"), 3u);
  EXPECT_EQ(CodePoints("µ\xe2\x88\x9e\xf0\x9f\x98\x80"), 3u);
  EXPECT_EQ(CodePoints("\x80\xff"), 1u);  // no UTF-8
}

// Eight bytes at a time is the same as one at a time, at every length.
TEST(Utf8, CountsAsASlowLoopDoes) {
  std::mt19937 random(5491);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 40, ' ');
    std::size_t want = 0;
    for (char& c : text) {
      c = static_cast<char>(random());
      if (!IsContinuation(c)) ++want;
    }
    ASSERT_EQ(CodePoints(text), want);
  }
}

}  // namespace
}  // namespace dray::base

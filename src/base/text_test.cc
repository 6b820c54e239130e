// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

TEST(Text, HoldsEveryLengthAndByte) {
  for (std::size_t n = 0; n < 100; ++n) {
    std::string expected;
    for (std::size_t i = 0; i < n; ++i) expected += static_cast<char>(i * 37);
    const Text text(expected);
    EXPECT_EQ(text.view(), expected);
    EXPECT_EQ(text.size(), n);
    EXPECT_EQ(Text(text), text);
    EXPECT_EQ(Text(expected), text);
    EXPECT_NE(Text(expected + "x"), text);
  }
}

TEST(Text, CopiesOfALongTextShareIt) {
  const Text a(std::string(40, 'a'));
  const Text b = a;
  EXPECT_EQ(a.data(), b.data());
  Text c = b;
  c = Text("short");
  EXPECT_EQ(a.view(), std::string(40, 'a'));
  c = a;
  Text& itself = c;
  c = std::move(itself);
  EXPECT_EQ(c, a);
}

TEST(Text, OrdersLikeItsCharacters) {
  EXPECT_LT(Text("a"), Text("b"));
  EXPECT_LT(Text("resource.kubernetes.io/a"), Text("resource.kubernetes.io/b"));
  EXPECT_LT(Text("z"), std::string_view("zz"));
  const std::vector<std::string> ascending = {"",
                                              std::string(1, '\0'),
                                              "A",
                                              "a",
                                              std::string("a\0", 2),
                                              "aa",
                                              "abcdefgh",
                                              "abcdefghi",
                                              "abcdefghijklmno",
                                              "abcdefghijklmnop",
                                              "b",
                                              "\xff"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      EXPECT_EQ(Text(ascending[i]) < Text(ascending[j]), i < j) << i << " " << j;
      EXPECT_EQ(Text(ascending[i]) == Text(ascending[j]), i == j) << i << " " << j;
    }
  }
  EXPECT_EQ(fmt::format("{}", Text("x")), "x");
}

TEST(OptionalText, EmptyAndAbsentDiffer) {
  OptionalText text;
  EXPECT_FALSE(text.has_value());
  EXPECT_NE(text, OptionalText(""));
  EXPECT_EQ(text.value_or("other"), "other");
  text.emplace(std::string_view("here"));
  EXPECT_EQ(*text, "here");
  const OptionalText copy = text;
  text.reset();
  EXPECT_EQ(text, OptionalText());
  EXPECT_EQ(copy->view(), "here");
}

}  // namespace
}  // namespace dray::base

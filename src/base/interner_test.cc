// SPDX-License-Identifier: Apache-2.0
#include "base/interner.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

TEST(Interner, NumbersStringsInOrderOfArrival) {
  Interner interner;
  EXPECT_EQ(interner.Intern("a").id(), 0u);
  EXPECT_EQ(interner.Intern("b").id(), 1u);
  EXPECT_EQ(interner.Intern("a").id(), 0u);
  EXPECT_EQ(interner.Intern("").id(), 2u);
  EXPECT_EQ(interner.size(), 3u);
  EXPECT_EQ(interner.View(Symbol(1)), "b");
  EXPECT_EQ(interner.View(Symbol(2)), "");
}

TEST(Interner, FindDoesNotAdd) {
  Interner interner;
  EXPECT_EQ(interner.Find("a"), std::nullopt);
  EXPECT_EQ(interner.size(), 0u);
  const Symbol a = interner.Intern("a");
  EXPECT_EQ(interner.Find("a"), a);
}

TEST(Interner, SymbolsStayWhatTheyAreWhileItGrowsAndMoves) {
  Interner interner;
  std::vector<std::string> texts;
  for (int i = 0; i < 20000; ++i) {
    texts.push_back("device-" + std::to_string(i) + std::string(i % 1000 == 0 ? 20000 : 0, 'x'));
    ASSERT_EQ(interner.Intern(texts.back()).id(), static_cast<std::uint32_t>(i));
  }
  const Interner moved = std::move(interner);
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(moved.View(Symbol(i)), texts[i]);
    ASSERT_EQ(moved.Find(texts[i]), Symbol(i));
  }
}

TEST(Interner, KnowsItsMemory) {
  Interner interner;
  EXPECT_LT(interner.MemoryBytes(), 64u);
  interner.Intern(std::string(100000, 'x'));
  EXPECT_GE(interner.MemoryBytes(), 100000u);
  EXPECT_LT(interner.MemoryBytes(), 102000u);
}

}  // namespace
}  // namespace dray::base

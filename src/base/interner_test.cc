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

TEST(Interner, ViewsStayWhereTheyAreWhileItGrowsAndMoves) {
  Interner interner;
  std::vector<std::string_view> views;
  for (int i = 0; i < 20000; ++i) {
    // Some longer than a block.
    const std::string text =
        "device-" + std::to_string(i) + std::string(i % 1000 == 0 ? 20000 : 0, 'x');
    views.push_back(interner.View(interner.Intern(text)));
  }
  const char* first = views[1].data();
  const Interner moved = std::move(interner);
  EXPECT_EQ(moved.View(Symbol(1)).data(), first);
  for (std::uint32_t i = 0; i < views.size(); ++i) {
    ASSERT_EQ(views[i].substr(0, 7), "device-");
    ASSERT_EQ(moved.Find(views[i]), Symbol(i));
  }
}

TEST(Interner, KnowsItsMemory) {
  Interner interner;
  EXPECT_EQ(interner.MemoryBytes(), 0u);
  interner.Intern(std::string(100000, 'x'));
  EXPECT_GE(interner.MemoryBytes(), 100000u);
  EXPECT_LT(interner.MemoryBytes(), 102000u);
}

}  // namespace
}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
#include "allocator/independent_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace dray::allocator {
namespace {

using base::BitSet;
using Answer = IndependentSet::Answer;

BitSet Of(std::size_t n, const std::vector<std::size_t>& members) {
  BitSet set(n);
  for (const std::size_t member : members) set.Set(member);
  return set;
}

TEST(IndependentSet, ACliqueHasOne) {
  IndependentSet graph;
  graph.Reset(5);
  graph.Join(BitSet(5, true));
  WorkMeter work;
  EXPECT_EQ(graph.AtLeast(BitSet(5, true), 1, 1'000, work), Answer::kYes);
  EXPECT_EQ(graph.AtLeast(BitSet(5, true), 2, 1'000, work), Answer::kNo);
  EXPECT_GT(work.spent(), 0);
}

// An odd ring has no vertex that could be taken at once, and a cover by pairs is one too many.
TEST(IndependentSet, ARingOfSevenHasThree) {
  IndependentSet graph;
  graph.Reset(7);
  for (std::size_t v = 0; v < 7; ++v) graph.Join(Of(7, {v, (v + 1) % 7}));
  WorkMeter work;
  EXPECT_EQ(graph.AtLeast(BitSet(7, true), 3, 10'000, work), Answer::kYes);
  EXPECT_EQ(graph.AtLeast(BitSet(7, true), 4, 10'000, work), Answer::kNo);
  EXPECT_EQ(graph.AtLeast(BitSet(7, true), 4, 0, work), Answer::kUnknown);
}

TEST(IndependentSet, AgreesWithTryingEverything) {
  std::mt19937 random(20251115);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t n = 1 + random() % 12;
    IndependentSet graph;
    graph.Reset(n);
    const std::uint32_t cliques = random() % 12;
    for (std::uint32_t c = 0; c < cliques; ++c) {
      BitSet clique(n);
      for (std::uint32_t i = 0; i < 2 + random() % 3; ++i) clique.Set(random() % n);
      graph.Join(clique);
    }
    BitSet among(n);
    for (std::size_t v = 0; v < n; ++v) among.Assign(v, random() % 8 != 0);
    std::size_t most = 0;
    for (std::uint32_t set = 0; set < (1U << n); ++set) {
      bool independent = true;
      for (std::size_t a = 0; a < n && independent; ++a) {
        if ((set >> a & 1) == 0) continue;
        independent = among.Test(a);
        for (std::size_t b = a + 1; b < n && independent; ++b) {
          independent = (set >> b & 1) == 0 || !graph.Joined(a, b);
        }
      }
      if (independent) most = std::max<std::size_t>(most, std::popcount(set));
    }
    WorkMeter work;
    for (std::size_t size = 1; size <= n + 1; ++size) {
      ASSERT_EQ(graph.AtLeast(among, size, 10'000'000, work),
                size <= most ? Answer::kYes : Answer::kNo)
          << "round " << round << ", size " << size;
    }
  }
}

}  // namespace
}  // namespace dray::allocator

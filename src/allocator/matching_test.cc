// SPDX-License-Identifier: Apache-2.0
#include "allocator/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace dray::allocator {
namespace {

using base::BitSet;

constexpr std::uint64_t kPlenty = 10'000'000;

void Join(Matching& graph, std::size_t n, std::size_t a, std::size_t b) {
  BitSet pair(n);
  pair.Set(a);
  pair.Set(b);
  graph.Join(pair);
}

std::size_t Most(const std::vector<std::pair<std::size_t, std::size_t>>& edges, std::size_t from,
                 std::uint32_t used) {
  std::size_t most = 0;
  for (std::size_t e = from; e < edges.size(); ++e) {
    const std::uint32_t both = 1U << edges[e].first | 1U << edges[e].second;
    if ((used & both) == 0) most = std::max(most, 1 + Most(edges, e + 1, used | both));
  }
  return most;
}

TEST(Matching, CirclesOfOddLengthLeaveOneOver) {
  constexpr std::size_t kLength = 7;
  Matching graph;
  graph.Reset(kLength);
  for (std::size_t i = 0; i < kLength; ++i) Join(graph, kLength, i, (i + 1) % kLength);
  WorkMeter work;
  EXPECT_TRUE(graph.AtLeast(BitSet(kLength, true), 3, kPlenty, work));
  EXPECT_FALSE(graph.AtLeast(BitSet(kLength, true), 4, kPlenty, work));
  EXPECT_GT(work.spent(), 0U);
}

TEST(Matching, AgreesWithTryingEverything) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 2'000; ++round) {
    const auto n = static_cast<std::size_t>(pick(2, 10));
    Matching graph;
    graph.Reset(n);
    BitSet among(n);
    for (std::size_t v = 0; v < n; ++v) among.Assign(v, pick(0, 9) > 0);
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    const int percent = pick(10, 50);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        if (pick(0, 99) >= percent) continue;
        Join(graph, n, a, b);
        if (among.Test(a) && among.Test(b)) edges.emplace_back(a, b);
      }
    }
    if (edges.size() > 20) continue;
    const std::size_t most = Most(edges, 0, 0);
    WorkMeter work;
    ASSERT_TRUE(graph.AtLeast(among, most, kPlenty, work)) << "round " << round;
    ASSERT_FALSE(graph.AtLeast(among, most + 1, kPlenty, work)) << "round " << round;
  }
}

TEST(Matching, WithoutWorkNothingIsRefused) {
  Matching graph;
  graph.Reset(3);
  Join(graph, 3, 0, 1);
  WorkMeter work;
  EXPECT_TRUE(graph.AtLeast(BitSet(3, true), 2, 0, work));
}

}  // namespace
}  // namespace dray::allocator

// SPDX-License-Identifier: Apache-2.0
#include "allocator/linear_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace dray::allocator {
namespace {

constexpr std::uint64_t kPlenty = 1'000'000;

TEST(LinearProgram, FindsTheMostAndProvesIt) {
  // Two things that share 3: at most 3 in all, and one of them at most 1.
  LinearProgram program;
  const auto x = program.AddColumn(1);
  const auto y = program.AddColumn(1);
  const auto both = program.AddRow(3);
  const auto one = program.AddRow(1);
  program.Set(both, x, 1);
  program.Set(both, y, 1);
  program.Set(one, x, 1);
  ASSERT_TRUE(program.Maximise(kPlenty));
  EXPECT_NEAR(program.objective(), 3, 1e-3);
  EXPECT_TRUE(program.ProvedBelow(4));
  EXPECT_FALSE(program.ProvedBelow(3));
}

TEST(LinearProgram, FractionsCount) {
  // Three corners of a triangle, two of which are never taken together: one and a half.
  LinearProgram program;
  std::vector<std::uint32_t> x;
  for (int i = 0; i < 3; ++i) x.push_back(program.AddColumn(1));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto row = program.AddRow(1);
    program.Set(row, x[i], 1);
    program.Set(row, x[(i + 1) % 3], 1);
  }
  ASSERT_TRUE(program.Maximise(kPlenty));
  EXPECT_NEAR(program.objective(), 1.5, 1e-3);
  EXPECT_TRUE(program.ProvedBelow(2));
  EXPECT_FALSE(program.ProvedBelow(1));
}

TEST(LinearProgram, RunningOutOfWorkIsSaid) {
  LinearProgram program;
  const auto x = program.AddColumn(1);
  program.Set(program.AddRow(1), x, 1);
  EXPECT_FALSE(program.Maximise(0));
  EXPECT_FALSE(program.ProvedBelow(1));
}

// Random programs of the shape that allocations have: rows that need something, rows that limit. What
// whole numbers can reach is found by trying all of them; a proof must never be below that.
TEST(LinearProgram, NeverProvesMoreThanIsTrue) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int proved = 0;
  for (int round = 0; round < 3'000; ++round) {
    LinearProgram program;
    const int n = pick(1, 5);
    const int m = pick(1, 5);
    constexpr int kMost = 3;
    std::vector<std::vector<int>> a(static_cast<std::size_t>(m + n),
                                    std::vector<int>(static_cast<std::size_t>(n), 0));
    std::vector<int> most(a.size());
    std::vector<int> gain(static_cast<std::size_t>(n));
    for (int& g : gain) program.AddColumn(g = pick(0, 3), pick(0, 1) * 1e-6);
    for (std::size_t i = 0; i < a.size(); ++i) {
      // The last rows limit each column.
      const bool limit = i >= static_cast<std::size_t>(m);
      most[i] = limit ? pick(0, kMost) : pick(0, 9);
      const auto row = program.AddRow(most[i]);
      for (std::size_t j = 0; j < gain.size(); ++j) {
        a[i][j] = limit ? static_cast<int>(i == j + static_cast<std::size_t>(m)) : pick(-2, 4);
        program.Set(row, static_cast<std::uint32_t>(j), a[i][j]);
      }
    }
    int best = 0;
    std::vector<int> x(gain.size(), 0);
    for (bool more = true; more;) {
      bool fits = true;
      for (std::size_t i = 0; i < a.size() && fits; ++i) {
        int sum = 0;
        for (std::size_t j = 0; j < x.size(); ++j) sum += a[i][j] * x[j];
        fits = sum <= most[i];
      }
      int sum = 0;
      for (std::size_t j = 0; j < x.size(); ++j) sum += gain[j] * x[j];
      if (fits) best = std::max(best, sum);
      more = false;
      for (int& value : x) {
        if (++value <= kMost) {
          more = true;
          break;
        }
        value = 0;
      }
    }
    program.Maximise(kPlenty);
    ASSERT_FALSE(program.ProvedBelow(best)) << "round " << round;
    // The relaxation itself is exact up to fractions.
    const auto above = static_cast<std::int64_t>(program.objective() + 1e-3) + 1;
    EXPECT_TRUE(program.ProvedBelow(above)) << "round " << round;
    proved += static_cast<int>(program.ProvedBelow(best + 1));
  }
  EXPECT_GT(proved, 1'500);
}

}  // namespace
}  // namespace dray::allocator

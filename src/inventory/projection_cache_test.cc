// SPDX-License-Identifier: Apache-2.0
#include "inventory/internal/projection_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace dray::inventory::internal {
namespace {

using Key = std::array<std::uint32_t, 2>;

TEST(ProjectionCache, FindsWhatWasPutByTheWholeKey) {
  ProjectionCache cache(2);
  EXPECT_EQ(cache.Find(Key{1, 2}), std::nullopt);
  cache.Put(Key{1, 2}, 7);
  EXPECT_EQ(cache.Find(Key{1, 2}), 7u);
  EXPECT_EQ(cache.Find(Key{2, 1}), std::nullopt);
  EXPECT_EQ(cache.Find(Key{1, 0}), std::nullopt);
  cache.Put(Key{1, 2}, 8);
  EXPECT_EQ(cache.Find(Key{1, 2}), 8u);
}

TEST(ProjectionCache, AKeyOfNothingIsOneKey) {
  ProjectionCache cache(0);
  EXPECT_EQ(cache.Find({}), std::nullopt);
  cache.Put({}, 3);
  EXPECT_EQ(cache.Find({}), 3u);
}

TEST(ProjectionCache, GrowsUntilTheKeysInUseHaveRoom) {
  ProjectionCache cache(2);
  constexpr std::uint32_t kKeys = 1000;
  std::uint32_t found = 0;
  for (int round = 0; round < 20; ++round) {
    found = 0;
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      const auto known = cache.Find(Key{i, ~i});
      if (known.has_value()) {
        ASSERT_EQ(*known, i);
        ++found;
      } else {
        cache.Put(Key{i, ~i}, i);
      }
    }
  }
  EXPECT_GT(found, kKeys * 9 / 10);
}

TEST(ProjectionCache, StaysBoundedAndRemembersTheLatest) {
  ProjectionCache cache(2);
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    cache.Put(Key{i, 0}, i);
    ASSERT_EQ(cache.Find(Key{i, 0}).value_or(i), i);
  }
  EXPECT_EQ(cache.SlotsForTest(), ProjectionCache::kMaxSlots);
  EXPECT_EQ(cache.Find(Key{999'999, 0}), 999'999u);
}

TEST(ProjectionCache, ManyTogetherStayWithinTheLimit) {
  std::atomic<std::size_t> bytes = 0;
  std::vector<std::unique_ptr<ProjectionCache>> caches;
  for (int c = 0; c < 150; ++c) {
    ProjectionCache& cache = *caches.emplace_back(std::make_unique<ProjectionCache>(2, &bytes));
    for (std::uint32_t i = 0; i < 100'000; ++i) cache.Put(Key{i, 0}, i);
    ASSERT_LE(bytes.load(), ProjectionCache::kMostBytes);
  }
  EXPECT_EQ(caches.front()->SlotsForTest(), ProjectionCache::kMaxSlots);
  EXPECT_LT(caches.back()->SlotsForTest(), ProjectionCache::kMaxSlots);
  caches.back()->Put(Key{1, 2}, 3);
  EXPECT_EQ(caches.back()->Find(Key{1, 2}), 3u) << "a small one remembers, too";
  caches.clear();
  EXPECT_EQ(bytes.load(), 0u);
}

}  // namespace
}  // namespace dray::inventory::internal

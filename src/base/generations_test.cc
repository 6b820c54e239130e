// SPDX-License-Identifier: Apache-2.0
#include "base/generations.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "absl/container/flat_hash_map.h"

namespace dray::base {
namespace {

using Cache = Generations<absl::flat_hash_map<int, std::unique_ptr<int>>>;

void Use(Cache& cache, int key) {
  cache.Trim();
  if (cache.Find(key) == nullptr) cache.Put(key, std::make_unique<int>(key));
}

// Without using it.
std::set<int> Known(const Cache& cache) {
  std::set<int> known;
  cache.ForEach([&](int key, const auto&) { known.insert(key); });
  return known;
}

TEST(Generations, KeepsTheLastOnesAndNeverMoreThanTwice) {
  Cache cache(100);
  for (int i = 0; i < 10'000; ++i) {
    Use(cache, i);
    ASSERT_LE(cache.size(), 200u);
    if (i < 99 || i % 97 != 0) continue;
    const std::set<int> known = Known(cache);
    for (int back = 0; back < 100; ++back)
      ASSERT_TRUE(known.contains(i - back)) << i << " " << back;
  }
}

TEST(Generations, WhatIsUsedStays) {
  Cache cache(10);
  Use(cache, -1);
  const int* there = cache.Find(-1)->get();
  for (int i = 0; i < 1000; ++i) {
    Use(cache, i);
    if (i % 5 == 0) Use(cache, -1);
  }
  ASSERT_NE(cache.Find(-1), nullptr);
  EXPECT_EQ(cache.Find(-1)->get(), there) << "the same, not made again";
  EXPECT_EQ(cache.Find(1), nullptr);
}

TEST(Generations, NothingIsForgottenBetweenTwoTrims) {
  Cache cache(10);
  for (int i = 0; i < 1000; ++i) cache.Put(i, std::make_unique<int>(i));
  for (int i = 0; i < 1000; ++i) ASSERT_NE(cache.Find(i), nullptr);
  cache.Trim();
  for (int i = 1000; i < 1010; ++i) cache.Put(i, std::make_unique<int>(i));
  cache.Trim();
  EXPECT_EQ(cache.size(), 10u);
}

}  // namespace
}  // namespace dray::base

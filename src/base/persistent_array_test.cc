// SPDX-License-Identifier: Apache-2.0
#include "base/persistent_array.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

TEST(PersistentArray, ElementsNeverSetAreTheDefault) {
  PersistentArray<std::string> array;
  EXPECT_EQ(array.size(), 0u);
  EXPECT_EQ(array.At(0), "");
  EXPECT_EQ(array.At(1'000'000), "");
  array.Set(70, "x");
  EXPECT_EQ(array.size(), 71u);
  EXPECT_EQ(array.At(70), "x");
  EXPECT_EQ(array.At(69), "");
  EXPECT_EQ(array.At(71), "");
  EXPECT_EQ(array.At(5000), "");
}

TEST(PersistentArray, GrowsToAnyIndex) {
  PersistentArray<int> array;
  const std::size_t far = std::size_t{1} << 62;
  array.Set(3, 1);
  array.Set(far, 2);
  EXPECT_EQ(array.At(3), 1);
  EXPECT_EQ(array.At(far), 2);
  EXPECT_EQ(array.At(far - 1), 0);
  EXPECT_EQ(array.size(), far + 1);
}

TEST(PersistentArray, ACopyKeepsWhatItHad) {
  PersistentArray<int> array;
  for (int i = 0; i < 100; ++i) array.Set(static_cast<std::size_t>(i), i);
  const PersistentArray<int> before = array;
  array.Set(50, -1);
  array.Set(5000, -2);
  EXPECT_EQ(before.At(50), 50);
  EXPECT_EQ(before.At(5000), 0);
  EXPECT_EQ(before.size(), 100u);
  EXPECT_EQ(array.At(50), -1);
  EXPECT_EQ(array.At(49), 49);
}

// An element's address tells whether its block was copied.
TEST(PersistentArray, CopiesOnlyWhatIsSharedAndOnTheWay) {
  PersistentArray<int> array;
  for (int i = 0; i < 2000; ++i) array.Set(static_cast<std::size_t>(i), i);
  const int* at_1000 = &array.At(1000);
  const int* at_7 = &array.At(7);
  array.Set(1000, -1);
  EXPECT_EQ(&array.At(1000), at_1000) << "nobody else was looking";
  {
    const PersistentArray<int> snapshot = array;
    array.Set(1000, -2);
    EXPECT_NE(&array.At(1000), at_1000);
    EXPECT_EQ(&snapshot.At(1000), at_1000);
    EXPECT_EQ(&array.At(7), at_7) << "another block stays shared";
    const int* copied = &array.At(1000);
    array.Set(1001, -3);
    EXPECT_EQ(&array.At(1000), copied) << "the copy is our own already";
  }
  array.Set(7, -4);
  EXPECT_EQ(&array.At(7), at_7) << "the snapshot is gone";
}

TEST(PersistentArray, MovesAndAssignsLikeAValue) {
  PersistentArray<int> a;
  a.Set(40, 4);
  PersistentArray<int> b = std::move(a);
  EXPECT_EQ(b.At(40), 4);
  PersistentArray<int> c;
  c.Set(1, 1);
  c = b;
  c.Set(40, 5);
  EXPECT_EQ(b.At(40), 4);
  EXPECT_EQ(c.At(1), 0);
  c = *&c;
  EXPECT_EQ(c.At(40), 5);
}

TEST(PersistentArray, ReleasesItsElements) {
  const auto counted = std::make_shared<int>(1);
  {
    PersistentArray<std::shared_ptr<int>> array;
    for (std::size_t i = 0; i < 1500; i += 100) array.Set(i, counted);
    const auto copy = array;
    array.Set(0, nullptr);
    EXPECT_GT(counted.use_count(), 15);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(PersistentArray, CountsTheBytesOfItsBlocks) {
  PersistentArray<std::uint64_t> array;
  EXPECT_EQ(array.MemoryBytes(), 0u);
  array.Set(0, 1);
  const std::size_t leaf = array.MemoryBytes();
  EXPECT_GE(leaf, 32 * 8u);
  EXPECT_LE(leaf, 32 * 8u + 16);
  array.Set(31, 1);
  EXPECT_EQ(array.MemoryBytes(), leaf);
  array.Set(32, 1);
  EXPECT_GT(array.MemoryBytes(), 2 * leaf);
}

// Beside a plain vector, with copies of it as the snapshots.
TEST(PersistentArray, AgreesWithAVectorWhateverIsCopied) {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t limit = seed == 1 ? 40 : 4000;
    PersistentArray<std::string> array;
    std::vector<std::string> model;
    struct Kept {
      PersistentArray<std::string> array;
      std::vector<std::string> model;
    };
    std::vector<Kept> kept;
    const auto expect_equal = [&](const PersistentArray<std::string>& a,
                                  const std::vector<std::string>& m) {
      ASSERT_EQ(a.size(), m.size());
      for (std::size_t i = 0; i < m.size(); ++i) ASSERT_EQ(a.At(i), m[i]) << i;
    };
    for (int step = 0; step < 3000; ++step) {
      const std::size_t i = random() % limit;
      if (i >= model.size()) model.resize(i + 1);
      model[i] = std::to_string(step);
      array.Set(i, model[i]);
      switch (random() % 60) {
        case 0:
          kept.push_back({array, model});
          break;
        case 1:
          if (!kept.empty()) {
            const std::size_t k = random() % kept.size();
            expect_equal(kept[k].array, kept[k].model);
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
          }
          break;
        case 2:  // go on from an old one
          if (!kept.empty()) {
            const Kept& from = kept[random() % kept.size()];
            array = from.array;
            model = from.model;
          }
          break;
        default:
          break;
      }
    }
    expect_equal(array, model);
    for (const Kept& k : kept) expect_equal(k.array, k.model);
  }
}

// For the thread sanitizer: a reader drops its copy, then the writer changes blocks in place.
TEST(PersistentArray, CopiesAreReadWhileTheWriterGoesOn) {
  PersistentArray<std::size_t> array;
  for (std::size_t i = 0; i < 1100; ++i) array.Set(i, i);
  for (std::size_t round = 0; round < 50; ++round) {
    std::vector<std::jthread> readers;
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back([copy = array, round]() mutable {
        for (std::size_t i = 0; i < 1100; i += 37) {
          const std::size_t value = copy.At(i);
          if (value != i && value > i + 1000 * round) ADD_FAILURE() << i << " is " << value;
        }
        copy = {};
      });
    }
    for (std::size_t i = 0; i < 1100; i += 37) array.Set(i, i + 1000 * (round + 1));
  }
}

}  // namespace
}  // namespace dray::base

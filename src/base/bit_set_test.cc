// SPDX-License-Identifier: Apache-2.0
#include "base/bit_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/hash/hash_testing.h"

namespace dray::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::size_t> Members(const BitSet& set) {
  std::vector<std::size_t> members;
  set.ForEach([&members](std::size_t i) { members.push_back(i); });
  return members;
}

BitSet Of(std::size_t size, std::initializer_list<std::size_t> members) {
  BitSet set(size);
  for (const std::size_t i : members) set.Set(i);
  return set;
}

// Inline, exactly full, and on the heap.
class BitSetSizes : public ::testing::TestWithParam<std::size_t> {};

TEST_P(BitSetSizes, SetsAndResetsSingleBits) {
  const std::size_t size = GetParam();
  BitSet set(size);
  EXPECT_TRUE(set.None());
  set.Set(0);
  set.Set(size - 1);
  EXPECT_TRUE(set.Test(size - 1));
  EXPECT_TRUE(set.Any());
  set.Reset(0);
  EXPECT_EQ(set.Count(), size == 1 ? 0u : 1u);
  set.Assign(0, true);
  EXPECT_TRUE(set.Test(0));
}

TEST_P(BitSetSizes, AllMeansAllAndNoMore) {
  const std::size_t size = GetParam();
  BitSet set(size, true);
  EXPECT_EQ(set.Count(), size);
  EXPECT_EQ(Members(set).size(), size);
  EXPECT_EQ(set.Next(size - 1), BitSet::kNone);
  set.Resize(size + 100);
  EXPECT_EQ(set.Count(), size);
  set.Resize(size);
  EXPECT_EQ(set, BitSet(size, true));
  set.Resize(1);
  EXPECT_EQ(set.Count(), 1u);
  set.ResetAll();
  EXPECT_TRUE(set.None());
}

TEST_P(BitSetSizes, CopiesAndMovesKeepTheMembers) {
  const BitSet original = Of(GetParam(), {0, GetParam() - 1});
  BitSet copy = original;
  EXPECT_EQ(copy, original);
  BitSet moved = std::move(copy);
  EXPECT_EQ(moved, original);
  BitSet other(1000, true);
  other = moved;
  EXPECT_EQ(other, original);
  other = BitSet(3);
  EXPECT_EQ(other.size(), 3u);
  other = std::move(moved);
  EXPECT_EQ(other, original);
  other = *&other;
  EXPECT_EQ(other, original);
}

TEST_P(BitSetSizes, ClearedItHasNoMembersWhateverItWasBefore) {
  for (const std::size_t before : {1, 64, 128, 129, 640}) {
    BitSet set(before, true);
    set.Clear(GetParam());
    EXPECT_EQ(set, BitSet(GetParam())) << before;
  }
}

TEST_P(BitSetSizes, AssigningFromAnyOtherSizeLeavesNothingBehind) {
  const BitSet original(GetParam(), true);
  for (const std::size_t before : {1, 64, 128, 129, 640}) {
    BitSet set(before, true);
    set = original;
    EXPECT_EQ(set, original) << before;
    EXPECT_EQ(set.Count(), GetParam()) << before;
    set.AndNot(original);
    EXPECT_TRUE(set.None()) << before;
  }
}

TEST_P(BitSetSizes, MembersAreAddedMovedUp) {
  const std::size_t size = GetParam();
  for (const std::size_t at : {0, 1, 40, 63, 64, 65, 128, 200}) {
    BitSet set = Of(at + size, {at});
    set.OrAt(Of(size, {size / 2, size - 1}), at);
    EXPECT_EQ(set, Of(at + size, {at, at + size / 2, at + size - 1})) << at;
    set.OrAt(BitSet(size, true), at);
    EXPECT_EQ(set.Count(), size) << at;
    EXPECT_EQ(set.First(), at);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, BitSetSizes, ::testing::Values(1, 63, 64, 65, 127, 128, 129, 640));

TEST(BitSet, IteratesInIncreasingOrder) {
  const BitSet set = Of(200, {3, 64, 65, 130, 199});
  EXPECT_THAT(Members(set), ElementsAre(3, 64, 65, 130, 199));
  std::vector<std::size_t> walked;
  for (std::size_t i = set.First(); i != BitSet::kNone; i = set.Next(i)) walked.push_back(i);
  EXPECT_EQ(walked, Members(set));
  EXPECT_EQ(set.FirstFrom(66), 130u);
  EXPECT_EQ(set.FirstFrom(200), BitSet::kNone);
  EXPECT_EQ(BitSet().First(), BitSet::kNone);
  EXPECT_THAT(Members(BitSet(300)), IsEmpty());
}

TEST(BitSet, CombinesInPlace) {
  const BitSet a = Of(130, {1, 2, 129}), b = Of(130, {2, 3});
  EXPECT_THAT(Members(BitSet(a) &= b), ElementsAre(2));
  EXPECT_THAT(Members(BitSet(a) |= b), ElementsAre(1, 2, 3, 129));
  EXPECT_THAT(Members(BitSet(a).AndNot(b)), ElementsAre(1, 129));
  EXPECT_TRUE(a.Intersects(b));
  EXPECT_EQ(a.IntersectionCount(b), 1u);
  EXPECT_FALSE(Of(130, {0}).Intersects(b));
  EXPECT_TRUE(Of(130, {2}).IsSubsetOf(a));
  EXPECT_FALSE(b.IsSubsetOf(a));
  EXPECT_TRUE(BitSet(130).IsSubsetOf(a));
}

TEST(BitSet, EqualityAndHashSeeSizeAndMembers) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(std::vector<BitSet>{
      BitSet(), BitSet(1), BitSet(64), BitSet(200), Of(64, {1}), Of(200, {1}), Of(200, {199})}));
  EXPECT_NE(BitSet(64), BitSet(65));
}

}  // namespace
}  // namespace dray::base

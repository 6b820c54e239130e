// SPDX-License-Identifier: Apache-2.0
#include "inventory/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using ::dray::testing::Device;
using ::dray::testing::Slice;
using ::testing::ElementsAre;

class SlicesTest : public ::testing::Test {
 protected:
  Slices::value_type Make(std::string_view name, std::int64_t generation = 1) {
    return SliceTable::Create(Slice(name).Generation(generation), dictionary_);
  }
  static std::vector<std::string> NamesOf(const Slices& slices) {
    std::vector<std::string> names;
    for (const auto& slice : slices) names.push_back(slice->object_name());
    return names;
  }

  Dictionary dictionary_;
};

TEST_F(SlicesTest, AreInTheOrderOfArrivalHoweverTheyCame) {
  const Slices slices = Slices().With(2, Make("b")).With(3, Make("c")).With(1, Make("a"));
  EXPECT_THAT(NamesOf(slices), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesOf(slices.With(2, Make("B"))), ElementsAre("a", "B", "c"));
  EXPECT_THAT(NamesOf(slices.Without(2)), ElementsAre("a", "c"));
  EXPECT_THAT(NamesOf(slices.Without(4)), ElementsAre("a", "b", "c"));
  EXPECT_EQ(slices.front()->object_name(), "a");
}

TEST_F(SlicesTest, TheSummaryCountsTheNewestGeneration) {
  const Slices slices = Slices().With(1, Make("a", 2)).With(2, Make("b", 1)).With(3, Make("c", 2));
  EXPECT_EQ(slices.summary().newest_generation, 2);
  EXPECT_EQ(slices.summary().newest, 2u);
  EXPECT_FALSE(slices.summary().counters);
  EXPECT_EQ(slices.Without(1).Without(3).summary().newest_generation, 1);
}

TEST_F(SlicesTest, TheSummaryKnowsOfCounters) {
  const auto sharing = SliceTable::Create(Slice("a").Counters("s", {{"c", "1"}}), dictionary_);
  const auto consuming =
      SliceTable::Create(Slice("a").With(Device("x").Consumes("s", {{"c", "1"}})), dictionary_);
  EXPECT_TRUE(Slices().With(1, sharing).summary().counters);
  EXPECT_TRUE(Slices().With(1, consuming).summary().counters);
}

// Long lists have several leaves that split and join; a map is the model.
TEST_F(SlicesTest, LongListsBehaveLikeAMapAndOldVersionsStay) {
  const unsigned seed = 20261115;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Slices::value_type> made;
  for (int generation = 1; generation <= 3; ++generation) made.push_back(Make("x", generation));

  std::map<std::uint64_t, Slices::value_type> model;
  Slices slices;
  Slices kept;
  std::map<std::uint64_t, Slices::value_type> kept_model;
  const auto expect_equal = [](const Slices& have, const auto& want) {
    ASSERT_EQ(have.size(), want.size());
    std::int64_t newest = 0;
    std::size_t count = 0;
    auto it = have.begin();
    for (const auto& [arrival, slice] : want) {
      ASSERT_EQ(*it, slice);
      ++it;
      if (slice->generation() > newest) count = 0;
      newest = std::max(newest, slice->generation());
      if (slice->generation() == newest) ++count;
    }
    ASSERT_EQ(it, have.end());
    ASSERT_EQ(have.summary().newest, count);
    ASSERT_EQ(have.summary().newest_generation, newest);
  };
  std::uint64_t next = 1;
  for (int step = 0; step < 6000; ++step) {
    // First mostly growing, then mostly shrinking.
    const bool grow = random() % 10 < (step < 3000 ? 8u : 2u);
    if (grow) {
      const std::uint64_t arrival = random() % 3 == 0 ? 1 + random() % next : next++;
      const auto& slice = made[random() % made.size()];
      slices = slices.With(arrival, slice);
      model[arrival] = slice;
    } else if (!model.empty()) {
      auto it = model.lower_bound(1 + random() % next);
      if (it == model.end()) it = model.begin();
      slices = slices.Without(it->first);
      model.erase(it);
    }
    if (step == 2000) {
      kept = slices;
      kept_model = model;
    }
    if (step % 50 == 0) expect_equal(slices, model);
  }
  expect_equal(slices, model);
  expect_equal(kept, kept_model);
  EXPECT_GT(kept.size(), 256u);
}

}  // namespace
}  // namespace dray::inventory

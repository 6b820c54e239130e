// SPDX-License-Identifier: Apache-2.0
#include "gang/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

namespace dray::gang {
namespace {

using ::testing::ElementsAre;

// Places by a function of what is there; classes as given.
class SomePlaces : public Places {
 public:
  using Rule = std::function<bool(std::size_t, std::span<const std::uint32_t>)>;
  SomePlaces(std::vector<std::uint64_t> classes, Rule fits)
      : classes_(std::move(classes)), fits_(std::move(fits)) {}

  std::size_t size() const override { return classes_.size(); }
  std::uint64_t ClassOf(std::size_t place) const override { return classes_[place]; }
  bool Fits(std::size_t place, std::span<const std::uint32_t> counts) override {
    ++asked;
    return fits_(place, counts);
  }

  std::size_t asked = 0;

 private:
  const std::vector<std::uint64_t> classes_;
  const Rule fits_;
};

// Amounts of one thing: each kind takes so much, each place has so much.
SomePlaces Amounts(const std::vector<std::uint32_t>& places, std::vector<std::uint32_t> takes) {
  std::vector<std::uint64_t> classes(places.begin(), places.end());
  return {std::move(classes), [places, takes = std::move(takes)](std::size_t place, auto counts) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < counts.size(); ++i)
              sum += std::uint64_t{counts[i]} * takes[i];
            return sum <= places[place];
          }};
}

// kubernetes#138765: a board that is one whole device or two halves. Either pod alone would take the
// whole one; both run on halves.
TEST(Search, TwoPodsTakeHalvesWhereEachAloneWouldTakeTheWhole) {
  SomePlaces places({0}, [](std::size_t, auto counts) { return counts[0] <= 2; });
  const Answer answer = Search(places, {.wanted = {2}, .least = 2});
  EXPECT_EQ(answer.verdict, Verdict::kPlaced);
  EXPECT_THAT(answer.loads, ElementsAre(Load{0, {2}}));
}

// Nodes of 4 and 2 cpus, pods of 2 and 4: the small pod must leave the large node alone.
TEST(Search, TheSmallPodLeavesTheLargeNodeAlone) {
  SomePlaces places = Amounts({4, 2}, {2, 4});
  const Answer answer = Search(places, {.wanted = {1, 1}, .least = 2});
  EXPECT_EQ(answer.verdict, Verdict::kPlaced);
  EXPECT_THAT(answer.loads, ElementsAre(Load{0, {0, 1}}, Load{1, {1, 0}}));
}

TEST(Search, NothingIsWantedAndNothingIsThere) {
  SomePlaces none = Amounts({}, {1});
  EXPECT_EQ(Search(none, {.wanted = {0}, .least = 0}).verdict, Verdict::kPlaced);
  EXPECT_EQ(Search(none, {.wanted = {1}, .least = 1}).verdict, Verdict::kImpossible);
  EXPECT_EQ(Search(none, {.wanted = {1}, .least = 2}).verdict, Verdict::kImpossible);
  EXPECT_EQ(Search(none, {.wanted = {1}, .least = 0}).verdict, Verdict::kPlaced);
}

TEST(Search, SaysWhichKindIsInTheWayAndHowManyCouldRun) {
  SomePlaces places = Amounts({8, 8, 1}, {1, 5});
  const Answer answer = Search(places, {.wanted = {1, 3}, .least = 4});
  EXPECT_EQ(answer.verdict, Verdict::kImpossible);
  EXPECT_EQ(answer.kind, 1u);
  EXPECT_EQ(answer.kind_at_most, 2u);
  EXPECT_EQ(answer.found, 3u);
  EXPECT_EQ(answer.at_most, 3u);
  // Where one may be left out, that is enough.
  EXPECT_EQ(Search(places, {.wanted = {1, 3}, .least = 3}).verdict, Verdict::kPlaced);
}

// A thousand pods that take a whole node each of two thousand: each class is asked once, not each node,
// and pods are counted.
TEST(Search, AThousandPodsAreAFewThousandSteps) {
  SomePlaces places = Amounts(std::vector<std::uint32_t>(2000, 8), {8});
  const Answer answer = Search(places, {.wanted = {1000}, .least = 1000});
  EXPECT_EQ(answer.verdict, Verdict::kPlaced);
  EXPECT_EQ(answer.loads.size(), 1000u);
  EXPECT_LE(places.asked, 4u);
  EXPECT_LE(answer.steps, 1100u);
}

TEST(Search, OneTooManyIsRefusedAtOnce) {
  SomePlaces places = Amounts(std::vector<std::uint32_t>(2000, 8), {8});
  const Answer answer = Search(places, {.wanted = {2001}, .least = 2001});
  EXPECT_EQ(answer.verdict, Verdict::kImpossible);
  EXPECT_EQ(answer.found, 2000u);
  EXPECT_EQ(answer.at_most, 2000u);
  EXPECT_LE(answer.steps, 20u);
}

// Of 5 one fits on a node, of 4 two, and none of both: each kind alone would do, the sum says nothing,
// and only weights tell that it is one node too few.
TEST(Search, WeightsProveWhatCountingDoesNot) {
  SomePlaces places = Amounts(std::vector<std::uint32_t>(1000, 8), {5, 4});
  EXPECT_EQ(Search(places, {.wanted = {500, 1000}, .least = 1500}).verdict, Verdict::kPlaced);
  const Answer answer = Search(places, {.wanted = {501, 1000}, .least = 1501});
  EXPECT_EQ(answer.verdict, Verdict::kImpossible);
  EXPECT_EQ(answer.at_most, 1500u);
  EXPECT_LE(answer.steps, 5000u);
}

// Several kinds and classes, full to the last unit.
TEST(Search, AMixThatFillsEverything) {
  std::vector<std::uint32_t> amounts(100, 8);
  amounts.resize(160, 6);
  SomePlaces places = Amounts(amounts, {5, 3, 2, 1});
  const Answer answer = Search(places, {.wanted = {100, 100, 120, 120}, .least = 440});
  EXPECT_EQ(answer.verdict, Verdict::kPlaced);
  EXPECT_LE(answer.steps, 100'000u);
}

TEST(Search, ABudgetThatIsUsedUpIsAnAnswerOfItsOwn) {
  SomePlaces places = Amounts({8, 7, 6}, {5, 3, 2});
  const Answer answer = Search(places, {.wanted = {1, 1, 1}, .least = 3, .budget = 3});
  EXPECT_EQ(answer.verdict, Verdict::kGaveUp);
  EXPECT_LE(answer.steps, 5u);
}

// Two nodes that reach one device: either may have it, not both.
class OneDeviceForTwo final : public SomePlaces {
 public:
  OneDeviceForTwo() : SomePlaces({0, 0}, [](std::size_t, auto counts) { return counts[0] <= 1; }) {}
  bool Share() const override { return true; }
  bool FitTogether(std::span<const Load> loads) override {
    std::uint32_t sum = 0;
    for (const Load& load : loads) sum += load.counts[0];
    return sum <= 1;
  }
};

TEST(Search, WhatPlacesShareIsGivenOnce) {
  OneDeviceForTwo places;
  EXPECT_EQ(Search(places, {.wanted = {1}, .least = 1}).verdict, Verdict::kPlaced);
  const Answer two = Search(places, {.wanted = {2}, .least = 2});
  EXPECT_EQ(two.verdict, Verdict::kImpossible);
  EXPECT_EQ(two.found, 1u);
}

}  // namespace
}  // namespace dray::gang

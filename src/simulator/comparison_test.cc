// SPDX-License-Identifier: Apache-2.0
#include "simulator/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/result.h"

namespace dray::simulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Result Base() {
  Result result{.title = "a day", .seed = 3, .policy = "first-fit", .nodes = 4};
  result.pods.created = 10;
  result.pods.placed = 8;
  result.waiting.p99 = std::chrono::minutes(90);
  result.classes.push_back({.name = "gpu", .mean_utilisation = 0.5});
  result.workloads.push_back({.name = "train", .created = 10, .placed = 8, .waiting = 2});
  return result;
}

const Difference* Find(const Comparison& comparison, std::string_view path) {
  const auto found = std::ranges::find(comparison.differences, path, &Difference::path);
  return found == comparison.differences.end() ? nullptr : &*found;
}

TEST(Comparison, ShowsWhatDiffersWithItsSign) {
  Result better = Base();
  better.policy = "best-fit";
  better.pods.placed = 10;
  better.waiting.p99 = std::chrono::minutes(60);
  better.classes.front().mean_utilisation = 0.623;
  better.workloads.front().placed = 10;
  better.workloads.front().waiting = 0;
  const auto comparison = Compare("a.yaml", ToJson(Base()), "b.yaml", ToJson(better));
  ASSERT_TRUE(comparison.ok()) << base::Message(comparison.status());
  const Difference* placed = Find(*comparison, "pods.placed");
  ASSERT_NE(placed, nullptr);
  EXPECT_EQ(placed->Change(), 2);
  EXPECT_EQ(Find(*comparison, "workloads.train.stillWaiting")->Change(), -2);
  EXPECT_EQ(Find(*comparison, "waiting.p99")->Change(), -1800);
  EXPECT_THAT(ToText(*comparison),
              AllOf(HasSubstr("A: a.yaml (a day), first-fit, seed 3\n"),
                    HasSubstr("pods.placed                    8       10      +2\n"),
                    HasSubstr("waiting.p99                    1h30m   1h      -30m\n"),
                    HasSubstr("classes.gpu.meanUtilisation    50.0%   62.3%   +12.3 points\n"),
                    Not(HasSubstr("pods.created"))));
  EXPECT_THAT(ToJson(*comparison),
              AllOf(HasSubstr("\"path\": \"pods.placed\""), HasSubstr("\"difference\": 2"),
                    HasSubstr("\"difference\": -1800")));
}

TEST(Comparison, EqualRunsSaySo) {
  const auto comparison = Compare("a", ToJson(Base()), "b", ToJson(Base()));
  ASSERT_TRUE(comparison.ok());
  EXPECT_THAT(ToText(*comparison), HasSubstr("numbers are equal.\n"));
}

TEST(Comparison, WhatOnlyOneHasIsSaid) {
  Result other = Base();
  other.workloads.front().name = "infer";
  const auto comparison = Compare("a", ToJson(Base()), "b", ToJson(other));
  ASSERT_TRUE(comparison.ok());
  EXPECT_THAT(ToText(*comparison), AllOf(HasSubstr("only in A"), HasSubstr("only in B")));
  EXPECT_FALSE(Find(*comparison, "workloads.train.placed")->Change());
}

TEST(Comparison, SomethingElseIsNoResult) {
  for (const char* text : {"", "[]", "{}", "not json"}) {
    const auto comparison = Compare("a", ToJson(Base()), "b.json", text);
    ASSERT_FALSE(comparison.ok()) << text;
    EXPECT_THAT(std::string(base::Message(comparison.status())), HasSubstr("b.json is neither"));
  }
}

}  // namespace
}  // namespace dray::simulator

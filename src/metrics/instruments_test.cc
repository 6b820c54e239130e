// SPDX-License-Identifier: Apache-2.0
#include "metrics/instruments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dray::metrics {
namespace {

using ::testing::ElementsAre;

constexpr int kThreads = 6;  // more than there are cells
constexpr int kTimes = 20'000;

void OnThreads(const std::function<void()>& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kTimes; ++n) work();
    });
  }
}

TEST(Counter, CountsWhatAllThreadsAdd) {
  Counter counter;
  OnThreads([&] { counter.Add(2); });
  EXPECT_EQ(counter.value(), 2u * kThreads * kTimes);
}

TEST(Gauge, KeepsWhatIsSetAndAdded) {
  Gauge gauge;
  gauge.Set(5);
  OnThreads([&] {
    gauge.Add(1);
    gauge.Add(-1);
  });
  EXPECT_EQ(gauge.value(), 5);
}

TEST(Histogram, ABoundBelongsToWhatIsUpToIt) {
  Histogram histogram({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 9.0}) histogram.Observe(value);
  const Histogram::Reading reading = histogram.Read();
  EXPECT_THAT(reading.up_to, ElementsAre(2, 3, 4));
  EXPECT_EQ(reading.count, 5u);
  EXPECT_EQ(reading.sum, 16);
}

TEST(Histogram, ManyAtOnceCountAsMany) {
  Histogram histogram({1, 2});
  histogram.Observe(1.5, 10);
  EXPECT_THAT(histogram.Read().up_to, ElementsAre(0, 10));
  EXPECT_EQ(histogram.Read().sum, 15);
}

TEST(Histogram, LosesNothingThatThreadsObserve) {
  Histogram histogram({1, 2});
  OnThreads([&] { histogram.Observe(2); });
  EXPECT_EQ(histogram.Read().count, static_cast<std::uint64_t>(kThreads) * kTimes);
  EXPECT_EQ(histogram.Read().sum, 2.0 * kThreads * kTimes);
}

TEST(ExponentialBounds, RiseByTheFactor) {
  EXPECT_THAT(ExponentialBounds(0.5, 2, 4), ElementsAre(0.5, 1, 2, 4));
}

}  // namespace
}  // namespace dray::metrics

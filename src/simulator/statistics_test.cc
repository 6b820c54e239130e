// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/event_queue.h"
#include "simulator/internal/svg_chart.h"
#include "simulator/internal/units.h"
#include "simulator/random_stream.h"
#include "simulator/result.h"

namespace dray::simulator {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

TEST(Percentiles, AreSamplesThatWereTaken) {
  std::vector<Duration> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(milliseconds(i));
  const Percentiles found = PercentilesOf(samples);
  EXPECT_EQ(found.count, 100);
  EXPECT_EQ(found.p50, milliseconds(50));
  EXPECT_EQ(found.p90, milliseconds(90));
  EXPECT_EQ(found.p99, milliseconds(99));
  EXPECT_EQ(found.max, milliseconds(100));
  EXPECT_EQ(found.mean, std::chrono::microseconds(50'500));
}

TEST(Percentiles, OfOneSampleAreThatSampleAndOfNoneNothing) {
  const Percentiles one = PercentilesOf({milliseconds(7)});
  EXPECT_EQ(one.p50, milliseconds(7));
  EXPECT_EQ(one.p99, milliseconds(7));
  EXPECT_EQ(PercentilesOf({}), Percentiles{});
}

TEST(Histogram, HasEverySampleOnceAndNoEmptyEnds) {
  EXPECT_THAT(HistogramOf({Duration(3), Duration(5), Duration(40), Duration(20)}),
              ElementsAre(HistogramBar{Duration(5), 2}, HistogramBar{Duration(10), 0},
                          HistogramBar{Duration(20), 1}, HistogramBar{Duration(50), 1}));
  EXPECT_TRUE(HistogramOf({}).empty());
}

TEST(EventQueue, GoesByTimeAndThenByOrder) {
  EventQueue queue;
  std::string seen;
  queue.At(Duration(2), [&] { seen += "c"; });
  queue.At(Duration(1), [&] { seen += "a"; });
  queue.At(Duration(1), [&] { seen += "b"; });
  EXPECT_EQ(queue.Next(), Duration(1));
  EXPECT_FALSE(queue.TakeDue(Duration(0)));
  while (const auto event = queue.TakeDue(Duration(1))) event();
  EXPECT_EQ(seen, "ab");
  EXPECT_EQ(queue.Next(), Duration(2));
  queue.TakeDue(Duration(5))();
  EXPECT_EQ(seen, "abc");
  EXPECT_TRUE(queue.empty());
}

TEST(RandomStream, RepeatsItselfAndDiffersFromOthers) {
  RandomStream a(1, "a");
  RandomStream again(1, "a");
  RandomStream other(1, "b");
  const double first = a.Uniform();
  EXPECT_EQ(first, again.Uniform());
  EXPECT_NE(first, other.Uniform());
}

TEST(RandomStream, HasTheMeanThatIsAskedFor) {
  RandomStream chance(1, "mean");
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    sum += static_cast<double>(chance.Draw({milliseconds(10), true}).count());
  }
  EXPECT_NEAR(sum / 20'000, 1e7, 3e5);
  EXPECT_EQ(chance.Draw({milliseconds(10), false}), milliseconds(10));
}

TEST(Ticks, AreRoundAndReachTheLargest) {
  EXPECT_THAT(internal::Ticks(1, 4), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(internal::Ticks(97, 4), ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(internal::Ticks(0, 4), ElementsAre(0, 0.25, 0.5, 0.75, 1));
}

TEST(Units, AreShort) {
  EXPECT_EQ(internal::ShortTime(Duration(950)), "950ns");
  EXPECT_EQ(internal::ShortTime(Duration(12'345)), "12.3µs");
  EXPECT_EQ(internal::ShortTime(milliseconds(1500)), "1.5s");
  EXPECT_EQ(internal::ShortTime(std::chrono::seconds(750)), "12m30s");
  EXPECT_EQ(internal::ShortTime(std::chrono::hours(2)), "2h");
  EXPECT_EQ(internal::ShortTime(Duration(0)), "0");
  EXPECT_EQ(internal::Devices(12 * kWholeDevice), "12");
  EXPECT_EQ(internal::Devices(kWholeDevice / 2), "0.5");
  EXPECT_EQ(internal::Percent(0.1234), "12.3%");
}

TEST(Html, TextCannotBecomeMarkup) {
  EXPECT_EQ(internal::Escaped("<b a='\"'>&\x01"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
}

}  // namespace
}  // namespace dray::simulator

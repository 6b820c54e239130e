// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dray::base {
namespace {

using std::chrono::nanoseconds;

TEST(Time, ReadsWhatGoReads) {
  const std::vector<std::pair<std::string, Time>> cases = {
      {"1970-01-01T00:00:00Z", Time()},
      {"2024-02-29T23:59:59Z", Time::FromUnix(1709251199)},
      {"2000-02-29T00:00:00Z", Time::FromUnix(951782400)},
      {"1969-12-31T23:59:59.5Z", Time::FromUnix(-1, 500'000'000)},
      {"2006-01-02T15:04:05+07:00", Time::FromUnix(1136189045)},
      {"2006-01-02T15:04:05-07:30", Time::FromUnix(1136241245)},
      {"2006-01-02T15:04:05.123456789Z", Time::FromUnix(1136214245, 123'456'789)},
      {"2006-01-02T15:04:05.1234567899Z", Time::FromUnix(1136214245, 123'456'789)},
      {"2006-01-02T15:04:05,5Z", Time::FromUnix(1136214245, 500'000'000)},
      {"2006-01-02T3:04:05Z", Time::FromUnix(1136171045)},
      {"2006-01-02T15:04:05+24:60", Time::FromUnix(1136214245 - 90000)},
      {"0000-01-01T00:00:00Z", Time::FromUnix(-62167219200)},
      {"0001-01-01T00:00:00Z", Time::FromUnix(-62135596800)},
      {"9999-12-31T23:59:59Z", Time::FromUnix(253402300799)},
  };
  for (const auto& [text, want] : cases) {
    const StatusOr<Time> got = Time::ParseRfc3339(text);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, want) << text << " gave " << got->seconds();
  }
}

TEST(Time, RefusesWhatGoRefuses) {
  for (const char* text : {"",
                           "2006-01-02",
                           "2006-01-02T15:04:05",
                           "2006-01-02t15:04:05Z",
                           "2006-01-02T15:04:05z",
                           "2006-01-02 15:04:05Z",
                           "2023-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2006-13-01T00:00:00Z",
                           "2006-00-01T00:00:00Z",
                           "2006-04-31T00:00:00Z",
                           "2006-01-00T00:00:00Z",
                           "2006-01-02T24:00:00Z",
                           "2006-01-02T15:60:00Z",
                           "2006-01-02T15:04:60Z",
                           "2006-01-02T15:04:05.Z",
                           "2006-01-02T15:04:05+0700",
                           "2006-01-02T15:04:05+7:00",
                           "2006-01-02T15:04:05+25:00",
                           "2006-01-02T15:04:05+00:61",
                           "2006-01-02T15:04:05Zx",
                           "2006-1-02T15:04:05Z",
                           "2006-01-02T15:4:05Z",
                           "206-01-02T15:04:05Z",
                           "12006-01-02T15:04:05Z",
                           " 2006-01-02T15:04:05Z"}) {
    EXPECT_FALSE(Time::ParseRfc3339(text).ok()) << text;
  }
}

TEST(Time, PrintsSecondsOrMicroseconds) {
  const Time time = Time::FromUnix(1136214245, 1'234'999);
  EXPECT_EQ(time.ToRfc3339(), "2006-01-02T15:04:05Z");
  EXPECT_EQ(time.ToRfc3339Micro(), "2006-01-02T15:04:05.001234Z");
  EXPECT_EQ(time.TruncateToSeconds().ToRfc3339Micro(), "2006-01-02T15:04:05.000000Z");
  EXPECT_EQ(Time::FromUnix(-1, 1).ToRfc3339Micro(), "1969-12-31T23:59:59.000000Z");
}

TEST(Time, EveryDayOfFourCenturiesSurvivesTheRoundTrip) {
  for (std::int64_t day = -146'097; day <= 146'097; ++day) {
    const Time time = Time::FromUnix(day * 86'400 + 1);
    ASSERT_EQ(*Time::ParseRfc3339(time.ToRfc3339()), time) << day;
  }
}

TEST(Time, NanosCarryAndOrderCounts) {
  EXPECT_EQ(Time::FromUnix(1, -1), Time::FromUnix(0, 999'999'999));
  EXPECT_EQ(Time::FromUnix(1, 2'000'000'001), Time::FromUnix(3, 1));
  EXPECT_LT(Time::FromUnix(-1, 999'999'999), Time());
  EXPECT_EQ(Time() + nanoseconds(-1), Time::FromUnix(-1, 999'999'999));
  EXPECT_EQ(Time::FromUnix(5) - Time::FromUnix(3, 1), nanoseconds(1'999'999'999));
  EXPECT_EQ(Time::FromUnix(5) - nanoseconds(1), Time::FromUnix(4, 999'999'999));
  EXPECT_EQ(Time::FromUnix(2, 3).UnixNanos(), 2'000'000'003);
}

TEST(Time, FarAwayTimesSaturate) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Time::FromUnix(kMax).UnixNanos(), kMax);
  EXPECT_EQ(Time::FromUnix(kMax) - Time::FromUnix(kMin), nanoseconds::max());
  EXPECT_EQ((Time::FromUnix(kMin) - nanoseconds::max()).seconds(), kMin);
  EXPECT_EQ(Time::FromUnix(0, kMin) + nanoseconds::min(),
            Time::FromUnix(-18'446'744'074, 290'448'384));
  EXPECT_FALSE(Time::FromUnix(kMin).ToRfc3339().empty());
  EXPECT_FALSE(Time::FromUnix(kMax).ToRfc3339().empty());
}

TEST(GoDuration, ReadsWhatGoReads) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"0", 0},
      {"-0", 0},
      {"0s", 0},
      {"10s", 10'000'000'000},
      {"1h30m", 5'400'000'000'000},
      {"-1.5h", -5'400'000'000'000},
      {"+5s", 5'000'000'000},
      {"1ns", 1},
      {"11us", 11'000},
      {"12µs", 12'000},
      {"12\u03bcs", 12'000},
      {"2ms", 2'000'000},
      {".5s", 500'000'000},
      {"1.s", 1'000'000'000},
      {"3m2m", 300'000'000'000},
      {"0.000000000001s", 0},
      {"0.9223372036854775807h", 3'320'413'933'267},
      {"9223372036854775807ns", INT64_MAX},
      {"-9223372036854775808ns", INT64_MIN},
      {"0.3333333333333333333h", 1'200'000'000'000},
      {"39h9m14.425s", 140'954'425'000'000}};
  for (const auto& [text, want] : cases) {
    const StatusOr<nanoseconds> got = ParseGoDuration(text);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->count(), want) << text;
  }
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const char* text : {"",
                           "-",
                           "3",
                           "s",
                           ".",
                           ".s",
                           "1",
                           "1x",
                           "1d",
                           "1 s",
                           "-.s",
                           "+.s",
                           "1s2",
                           "1mx",
                           "--1s",
                           "9223372036854775808ns",
                           "-9223372036854775809ns",
                           "3000000h",
                           "99999999999999999999s",
                           "9223372036854775.808us",
                           "1e3s",
                           "1µ"}) {
    EXPECT_FALSE(ParseGoDuration(text).ok()) << text;
  }
}

TEST(GoDuration, PrintsAsGoPrints) {
  const std::vector<std::pair<std::int64_t, std::string>> cases = {
      {0, "0s"},
      {1, "1ns"},
      {1100, "1.1µs"},
      {2'200'000, "2.2ms"},
      {3'300'000'000, "3.3s"},
      {245'000'000'000, "4m5s"},
      {5'400'000'000'000, "1h30m0s"},
      {-60'000'000'000, "-1m0s"},
      {10'000'000'000, "10s"},
      {INT64_MAX, "2562047h47m16.854775807s"},
      {INT64_MIN, "-2562047h47m16.854775808s"}};
  for (const auto& [count, want] : cases) {
    EXPECT_EQ(GoDurationToString(nanoseconds(count)), want);
    EXPECT_EQ(ParseGoDuration(want)->count(), count);
  }
}

}  // namespace
}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
//
// Schedules against a slow model that looks at every minute, in zones whose clocks jump.
#include "api/cron_schedule.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"

namespace dray::api {
namespace {

// The model reads the five fields itself, as sets.
struct SlowSchedule {
  std::vector<std::set<int>> fields{5};
  bool any_day = false;
  bool any_day_of_week = false;

  bool Matches(const CronSchedule::LocalMinute& t) const {
    const bool day = fields[2].contains(t.day);
    const bool week = fields[4].contains(t.day_of_week);
    const bool both = any_day || any_day_of_week ? day && week : day || week;
    return fields[0].contains(t.minute) && fields[1].contains(t.hour) &&
           fields[3].contains(t.month) && both;
  }
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  // A text, and what it means.
  std::pair<std::string, SlowSchedule> Make() {
    SlowSchedule slow;
    std::string text;
    const int min[] = {0, 0, 1, 1, 0};
    const int max[] = {59, 23, 31, 12, 6};
    for (int f = 0; f < 5; ++f) {
      std::string field;
      bool star = false;
      const int parts = 1 + Below(2);
      for (int p = 0; p < parts; ++p) {
        const int low = min[f] + Below(max[f] - min[f] + 1);
        const int high = low + Below(max[f] - low + 1);
        const int step = 1 + Below(7);
        int from = low;
        int to = low;
        int by = 1;
        std::string part;
        switch (Below(5)) {
          case 0:
            part = "*";
            from = min[f];
            to = max[f];
            star = true;
            break;
          case 1:
            part = fmt::format("*/{}", step);
            from = min[f];
            to = max[f];
            by = step;
            star = star || step == 1;
            break;
          case 2:
            part = fmt::format("{}-{}/{}", low, high, step);
            to = high;
            by = step;
            break;
          case 3:
            part = fmt::format("{}/{}", low, step);
            to = max[f];
            by = step;
            break;
          default:
            part = fmt::format("{}", low);
        }
        for (int v = from; v <= to; v += by) slow.fields[static_cast<std::size_t>(f)].insert(v);
        field += (field.empty() ? "" : ",") + part;
      }
      if (f == 2) slow.any_day = star;
      if (f == 4) slow.any_day_of_week = star;
      text += (text.empty() ? "" : " ") + field;
    }
    return {text, slow};
  }

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  std::mt19937 random_;
};

TEST(CronScheduleProperty, FindsWhatAWalkOverMinutesFinds) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    Maker maker(seed);
    const auto [text, slow] = maker.Make();
    const auto schedule = CronSchedule::Parse(text);
    ASSERT_TRUE(schedule.ok()) << text << ": " << schedule.status();
    // Local time jumps by some minutes at a moment within the days that are looked at.
    const std::int64_t begin = 1'600'000'000 + maker.Below(100'000'000);
    const std::int64_t jump = begin + maker.Below(3 * 86400);
    const std::int64_t before = (maker.Below(53) - 26) * 1800;
    const std::int64_t after = before + (maker.Below(9) - 4) * 900;
    const UtcOffset offset = [&](base::Time time) {
      return std::chrono::seconds(time.seconds() < jump ? before : after);
    };
    base::Time at = base::Time::FromUnix(begin);
    for (int i = 0; i < 5; ++i) {
      std::optional<base::Time> want;
      const std::int64_t first = (at.seconds() / 60 + 1) * 60;
      for (std::int64_t t = first; t < first + 20 * 86400 && !want; t += 60) {
        const base::Time time = base::Time::FromUnix(t);
        if (slow.Matches(CronSchedule::Local(time, offset(time)))) want = time;
      }
      const auto found = schedule->Next(at, offset);
      if (!want) {
        // The walk was too short to tell.
        if (found) {
          EXPECT_GE(found->seconds(), first + 20 * 86400) << text << " seed " << seed;
        }
        break;
      }
      ASSERT_TRUE(found.has_value()) << text << " seed " << seed;
      ASSERT_EQ(found->seconds(), want->seconds()) << text << " seed " << seed;
      at = *found;
    }
  }
}

TEST(CronSchedule, ReadsWhatKubernetesReads) {
  const UtcOffset utc = [](base::Time) { return std::chrono::seconds(0); };
  const base::Time begin = *base::Time::ParseRfc3339("2026-03-01T12:34:56Z");
  struct Case {
    std::string text;
    std::string next;
  };
  for (const Case& c : std::vector<Case>{{"*/5 * * * *", "2026-03-01T12:35:00Z"},
                                         {"0 9-17 * * MON-FRI", "2026-03-02T09:00:00Z"},
                                         {"@daily", "2026-03-02T00:00:00Z"},
                                         {"@every 1h30m", "2026-03-01T14:04:56Z"},
                                         {"0 0 13 * 5", "2026-03-06T00:00:00Z"},
                                         {"0 0 29 2 *", "2028-02-29T00:00:00Z"},
                                         {"30 4 1,15 jan ?", "2027-01-01T04:30:00Z"}}) {
    const auto schedule = CronSchedule::Parse(c.text);
    ASSERT_TRUE(schedule.ok()) << c.text << schedule.status();
    const auto next = schedule->Next(begin, utc);
    ASSERT_TRUE(next.has_value()) << c.text;
    EXPECT_EQ(next->ToRfc3339(), c.next) << c.text;
  }
  EXPECT_FALSE(CronSchedule::Parse("0 0 30 2 *")->Next(begin, utc).has_value());
  for (const std::string text :
       {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
        "* * * * 7", "*/0 * * * *", "5-1 * * * *", "a * * * *", "@often", "@every x",
        "1--2 * * * *", "1/2/3 * * * *"}) {
    EXPECT_FALSE(CronSchedule::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace dray::api

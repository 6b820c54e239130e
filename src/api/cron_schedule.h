// SPDX-License-Identifier: Apache-2.0
//
// CronSchedule: when something is due, in cron's language as Kubernetes reads it: five fields, names
// of months and days, steps and ranges, @daily and its like, @every 90m.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace dray::api {

// How far local time is ahead of UTC at a moment. A function of the moment alone.
using UtcOffset = std::function<std::chrono::seconds(base::Time)>;

// Thread-compatible.
class CronSchedule {
 public:
  // An error says what is wrong with the text.
  static StatusOr<CronSchedule> Parse(std::string_view text);

  // The first moment after `after` that is due: a whole minute whose local time has the fields that
  // the schedule names. An hour that local time skips is not there, one that it repeats is there
  // twice. Nothing: never (the 30th of February), as far as the next five years tell.
  std::optional<base::Time> Next(base::Time after, const UtcOffset& offset) const;

  // Whether it is due at that local minute.
  struct LocalMinute {
    int month;        // 1 to 12
    int day;          // 1 to 31
    int day_of_week;  // 0 is Sunday
    int hour;
    int minute;
  };
  bool Matches(const LocalMinute& time) const;
  static LocalMinute Local(base::Time time, std::chrono::seconds offset);

 private:
  bool MatchesDay(const LocalMinute& time) const;

  // A bit per value.
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;
  std::uint64_t days_of_week_ = 0;
  // Of day and day of the week, if both are narrowed, one is enough.
  bool any_day_ = false;
  bool any_day_of_week_ = false;
  std::optional<std::chrono::seconds> every_;
};

}  // namespace dray::api

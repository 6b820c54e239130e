// SPDX-License-Identifier: Apache-2.0
//
// Schedules of CronJobs: read or refused with a reason; what is due next is after now, is a minute that the schedule
// names, and no minute before it is one. Input: the schedule, and after a line's end what time it is, in seconds.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/cron_schedule.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dray::api::CronSchedule;
  using dray::base::Time;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\n'));
  const std::string_view rest = input.substr(std::min(input.size(), text.size() + 1));
  std::int64_t seconds = 1'800'000'000;
  std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  // Of this century: others have no CronJobs.
  seconds = 1'000'000'000 + (seconds % 3'000'000'000 + 3'000'000'000) % 3'000'000'000;
  const auto schedule = CronSchedule::Parse(text);
  if (!schedule.ok()) {
    DRAY_CHECK(!schedule.status().message().empty());
    return 0;
  }
  const auto utc = [](Time) { return std::chrono::seconds(0); };
  const Time now = Time::FromUnix(seconds);
  const auto next = schedule->Next(now, utc);
  if (next) DRAY_CHECK(*next > now);
  if (text.find("@every") != text.npos) return 0;  // no minutes of its own
  if (next) {
    DRAY_CHECK(schedule->Matches(CronSchedule::Local(*next, std::chrono::seconds(0))));
    DRAY_CHECK(next->UnixNanos() % 60'000'000'000 == 0);
  }
  for (int i = 1; i <= 2000; ++i) {
    const Time minute = Time::FromUnix(seconds / 60 * 60) + std::chrono::minutes(i);
    if (next && minute >= *next) break;
    DRAY_CHECK(!schedule->Matches(CronSchedule::Local(minute, std::chrono::seconds(0))));
  }
  return 0;
}

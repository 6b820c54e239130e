// SPDX-License-Identifier: Apache-2.0
#include "api/cron_schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::api {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHorizon = std::int64_t{5} * 366 * 24 * 3600;

struct CronField {
  std::string_view name;
  int min;
  int max;
  std::span<const std::string_view> names;  // of values, from min
};
constexpr std::array<std::string_view, 12> kMonthNames = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDayNames = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};
constexpr std::array<CronField, 5> kCronFields = {{{"minute", 0, 59, {}},
                                                   {"hour", 0, 23, {}},
                                                   {"day of the month", 1, 31, {}},
                                                   {"month", 1, 12, kMonthNames},
                                                   {"day of the week", 0, 6, kDayNames}}};

std::vector<std::string_view> CronParts(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

StatusOr<int> CronNumber(std::string_view text, const CronField& field) {
  const std::string lower = InLowerCase(text);
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    if (field.names[i] == lower) return field.min + static_cast<int>(i);
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0) {
    return base::InvalidArgument(fmt::format("\"{}\" is no {}", text, field.name));
  }
  return number;
}

// "3", "1-5", "*/10", "8-18/2". Whether it is a plain star.
StatusOr<bool> AddRange(std::string_view text, const CronField& field, std::uint64_t& bits) {
  const auto halves = CronParts(text, "/");
  if (halves.size() > 2)
    return base::InvalidArgument(fmt::format("too many slashes: \"{}\"", text));
  const auto ends = CronParts(halves[0], "-");
  if (ends.size() > 2) return base::InvalidArgument(fmt::format("too many hyphens: \"{}\"", text));
  int low = field.min;
  int high = field.max;
  bool star = halves[0] == "*" || halves[0] == "?";
  if (!star) {
    DRAY_ASSIGN_OR_RETURN(low, CronNumber(ends[0], field));
    high = low;
    if (ends.size() == 2) {
      DRAY_ASSIGN_OR_RETURN(high, CronNumber(ends[1], field));
    } else if (halves.size() == 2) {
      high = field.max;  // 5/15 begins with 5
    }
  }
  int step = 1;
  if (halves.size() == 2) {
    DRAY_ASSIGN_OR_RETURN(step, CronNumber(halves[1], {"step", 0, 0, {}}));
    if (step == 0) return base::InvalidArgument(fmt::format("a step must not be 0: \"{}\"", text));
    if (step > 1) star = false;
  }
  if (low < field.min || high > field.max || low > high) {
    return base::InvalidArgument(fmt::format("\"{}\" is no {}: values are {} to {}", text,
                                             field.name, field.min, field.max));
  }
  for (int value = low; value <= high; value += step) bits |= std::uint64_t{1} << value;
  return star;
}

// Go's durations: 1h30m, 90s.
std::optional<std::chrono::seconds> ReadDuration(std::string_view text) {
  std::int64_t total = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end == text.data() + text.size() || number < 0 ||
        number > 1'000'000'000) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::int64_t unit = text[0] == 'h' ? 3600 : text[0] == 'm' ? 60 : text[0] == 's' ? 1 : 0;
    if (unit == 0) return std::nullopt;
    total += number * unit;
    text.remove_prefix(1);
  }
  return std::chrono::seconds(std::max<std::int64_t>(total, 1));
}

struct Shorthand {
  std::string_view name;
  std::string_view fields;
};
constexpr std::array<Shorthand, 7> kShorthands = {{{"@yearly", "0 0 1 1 *"},
                                                   {"@annually", "0 0 1 1 *"},
                                                   {"@monthly", "0 0 1 * *"},
                                                   {"@weekly", "0 0 * * 0"},
                                                   {"@daily", "0 0 * * *"},
                                                   {"@midnight", "0 0 * * *"},
                                                   {"@hourly", "0 * * * *"}}};

}  // namespace

StatusOr<CronSchedule> CronSchedule::Parse(std::string_view text) {
  if (text.starts_with("@every ")) {
    CronSchedule schedule;
    schedule.every_ = ReadDuration(text.substr(7));
    if (schedule.every_) return schedule;
    return base::InvalidArgument(fmt::format("\"{}\" is not a duration", text.substr(7)));
  }
  if (text.starts_with('@')) {
    const auto* row = std::ranges::find(kShorthands, text, &Shorthand::name);
    if (row == kShorthands.end()) {
      return base::InvalidArgument(fmt::format("\"{}\" is not known", text));
    }
    return Parse(row->fields);
  }
  std::vector<std::string_view> fields = CronParts(text, " \t");
  std::erase_if(fields, [](std::string_view field) { return field.empty(); });
  if (fields.size() != kCronFields.size()) {
    return base::InvalidArgument(
        fmt::format("expected 5 fields (minute, hour, day of the month, month, day of the week), "
                    "found {}",
                    fields.size()));
  }
  std::array<std::uint64_t, 5> bits = {};
  std::array<bool, 5> stars = {};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view range : CronParts(fields[i], ",")) {
      DRAY_ASSIGN_OR_RETURN(const bool star, AddRange(range, kCronFields[i], bits[i]));
      stars[i] = stars[i] || star;
    }
  }
  CronSchedule schedule;
  schedule.minutes_ = bits[0];
  schedule.hours_ = bits[1];
  schedule.days_ = bits[2];
  schedule.months_ = bits[3];
  schedule.days_of_week_ = bits[4];
  schedule.any_day_ = stars[2];
  schedule.any_day_of_week_ = stars[4];
  return schedule;
}

CronSchedule::LocalMinute CronSchedule::Local(base::Time time, std::chrono::seconds offset) {
  using std::chrono::days;
  using std::chrono::sys_days;
  const std::int64_t local = time.seconds() + offset.count();
  const std::int64_t day = local >= 0 ? local / 86400 : (local - 86399) / 86400;
  const std::int64_t second = local - day * 86400;
  const sys_days date{days(day)};
  const std::chrono::year_month_day civil(date);
  return {.month = static_cast<int>(static_cast<unsigned>(civil.month())),
          .day = static_cast<int>(static_cast<unsigned>(civil.day())),
          .day_of_week = static_cast<int>(std::chrono::weekday(date).c_encoding()),
          .hour = static_cast<int>(second / 3600),
          .minute = static_cast<int>(second / 60 % 60)};
}

bool CronSchedule::MatchesDay(const LocalMinute& time) const {
  if ((months_ >> time.month & 1) == 0) return false;
  const bool day = (days_ >> time.day & 1) != 0;
  const bool day_of_week = (days_of_week_ >> time.day_of_week & 1) != 0;
  return any_day_ || any_day_of_week_ ? day && day_of_week : day || day_of_week;
}

bool CronSchedule::Matches(const LocalMinute& time) const {
  return MatchesDay(time) && (hours_ >> time.hour & 1) != 0 && (minutes_ >> time.minute & 1) != 0;
}

std::optional<base::Time> CronSchedule::Next(base::Time after, const UtcOffset& offset) const {
  if (every_) return after.TruncateToSeconds() + *every_;
  // Down to a minute, also before 1970.
  std::int64_t at = after.seconds();
  at -= ((at % kMinute) + kMinute) % kMinute;
  for (const std::int64_t end = at + kHorizon; at < end;) {
    at += kMinute;
    const std::chrono::seconds ahead = offset(base::Time::FromUnix(at));
    const LocalMinute local = Local(base::Time::FromUnix(at), ahead);
    if (Matches(local)) return base::Time::FromUnix(at);
    if (MatchesDay(local) && (hours_ >> local.hour & 1) != 0) continue;
    // The rest of the hour does not match either, unless local time jumps in it.
    const std::int64_t last = at + (59 - local.minute) * kMinute;
    if (offset(base::Time::FromUnix(last)) == ahead) at = last;
  }
  return std::nullopt;
}

}  // namespace dray::api

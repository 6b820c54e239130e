// SPDX-License-Identifier: Apache-2.0
//
// Parts of timestamps and durations.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "base/status.h"
#include "base/time_zone_names.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

// A zone by name, or an offset like +05:30. On failure the message.
struct ZoneOrError {
  absl::TimeZone zone;
  std::string error;
};

// strconv.Atoi
std::optional<int> ParseOffsetPart(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

ZoneOrError ReadZone(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) {
    ZoneOrError found;
    if (name.empty() || name == "UTC") return {absl::UTCTimeZone(), ""};
    if (!base::IsTimeZoneName(name) || !absl::LoadTimeZone(base::ToAbsl(name), &found.zone)) {
      found.error = fmt::format("unknown time zone {}", name);
    }
    return found;
  }
  const auto hours = ParseOffsetPart(name.substr(0, colon));
  const auto minutes = ParseOffsetPart(name.substr(colon + 1));
  if (!hours || !minutes) {
    return {{},
            fmt::format("strconv.Atoi: parsing {}: invalid syntax",
                        QuoteGo(hours ? name.substr(colon + 1) : name.substr(0, colon)))};
  }
  if (*minutes < 0 || *minutes > 59) {
    return {{}, fmt::format("timezone offset minutes out of range [0, 59]: {}", name)};
  }
  // Hours may be any number; no zone is more than a day away.
  const std::int64_t whole = std::int64_t{*hours} * 60;
  const std::int64_t offset = name[0] == '-' ? whole - *minutes : whole + *minutes;
  constexpr std::int64_t kTooFar = 48 * 60;
  return {absl::FixedTimeZone(static_cast<int>(std::clamp(offset, -kTooFar, kTooFar)) * 60), ""};
}

template <typename Part>
Value TimestampPart(Arena& arena, Args args, Part part) {
  if (!args[0].is(Kind::kTimestamp)) return UnmatchedCall();
  absl::TimeZone zone = absl::UTCTimeZone();
  if (args.size() == 2) {
    if (!args[1].is(Kind::kString)) return UnmatchedCall();
    ZoneOrError read = ReadZone(args[1].as_text());
    if (!read.error.empty()) return MakeError(arena, read.error);
    zone = read.zone;
  }
  const Instant& instant = args[0].as<Instant>();
  return Value::Int(part(absl::ToCivilSecond(absl::FromUnixSeconds(instant.seconds), zone)));
}

Value FullYear(Arena& arena, Args args) {
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.year(); });
}
Value Month(Arena& arena, Args args) {
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.month() - 1; });
}
Value DayOfYear(Arena& arena, Args args) {
  return TimestampPart(arena, args,
                       [](absl::CivilSecond t) { return absl::GetYearDay(absl::CivilDay(t)) - 1; });
}
Value DayOfMonth(Arena& arena, Args args) {
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.day() - 1; });
}
Value Date(Arena& arena, Args args) {
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.day(); });
}
Value DayOfWeek(Arena& arena, Args args) {
  return TimestampPart(arena, args, [](absl::CivilSecond t) {
    return (static_cast<int>(absl::GetWeekday(absl::CivilDay(t))) + 1) % 7;
  });
}
Value Hours(Arena& arena, Args args) {
  if (args[0].is(Kind::kDuration) && args.size() == 1) {
    return Value::Int(args[0].as_int() / 3'600'000'000'000);
  }
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.hour(); });
}
Value Minutes(Arena& arena, Args args) {
  if (args[0].is(Kind::kDuration) && args.size() == 1) {
    return Value::Int(args[0].as_int() / 60'000'000'000);
  }
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.minute(); });
}
Value Seconds(Arena& arena, Args args) {
  if (args[0].is(Kind::kDuration) && args.size() == 1) {
    return Value::Int(args[0].as_int() / 1'000'000'000);
  }
  return TimestampPart(arena, args, [](absl::CivilSecond t) { return t.second(); });
}
Value Milliseconds(Arena& arena, Args args) {
  if (args[0].is(Kind::kDuration) && args.size() == 1) {
    return Value::Int(args[0].as_int() / 1'000'000);
  }
  return TimestampPart(arena, args,
                       [&](absl::CivilSecond) { return args[0].as<Instant>().nanos / 1'000'000; });
}

}  // namespace

Library library::Times() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"getDate", "timestamp_to_day_of_month_1_based timestamp.() -> int", Date, kOne,
       estimate::Unit},
      {"getDate", "timestamp_to_day_of_month_1_based_with_tz timestamp.(string) -> int", Date, kOne,
       estimate::Unit},
      {"getDayOfMonth", "timestamp_to_day_of_month timestamp.() -> int", DayOfMonth, kOne,
       estimate::Unit},
      {"getDayOfMonth", "timestamp_to_day_of_month_with_tz timestamp.(string) -> int", DayOfMonth,
       kOne, estimate::Unit},
      {"getDayOfWeek", "timestamp_to_day_of_week timestamp.() -> int", DayOfWeek, kOne,
       estimate::Unit},
      {"getDayOfWeek", "timestamp_to_day_of_week_with_tz timestamp.(string) -> int", DayOfWeek,
       kOne, estimate::Unit},
      {"getDayOfYear", "timestamp_to_day_of_year timestamp.() -> int", DayOfYear, kOne,
       estimate::Unit},
      {"getDayOfYear", "timestamp_to_day_of_year_with_tz timestamp.(string) -> int", DayOfYear,
       kOne, estimate::Unit},
      {"getFullYear", "timestamp_to_year timestamp.() -> int", FullYear, kOne, estimate::Unit},
      {"getFullYear", "timestamp_to_year_with_tz timestamp.(string) -> int", FullYear, kOne,
       estimate::Unit},
      {"getHours", "timestamp_to_hours timestamp.() -> int", Hours, kOne, estimate::Unit},
      {"getHours", "timestamp_to_hours_with_tz timestamp.(string) -> int", Hours, kOne,
       estimate::Unit},
      {"getHours", "duration_to_hours duration.() -> int", Hours, kOne, estimate::Unit},
      {"getMilliseconds", "timestamp_to_milliseconds timestamp.() -> int", Milliseconds, kOne,
       estimate::Unit},
      {"getMilliseconds", "timestamp_to_milliseconds_with_tz timestamp.(string) -> int",
       Milliseconds, kOne, estimate::Unit},
      {"getMilliseconds", "duration_to_milliseconds duration.() -> int", Milliseconds, kOne,
       estimate::Unit},
      {"getMinutes", "timestamp_to_minutes timestamp.() -> int", Minutes, kOne, estimate::Unit},
      {"getMinutes", "timestamp_to_minutes_with_tz timestamp.(string) -> int", Minutes, kOne,
       estimate::Unit},
      {"getMinutes", "duration_to_minutes duration.() -> int", Minutes, kOne, estimate::Unit},
      {"getMonth", "timestamp_to_month timestamp.() -> int", Month, kOne, estimate::Unit},
      {"getMonth", "timestamp_to_month_with_tz timestamp.(string) -> int", Month, kOne,
       estimate::Unit},
      {"getSeconds", "timestamp_to_seconds timestamp.() -> int", Seconds, kOne, estimate::Unit},
      {"getSeconds", "timestamp_to_seconds_tz timestamp.(string) -> int", Seconds, kOne,
       estimate::Unit},
      {"getSeconds", "duration_to_seconds duration.() -> int", Seconds, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel

// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <array>
#include <limits>

#include "fmt/format.h"

namespace dray::base {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::int64_t Saturate(__int128 value) {
  if (value > kMaxInt64) return kMaxInt64;
  if (value < kMinInt64) return kMinInt64;
  return static_cast<std::int64_t>(value);
}

bool IsLeap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int DaysIn(std::int64_t year, int month) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && IsLeap(year) ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

struct Civil {
  std::int64_t year = 0;
  int month = 0;
  int day = 0;
};

// Days since 1970-01-01. Years begin in March here, so that the leap day comes last; 400 years are
// one era.
std::int64_t DaysFromCivil(Civil c) {
  const std::int64_t y = c.month <= 2 ? c.year - 1 : c.year;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

Civil CivilFromDays(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
  return {.year = year_of_era + era * 400 + (month <= 2 ? 1 : 0),
          .month = month,
          .day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1)};
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// What FloorDiv leaves, in [0, b); without the product, which could overflow.
std::int64_t FloorMod(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

void PutTwo(char* at, std::int64_t number) {
  at[0] = static_cast<char>('0' + number / 10);
  at[1] = static_cast<char>('0' + number % 10);
}

// With `tail` behind it. Digit by digit: every object that is written has several.
std::string DateAndTime(std::int64_t seconds, std::string_view tail) {
  const std::int64_t days = FloorDiv(seconds, kSecondsPerDay);
  const std::int64_t rest = FloorMod(seconds, kSecondsPerDay);
  const Civil c = CivilFromDays(days);
  if (c.year < 0 || c.year > 9999) {
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}", c.year, c.month, c.day, rest / 3600,
                       rest / 60 % 60, rest % 60, tail);
  }
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  std::string text;
  text.reserve(kForm.size() + tail.size());
  text += kForm;
  text += tail;
  PutTwo(text.data(), c.year / 100);
  PutTwo(text.data() + 2, c.year % 100);
  PutTwo(text.data() + 5, c.month);
  PutTwo(text.data() + 8, c.day);
  PutTwo(text.data() + 11, rest / 3600);
  PutTwo(text.data() + 14, rest / 60 % 60);
  PutTwo(text.data() + 17, rest % 60);
  return text;
}

// Eats an RFC 3339 text from the left.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Eat(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Exactly `digits` digits.
  bool Number(std::size_t digits, int* out) {
    if (text_.size() < digits) return false;
    *out = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!IsDigit(text_[i])) return false;
      *out = *out * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return true;
  }
  // One or two digits: Go's hour.
  bool Hour(int* out) { return Number(2, out) || Number(1, out); }
  // A fraction if there is one; digits past the ninth are cut off.
  std::int64_t Fraction() {
    if (text_.size() < 2 || (text_[0] != '.' && text_[0] != ',') || !IsDigit(text_[1])) return 0;
    text_.remove_prefix(1);
    std::int64_t nanos = 0, unit = kNanosPerSecond / 10;
    for (; !text_.empty() && IsDigit(text_[0]); text_.remove_prefix(1)) {
      nanos += (text_[0] - '0') * unit;
      unit /= 10;
    }
    return nanos;
  }
  bool AtEnd() const { return text_.empty(); }

 private:
  std::string_view text_;
};

Status BadTime(std::string_view text, std::string_view why) {
  return InvalidArgument(
      fmt::format("\"{}\" is not an RFC 3339 time such as 2006-01-02T15:04:05Z: {}", text, why));
}

}  // namespace

Time Time::FromUnix(std::int64_t seconds, std::int64_t nanos) {
  const std::int64_t carry = FloorDiv(nanos, kNanosPerSecond);
  return Time(Saturate(static_cast<__int128>(seconds) + carry),
              static_cast<std::int32_t>(FloorMod(nanos, kNanosPerSecond)));
}

StatusOr<Time> Time::ParseRfc3339(std::string_view text) {
  Scanner in(text);
  int year, month, day, hour, minute, second;
  if (!in.Number(4, &year) || !in.Eat('-') || !in.Number(2, &month) || !in.Eat('-') ||
      !in.Number(2, &day)) {
    return BadTime(text, "no date");
  }
  if (!in.Eat('T') || !in.Hour(&hour) || !in.Eat(':') || !in.Number(2, &minute) || !in.Eat(':') ||
      !in.Number(2, &second)) {
    return BadTime(text, "no time of day");
  }
  const std::int64_t nanos = in.Fraction();
  std::int64_t offset = 0;
  if (!in.Eat('Z')) {
    const bool west = in.Eat('-');
    int hours, minutes;
    if ((!west && !in.Eat('+')) || !in.Number(2, &hours) || !in.Eat(':') ||
        !in.Number(2, &minutes)) {
      return BadTime(text, "no Z or offset");
    }
    if (hours > 24 || minutes > 60) return BadTime(text, "offset out of range");
    offset = (hours * 60 + minutes) * (west ? -60 : 60);
  }
  if (!in.AtEnd()) return BadTime(text, "extra text");
  if (month < 1 || month > 12) return BadTime(text, "month out of range");
  if (day < 1 || day > DaysIn(year, month)) return BadTime(text, "day out of range");
  if (hour > 23) return BadTime(text, "hour out of range");
  if (minute > 59) return BadTime(text, "minute out of range");
  if (second > 59) return BadTime(text, "second out of range");
  const std::int64_t days = DaysFromCivil({.year = year, .month = month, .day = day});
  return FromUnix(days * kSecondsPerDay + hour * 3600 + minute * 60 + second - offset, nanos);
}

std::int64_t Time::UnixNanos() const {
  return Saturate(static_cast<__int128>(seconds_) * kNanosPerSecond + nanos_);
}

std::string Time::ToRfc3339() const { return DateAndTime(seconds_, "Z"); }

std::string Time::ToRfc3339Micro() const {
  return DateAndTime(seconds_, fmt::format(".{:06}Z", nanos_ / 1000));
}

Time operator+(Time time, std::chrono::nanoseconds duration) {
  const std::int64_t whole = FloorDiv(duration.count(), kNanosPerSecond);
  const std::int64_t rest = FloorMod(duration.count(), kNanosPerSecond);
  return Time::FromUnix(Saturate(static_cast<__int128>(time.seconds_) + whole), time.nanos_ + rest);
}

Time operator-(Time time, std::chrono::nanoseconds duration) {
  const std::int64_t whole = FloorDiv(duration.count(), kNanosPerSecond);
  const std::int64_t rest = FloorMod(duration.count(), kNanosPerSecond);
  return Time::FromUnix(Saturate(static_cast<__int128>(time.seconds_) - whole), time.nanos_ - rest);
}

std::chrono::nanoseconds operator-(Time a, Time b) {
  const __int128 seconds = static_cast<__int128>(a.seconds_) - b.seconds_;
  return std::chrono::nanoseconds(Saturate(seconds * kNanosPerSecond + (a.nanos_ - b.nanos_)));
}

namespace {

// Eats a unit; zero if there is none.
std::uint64_t EatUnit(std::string_view* text) {
  struct Unit {
    std::string_view name;
    std::uint64_t nanos;
  };
  // Both letters that look like mu. The longer of two that begin alike comes first.
  static constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                                  {"us", 1000},
                                                  {"\u00b5s", 1000},
                                                  {"\u03bcs", 1000},
                                                  {"ms", 1'000'000},
                                                  {"s", 1'000'000'000},
                                                  {"m", 60'000'000'000},
                                                  {"h", 3'600'000'000'000}}};
  // The unit goes up to the next number: "1mx" has no unit "m".
  const std::string_view name = text->substr(0, text->find_first_of(".0123456789"));
  for (const Unit& unit : kUnits) {
    if (name == unit.name) {
      text->remove_prefix(name.size());
      return unit.nanos;
    }
  }
  return 0;
}

Status BadDuration(std::string_view text, std::string_view why) {
  return InvalidArgument(
      fmt::format("\"{}\" is not a duration such as 1h30m or 10s: {}", text, why));
}

}  // namespace

StatusOr<std::chrono::nanoseconds> ParseGoDuration(std::string_view text) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest[0] == '-';
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  if (rest == "0") return std::chrono::nanoseconds(0);
  if (rest.empty()) return BadDuration(text, "no number");

  std::uint64_t total = 0;
  while (!rest.empty()) {
    std::uint64_t whole = 0, fraction = 0;
    double fraction_scale = 1;
    bool digits = false, fraction_full = false;
    for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
      digits = true;
      if (whole > kLimit / 10) return BadDuration(text, "out of range");
      whole = whole * 10 + static_cast<std::uint64_t>(rest[0] - '0');
      if (whole > kLimit) return BadDuration(text, "out of range");
    }
    if (!rest.empty() && rest[0] == '.') {
      rest.remove_prefix(1);
      for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
        digits = true;
        // More digits than fit do not matter for nanoseconds.
        if (fraction_full) continue;
        if (fraction > (kLimit - 1) / 10) {
          fraction_full = true;
          continue;
        }
        const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(rest[0] - '0');
        if (next > kLimit) {
          fraction_full = true;
          continue;
        }
        fraction = next;
        fraction_scale *= 10;
      }
    }
    if (!digits) return BadDuration(text, "no number");
    if (rest.empty() || IsDigit(rest[0]) || rest[0] == '.') return BadDuration(text, "no unit");
    const std::uint64_t unit = EatUnit(&rest);
    if (unit == 0) return BadDuration(text, "unknown unit; use ns, us, ms, s, m or h");
    if (whole > kLimit / unit) return BadDuration(text, "out of range");
    std::uint64_t nanos = whole * unit;
    if (fraction > 0) {
      nanos += static_cast<std::uint64_t>(static_cast<double>(fraction) *
                                          (static_cast<double>(unit) / fraction_scale));
      if (nanos > kLimit) return BadDuration(text, "out of range");
    }
    total += nanos;
    if (total > kLimit) return BadDuration(text, "out of range");
  }
  if (negative) return std::chrono::nanoseconds(static_cast<std::int64_t>(0 - total));
  if (total > kLimit - 1) return BadDuration(text, "out of range");
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}

namespace {

// value / 10^digits without trailing zeros.
std::string Decimal(std::uint64_t value, int digits) {
  std::uint64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  std::string text = fmt::format("{}.{:0{}}", value / unit, value % unit, digits);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string GoDurationToString(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const auto nanos =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string text = count < 0 ? "-" : "";
  if (nanos < 1000) return text + std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) return text + Decimal(nanos, 3) + "\u00b5s";
  if (nanos < 1'000'000'000) return text + Decimal(nanos, 6) + "ms";
  constexpr std::uint64_t kMinute = 60'000'000'000;
  const std::uint64_t minutes = nanos / kMinute;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes >= 1) text += std::to_string(minutes % 60) + "m";
  return text + Decimal(nanos % kMinute, 9) + "s";
}

}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
//
// Time: an instant in UTC, and the texts Kubernetes uses for instants (RFC 3339) and durations
// (Go's 1h30m).
//
// No clock in here: see clock.h. "Unset" is a std::optional outside.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::base {

// Seconds since 1970-01-01T00:00:00Z and nanoseconds within the second. A value; ordered;
// thread-compatible. Invariant: 0 <= nanos < 10^9, also before 1970.
class Time {
 public:
  // 1970-01-01T00:00:00Z.
  Time() = default;
  // Nanos outside [0, 10^9) carry into the seconds.
  static Time FromUnix(std::int64_t seconds, std::int64_t nanos = 0);

  // Reads what Go's time.Parse(time.RFC3339) reads: offsets up to 24:60, fractions after '.' or ','
  // (cut to nine digits), an hour of one digit; no leap second, no lower-case t or z, no day that
  // the month does not have.
  static StatusOr<Time> ParseRfc3339(std::string_view text);

  std::int64_t seconds() const { return seconds_; }
  std::int32_t nanos() const { return nanos_; }
  // Since 1970; saturates at the ends of int64 (years 1677 and 2262).
  std::int64_t UnixNanos() const;

  // metav1.Time: whole seconds, 2024-03-05T10:20:30Z.
  std::string ToRfc3339() const;
  // metav1.MicroTime: always six digits, 2024-03-05T10:20:30.000000Z.
  std::string ToRfc3339Micro() const;

  Time TruncateToSeconds() const { return FromUnix(seconds_); }
  friend Time operator+(Time time, std::chrono::nanoseconds duration);
  friend Time operator-(Time time, std::chrono::nanoseconds duration);
  // Saturates at the ends of std::chrono::nanoseconds (292 years).
  friend std::chrono::nanoseconds operator-(Time a, Time b);

  friend bool operator==(const Time&, const Time&) = default;
  friend std::strong_ordering operator<=>(const Time&, const Time&) = default;

 private:
  Time(std::int64_t seconds, std::int32_t nanos) : seconds_(seconds), nanos_(nanos) {}

  std::int64_t seconds_ = 0;
  std::int32_t nanos_ = 0;
};

// Go's time.ParseDuration: a sign, then numbers with units ns, us (µs), ms, s, m, h; "0" alone
// needs none.
StatusOr<std::chrono::nanoseconds> ParseGoDuration(std::string_view text);
// Go's Duration.String: 1h30m0s, 1.5s, 250ms, 0s.
std::string GoDurationToString(std::chrono::nanoseconds duration);

}  // namespace dray::base

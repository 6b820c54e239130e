// SPDX-License-Identifier: Apache-2.0
//
// Text forms of single values, as string() gives and conversions read them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "absl/time/time.h"
#include "base/ip_address.h"
#include "base/time.h"
#include "cel/source.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {

namespace {

// The fewest digits that tell a finite number other than zero apart: 0.digits times ten to `point`.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};

Decimal DecimalOf(double d) {
  Decimal out;
  std::string shortest = fmt::format("{}", d);
  out.negative = shortest[0] == '-';
  if (out.negative) shortest.erase(0, 1);
  int exponent = 0;
  if (const auto e = shortest.find('e'); e != std::string::npos) {
    exponent = std::atoi(shortest.c_str() + e + 1);
    shortest.resize(e);
  }
  const std::size_t dot = std::min(shortest.find('.'), shortest.size());
  out.point = static_cast<int>(dot) + exponent;
  if (dot < shortest.size()) shortest.erase(dot, 1);
  const std::size_t zeros = shortest.find_first_not_of('0');
  out.point -= static_cast<int>(zeros);
  out.digits = shortest.substr(zeros, shortest.find_last_not_of('0') + 1 - zeros);
  return out;
}

std::string Plain(const Decimal& decimal) {
  const auto count = static_cast<int>(decimal.digits.size());
  const std::string sign = decimal.negative ? "-" : "";
  const auto zeros = [](int n) { return std::string(static_cast<std::size_t>(n), '0'); };
  if (decimal.point <= 0) return sign + "0." + zeros(-decimal.point) + decimal.digits;
  if (count <= decimal.point) return sign + decimal.digits + zeros(decimal.point - count);
  const auto point = static_cast<std::size_t>(decimal.point);
  return sign + decimal.digits.substr(0, point) + "." + decimal.digits.substr(point);
}

}  // namespace

std::string DoubleToString(double d) {
  if (std::isnan(d)) return "NaN";
  if (std::isinf(d)) return d > 0 ? "+Inf" : "-Inf";
  if (d == 0) return std::signbit(d) ? "-0" : "0";
  const Decimal decimal = DecimalOf(d);
  // Go's %v: an exponent outside [-4, 6).
  const int exponent = decimal.point - 1;
  if (exponent >= -4 && exponent < 6) return Plain(decimal);
  std::string out = decimal.negative ? "-" : "";
  out += decimal.digits[0];
  if (decimal.digits.size() > 1) out += "." + decimal.digits.substr(1);
  return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
}

std::string DoubleToDecimal(double d) {
  return d == 0 ? (std::signbit(d) ? "-0" : "0") : Plain(DecimalOf(d));
}

std::string DurationToString(std::int64_t nanos) {
  const bool negative = nanos < 0;
  const std::uint64_t magnitude =
      negative ? ~static_cast<std::uint64_t>(nanos) + 1 : static_cast<std::uint64_t>(nanos);
  std::string out = fmt::format("{}{}", negative ? "-" : "", magnitude / 1'000'000'000);
  if (const std::uint64_t rest = magnitude % 1'000'000'000; rest != 0) {
    std::string fraction = fmt::format("{:09}", rest);
    while (fraction.back() == '0') fraction.pop_back();
    out += "." + fraction;
  }
  return out + "s";
}

std::string InstantToString(const Instant& instant) {
  const absl::CivilSecond civil = absl::ToCivilSecond(
      absl::FromUnixSeconds(instant.seconds + instant.offset), absl::UTCTimeZone());
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", civil.year(), civil.month(),
                                civil.day(), civil.hour(), civil.minute(), civil.second());
  if (instant.nanos != 0) {
    std::string fraction = fmt::format("{:09}", instant.nanos);
    while (fraction.back() == '0') fraction.pop_back();
    out += "." + fraction;
  }
  if (instant.offset == 0) return out + "Z";
  const int minutes = std::abs(instant.offset) / 60;
  return out +
         fmt::format("{}{:02}:{:02}", instant.offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  const auto duration = base::ParseGoDuration(text);
  if (!duration.ok()) return std::nullopt;
  return duration->count();
}

std::optional<Instant> ParseInstant(std::string_view text) {
  const auto time = base::Time::ParseRfc3339(text);
  if (!time.ok()) return std::nullopt;
  Instant instant{time->seconds(), time->nanos()};
  if (instant.seconds < Instant::kMinSeconds || instant.seconds > Instant::kMaxSeconds) {
    return std::nullopt;
  }
  // The text is right, so one that does not end in Z ends in +hh:mm or -hh:mm.
  if (!text.ends_with('Z')) {
    const std::string_view zone = text.substr(text.size() - 6);
    const auto digits = [&](std::size_t at) {
      return (zone[at] - '0') * 10 + (zone[at + 1] - '0');
    };
    instant.offset = (digits(1) * 60 + digits(4)) * 60 * (zone[0] == '-' ? -1 : 1);
  }
  return instant;
}

std::string IpToString(const Ip& ip) {
  if (ip.v4) {
    return fmt::format("{}.{}.{}.{}", ip.bytes[0], ip.bytes[1], ip.bytes[2], ip.bytes[3]);
  }
  return base::Ipv6Text(ip.bytes);
}

std::string CidrToString(const Cidr& cidr) {
  return fmt::format("{}/{}", IpToString(cidr.address), cidr.length);
}

std::string QuoteGo(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t n = Utf8Length(text);
    if (n == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      text.remove_prefix(1);
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      default:
        if (n == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          out += text.substr(0, n);
        }
    }
    text.remove_prefix(n);
  }
  return out + "\"";
}

}  // namespace dray::cel

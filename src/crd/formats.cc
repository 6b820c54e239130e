// SPDX-License-Identifier: Apache-2.0
#include "crd/formats.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/names.h"
#include "cel/values.h"
#include "re2/re2.h"

namespace dray::crd {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Patterns are small and ours, so that what they cost is known; longer texts have none of the forms.
constexpr std::size_t kMaxText = 4096;

bool Matches(std::string_view text, const re2::RE2& pattern) {
  return text.size() <= kMaxText && re2::RE2::FullMatch({text.data(), text.size()}, pattern);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Leading zeros are taken, as they were before Go 1.17.
bool IsDottedQuad(std::string_view text) {
  const auto parts = Split(text, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           if (part.empty() || part.size() > 255 || !std::ranges::all_of(part, IsDigit)) {
             return false;
           }
           int value = 0;
           const auto read = std::from_chars(part.data(), part.data() + part.size(), value);
           return read.ec == std::errc() && value <= 255;
         });
}

bool IsColons(std::string_view text) {
  if (text.find('%') != text.npos) return false;
  // An address of the old kind may be its end.
  bool quad = false;
  if (const std::size_t last = text.rfind(':'); last != text.npos && text.find('.') != text.npos) {
    if (!IsDottedQuad(text.substr(last + 1))) return false;
    quad = true;
    text = text.substr(0, last + 1);
    if (!text.ends_with("::")) text.remove_suffix(1);
  }
  const std::size_t most = quad ? 6 : 8;
  const auto groups = [](std::string_view side) -> std::optional<std::size_t> {
    if (side.empty()) return 0;
    const auto parts = Split(side, ':');
    const bool fine = std::ranges::all_of(parts, [](std::string_view part) {
      return !part.empty() && part.size() <= 4 && std::ranges::all_of(part, IsHex);
    });
    return fine ? std::optional(parts.size()) : std::nullopt;
  };
  const std::size_t gap = text.find("::");
  if (gap == text.npos) {
    const auto count = groups(text);
    return count && *count == most;
  }
  const auto before = groups(text.substr(0, gap));
  const auto after = groups(text.substr(gap + 2));
  return before && after && *before + *after < most;
}

bool IsIpv4(std::string_view text) {
  return text.find('.') != text.npos && (IsDottedQuad(text) || IsColons(text));
}
bool IsIpv6(std::string_view text) { return text.find(':') != text.npos && IsColons(text); }

bool IsCidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return false;
  const std::string_view address = text.substr(0, slash);
  const std::string_view length = text.substr(slash + 1);
  const bool v4 = IsDottedQuad(address);
  if (!v4 && !IsColons(address)) return false;
  if (length.empty() || length.size() > 3 || !std::ranges::all_of(length, IsDigit)) return false;
  int bits = 0;
  std::from_chars(length.data(), length.data() + length.size(), bits);
  return bits <= (v4 ? 32 : 128);
}

// 6, 8 or 20 bytes: 00:00:5e:00:53:01, 00-00-..., 0000.5e00.5301
bool IsMac(std::string_view text) {
  if (text.size() < 14) return false;
  const char separator = text[2] == ':' || text[2] == '-' ? text[2] : '.';
  const std::size_t width = separator == '.' ? 4 : 2;
  const auto parts = Split(text, separator);
  const bool fine = std::ranges::all_of(parts, [&](std::string_view part) {
    return part.size() == width && std::ranges::all_of(part, IsHex);
  });
  const std::size_t bytes = parts.size() * width / 2;
  return fine && (bytes == 6 || bytes == 8 || bytes == 20);
}

int Digits(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool IsDate(std::string_view text) {
  static const re2::RE2 pattern(R"(\d{4}-\d{2}-\d{2})");
  if (!Matches(text, pattern)) return false;
  const int year = Digits(text.substr(0, 4));
  const int month = Digits(text.substr(5, 2));
  const int day = Digits(text.substr(8, 2));
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const std::array<int, 12> days = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= days[static_cast<std::size_t>(month - 1)];
}

bool IsDateTime(std::string_view text) {
  if (text.size() < 11 || (text[10] != 'T' && text[10] != 't') || !IsDate(text.substr(0, 10))) {
    return false;
  }
  static const re2::RE2 pattern(R"((\d{2}):(\d{2}):(\d{2})(.[0-9]+)?([zZ]|([+-]\d{2}:\d{2})))");
  const std::string_view time = text.substr(11);
  return Matches(time, pattern) && Digits(time.substr(0, 2)) <= 23 &&
         Digits(time.substr(3, 2)) <= 59 && Digits(time.substr(6, 2)) <= 59;
}

// Go's, or numbers with units in words: 2 days.
bool IsDuration(std::string_view text) {
  if (text.size() > kMaxText) return false;
  if (cel::ParseDuration(text)) return true;
  static const re2::RE2 pattern(R"((\d+)\s*([A-Za-zµ]+))");
  // The last of a row also as the beginning of a longer word.
  static const std::vector<std::vector<std::string_view>> units = {
      {"ns", "nano"}, {"us", "µs", "micro"}, {"ms", "milli"}, {"s", "sec"},
      {"m", "min"},   {"h", "hr", "hour"},   {"d", "day"},    {"w", "wk", "week"},
  };
  re2::StringPiece rest(text.data(), text.size());
  std::string number;
  std::string unit;
  bool found = false;
  while (re2::RE2::FindAndConsume(&rest, pattern, &number, &unit)) {
    std::int64_t value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec != std::errc()) return false;
    std::ranges::transform(unit, unit.begin(), [](unsigned char c) {
      return c < 128 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
    });
    for (const auto& names : units) {
      for (const std::string_view name : names) {
        found = found || unit == name || (name == names.back() && unit.starts_with(name));
      }
    }
  }
  return found;
}

bool IsUri(std::string_view text) {
  // As Go's ParseRequestURI: a scheme and something behind it, or an absolute path.
  if (text.empty() || text.size() > 64 * 1024) return false;
  const auto bad = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, bad)) return false;
  // Escapes are complete.
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) return false;
  }
  if (text.front() == '/') return true;
  std::size_t at = 0;
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                              text[at] == '+' || text[at] == '-' || text[at] == '.')) {
    ++at;
  }
  if (at == 0 || at >= text.size() || text[at] != ':') return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
  const std::string_view behind = text.substr(at + 1);
  if (!behind.starts_with('/')) return true;  // mailto:a
  if (!behind.starts_with("//")) return true;
  const std::string_view host = behind.substr(2, behind.find('/', 2) - 2);
  return host.find_first_of(" <>\"{}|\\^`") == host.npos;
}

bool IsEmail(std::string_view text) {
  // An address, or a name with one in angles.
  if (text.size() > kMaxText) return false;
  if (text.ends_with('>')) {
    const std::size_t open = text.find('<');
    if (open == text.npos) return false;
    text = text.substr(open + 1, text.size() - open - 2);
  }
  static const re2::RE2 pattern(
      R"(("([^"\\\r\n]|\\.)+"|[^\s@<>()\[\]:;,"\\.]+(\.[^\s@<>()\[\]:;,"\\.]+)*)@(\[[^\]\s]+\]|[^\s@<>()\[\]:;,"\\.]+(\.[^\s@<>()\[\]:;,"\\.]+)*))");
  return Matches(text, pattern);
}

// One label, or several of which the last is made of letters.
bool IsHostname(std::string_view text) {
  static const re2::RE2 alone(R"([a-zA-Z0-9\p{S}\p{L}](-?[a-zA-Z0-9\p{S}\p{L}]*))");
  static const re2::RE2 label(
      R"([a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9\-\p{S}\p{L}]*[a-zA-Z0-9\p{S}\p{L}])?)");
  static const re2::RE2 last(R"([a-zA-Z\p{L}]{2,})");
  if (text.size() > 255) return false;
  const auto parts = Split(text, '.');
  if (std::ranges::any_of(parts, [](std::string_view part) { return part.size() > 63; })) {
    return false;
  }
  if (parts.size() == 1) return Matches(text, alone);
  return Matches(parts.back(), last) &&
         std::all_of(parts.begin(), parts.end() - 1,
                     [](std::string_view part) { return Matches(part, label); });
}

std::string Without(std::string_view text, std::string_view dropped) {
  std::string out;
  for (const char c : text) {
    if (dropped.find(c) == dropped.npos) out += c;
  }
  return out;
}

bool IsIsbn10(std::string_view text) {
  const std::string digits = Without(text, "- ");
  if (digits.size() != 10) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const bool last_x = i == 9 && digits[i] == 'X';
    if (!IsDigit(digits[i]) && !last_x) return false;
    sum += static_cast<int>(i + 1) * (last_x ? 10 : digits[i] - '0');
  }
  return sum % 11 == 0;
}
bool IsIsbn13(std::string_view text) {
  const std::string digits = Without(text, "- ");
  if (digits.size() != 13 || !std::ranges::all_of(digits, IsDigit)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) sum += (digits[i] - '0') * (i % 2 == 0 ? 1 : 3);
  return sum % 10 == 0;
}

bool IsCreditCard(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (IsDigit(c)) digits += c;
  }
  static const re2::RE2 pattern(
      R"((?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}))");
  if (!Matches(digits, pattern)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 == 0;
}

bool IsBase64(std::string_view text) {
  static const re2::RE2 pattern(
      R"((?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4}))");
  return re2::RE2::FullMatch({text.data(), text.size()}, pattern);
}

template <const char* kPattern>
bool HasPattern(std::string_view text) {
  static const re2::RE2 pattern(kPattern);
  return Matches(text, pattern);
}

constexpr char kUuid[] = R"((?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})";
constexpr char kUuid3[] =
    R"((?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12})";
constexpr char kUuid4[] =
    R"((?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})";
constexpr char kUuid5[] =
    R"((?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})";
constexpr char kSsn[] = R"(\d{3}[- ]?\d{2}[- ]?\d{4})";
constexpr char kHexColor[] = R"(#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6}))";
constexpr char kRgbColor[] =
    R"(rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\))";
constexpr char kObjectId[] = R"([0-9a-fA-F]{24})";
// A subdomain whose labels may be longer than a label.
constexpr char kLongName[] = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";

using Check = bool (*)(std::string_view);
const std::map<std::string, Check, std::less<>>& Checks() {
  static const std::map<std::string, Check, std::less<>> checks = {
      {"bsonobjectid", HasPattern<kObjectId>},
      {"byte", IsBase64},
      {"cidr", IsCidr},
      {"creditcard", IsCreditCard},
      {"date", IsDate},
      {"datetime", IsDateTime},
      {"duration", IsDuration},
      {"email", IsEmail},
      {"hexcolor", HasPattern<kHexColor>},
      {"hostname", IsHostname},
      {"ipv4", IsIpv4},
      {"ipv6", IsIpv6},
      {"isbn", [](std::string_view text) { return IsIsbn10(text) || IsIsbn13(text); }},
      {"isbn10", IsIsbn10},
      {"isbn13", IsIsbn13},
      {"k8slongname",
       [](std::string_view text) { return text.size() <= 253 && HasPattern<kLongName>(text); }},
      {"k8sshortname", [](std::string_view text) { return base::IsDnsLabel(text); }},
      {"mac", IsMac},
      {"password", [](std::string_view) { return true; }},
      {"rgbcolor", HasPattern<kRgbColor>},
      {"ssn", HasPattern<kSsn>},
      {"uri", IsUri},
      {"uuid", HasPattern<kUuid>},
      {"uuid3", HasPattern<kUuid3>},
      {"uuid4", HasPattern<kUuid4>},
      {"uuid5", HasPattern<kUuid5>},
  };
  return checks;
}

}  // namespace

std::string CheckedFormat(std::string_view format) {
  std::string name = Without(format, "-");
  return Checks().contains(name) ? name : std::string();
}

bool HasFormat(std::string_view format, std::string_view text) {
  const auto it = Checks().find(format);
  return it == Checks().end() || it->second(text);
}

}  // namespace dray::crd

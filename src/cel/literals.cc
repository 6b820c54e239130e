// SPDX-License-Identifier: Apache-2.0
#include "cel/literals.h"

#include <charconv>
#include <limits>

#include "absl/strings/charconv.h"
#include "base/utf8.h"
#include "cel/source.h"

namespace dray::cel {
namespace {

std::optional<std::uint64_t> Magnitude(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, hex ? 16 : 10);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

bool IsCodePoint(char32_t c) { return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff); }

char32_t Digits(std::string_view digits, int base) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

char SimpleEscape(char c) {
  switch (c) {
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return c;
  }
}

// Reads the escape at the start of `text` into `out`, and gives its length; 0 if it is not allowed.
std::size_t Unescape(std::string_view text, bool bytes, Unquoted& out) {
  const char c = text[1];
  std::size_t length = 2;
  char32_t value = 0;
  if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    if (bytes && (c == 'u' || c == 'U')) {
      out.error = "unable to unescape string";
      return 0;
    }
    length += c == 'u' ? 4 : (c == 'U' ? 8 : 2);
    value = Digits(text.substr(2, length - 2), 16);
  } else if (c >= '0' && c <= '3') {
    length = 4;
    value = Digits(text.substr(1, 3), 8);
  } else {
    out.value.push_back(SimpleEscape(c));
    return length;
  }
  if (bytes) {
    out.value.push_back(static_cast<char>(value));
  } else if (IsCodePoint(value)) {
    base::AppendUtf8(out.value, value);
  } else {
    out.error = "invalid unicode code point";
    return 0;
  }
  return length;
}

}  // namespace

std::optional<std::int64_t> ParseInt(std::string_view text, bool negative) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto magnitude = Magnitude(text);
  if (!magnitude || *magnitude > kMax + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? -*magnitude : *magnitude);
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  return Magnitude(text.substr(0, text.size() - 1));
}

std::optional<double> ParseDouble(std::string_view text, bool negative) {
  double value = 0;
  const auto result = absl::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() && value > 1) return std::nullopt;
  return negative ? -value : value;
}

Unquoted Unquote(std::string_view token, bool bytes) {
  if (bytes) token.remove_prefix(1);
  const bool raw = token[0] == 'r' || token[0] == 'R';
  if (raw) token.remove_prefix(1);
  const bool triple = token.size() >= 6 && token[1] == token[0] && token[2] == token[0];
  const std::size_t quotes = triple ? 3 : 1;
  std::string_view rest = token.substr(quotes, token.size() - 2 * quotes);

  Unquoted out;
  out.value.reserve(rest.size());
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find_first_of(raw ? "\r" : "\r\\"), rest.size());
    out.value.append(rest.substr(0, plain));
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    if (rest[0] == '\r') {
      out.value.push_back('\n');
      rest.remove_prefix(rest.starts_with("\r\n") ? 2 : 1);
      continue;
    }
    const std::size_t length = Unescape(rest, bytes, out);
    if (length == 0) return out;
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace dray::cel

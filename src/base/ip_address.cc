// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::base {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A number at the front of `text`, at most `max`; false if there is none. Says how many digits it
// had.
bool EatNumber(int base, int max, std::string_view* text, int* value, std::size_t* digits) {
  *value = 0;
  *digits = 0;
  while (*digits < text->size()) {
    const int digit = HexValue((*text)[*digits]);
    if (digit < 0 || digit >= base) break;
    *value = *value * base + digit;
    if (*value > max) return false;
    ++*digits;
  }
  if (*digits == 0) return false;
  text->remove_prefix(*digits);
  return true;
}

// Four dotted octets, and nothing else, into `out`.
bool ReadV4(std::string_view text, std::uint8_t* out, bool* has_extra_zeros) {
  for (int i = 0; i < 4; ++i) {
    if (i > 0) {
      if (text.empty() || text[0] != '.') return false;
      text.remove_prefix(1);
    }
    const bool zero = !text.empty() && text[0] == '0';
    int value;
    std::size_t digits;
    if (!EatNumber(10, 255, &text, &value, &digits)) return false;
    if (zero && digits > 1) *has_extra_zeros = true;
    out[i] = static_cast<std::uint8_t>(value);
  }
  return text.empty();
}

bool ReadV6(std::string_view text, IpAddress* out) {
  int at = 0, gap = -1;
  if (text.starts_with("::")) {
    gap = 0;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    if (at == 16) return false;
    std::string_view rest = text;
    int value;
    std::size_t digits;
    if (!EatNumber(16, 0xffff, &rest, &value, &digits)) return false;
    if (!rest.empty() && rest[0] == '.') {
      // The last four bytes may be written as IPv4.
      if (at > 12 || (gap < 0 && at != 12)) return false;
      if (!ReadV4(text, &out->bytes[static_cast<std::size_t>(at)], &out->has_extra_zeros))
        return false;
      at += 4;
      break;
    }
    if (digits > 4) out->has_extra_zeros = true;
    out->bytes[static_cast<std::size_t>(at++)] = static_cast<std::uint8_t>(value >> 8);
    out->bytes[static_cast<std::size_t>(at++)] = static_cast<std::uint8_t>(value);
    if (rest.empty()) break;
    if (rest[0] != ':' || rest.size() == 1) return false;
    rest.remove_prefix(1);
    if (rest[0] == ':') {
      if (gap >= 0) return false;
      gap = at;
      rest.remove_prefix(1);
    }
    text = rest;
  }
  if (at == 16) return gap < 0;
  if (gap < 0) return false;
  std::rotate(out->bytes.begin() + gap, out->bytes.begin() + at, out->bytes.end());
  return true;
}

std::string V6Text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<int, 8> groups;
  for (std::size_t i = 0; i < 8; ++i) groups[i] = bytes[2 * i] << 8 | bytes[2 * i + 1];
  // The longest run of at least two zero groups, the first of equals, becomes "::".
  std::size_t best = 0, best_length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > best_length) {
      best = i;
      best_length = end - i;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (best_length > 1 && i == best) {
      text += "::";
      i += best_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    text += fmt::format("{:x}", groups[i]);
  }
  return text;
}

}  // namespace

bool IpAddress::IsV4() const {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}

std::string IpAddress::ToString() const {
  if (IsV4()) return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  return V6Text(bytes);
}

std::optional<IpAddress> ParseIp(std::string_view text) {
  IpAddress address;
  const std::size_t mark = text.find_first_of(".:");
  if (mark == std::string_view::npos) return std::nullopt;
  if (text[mark] == ':') {
    if (!ReadV6(text, &address)) return std::nullopt;
    return address;
  }
  address.written_as_v4 = true;
  address.bytes[10] = address.bytes[11] = 0xff;
  if (!ReadV4(text, &address.bytes[12], &address.has_extra_zeros)) return std::nullopt;
  return address;
}

bool IpPrefix::IsMasked() const {
  const int first = length + (address.written_as_v4 ? 96 : 0);
  for (int bit = first; bit < 128; ++bit) {
    if (address.bytes[static_cast<std::size_t>(bit / 8)] & (0x80 >> bit % 8)) return false;
  }
  return true;
}

std::string IpPrefix::ToString() const {
  const bool shrinks = address.IsV4In6() && length >= 96;
  return fmt::format("{}/{}", address.ToString(), shrinks ? length - 96 : length);
}

std::optional<IpPrefix> ParseIpPrefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<IpAddress> address = ParseIp(text.substr(0, slash));
  if (!address) return std::nullopt;
  std::string_view length = text.substr(slash + 1);
  IpPrefix prefix{.address = *address};
  const bool zero = !length.empty() && length[0] == '0';
  std::size_t digits;
  if (!EatNumber(10, address->written_as_v4 ? 32 : 128, &length, &prefix.length, &digits)) {
    return std::nullopt;
  }
  if (!length.empty()) return std::nullopt;
  prefix.length_has_extra_zeros = zero && digits > 1;
  return prefix;
}

}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <algorithm>

#include "base/integer.h"
#include "fmt/format.h"

namespace dray::base {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads an address from the left; the first fault ends it.
class Reader {
 public:
  Reader(std::string_view text, const IpOptions& options) : options_(options) {
    const std::size_t mark = text.find_first_of(".:%");
    if (mark == std::string_view::npos) {
      Fail(IpFault::kNotAnAddress);
    } else if (text[mark] == '%') {
      Fail(options.zones ? IpFault::kOnlyZone : IpFault::kNotAnAddress);
    } else if (text[mark] == ':') {
      ReadV6(text);
    } else {
      out_.address.written_as_v4 = true;
      out_.address.bytes[10] = out_.address.bytes[11] = 0xff;
      ReadV4(text, 12);
    }
  }

  IpReading result() && { return out_; }

 private:
  bool Fail(IpFault fault, std::string_view at = {}) {
    out_.fault = fault;
    out_.at = at;
    return false;
  }
  void Put(std::size_t at, int byte) { out_.address.bytes[at] = static_cast<std::uint8_t>(byte); }

  // Four dotted octets, and nothing else, into the bytes from `at` on.
  bool ReadV4(std::string_view text, std::size_t at) {
    const std::size_t last = at + 3;
    int value = 0;
    int digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (IsDigit(c)) {
        if (digits > 0 && value == 0 && !options_.extra_zeros) return Fail(IpFault::kLeadingZero);
        value = value * 10 + (c - '0');
        digits = 1;
        if (value > 255) return Fail(IpFault::kOctetTooLarge);
      } else if (c == '.') {
        if (digits == 0 || i == text.size() - 1) {
          return Fail(IpFault::kEmptyOctet, text.substr(i));
        }
        if (at == last) return Fail(IpFault::kTooManyOctets);
        Put(at++, value);
        value = digits = 0;
      } else {
        return Fail(IpFault::kCharacter, text.substr(i));
      }
    }
    if (at < last) return Fail(IpFault::kTooFewOctets);
    Put(at, value);
    return true;
  }

  // Hexadecimal digits at the front of `rest`. False when there are too many.
  bool ReadGroup(std::string_view rest, std::size_t* digits, int* value) {
    for (*digits = 0, *value = 0; *digits < rest.size(); ++*digits) {
      const int digit = HexDigit(rest[*digits]);
      if (digit < 0) return true;
      *value = *value * 16 + digit;
      const bool fits = *digits < 4 || (options_.extra_zeros && *value <= 0xffff);
      if (!fits) return false;
    }
    return true;
  }

  bool TakeZone(std::string_view* rest) {
    const std::size_t percent = rest->find('%');
    if (!options_.zones || percent == std::string_view::npos) return true;
    out_.zone = rest->substr(percent + 1);
    *rest = rest->substr(0, percent);
    return !out_.zone.empty() || Fail(IpFault::kEmptyZone);
  }

  bool ReadV6(std::string_view rest) {
    if (!TakeZone(&rest)) return false;
    std::size_t at = 0;
    std::optional<std::size_t> gap;
    if (rest.starts_with("::")) {
      gap = 0;
      rest.remove_prefix(2);
    }
    while (at < 16 && !(rest.empty() && gap)) {
      std::size_t digits = 0;
      int value = 0;
      if (!ReadGroup(rest, &digits, &value)) return Fail(IpFault::kGroupTooLong, rest);
      if (digits == 0) return Fail(IpFault::kEmptyGroup, rest);
      if (digits < rest.size() && rest[digits] == '.') {
        // The last four bytes may be written as IPv4.
        if (!gap && at != 12) return Fail(IpFault::kV4TooEarly, rest);
        if (at > 12) return Fail(IpFault::kV4TooLate, rest);
        if (!ReadV4(rest, at)) return false;
        rest = {};
        at += 4;
        break;
      }
      Put(at++, value >> 8);
      Put(at++, value);
      rest.remove_prefix(digits);
      if (rest.empty()) break;
      if (rest[0] != ':') return Fail(IpFault::kNoColon, rest);
      if (rest.size() == 1) return Fail(IpFault::kEndsWithColon, rest);
      rest.remove_prefix(1);
      if (rest[0] == ':') {
        if (gap) return Fail(IpFault::kSecondGap, rest);
        gap = at;
        rest.remove_prefix(1);
      }
    }
    if (!rest.empty()) return Fail(IpFault::kTrailing, rest);
    if (at == 16) return !gap || Fail(IpFault::kGapOfNothing);
    if (!gap) return Fail(IpFault::kTooShort);
    auto& bytes = out_.address.bytes;
    std::rotate(bytes.begin() + static_cast<std::ptrdiff_t>(*gap),
                bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
    return true;
  }

  const IpOptions options_;
  IpReading out_;
};

}  // namespace

std::string Ipv6Text(const std::array<std::uint8_t, 16>& bytes) {
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

bool IpAddress::IsV4() const {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         bytes[10] == 0xff && bytes[11] == 0xff;
}

std::string IpAddress::ToString() const {
  if (IsV4()) return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
  return Ipv6Text(bytes);
}

IpReading ReadIp(std::string_view text, const IpOptions& options) {
  return Reader(text, options).result();
}

std::optional<IpAddress> ParseIp(std::string_view text) {
  const IpReading reading = ReadIp(text, {.extra_zeros = true});
  if (reading.fault != IpFault::kNone) return std::nullopt;
  return reading.address;
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
  const std::string_view length = text.substr(slash + 1);
  IpPrefix prefix{.address = *address};
  if (length.empty() || !std::ranges::all_of(length, IsDigit)) return std::nullopt;
  for (const char c : length) {
    prefix.length = prefix.length * 10 + (c - '0');
    if (prefix.length > (address->written_as_v4 ? 32 : 128)) return std::nullopt;
  }
  return prefix;
}

}  // namespace dray::base

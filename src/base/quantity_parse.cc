// SPDX-License-Identifier: Apache-2.0
//
// Text to quantities.
#include "base/quantity.h"

#include <charconv>
#include <cstdlib>

#include "base/internal/quantity_parts.h"

namespace dray::base {

using namespace internal;  // NOLINT: the other half of this type

namespace {

constexpr char kErrFormat[] =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr char kErrNumeric[] = "unable to parse numeric part of quantity";
constexpr char kErrSuffix[] = "unable to parse quantity's suffix";
constexpr char kErrTooLong[] = "quantities must not have more than 4096 significant digits";

struct Suffix {
  bool binary = false;
  std::int64_t exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimalSI;
};

bool ReadExponent(std::string_view text, Suffix* out) {
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  std::int64_t exponent = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return false;
    exponent = exponent * 10 + (c - '0');
    if (exponent > kMaxScale + 1) return false;
  }
  if (negative) exponent = -exponent;
  if (exponent > kMaxScale) return false;
  *out = {.exponent = exponent, .format = Quantity::Format::kDecimalExponent};
  return true;
}

bool ReadSuffix(std::string_view text, Suffix* out) {
  using enum Quantity::Format;
  if (text.empty()) return true;
  if (text.size() == 1) {
    switch (text[0]) {
      case 'n':
        out->exponent = -9;
        return true;
      case 'u':
        out->exponent = -6;
        return true;
      case 'm':
        out->exponent = -3;
        return true;
      case 'k':
        out->exponent = 3;
        return true;
      case 'M':
        out->exponent = 6;
        return true;
      case 'G':
        out->exponent = 9;
        return true;
      case 'T':
        out->exponent = 12;
        return true;
      case 'P':
        out->exponent = 15;
        return true;
      case 'E':
        out->exponent = 18;
        return true;
      default:
        return false;
    }
  }
  if (text.size() == 2 && text[1] == 'i') {
    out->binary = true;
    out->format = kBinarySI;
    switch (text[0]) {
      case 'K':
        out->exponent = 10;
        return true;
      case 'M':
        out->exponent = 20;
        return true;
      case 'G':
        out->exponent = 30;
        return true;
      case 'T':
        out->exponent = 40;
        return true;
      case 'P':
        out->exponent = 50;
        return true;
      case 'E':
        out->exponent = 60;
        return true;
      default:
        return false;
    }
  }
  if (text[0] == 'e' || text[0] == 'E') return ReadExponent(text.substr(1), out);
  return false;
}

bool IsSuffixLetter(char c) {
  switch (c) {
    case 'e':
    case 'E':
    case 'i':
    case 'n':
    case 'u':
    case 'm':
    case 'k':
    case 'K':
    case 'M':
    case 'G':
    case 'T':
    case 'P':
      return true;
    default:
      return false;
  }
}

// A quantity's text taken apart. `whole` has no leading zeros and may be empty.
struct Pieces {
  bool negative = false;
  bool has_digits = false;  // a digit stands somewhere before the suffix
  std::string_view whole, fraction, suffix;
};

bool Split(std::string_view text, Pieces* out) {
  std::size_t pos = 0;
  const std::size_t end = text.size();
  if (text[0] == '-' || text[0] == '+') {
    out->negative = text[0] == '-';
    ++pos;
  }
  const std::size_t digits = pos;
  while (pos < end && text[pos] == '0') ++pos;
  const std::size_t whole = pos;
  while (pos < end && IsDigit(text[pos])) ++pos;
  out->whole = text.substr(whole, pos - whole);
  out->has_digits = pos > digits;
  if (pos < end && text[pos] == '.') {
    const std::size_t fraction = ++pos;
    while (pos < end && IsDigit(text[pos])) ++pos;
    out->fraction = text.substr(fraction, pos - fraction);
    out->has_digits |= !out->fraction.empty();
  }
  out->suffix = text.substr(pos);
  while (pos < end && IsSuffixLetter(text[pos])) ++pos;
  if (pos < end && (text[pos] == '-' || text[pos] == '+')) ++pos;
  while (pos < end && IsDigit(text[pos])) ++pos;
  return pos == end;
}

std::uint64_t ReadDigits(std::string_view whole, std::string_view fraction) {
  std::uint64_t value = 0;
  for (const char c : whole) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  for (const char c : fraction) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

// Whether Kubernetes keeps such a text as a scaled int64: it estimates the digits from the text's
// length.
bool HeldAsInt64(const Pieces& p, const Suffix& suffix, std::int64_t scale) {
  const auto whole = static_cast<std::int64_t>(std::max<std::size_t>(p.whole.size(), 1));
  const auto fraction = static_cast<std::int64_t>(p.fraction.size());
  if (!suffix.binary) return whole + fraction <= 18 && scale >= Quantity::kNano;
  return fraction == 0 && whole <= 14 - suffix.exponent * 3 / 10;
}

}  // namespace

StatusOr<Quantity> Quantity::Parse(std::string_view text) {
  Quantity quantity;
  if (const char* error = ParseInto(text, &quantity)) return InvalidArgument(error);
  return quantity;
}

bool Quantity::TryParse(std::string_view text, Quantity* out) {
  return ParseInto(text, out) == nullptr;
}

// Null on success, else what is wrong.
const char* Quantity::ParseInto(std::string_view text, Quantity* out) {
  if (text.empty()) return kErrFormat;
  Pieces p;
  if (!Split(text, &p)) return kErrFormat;
  Suffix suffix;
  if (!ReadSuffix(p.suffix, &suffix)) return kErrSuffix;

  const auto fraction = static_cast<std::int64_t>(p.fraction.size());
  const std::int64_t scale = (suffix.binary ? 0 : suffix.exponent) - fraction;
  const bool fast = p.whole.size() + p.fraction.size() <= kFastDigits;
  if (HeldAsInt64(p, suffix, scale)) {
    auto value = static_cast<std::int64_t>(ReadDigits(p.whole, p.fraction));
    if (suffix.binary) value <<= suffix.exponent;
    *out = Quantity(p.negative ? -value : value, static_cast<std::int32_t>(scale), suffix.format,
                    false);
    return nullptr;
  }
  if (!p.has_digits) return kErrNumeric;

  // From here on Kubernetes uses a decimal, rounds it up to nano and caps binary amounts.
  const std::int64_t shift = std::max<std::int64_t>(kNano - scale, 0);
  Format format = suffix.format;
  if (fast) {
    // At most 10^18 * 2^60: fits in 128 bits.
    UInt128 m = ReadDigits(p.whole, p.fraction);
    if (suffix.binary) m <<= suffix.exponent;
    std::int64_t result_scale = scale;
    if (shift > 0 && m != 0) {
      if (shift > 38) {
        m = 1;
      } else {
        UInt128 divisor = 1;
        for (std::int64_t i = 0; i < shift; ++i) divisor *= 10;
        m = m / divisor + (m % divisor != 0 ? 1 : 0);
      }
      result_scale = kNano;
    }
    if (m == 0) {
      *out = Quantity(0, 0, format, true);
      return nullptr;
    }
    while (result_scale < 0 && m % 10 == 0) {
      m /= 10;
      ++result_scale;
    }
    if (suffix.binary) {
      // result_scale is in [-9, 0], so the cap times 10^9 still fits.
      const UInt128 unit = static_cast<UInt128>(kPow10[-result_scale]);
      if (m > unit * static_cast<UInt128>(kMaxInt64)) {
        m = static_cast<UInt128>(kMaxInt64);
        result_scale = 0;
      } else if (m < unit) {
        format = Format::kDecimalSI;
      }
    }
    if (m <= static_cast<UInt128>(kMaxInt64)) {
      const auto value = static_cast<std::int64_t>(m);
      *out = Quantity(p.negative ? -value : value, static_cast<std::int32_t>(result_scale), format,
                      true);
      return nullptr;
    }
    Quantity result(0, 0, format, true);
    cpp_int big = m;
    result.Assign({.mantissa = p.negative ? cpp_int(-big) : big, .scale = result_scale});
    *out = std::move(result);
    return nullptr;
  }

  std::string digits(p.whole);
  digits.append(p.fraction);
  // Zeros at the ends say nothing about precision; one at the front would make Boost read octal
  // digits.
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const std::size_t used = digits.find_last_not_of('0') + 1;  // 0 if there is none
  if (used > kMaxDigits) return kErrTooLong;
  Parts parts{.mantissa = 0, .scale = scale + static_cast<std::int64_t>(digits.size() - used)};
  digits.resize(used);
  if (used > 0) {
    parts.mantissa = cpp_int(digits);
  } else {
    parts.scale = 0;
  }
  if (suffix.binary) parts.mantissa <<= static_cast<unsigned>(suffix.exponent);
  if (parts.scale < kNano) {
    bool exact;
    parts.mantissa = DivPow10Up(parts.mantissa, kNano - parts.scale, &exact);
    parts.scale = kNano;
  }
  // Zeros go back into the mantissa where the scale cannot carry them. Twenty are enough to reach
  // the binary cap.
  const std::int64_t limit = suffix.binary ? 0 : kMaxScale;
  if (const std::int64_t excess = parts.scale - limit; excess > 0) {
    if (!suffix.binary && excess + static_cast<std::int64_t>(used) > kMaxDigits) return kErrTooLong;
    parts.mantissa *= BigPow10(suffix.binary ? std::min<std::int64_t>(excess, 20) : excess);
    parts.scale = limit;
  }
  if (suffix.binary) {
    const cpp_int unit = BigPow10(-parts.scale);
    if (parts.mantissa > unit * kMaxInt64) {
      parts = {.mantissa = kMaxInt64, .scale = 0};
    } else if (parts.mantissa != 0 && parts.mantissa < unit) {
      format = Format::kDecimalSI;
    }
  }
  if (p.negative) parts.mantissa = -parts.mantissa;
  Quantity result(0, 0, format, true);
  result.Assign(std::move(parts));
  *out = std::move(result);
  return nullptr;
}

}  // namespace dray::base

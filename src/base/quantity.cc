// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <boost/multiprecision/cpp_int.hpp>

#include "base/check.h"

namespace dray::base {

using boost::multiprecision::cpp_int;

struct Quantity::Big {
  explicit Big(cpp_int m) : mantissa(std::move(m)) {}
  std::atomic<std::uint32_t> refs{1};
  const cpp_int mantissa;
};

struct Quantity::Parts {
  cpp_int mantissa;
  std::int64_t scale = 0;
};

namespace {

using Int128 = __int128;
using UInt128 = unsigned __int128;

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMaxScale = std::numeric_limits<std::int32_t>::max();
// The largest exponent that is a multiple of three and can be parsed again.
constexpr std::int64_t kMaxPrintedExponent = 2147483646;
constexpr int kMaxPadding = 64;
// Dividing by 1024 turns zeros into other digits, which then count: stay far from kMaxDigits.
constexpr int kMaxBinaryDigits = 1000;
// 18 digits always fit in an int64; more go through arbitrary precision, as in Kubernetes.
constexpr std::size_t kFastDigits = 18;

constexpr char kErrFormat[] =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr char kErrNumeric[] = "unable to parse numeric part of quantity";
constexpr char kErrSuffix[] = "unable to parse quantity's suffix";
constexpr char kErrTooLong[] = "quantities must not have more than 4096 significant digits";

constexpr auto kPow10 = [] {
  std::array<std::int64_t, 19> table{};
  std::int64_t power = 1;
  for (auto& entry : table) {
    entry = power;
    if (power <= kMaxInt64 / 10) power *= 10;
  }
  return table;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

cpp_int BigPow10(std::int64_t exponent) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent));
}

bool FitsInt64(const cpp_int& m) { return m >= kMinInt64 && m <= kMaxInt64; }

// The number of decimal digits of m != 0, or one more: from the number of bits, without dividing.
std::int64_t DigitsUpperBound(const cpp_int& m) {
  const auto bits = static_cast<std::int64_t>(boost::multiprecision::msb(abs(m))) + 1;
  return bits * 30103 / 100000 + 1;
}

// m / 10^shift, rounded away from zero.
std::int64_t DivPow10Up(std::int64_t m, std::int64_t shift, bool* exact) {
  *exact = true;
  if (m == 0 || shift <= 0) return m;
  if (shift >= 19) {
    *exact = false;
    return m > 0 ? 1 : -1;
  }
  const std::int64_t quotient = m / kPow10[shift];
  if (m % kPow10[shift] == 0) return quotient;
  *exact = false;
  return m > 0 ? quotient + 1 : quotient - 1;
}

cpp_int DivPow10Up(const cpp_int& m, std::int64_t shift, bool* exact) {
  *exact = true;
  if (m == 0 || shift <= 0) return m;
  *exact = false;
  if (shift > DigitsUpperBound(m)) return m > 0 ? 1 : -1;
  cpp_int quotient, remainder;
  boost::multiprecision::divide_qr(m, BigPow10(shift), quotient, remainder);
  if (remainder == 0) {
    *exact = true;
    return quotient;
  }
  if (m > 0) {
    ++quotient;
  } else {
    --quotient;
  }
  return quotient;
}

// m * 10^shift if that fits.
bool MulPow10(std::int64_t m, std::int64_t shift, std::int64_t* out) {
  *out = m;
  if (m == 0 || shift == 0) return true;
  if (shift > 18) return false;
  return !__builtin_mul_overflow(m, kPow10[shift], out);
}

int SignOf(std::int64_t m) { return (m > 0) - (m < 0); }

// Drops digits past kMaxDigits.
void CutDigits(cpp_int* mantissa, std::int64_t* scale) {
  const auto digits = static_cast<std::int64_t>(cpp_int(abs(*mantissa)).str().size());
  const std::int64_t excess = std::min(digits - Quantity::kMaxDigits, kMaxScale - *scale);
  if (excess <= 0) return;
  *mantissa /= BigPow10(excess);
  *scale += excess;
}

// Moves powers of ten to the scale, so that 10^30 stays off the heap.
void MoveZerosToScale(cpp_int* mantissa, std::int64_t* scale) {
  cpp_int quotient, remainder;
  while (*scale < kMaxScale) {
    boost::multiprecision::divide_qr(*mantissa, cpp_int(10), quotient, remainder);
    if (remainder != 0) return;
    mantissa->swap(quotient);
    ++*scale;
  }
}

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

double Pow10Double(std::int64_t n) {
  static constexpr std::array<double, 32> kLow = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23,
                                                  1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31};
  static constexpr std::array<double, 10> kHigh = {1e0,   1e32,  1e64,  1e96,  1e128,
                                                   1e160, 1e192, 1e224, 1e256, 1e288};
  if (n > 308) return std::numeric_limits<double>::infinity();
  if (n >= 0) return kHigh[n / 32] * kLow[n % 32];
  return 1 / kLow[std::min<std::int64_t>(-n, 31)];  // quantities never go below 10^-9
}

}  // namespace

void Quantity::Ref(Big* big) { big->refs.fetch_add(1, std::memory_order_relaxed); }

void Quantity::Unref(Big* big) {
  if (big->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete big;
}

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

Quantity Quantity::FromScaled(std::int64_t value, int scale, Format format) {
  bool exact;
  if (scale < kNano) {
    value = DivPow10Up(value, static_cast<std::int64_t>(kNano) - scale, &exact);
    scale = kNano;
  }
  return Quantity(value, scale, format, false);
}

Quantity::Parts Quantity::ToParts() const {
  return {.mantissa = big_ != nullptr ? big_->mantissa : cpp_int(mantissa_), .scale = scale_};
}

void Quantity::Assign(Parts parts) {
  if (big_ != nullptr) Unref(std::exchange(big_, nullptr));
  wide_ = true;
  mantissa_ = 0;
  if (!FitsInt64(parts.mantissa)) {
    if (DigitsUpperBound(parts.mantissa) > kMaxDigits) CutDigits(&parts.mantissa, &parts.scale);
    MoveZerosToScale(&parts.mantissa, &parts.scale);
  }
  scale_ = static_cast<std::int32_t>(parts.scale);
  if (FitsInt64(parts.mantissa)) {
    mantissa_ = static_cast<std::int64_t>(parts.mantissa);
    if (mantissa_ == 0) scale_ = 0;
  } else {
    big_ = new Big(std::move(parts.mantissa));
  }
}

int Quantity::Sign() const { return big_ != nullptr ? big_->mantissa.sign() : SignOf(mantissa_); }

int Quantity::CompareSlow(const Quantity& other) const {
  const int sign = Sign();
  if (const int other_sign = other.Sign(); sign != other_sign) return sign < other_sign ? -1 : 1;
  if (sign == 0) return 0;
  const std::int64_t gap = static_cast<std::int64_t>(scale_) - other.scale_;
  if (big_ == nullptr && other.big_ == nullptr) {
    // Nineteen powers of ten are more than any 64 bit mantissa can make up for.
    if (gap > 18) return sign;
    if (gap < -18) return -sign;
    Int128 a = mantissa_, b = other.mantissa_;
    if (gap > 0) a *= kPow10[gap];
    if (gap < 0) b *= kPow10[-gap];
    return a < b ? -1 : (a > b ? 1 : 0);
  }
  Parts a = ToParts(), b = other.ToParts();
  // Both tops are at most one too large, so a distance of two decides.
  const std::int64_t top_a = a.scale + DigitsUpperBound(a.mantissa);
  const std::int64_t top_b = b.scale + DigitsUpperBound(b.mantissa);
  if (top_a > top_b + 1) return sign;
  if (top_b > top_a + 1) return -sign;
  if (gap > 0) a.mantissa *= BigPow10(gap);
  if (gap < 0) b.mantissa *= BigPow10(-gap);
  return a.mantissa.compare(b.mantissa) < 0 ? -1 : (a.mantissa == b.mantissa ? 0 : 1);
}

Quantity& Quantity::Add(const Quantity& other) {
  if (IsZero()) format_ = other.format_;
  if (!wide_ && !other.wide_) {
    if (other.mantissa_ == 0) return *this;
    if (mantissa_ == 0) {
      mantissa_ = other.mantissa_;
      scale_ = other.scale_;
      return *this;
    }
    const std::int32_t scale = std::min(scale_, other.scale_);
    std::int64_t a, b, sum;
    if (MulPow10(mantissa_, static_cast<std::int64_t>(scale_) - scale, &a) &&
        MulPow10(other.mantissa_, static_cast<std::int64_t>(other.scale_) - scale, &b) &&
        !__builtin_add_overflow(a, b, &sum)) {
      mantissa_ = sum;
      scale_ = scale;
      return *this;
    }
  }
  AddSlow(other, false);
  return *this;
}

Quantity& Quantity::Sub(const Quantity& other) {
  if (!wide_ && !other.wide_ && other.mantissa_ != kMinInt64) {
    return Add(Quantity(-other.mantissa_, other.scale_, other.format_, false));
  }
  if (IsZero()) format_ = other.format_;
  AddSlow(other, true);
  return *this;
}

void Quantity::AddSlow(const Quantity& other, bool subtract) {
  Parts a = ToParts(), b = other.ToParts();
  if (subtract) b.mantissa = -b.mantissa;
  if (a.mantissa == 0 || b.mantissa == 0) {
    Assign(a.mantissa == 0 ? std::move(b) : std::move(a));
    return;
  }
  const std::int64_t top_a = a.scale + DigitsUpperBound(a.mantissa);
  const std::int64_t top_b = b.scale + DigitsUpperBound(b.mantissa);
  // The exact sum would have so many digits that hostile input could exhaust us: the larger operand
  // stands for it.
  if (top_a - b.scale > kMaxDigits + 64 && top_a > top_b) return Assign(std::move(a));
  if (top_b - a.scale > kMaxDigits + 64 && top_b > top_a) return Assign(std::move(b));
  const std::int64_t scale = std::min(a.scale, b.scale);
  if (a.scale > scale) a.mantissa *= BigPow10(a.scale - scale);
  if (b.scale > scale) b.mantissa *= BigPow10(b.scale - scale);
  Assign({.mantissa = a.mantissa + b.mantissa, .scale = scale});
}

Quantity& Quantity::Neg() {
  if (big_ == nullptr && mantissa_ != kMinInt64) {
    mantissa_ = -mantissa_;
    return *this;
  }
  Parts parts = ToParts();
  parts.mantissa = -parts.mantissa;
  Assign(std::move(parts));
  return *this;
}

Quantity& Quantity::Mul(std::int64_t factor) {
  if (std::int64_t product;
      big_ == nullptr && !__builtin_mul_overflow(mantissa_, factor, &product)) {
    mantissa_ = product;
    return *this;
  }
  Parts parts = ToParts();
  parts.mantissa *= factor;
  Assign(std::move(parts));
  return *this;
}

std::int64_t Quantity::ScaledValue(int scale) const {
  const std::int64_t up = static_cast<std::int64_t>(scale_) - scale;
  bool exact;
  if (big_ == nullptr && up <= 0) return DivPow10Up(mantissa_, -up, &exact);
  if (!wide_) {
    if (std::int64_t result; MulPow10(mantissa_, up, &result)) return result;
    if (up != 1 && up != 2 && up != 3 && up != 6 && up != 9) return 0;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(mantissa_) *
                                     static_cast<std::uint64_t>(kPow10[up]));
  }
  Parts parts = ToParts();
  if (up < 0) parts.mantissa = DivPow10Up(parts.mantissa, -up, &exact);
  const cpp_int magnitude = abs(parts.mantissa) & std::numeric_limits<std::uint64_t>::max();
  auto low = static_cast<std::uint64_t>(magnitude);
  // 10^64 and everything above it has 64 zero bits at its end.
  for (std::int64_t i = 0; i < std::min<std::int64_t>(up, 64); ++i) low *= 10;
  return static_cast<std::int64_t>(parts.mantissa < 0 ? 0 - low : low);
}

std::optional<std::int64_t> Quantity::AsInt64() const {
  if (wide_ || scale_ < 0) return std::nullopt;
  std::int64_t result;
  if (!MulPow10(mantissa_, scale_, &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> Quantity::ExactScaled(int scale) const {
  const std::int64_t up = static_cast<std::int64_t>(scale_) - scale;
  if (big_ == nullptr) {
    std::int64_t result;
    bool exact = true;
    if (up <= 0) {
      result = DivPow10Up(mantissa_, -up, &exact);
    } else {
      exact = MulPow10(mantissa_, up, &result);
    }
    if (!exact) return std::nullopt;
    return result;
  }
  if (up >= 0) return std::nullopt;
  bool exact;
  const cpp_int result = DivPow10Up(big_->mantissa, -up, &exact);
  if (!exact || !FitsInt64(result)) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

bool Quantity::IsWholeAt(int scale) const {
  const std::int64_t down = static_cast<std::int64_t>(scale) - scale_;
  bool exact = true;
  if (down <= 0) return true;
  if (big_ == nullptr) {
    DivPow10Up(mantissa_, down, &exact);
  } else {
    DivPow10Up(big_->mantissa, down, &exact);
  }
  return exact;
}

bool Quantity::RoundUp(int scale) {
  const std::int64_t down = static_cast<std::int64_t>(scale) - scale_;
  if (down <= 0) return true;
  bool exact;
  if (big_ == nullptr) {
    mantissa_ = DivPow10Up(mantissa_, down, &exact);
    scale_ = scale;
    return exact;
  }
  cpp_int rounded = DivPow10Up(big_->mantissa, down, &exact);
  Assign({.mantissa = std::move(rounded), .scale = scale});
  return exact;
}

double Quantity::AsApproximateDouble() const {
  if (IsZero()) return 0;
  if (!wide_) {
    const auto base = static_cast<double>(mantissa_);
    return scale_ == 0 ? base : base * Pow10Double(scale_);
  }
  // Kubernetes' decimals count nanos.
  const std::string text =
      ToParts().mantissa.str() + "e" + std::to_string(static_cast<std::int64_t>(scale_) - kNano);
  return std::strtod(text.c_str(), nullptr) * 1e-9;
}

bool Quantity::IsMultipleOf(const Quantity& step) const {
  if (IsZero()) return true;
  if (step.IsZero()) return false;
  const std::int64_t up = static_cast<std::int64_t>(scale_) - step.scale_;
  if (big_ == nullptr && step.big_ == nullptr && up >= -18 && up <= 18) {
    Int128 a = mantissa_, b = step.mantissa_;
    if (up > 0) a *= kPow10[up];
    if (up < 0) b *= kPow10[-up];
    return a % b == 0;
  }
  const Parts a = ToParts(), b = step.ToParts();
  const cpp_int divisor = abs(b.mantissa);
  if (up >= 0) {
    const cpp_int power = boost::multiprecision::powm(cpp_int(10), cpp_int(up), divisor);
    return a.mantissa * power % divisor == 0;
  }
  if (-up > DigitsUpperBound(a.mantissa)) return false;
  return a.mantissa % (divisor * BigPow10(-up)) == 0;
}

std::optional<std::int64_t> Quantity::DivCeil(const Quantity& step) const {
  if (step.Sign() <= 0) return std::nullopt;
  if (IsZero()) return 0;
  Parts a = ToParts(), b = step.ToParts();
  const std::int64_t top_a = a.scale + DigitsUpperBound(a.mantissa);
  const std::int64_t top_b = b.scale + DigitsUpperBound(b.mantissa);
  if (top_a > top_b + 21) return std::nullopt;           // the quotient has more than 19 digits
  if (top_b > top_a + 1) return a.mantissa > 0 ? 1 : 0;  // between zero and one step
  const std::int64_t scale = std::min(a.scale, b.scale);
  if (a.scale > scale) a.mantissa *= BigPow10(a.scale - scale);
  if (b.scale > scale) b.mantissa *= BigPow10(b.scale - scale);
  cpp_int quotient, remainder;
  boost::multiprecision::divide_qr(a.mantissa, b.mantissa, quotient, remainder);
  if (remainder > 0) ++quotient;
  if (!FitsInt64(quotient)) return std::nullopt;
  return static_cast<std::int64_t>(quotient);
}

namespace {

// Digits without sign and trailing zeros, and the exponent they stand for.
struct Canonical {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

void PadTo(Canonical& c, std::int64_t exponent) {
  if (c.exponent <= exponent) return;
  c.digits.append(static_cast<std::size_t>(c.exponent - exponent), '0');
  c.exponent = exponent;
}

std::string Join(const Canonical& c, std::string_view suffix) {
  std::string text;
  text.reserve(c.digits.size() + suffix.size() + 1);
  if (c.negative) text += '-';
  text.append(c.digits).append(suffix);
  return text;
}

// Multiples of 1024 taken out of a whole number, and its suffix.
template <typename Int>
std::string BinaryText(Int value) {
  static constexpr std::array<std::string_view, 7> kSuffixes = {"",   "Ki", "Mi", "Gi",
                                                                "Ti", "Pi", "Ei"};
  std::size_t times = 0;
  while (times < 6 && value % 1024 == 0) {
    value /= 1024;
    ++times;
  }
  std::string text;
  if constexpr (std::is_same_v<Int, std::int64_t>) {
    text = std::to_string(value);
  } else {
    text = value.str();
  }
  return text.append(kSuffixes[times]);
}

}  // namespace

std::string Quantity::ToString() const {
  if (IsZero()) return "0";
  Format format = format_;
  if (format == Format::kBinarySI) {
    // Below 1024, or with a fraction, a binary suffix would say nothing or something wrong.
    if ((*this < FromInt(1024) && *this > FromInt(-1024)) || !IsInteger()) {
      format = Format::kDecimalSI;
    } else if (const auto whole = ExactInt64()) {
      return BinaryText<std::int64_t>(*whole);
    } else if (scale_ <= kMaxPadding &&
               (big_ == nullptr || DigitsUpperBound(big_->mantissa) <= kMaxBinaryDigits)) {
      Parts parts = ToParts();
      bool exact;
      return BinaryText<cpp_int>(scale_ >= 0 ? cpp_int(parts.mantissa * BigPow10(scale_))
                                             : DivPow10Up(parts.mantissa, -scale_, &exact));
    } else {
      format = Format::kDecimalExponent;
    }
  }

  Canonical c{.negative = Sign() < 0, .exponent = scale_};
  c.digits = big_ != nullptr ? big_->mantissa.str() : std::to_string(mantissa_);
  if (c.negative) c.digits.erase(0, 1);
  const std::size_t last = c.digits.find_last_not_of('0');
  c.exponent += static_cast<std::int64_t>(c.digits.size() - last - 1);
  c.digits.resize(last + 1);
  // Down to a multiple of three, and to one that can be read again.
  PadTo(c, c.exponent - ((c.exponent % 3) + 3) % 3);
  PadTo(c, kMaxPrintedExponent);
  if (format == Format::kDecimalSI && c.exponent <= 18 + kMaxPadding) {
    static constexpr std::array<std::string_view, 10> kSuffixes = {"n", "u", "m", "",  "k",
                                                                   "M", "G", "T", "P", "E"};
    PadTo(c, 18);
    return Join(c, kSuffixes[static_cast<std::size_t>((c.exponent + 9) / 3)]);
  }
  return Join(c, c.exponent == 0 ? "" : "e" + std::to_string(c.exponent));
}

std::string Quantity::DecimalKey() const {
  if (IsZero()) return "0";
  std::string digits = big_ != nullptr ? big_->mantissa.str() : std::to_string(mantissa_);
  const std::size_t last = digits.find_last_not_of('0');
  const auto zeros = static_cast<std::int64_t>(digits.size() - last - 1);
  digits.resize(last + 1);
  return digits.append("e").append(std::to_string(scale_ + zeros));
}

}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
//
// Quantities as numbers.
#include "base/quantity.h"

#include <cmath>

#include "base/internal/quantity_parts.h"

namespace dray::base {

using namespace internal;  // NOLINT: the other half of this type

namespace {

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

absl::int128 Quantity::ClampedNano() const {
  constexpr Int128 kLimit = Int128{1} << kClampedNanoBits;
  const std::int64_t up = static_cast<std::int64_t>(scale_) - kNano;
  if (big_ == nullptr) {
    if (mantissa_ == 0) return 0;
    // 63 bits times 10^18 fit; what is left to multiply by is small or far past the limit.
    const std::int64_t at_once = std::min<std::int64_t>(up, 18);
    Int128 value = static_cast<Int128>(mantissa_) * kPow10[at_once];
    for (std::int64_t i = at_once; i < up && value < kLimit && value > -kLimit; ++i) value *= 10;
    return value > kLimit ? kLimit : (value < -kLimit ? -kLimit : value);
  }
  const int sign = big_->mantissa.sign();
  if (up > kClampedNanoBits) return sign > 0 ? kLimit : -kLimit;
  const cpp_int value = big_->mantissa * BigPow10(up);
  if (abs(value) > cpp_int(kLimit)) return sign > 0 ? kLimit : -kLimit;
  return static_cast<Int128>(value);
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

}  // namespace dray::base

// SPDX-License-Identifier: Apache-2.0
//
// Quantity: an exact amount with a way of writing it, as Kubernetes' resource.Quantity:
// 250m, 1.5Gi, 12e6.
//
// Spec: k8s.io/apimachinery/pkg/api/resource. What is parsed, how it is rounded, capped and printed
// follows it. Where Kubernetes would print another number than it holds, or would work for hours on
// a short text, we do not follow:
//   - Amounts above 999E or 1023Ei keep their largest suffix (1000E); Kubernetes prints them
//     without any suffix (1).
//   - An exponent that does not fit in 32 bits is refused; Kubernetes keeps its low 32 bits.
//   - A text of more than kMaxDigits significant digits is refused.
//   - A sum or product keeps kMaxDigits significant digits:
//     1e2147483647 + 1 is 1e2147483647.
//   - An amount that DecimalSI could only write with more than 64 padding zeros, or BinarySI with
//     more than about 1000 digits, is printed with an exponent.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/numeric/int128.h"
#include "base/status.h"

namespace dray::base {

// A value: mantissa times a power of ten, and a format that only matters for printing.
//
// Invariants: a multiple of one nano (10^-9), finer amounts are rounded away from zero when they
// come in; 24 bytes; no heap unless the mantissa needs more than 63 bits. == and <=> compare by
// value alone: 1000m == 1 and 1Ki == 1024.
//
// Kubernetes holds an amount either as a scaled int64 or as a decimal, and its AsInt64 (and so
// CEL's isInteger) only knows the former: 10Ti is an integer there, 100Ti is not. AsInt64 answers
// as Kubernetes does, ExactInt64 by value.
//
// Thread-compatible. Copies may share an immutable big mantissa; its count is atomic.
class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

  // The most significant digits that Parse reads and that a sum keeps.
  static constexpr int kMaxDigits = 4096;
  static constexpr int kNano = -9;
  static constexpr int kMicro = -6;
  static constexpr int kMilli = -3;

  // Zero, DecimalSI.
  Quantity() = default;
  Quantity(const Quantity& other)
      : mantissa_(other.mantissa_),
        big_(other.big_),
        scale_(other.scale_),
        format_(other.format_),
        wide_(other.wide_) {
    if (big_ != nullptr) Ref(big_);
  }
  Quantity(Quantity&& other) noexcept
      : mantissa_(other.mantissa_),
        big_(std::exchange(other.big_, nullptr)),
        scale_(other.scale_),
        format_(other.format_),
        wide_(other.wide_) {}
  Quantity& operator=(const Quantity& other) {
    if (other.big_ != nullptr) Ref(other.big_);
    if (big_ != nullptr) Unref(big_);
    CopyFields(other);
    return *this;
  }
  Quantity& operator=(Quantity&& other) noexcept {
    if (this == &other) return *this;
    if (big_ != nullptr) Unref(big_);
    CopyFields(other);
    other.big_ = nullptr;
    return *this;
  }
  ~Quantity() {
    if (big_ != nullptr) Unref(big_);
  }

  // Reads a quantity. As in Kubernetes, surrounding space is an error (JSON decoding trims it),
  // while a text without digits may be zero ("", " " are errors; ".", "-", "Ki" are zero).
  // InvalidArgument says what is wrong.
  static StatusOr<Quantity> Parse(std::string_view text);
  // The same without a message and, up to 18 digits, without allocation. Leaves `out` alone on
  // failure.
  static bool TryParse(std::string_view text, Quantity* out);

  static Quantity FromInt(std::int64_t value, Format format = Format::kDecimalSI) {
    return Quantity(value, 0, format, false);
  }
  static Quantity FromMilli(std::int64_t value, Format format = Format::kDecimalSI) {
    return Quantity(value, kMilli, format, false);
  }
  // value * 10^scale; below nano rounded away from zero.
  static Quantity FromScaled(std::int64_t value, int scale, Format format = Format::kDecimalSI);

  Format format() const { return format_; }
  void set_format(Format format) { format_ = format; }

  // The canonical form: no fraction, the largest suffix that leaves a whole number. BinarySI
  // amounts below 1024 or with a fraction are written in DecimalSI. Parsing it gives an equal
  // value.
  std::string ToString() const;
  // The exact value as digits and exponent, without trailing zeros ("15e8"): equal for equal
  // values, whatever the format.
  std::string DecimalKey() const;

  // -1, 0 or 1; exact, by value. Cheap for any two values, however far apart.
  int Compare(const Quantity& other) const {
    if (big_ == nullptr && other.big_ == nullptr && scale_ == other.scale_) {
      return mantissa_ < other.mantissa_ ? -1 : (mantissa_ > other.mantissa_ ? 1 : 0);
    }
    return CompareSlow(other);
  }
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Compare(b) == 0; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.Compare(b) <=> 0;
  }
  // Equal by value and in format.
  bool IdenticalTo(const Quantity& other) const {
    return format_ == other.format_ && Compare(other) == 0;
  }

  // Exact, see the head of this file for the one exception. A zero receiver takes the operand's
  // format.
  Quantity& Add(const Quantity& other);
  Quantity& Sub(const Quantity& other);
  Quantity& Neg();
  // Exact product with a whole number.
  Quantity& Mul(std::int64_t factor);
  Quantity& operator+=(const Quantity& other) { return Add(other); }
  Quantity& operator-=(const Quantity& other) { return Sub(other); }
  friend Quantity operator+(Quantity a, const Quantity& b) { return std::move(a.Add(b)); }
  friend Quantity operator-(Quantity a, const Quantity& b) { return std::move(a.Sub(b)); }
  friend Quantity operator-(Quantity a) { return std::move(a.Neg()); }

  int Sign() const;
  bool IsZero() const { return mantissa_ == 0 && big_ == nullptr; }

  // The value in units of 10^scale, rounded away from zero. Does not fit in 64 bits: as Kubernetes,
  // a scaled int64 gives the wrapped product when it is 1, 2, 3, 6 or 9 powers of ten away and 0
  // otherwise, a decimal its low 64 bits. Look at the magnitude first where that matters, or ask
  // ExactScaled.
  std::int64_t ScaledValue(int scale) const;
  std::int64_t Value() const { return ScaledValue(0); }
  std::int64_t MilliValue() const { return ScaledValue(kMilli); }

  // The value if Kubernetes holds it as an integer, see the class comment.
  std::optional<std::int64_t> AsInt64() const;
  // The value in units of 10^scale if it is whole there and fits in 64 bits.
  std::optional<std::int64_t> ExactScaled(int scale) const;
  std::optional<std::int64_t> ExactInt64() const { return ExactScaled(0); }
  // The value in nanos, which it is always a whole number of. Past +-2^110 (about 10^24 units)
  // that bound stands for it, so that sums of 100,000 amounts still fit.
  absl::int128 ClampedNano() const;
  static constexpr int kClampedNanoBits = 110;
  // Whether the value is whole; by value, of any magnitude.
  bool IsInteger() const { return IsWholeAt(0); }

  // Rounds away from zero to a multiple of 10^scale. True if that changed nothing.
  bool RoundUp(int scale);

  // As Kubernetes' AsApproximateFloat64: the mantissa as a double times a power of ten.
  double AsApproximateDouble() const;

  // Whether the value is a whole number of steps, exactly. Only zero is a multiple of zero.
  bool IsMultipleOf(const Quantity& step) const;
  // The smallest whole n with n * step >= value. Nothing if step <= 0 or n does not fit.
  std::optional<std::int64_t> DivCeil(const Quantity& step) const;

 private:
  struct Big;    // an immutable, counted mantissa
  struct Parts;  // mantissa and scale in arbitrary precision

  Quantity(std::int64_t mantissa, std::int32_t scale, Format format, bool wide)
      : mantissa_(mantissa), scale_(scale), format_(format), wide_(wide) {}

  static void Ref(Big* big);
  static void Unref(Big* big);
  void CopyFields(const Quantity& other) {
    mantissa_ = other.mantissa_;
    big_ = other.big_;
    scale_ = other.scale_;
    format_ = other.format_;
    wide_ = other.wide_;
  }

  static const char* ParseInto(std::string_view text, Quantity* out);
  Parts ToParts() const;
  // Takes over the value of `parts`, held as Kubernetes' decimal.
  void Assign(Parts parts);
  void AddSlow(const Quantity& other, bool subtract);
  int CompareSlow(const Quantity& other) const;
  bool IsWholeAt(int scale) const;

  std::int64_t mantissa_ = 0;  // unused (zero) when big_ is set
  Big* big_ = nullptr;         // the mantissa when it does not fit in 64 bits
  std::int32_t scale_ = 0;     // power of ten, >= kNano
  Format format_ = Format::kDecimalSI;
  bool wide_ = false;  // Kubernetes would hold it as a decimal; always set when big_ is
};

static_assert(sizeof(Quantity) == 24);

}  // namespace dray::base

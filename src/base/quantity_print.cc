// SPDX-License-Identifier: Apache-2.0
//
// Quantities to text.
#include "base/quantity.h"

#include <string>

#include "base/internal/quantity_parts.h"

namespace dray::base {

using namespace internal;  // NOLINT: the other half of this type

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

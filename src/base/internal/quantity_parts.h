// SPDX-License-Identifier: Apache-2.0
//
// What the sources of Quantity share: its private parts, and decimal arithmetic on 64 bits and
// beyond.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/multiprecision/cpp_int.hpp>

#include "base/quantity.h"

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

namespace internal {

using Int128 = __int128;
using UInt128 = unsigned __int128;

inline constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMaxScale = std::numeric_limits<std::int32_t>::max();
// The largest exponent that is a multiple of three and can be parsed again.
inline constexpr std::int64_t kMaxPrintedExponent = 2147483646;
inline constexpr int kMaxPadding = 64;
// Dividing by 1024 turns zeros into other digits, which then count: stay far from kMaxDigits.
inline constexpr int kMaxBinaryDigits = 1000;
// 18 digits always fit in an int64; more go through arbitrary precision, as in Kubernetes.
inline constexpr std::size_t kFastDigits = 18;

inline constexpr auto kPow10 = [] {
  std::array<std::int64_t, 19> table{};
  std::int64_t power = 1;
  for (auto& entry : table) {
    entry = power;
    if (power <= kMaxInt64 / 10) power *= 10;
  }
  return table;
}();

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

inline cpp_int BigPow10(std::int64_t exponent) {
  return boost::multiprecision::pow(cpp_int(10), static_cast<unsigned>(exponent));
}

inline bool FitsInt64(const cpp_int& m) { return m >= kMinInt64 && m <= kMaxInt64; }

// The number of decimal digits of m != 0, or one more: from the number of bits, without dividing.
inline std::int64_t DigitsUpperBound(const cpp_int& m) {
  const auto bits = static_cast<std::int64_t>(boost::multiprecision::msb(abs(m))) + 1;
  return bits * 30103 / 100000 + 1;
}

// m / 10^shift, rounded away from zero.
inline std::int64_t DivPow10Up(std::int64_t m, std::int64_t shift, bool* exact) {
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

inline cpp_int DivPow10Up(const cpp_int& m, std::int64_t shift, bool* exact) {
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
inline bool MulPow10(std::int64_t m, std::int64_t shift, std::int64_t* out) {
  *out = m;
  if (m == 0 || shift == 0) return true;
  if (shift > 18) return false;
  return !__builtin_mul_overflow(m, kPow10[shift], out);
}

inline int SignOf(std::int64_t m) { return (m > 0) - (m < 0); }

// Drops digits past kMaxDigits.
inline void CutDigits(cpp_int* mantissa, std::int64_t* scale) {
  const auto digits = static_cast<std::int64_t>(cpp_int(abs(*mantissa)).str().size());
  const std::int64_t excess = std::min(digits - Quantity::kMaxDigits, kMaxScale - *scale);
  if (excess <= 0) return;
  *mantissa /= BigPow10(excess);
  *scale += excess;
}

// Moves powers of ten to the scale, so that 10^30 stays off the heap.
inline void MoveZerosToScale(cpp_int* mantissa, std::int64_t* scale) {
  cpp_int quotient, remainder;
  while (*scale < kMaxScale) {
    boost::multiprecision::divide_qr(*mantissa, cpp_int(10), quotient, remainder);
    if (remainder != 0) return;
    mantissa->swap(quotient);
    ++*scale;
  }
}

}  // namespace internal
}  // namespace dray::base

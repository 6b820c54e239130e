// SPDX-License-Identifier: Apache-2.0
//
// Properties: the canonical text reads back as the same value and is its own canonical text;
// comparison is antisymmetric and agrees with the sign of the difference and with the keys; a sum
// and its parts fit together. One or two quantities per input, separated by a newline.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/quantity.h"

using dray::base::Quantity;

namespace {

void CheckOne(const Quantity& q) {
  const std::string text = q.ToString();
  Quantity again;
  DRAY_CHECK(Quantity::TryParse(text, &again), text);
  // Parsing caps binary amounts; a sum may be larger.
  const Quantity cap = Quantity::FromInt(INT64_MAX);
  if (q.format() != Quantity::Format::kBinarySI || (q <= cap && -Quantity(q) <= cap)) {
    DRAY_CHECK(again == q, text);
    // 1025000 in BinarySI has no suffix, so its text comes back as DecimalSI and would be 1025k.
    if (again.format() == q.format()) DRAY_CHECK(again.ToString() == text, text);
    DRAY_CHECK(again.DecimalKey() == q.DecimalKey(), text);
  }
  DRAY_CHECK((-Quantity(q)).Sign() == -q.Sign(), text);
  DRAY_CHECK((q - q).IsZero(), text);
  Quantity rounded = q;
  const bool exact = rounded.RoundUp(0);
  DRAY_CHECK(exact == q.IsInteger() && rounded.IsInteger(), text);
  DRAY_CHECK(q.Sign() < 0 ? rounded <= q : rounded >= q, text);
  if (const auto whole = q.AsInt64())
    DRAY_CHECK(q.ExactInt64() == whole && q.Value() == *whole, text);
  if (const auto milli = q.ExactScaled(Quantity::kMilli))
    DRAY_CHECK(q.MilliValue() == *milli, text);
  q.Value();
  q.AsApproximateDouble();
}

void CheckPair(const Quantity& a, const Quantity& b) {
  const int order = a.Compare(b);
  DRAY_CHECK(b.Compare(a) == -order);
  DRAY_CHECK((order == 0) == (a.DecimalKey() == b.DecimalKey()));
  DRAY_CHECK((a - b).Sign() == order);
  DRAY_CHECK(a + b == b + a);
  if (b.Sign() >= 0) DRAY_CHECK(a + b >= a);
  if (const auto count = a.DivCeil(b)) {
    DRAY_CHECK(Quantity(b).Mul(*count) >= a);
    if (a.IsMultipleOf(b)) DRAY_CHECK(Quantity(b).Mul(*count) == a);
  }
  CheckOne(a + b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = input.find('\n');
  const std::string_view first = input.substr(0, newline);
  Quantity a;
  const bool ok = Quantity::TryParse(first, &a);
  DRAY_CHECK(ok == Quantity::Parse(first).ok());
  if (!ok) return 0;
  CheckOne(a);
  Quantity b;
  if (newline != std::string_view::npos && Quantity::TryParse(input.substr(newline + 1), &b))
    CheckPair(a, b);
  return 0;
}

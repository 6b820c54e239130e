// SPDX-License-Identifier: Apache-2.0
//
// Quantity beside a slow model: every amount is a rational number, every rule is written as it is
// said. The model shares no code with quantity.cc.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "base/quantity.h"

namespace dray::base {
namespace {

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;
using Format = Quantity::Format;

std::uint64_t Seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("DRAY_SEED");
    const std::uint64_t s =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "seed " << s << " (repeat with DRAY_SEED=" << s << ")\n";
    return s;
  }();
  return seed;
}

cpp_rational Power(int base, int exponent) {
  cpp_rational result = 1;
  for (int i = 0; i < std::abs(exponent); ++i) {
    if (exponent > 0) {
      result *= base;
    } else {
      result /= base;
    }
  }
  return result;
}

cpp_int CeilAwayFromZero(const cpp_rational& value) {
  const cpp_rational magnitude = abs(value);
  cpp_int whole = numerator(magnitude) / denominator(magnitude);
  if (cpp_rational(whole) != magnitude) ++whole;
  return value < 0 ? cpp_int(-whole) : whole;
}

struct Model {
  cpp_rational value;
  Format format = Format::kDecimalSI;
};

const std::map<std::string, int> kDecimalSuffixes = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0},
                                                     {"k", 3},  {"M", 6},  {"G", 9},  {"T", 12},
                                                     {"P", 15}, {"E", 18}};
const std::map<std::string, int> kBinarySuffixes = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30},
                                                    {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

// A text and what it must mean, made together from their parts.
struct Sample {
  std::string text;
  Model model;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Sample Next() {
    const bool negative = Below(3) == 0;
    const std::string whole = Digits(Below(4) == 0 ? 30 : 8),
                      fraction = Below(2) == 0 ? "" : Digits(Below(4) == 0 ? 25 : 6);
    std::string number = whole + (fraction.empty() ? "" : "." + fraction);
    cpp_rational value = 0;
    for (const char c : whole + fraction) value = value * 10 + (c - '0');
    value *= Power(10, -static_cast<int>(fraction.size()));

    Model model;
    std::string suffix;
    switch (Below(3)) {
      case 0: {
        const auto it = std::next(kDecimalSuffixes.begin(), Below(10));
        suffix = it->first;
        value *= Power(10, it->second);
        break;
      }
      case 1: {
        const auto it = std::next(kBinarySuffixes.begin(), Below(6));
        suffix = it->first;
        value *= Power(2, it->second);
        model.format = Format::kBinarySI;
        break;
      }
      default: {
        const int exponent = Below(60) - 30;
        suffix = (Below(2) == 0 ? "e" : "E") + std::to_string(exponent);
        value *= Power(10, exponent);
        model.format = Format::kDecimalExponent;
      }
    }
    // Rounded up to nano, then capped, then the sign.
    model.value = cpp_rational(CeilAwayFromZero(value * Power(10, 9))) / Power(10, 9);
    if (model.format == Format::kBinarySI) {
      if (model.value > INT64_MAX) model.value = INT64_MAX;
      if (model.value > 0 && model.value < 1) model.format = Format::kDecimalSI;
    }
    if (negative) model.value = -model.value;
    return {(negative ? "-" : "") + number + suffix, model};
  }

 private:
  std::string Digits(int max) {
    std::string digits(static_cast<std::size_t>(1 + Below(max)), '0');
    // Often many zeros, which is where canonical forms differ.
    const bool sparse = Below(3) == 0;
    for (char& c : digits) {
      if (!sparse || Below(4) == 0) c = static_cast<char>('0' + Below(10));
    }
    return digits;
  }

  std::mt19937_64 random_;
};

// The value of a quantity, read from its key: digits, 'e', exponent.
cpp_rational ValueOf(const Quantity& q) {
  const std::string key = q.DecimalKey();
  const std::size_t e = key.find('e');
  cpp_rational value = 0;
  for (const char c : key.substr(0, e)) {
    if (c != '-') value = value * 10 + (c - '0');
  }
  if (e != std::string::npos) value *= Power(10, std::stoi(key.substr(e + 1)));
  return key[0] == '-' ? cpp_rational(-value) : value;
}

// The canonical text by its definition: no fraction digits, the largest suffix that leaves a whole
// number.
std::string CanonicalText(const Model& m) {
  if (m.value == 0) return "0";
  const auto is_whole = [](const cpp_rational& v) { return denominator(v) == 1; };
  Format format = m.format;
  if (format == Format::kBinarySI && (abs(m.value) < 1024 || !is_whole(m.value)))
    format = Format::kDecimalSI;
  if (format == Format::kBinarySI) {
    std::string best;
    int best_power = -1;
    for (const auto& [suffix, power] : kBinarySuffixes) {
      if (is_whole(m.value / Power(2, power)) && power > best_power) {
        best_power = power;
        best = suffix;
      }
    }
    return numerator(best_power < 0 ? m.value : cpp_rational(m.value / Power(2, best_power)))
               .str() +
           best;
  }
  const int top = format == Format::kDecimalSI ? 18 : 300;
  int exponent = -9;
  while (exponent + 3 <= top && is_whole(m.value / Power(10, exponent + 3))) exponent += 3;
  std::string suffix = exponent == 0 ? "" : "e" + std::to_string(exponent);
  if (format == Format::kDecimalSI) {
    for (const auto& [name, power] : kDecimalSuffixes) {
      if (power == exponent) suffix = name;
    }
  }
  return numerator(cpp_rational(m.value / Power(10, exponent))).str() + suffix;
}

int SignOf(const cpp_rational& v) { return v > 0 ? 1 : (v < 0 ? -1 : 0); }

constexpr int kRounds = 4000;

TEST(QuantityModel, ParsesAndPrintsLikeTheModel) {
  Generator generator(Seed());
  for (int i = 0; i < kRounds; ++i) {
    const auto [text, model] = generator.Next();
    const StatusOr<Quantity> q = Quantity::Parse(text);
    ASSERT_TRUE(q.ok()) << text;
    ASSERT_EQ(ValueOf(*q), model.value) << text;
    ASSERT_EQ(q->format(), model.format) << text;
    ASSERT_EQ(q->ToString(), CanonicalText(model)) << text;
    const StatusOr<Quantity> again = Quantity::Parse(q->ToString());
    ASSERT_TRUE(again.ok() && *again == *q && again->ToString() == q->ToString()) << text;
    ASSERT_EQ(q->Sign(), SignOf(model.value)) << text;
    ASSERT_EQ(q->IsInteger(), denominator(model.value) == 1) << text;
    if (const auto exact = q->AsInt64()) {
      ASSERT_EQ(cpp_rational(*exact), model.value) << text;
    }
    if (const auto exact = q->ExactInt64()) {
      ASSERT_EQ(cpp_rational(*exact), model.value) << text;
    } else {
      ASSERT_TRUE(!q->IsInteger() || model.value > INT64_MAX || model.value < INT64_MIN) << text;
    }
  }
}

TEST(QuantityModel, CalculatesLikeTheModel) {
  Generator generator(Seed() + 1);
  for (int i = 0; i < kRounds; ++i) {
    const auto [text_a, a] = generator.Next();
    const auto [text_b, b] = generator.Next();
    SCOPED_TRACE(text_a + " and " + text_b);
    const Quantity qa = *Quantity::Parse(text_a), qb = *Quantity::Parse(text_b);
    ASSERT_EQ(qa.Compare(qb), SignOf(a.value - b.value));
    ASSERT_EQ(qb.Compare(qa), -qa.Compare(qb));
    ASSERT_EQ(qa == qb, qa.DecimalKey() == qb.DecimalKey());
    const Format format = a.value == 0 ? b.format : a.format;
    const Quantity sum = qa + qb, difference = qa - qb;
    ASSERT_EQ(ValueOf(sum), a.value + b.value);
    ASSERT_EQ(ValueOf(difference), a.value - b.value);
    ASSERT_EQ(sum.format(), format);
    ASSERT_EQ(difference.format(), format);
    ASSERT_EQ(sum.ToString(), CanonicalText({a.value + b.value, format}));
    ASSERT_EQ(ValueOf(-qa), -a.value);
    if (b.value != 0) {
      ASSERT_EQ(qa.IsMultipleOf(qb), denominator(cpp_rational(a.value / b.value)) == 1);
    }
    if (b.value > 0) {
      const cpp_rational ratio = a.value / b.value;
      cpp_int ceiling = numerator(ratio) / denominator(ratio);
      if (ratio > 0 && cpp_rational(ceiling) != ratio) ++ceiling;
      const auto got = qa.DivCeil(qb);
      if (ceiling > INT64_MAX || ceiling < INT64_MIN) {
        ASSERT_EQ(got, std::nullopt);
      } else {
        ASSERT_EQ(got, static_cast<std::int64_t>(ceiling));
      }
    }
  }
}

TEST(QuantityModel, RoundsLikeTheModel) {
  Generator generator(Seed() + 2);
  for (int i = 0; i < kRounds; ++i) {
    const auto [text, model] = generator.Next();
    const int scale = generator.Below(40) - 12;
    SCOPED_TRACE(text + " to " + std::to_string(scale));
    const Quantity q = *Quantity::Parse(text);
    const cpp_int units = CeilAwayFromZero(model.value / Power(10, scale));
    Quantity rounded = q;
    const bool exact = rounded.RoundUp(scale);
    ASSERT_EQ(ValueOf(rounded), cpp_rational(units) * Power(10, scale));
    ASSERT_EQ(exact, rounded == q);
    if (units <= INT64_MAX && units >= INT64_MIN) {
      ASSERT_EQ(q.ScaledValue(scale), static_cast<std::int64_t>(units));
    }
    const double approximate = q.AsApproximateDouble(), right = model.value.convert_to<double>();
    ASSERT_NEAR(approximate, right, std::abs(right) * 1e-14);
  }
}

}  // namespace
}  // namespace dray::base
